//! What to do.

use crate::clean::cut;
use crate::data::Data;
use crate::section::{advice, advice_heading, advice_lines};
use crate::text::Terminal;
use std::io::{self, Write};

/// Writes what fits into `room` lines, the heading included.
pub(super) fn write(
    data: &Data<'_>,
    terminal: Terminal,
    room: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let room = room.saturating_sub(1);
    let all = advice(data);
    let mut shown: Vec<String> = Vec::new();
    let mut count = 0;
    for finding in &all {
        let advice = advice_lines(data, finding, terminal);
        let sentence = advice.sentence.len();
        let mut lines = [advice.sentence, advice.commands].concat();
        // The first is there in any case, with its command, which is the last line.
        if count == 0 && lines.len() > room {
            let command = finding.command.as_ref().and_then(|_| lines.pop());
            lines.truncate(room - usize::from(command.is_some()));
            if lines.len() < sentence
                && let Some(last) = lines.last_mut()
            {
                *last = cut(&format!("{last} …"), terminal.width);
            }
            lines.extend(command);
        }
        if shown.len() + lines.len() > room {
            break;
        }
        shown.extend(lines);
        count += 1;
    }
    if shown.is_empty() {
        return Ok(());
    }
    let heading = advice_heading(data);
    let heading = match all.len() - count {
        0 => heading.to_owned(),
        more => format!("{heading}; {more} more with --full"),
    };
    writeln!(out, "{}", terminal.bold(&cut(&heading, terminal.width)))?;
    for line in shown {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
