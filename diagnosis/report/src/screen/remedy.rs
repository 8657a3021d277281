//! What to do.

use crate::clean::cut;
use crate::data::Data;
use crate::section::{advice, advice_heading, advice_lines, is_command};
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
        let mut lines = advice_lines(data, finding, terminal);
        // The first is there in any case, with its command, which is the last line.
        if count == 0 && lines.len() > room {
            let command = finding.command.as_ref().and_then(|_| lines.pop());
            let kept = room - usize::from(command.is_some());
            let is_cut = lines.get(kept).is_some_and(|line| !is_command(line));
            lines.truncate(kept);
            if let Some(last) = lines.last_mut().filter(|_| is_cut) {
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
