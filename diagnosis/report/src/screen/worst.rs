//! The latest wakeups, two lines each.

use crate::clean::cut;
use crate::data::Data;
use crate::section::{GroupNames, headline, merged, summary};
use crate::text::Terminal;
use std::io::{self, Write};

/// Wakeups that are told where nobody asked for more.
pub(crate) const STORIES: usize = 3;

const INDENT: usize = 6;

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let Some(explanation) = data.explanation.filter(|e| !e.worst.is_empty()) else {
        return Ok(());
    };
    let names = GroupNames::new(explanation);
    writeln!(out, "{}", terminal.bold("Worst"))?;
    for (number, entry) in explanation.worst.iter().take(data.limits.stories).enumerate() {
        let head = format!("{:>4}. {}", number + 1, headline(explanation, entry));
        let head = cut(&head, terminal.width);
        if entry.wakeup.touched_by_loss {
            writeln!(out, "{}", terminal.warn(&head))?;
        } else {
            writeln!(out, "{head}")?;
        }
        let text = summary(entry, &merged(entry), &names, terminal.width - INDENT);
        writeln!(out, "{:INDENT$}{}", "", terminal.dim(&text))?;
    }
    Ok(())
}
