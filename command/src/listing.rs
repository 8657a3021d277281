//! Lists of what has a name, as they are printed: names in a column, and beside them what each is.

use crate::failure::Failure;
use crate::output;
use tardy_report::Terminal;
use textwrap::Options;
use textwrap::core::display_width;

/// Names up to here stand beside what they are; the words of a longer one begin a line of their own.
const NAME_COLUMNS_MAX: usize = 28;

/// Between a name and what it is.
const GAP: usize = 2;

/// Prints an entry for each name; each sentence begins a line, and goes on below itself.
pub(crate) fn print<'a>(
    entries: impl IntoIterator<Item = (&'a str, Vec<String>)>,
) -> Result<(), Failure> {
    let entries: Vec<_> = entries.into_iter().collect();
    output::out!("{}", text(&entries, Terminal::of_stdout().width))?;
    Ok(())
}

fn text(entries: &[(&str, Vec<String>)], width: usize) -> String {
    let widths = entries
        .iter()
        .map(|(name, _)| display_width(name))
        .filter(|width| *width <= NAME_COLUMNS_MAX);
    let indent = " ".repeat(widths.max().unwrap_or(0) + 2 + GAP);
    let mut lines = Vec::new();
    for (name, sentences) in entries {
        let mut name = format!("  {name}");
        for sentence in sentences {
            if display_width(&name) + GAP > indent.len() {
                lines.push(std::mem::take(&mut name));
            }
            let pad = indent.len() - display_width(&name);
            let first = format!("{name}{}", " ".repeat(pad));
            let options = Options::new(width.max(indent.len() + 20))
                .initial_indent(&first)
                .subsequent_indent(&indent);
            lines.extend(textwrap::wrap(sentence, options).into_iter().map(String::from));
            name.clear();
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_below_themselves() {
        let entries = [
            (
                "storm",
                vec!["Sleeping threads and their timers".to_owned(), "a mail of 2017".to_owned()],
            ),
            ("a-name-that-is-longer-than-the-column", vec!["What it is".to_owned()]),
        ];
        assert_eq!(
            text(&entries, 34),
            "  storm  Sleeping threads and\n         their timers\n         a mail of 2017\n\
             \x20 a-name-that-is-longer-than-the-column\n         What it is"
        );
    }
}
