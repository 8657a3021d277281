//! What is changed in a command so that a recording comes of it.

/// The current folder of the command in the guest, which comes back as the run's own.
const HERE: &str = ".";

/// The command, made to record to its current folder where it does not record by itself. `tardy
/// measure` and `tardy run` are told to: their threads then mark when they are back, and what they do
/// is not followed call by call. Any other program is recorded by `tardy record`.
pub(crate) fn recorded(command: &[String]) -> Vec<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let has = |names: &[&str]| {
        words.iter().any(|word| names.iter().any(|name| word.split('=').next() == Some(name)))
    };
    let added: &[&str] = match words.as_slice() {
        ["tardy", "measure", ..] if !has(&["--record"]) => &["--record", HERE, "--quiet"],
        ["tardy", "run", ..] if !has(&["-o", "--out"]) => &["--out", HERE, "--quiet"],
        ["tardy", "record", ..] if !has(&["-o", "--out"]) => {
            // The command to record may follow.
            let mut changed: Vec<String> = command.to_vec();
            changed.splice(2..2, ["--out", HERE, "--quiet"].map(str::to_owned));
            return changed;
        }
        ["tardy", ..] => &[],
        _ => {
            let record = ["tardy", "record", "--out", HERE, "--quiet", "--"];
            return record
                .iter()
                .map(|word| (*word).to_owned())
                .chain(command.iter().cloned())
                .collect();
        }
    };
    let quiet = has(&["--quiet", "-q"]);
    let added = added.iter().filter(|word| !(quiet && **word == "--quiet"));
    command.iter().cloned().chain(added.map(|word| (*word).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::recorded;

    fn made(command: &str) -> String {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        recorded(&words).join(" ")
    }

    #[test]
    fn a_command_is_made_to_record() {
        for (command, made_of_it) in [
            ("tardy measure cyclic -t1", "tardy measure cyclic -t1 --record . --quiet"),
            ("tardy measure pi --quiet", "tardy measure pi --quiet --record ."),
            ("tardy measure cyclic --record=a", "tardy measure cyclic --record=a"),
            ("tardy run -D 3s", "tardy run -D 3s --out . --quiet"),
            ("tardy record -D 1s", "tardy record --out . --quiet -D 1s"),
            ("tardy record -o a -- x", "tardy record -o a -- x"),
            ("tardy doctor", "tardy doctor"),
            ("tardy experiment sleep", "tardy experiment sleep"),
            ("cyclictest -q", "tardy record --out . --quiet -- cyclictest -q"),
        ] {
            assert_eq!(made(command), made_of_it);
        }
    }
}
