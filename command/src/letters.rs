//! Letters and verbs: a letter stands for one thing, whatever the verb.
//!
//! Some letters and verbs of other tools mean something else here, or nothing. The hints say what to write instead.

/// What is meant by a letter that a verb does not have: the verb, the letter, what to write instead.
const ELSEWHERE: [(&str, &str, &str); 7] = [
    ("measure", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("run", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("top", "-d", "the time between two tables is -i or --interval"),
    ("top", "-b", "write --batch for plain tables"),
    ("top", "-o", "write -s or --sort for the column to sort by"),
    ("measure", "-h", "a histogram is -H, as in cyclictest; -h is the help"),
    ("record", "-a", "record without -p and without a command records everything"),
];

/// Verbs of other tools, and what does the same here.
const VERBS: [(&str, &str); 12] = [
    ("analyze", "explain"),
    ("cyclictest", "measure cyclic"),
    ("diff", "compare"),
    ("hackbench", "load hackbench"),
    ("latency", "explain --all"),
    ("ls", "list"),
    ("monitor", "top"),
    ("show", "explain"),
    ("start", "run --"),
    ("stat", "explain"),
    ("timehist", "explain --all"),
    ("trace", "record"),
];

/// Verbs that read what is there, and start nothing.
const READERS: [&str; 7] = ["compare", "explain", "export", "import", "list", "report", "whatif"];

/// What may have been meant, where there is no such verb: another name, a program to be run, or one of those that the verb
/// before it has.
pub(crate) fn hint_of_verb(
    mut arguments: impl Iterator<Item = String>,
    tardy: &clap::Command,
) -> Option<String> {
    let word = arguments.by_ref().skip(1).find(|word| !word.starts_with('-'))?;
    if let Some(verb) = tardy.find_subcommand(&word) {
        let names: Vec<&str> = verb.get_subcommands().map(clap::Command::get_name).collect();
        return Some(format!("tardy {word} has {}", names.join(", ")));
    }
    if let Some((_, verb)) = VERBS.iter().find(|(other, _)| *other == word) {
        return Some(format!("tardy {verb} does that"));
    }
    word.contains('/').then(|| format!("to run a program and explain it: tardy run -- {word}"))
}

/// What may have been meant, where a command line has a letter that its verb does not know.
pub(crate) fn hint(arguments: impl Iterator<Item = String>) -> Option<&'static str> {
    let all: Vec<String> = arguments.skip(1).collect();
    let arguments: Vec<&String> = all.iter().take_while(|word| *word != "--").collect();
    let verb = arguments.iter().find(|word| !word.starts_with('-'))?;
    if arguments.len() < all.len() && READERS.contains(&verb.as_str()) {
        return Some("to run a program and explain it: tardy run -- CMD");
    }
    let is_given = |letter: &str| arguments.iter().any(|word| word.starts_with(letter));
    let found = ELSEWHERE.iter().find(|(of, letter, _)| of == *verb && is_given(letter));
    found.map(|(.., instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use std::collections::BTreeMap;

    /// Every command of the command line, by its whole name, with its flags: letter, long name.
    fn flags() -> Vec<(String, Option<char>, String)> {
        fn walk(
            command: &clap::Command,
            path: &str,
            into: &mut Vec<(String, Option<char>, String)>,
        ) {
            let path = format!("{path} {}", command.get_name());
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let long = argument.get_long().unwrap_or_default();
                into.push((path.clone(), argument.get_short(), long.to_owned()));
            }
            command.get_subcommands().for_each(|verb| walk(verb, &path, into));
        }
        let mut command = crate::Tardy::command();
        command.build();
        let mut found = Vec::new();
        walk(&command, "", &mut found);
        found
    }

    #[test]
    fn a_letter_stands_for_one_thing_in_all_verbs() {
        let mut meanings: BTreeMap<char, (String, String)> = BTreeMap::new();
        for (path, letter, long) in flags() {
            let Some(letter) = letter else { continue };
            assert!(!long.is_empty(), "{path}: -{letter} has no long name");
            let (first, at) = meanings.entry(letter).or_insert((long.clone(), path.clone()));
            assert_eq!(*first, long, "-{letter} is --{first} in{at} and --{long} in{path}");
        }
        assert_eq!(meanings.get(&'p').map(|(long, _)| long.as_str()), Some("pid"));
        assert_eq!(meanings.get(&'o').map(|(long, _)| long.as_str()), Some("out"));
    }

    #[test]
    fn the_book_lists_every_letter() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/options.md");
        let page = std::fs::read_to_string(path).expect("the page on options");
        for (path, letter, long) in flags() {
            let Some(letter) = letter.filter(|letter| !"hV".contains(*letter)) else { continue };
            let row = format!("| `-{letter}` | `--{long}` |");
            assert!(page.contains(&row), "{path}: no row {row:?} in docs/reference/options.md");
        }
    }

    #[test]
    fn a_name_has_its_letter_in_every_verb() {
        let mut letters: BTreeMap<String, (Option<char>, String)> = BTreeMap::new();
        for (path, letter, long) in flags() {
            let (first, at) = letters.entry(long.clone()).or_insert((letter, path.clone()));
            assert_eq!(*first, letter, "--{long} has different letters in{at} and in{path}");
        }
        assert!(letters.len() > 50, "{letters:?}");
    }

    #[test]
    fn quiet_and_color_are_flags_of_every_verb() {
        let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, _, long) in flags() {
            of.entry(path).or_default().push(long);
        }
        assert!(of.len() > 30, "{of:?}");
        for (path, names) in of.iter().filter(|(path, _)| !path.contains(" help")) {
            for name in ["quiet", "color"] {
                assert!(names.iter().any(|known| known == name), "{path} has no --{name}");
            }
        }
    }

    #[test]
    fn a_letter_of_another_tool_gets_a_hint() {
        let hint = |line: &str| hint(line.split(' ').map(str::to_owned));
        assert!(hint("tardy measure cyclic -p80").is_some_and(|hint| hint.contains("-P")));
        assert!(hint("tardy -q measure sleep -p 80").is_some());
        assert!(hint("tardy top -d 5").is_some_and(|hint| hint.contains("--interval")));
        assert_eq!(hint("tardy record -- top -d 5"), None);
        assert_eq!(hint("tardy explain -d"), None);
        assert!(
            hint("tardy explain -- ./program").is_some_and(|hint| hint.contains("tardy run --"))
        );
    }

    #[test]
    fn a_verb_of_another_tool_gets_a_hint() {
        let tardy = crate::Tardy::command();
        let hint = |line: &str| hint_of_verb(line.split(' ').map(str::to_owned), &tardy);
        assert_eq!(hint("tardy -q diff a b").as_deref(), Some("tardy compare does that"));
        assert!(hint("tardy ./program --flag").is_some_and(|hint| hint.ends_with("-- ./program")));
        assert_eq!(hint("tardy nonsense"), None);
        // They must not shadow verbs of ours, and must lead to some.
        let command = crate::Tardy::command();
        let is_verb = |name: &str| command.get_subcommands().any(|verb| verb.get_name() == name);
        for (other, verb) in VERBS {
            let first = verb.split(' ').next().unwrap_or_default();
            assert!(!is_verb(other) && is_verb(first), "{other}: {verb}");
        }
        assert!(READERS.iter().all(|verb| is_verb(verb)));
    }
}
