//! The words of a command inside a specification.

use std::borrow::Cow;

/// Where the first `+` is that is not quoted: the end of the command. Quoted is what a shell takes as
/// quoted: between `'`, between `"`, and what a backslash precedes.
pub(in super::super) fn end_of(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (None, '+') => return Some(at),
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), _) if char == open => quote = None,
            (None | Some('"'), '\\') => {
                chars.next();
            }
            _ => {}
        }
    }
    None
}

/// Words as they are read again, by `shlex` and by [`end_of`].
pub(super) fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,@%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    // All but the quote itself is plain between quotes; that stands outside, with a backslash.
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_at_a_plus_that_is_not_quoted() {
        for (text, end) in [
            ("cmd:a b+storm", Some(7)),
            ("cmd:a", None),
            (r#"cmd:a '+' "+" \+ +"#, Some(17)),
            (r#"cmd:a "\"+" '\'+"#, Some(15)),
            ("cmd:a 'open + end", None),
            ("cmd:é+", Some(6)),
            (r"cmd:a \", None),
        ] {
            assert_eq!(end_of(text), end, "{text}");
        }
    }

    #[test]
    fn words_come_back_as_they_were() {
        let words = ["sh", "-c", "echo 'a+b' \"$X\" # no\n\\", "", "+", "--x=1,2", "é", "~*?"]
            .map(str::to_owned);
        let text = join(&words);
        assert_eq!(end_of(&text), None);
        assert_eq!(shlex::split(&text).unwrap(), words);
    }
}
