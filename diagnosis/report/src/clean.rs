//! Makes a name from a trace fit to be shown.

use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `name` with everything that would not show as itself written as an escape (`\u{1b}`): control
/// characters, which command a terminal, and characters that are invisible or turn the direction of
/// the text around them.
pub fn clean(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if is_deceptive(c) {
            // Writing to a String does not fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// [`clean`], cut to at most `width` columns; a cut shows as `…`.
pub fn clean_cut(name: &str, width: usize) -> String {
    cut(&clean(name), width)
}

/// `text`, which must be clean, cut to at most `width` columns out of its middle: names of a series are alike in the
/// beginning and differ in the end.
pub fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width || width < 2 {
        return cut(text, width);
    }
    // One column is the sign's.
    let last = (width - 1) / 2;
    let mut end = text.len();
    while let Some(c) = text[..end].chars().next_back() {
        if text[end - c.len_utf8()..].width() > last {
            break;
        }
        end -= c.len_utf8();
    }
    let tail = &text[end..];
    cut(text, width - tail.width()) + tail
}

/// `text`, which must be clean, cut to at most `width` columns; a cut shows as `…`.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Whether a character does not show as itself: it commands a terminal, is invisible, or turns the direction of what is
/// around it.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_commands_a_terminal_is_spelt_out() {
        assert_eq!(clean("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(clean("\u{9b}2J"), "\\u{9b}2J", "the one-character CSI");
        assert_eq!(clean("x\u{202e}y\n"), "x\\u{202e}y\\u{a}");
        assert_eq!(clean("<b>\"naïve\" 温度"), "<b>\"naïve\" 温度");
    }

    #[test]
    fn a_cut_counts_columns() {
        assert_eq!(cut("storm-07", 8), "storm-07");
        assert_eq!(cut("storm-07", 5), "stor…");
        assert_eq!(cut("温度計", 4), "温…");
        assert_eq!(cut("storm", 0), "");
    }

    proptest! {
        #[test]
        fn never_a_control_character_never_too_wide(name in any::<String>(), width in 0usize..40) {
            let shown = clean_cut(&name, width);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert!(shown.width() <= width);
        }
    }
}
