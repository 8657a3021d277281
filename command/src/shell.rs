//! Text that a person may paste into a shell.

use tardy_remedy::shell_word;

/// A command line, as a shell takes it.
pub(crate) fn line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    words.into_iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// What this program was called with. What is in no encoding is replaced, so that it can be kept and shown.
pub(crate) fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pasted_is_the_same_words_again() {
        let words = [
            "tardy",
            "record",
            "--",
            "./x",
            "a';touch /tmp/x;'",
            "$(id)",
            "",
            "two words",
            "~",
            "a\nb",
        ];
        let line = line(words);
        assert!(line.starts_with("tardy record -- ./x "), "{line}");
        assert_eq!(shlex::split(&line).unwrap(), words);
    }
}
