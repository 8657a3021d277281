//! Who: those that took most.

use crate::clean::{clean, cut};
use crate::data::Data;
use crate::names::group_name;
use crate::section::Ranking;
use crate::text::{Align, SHARE_BAR_COLUMNS, Table, Terminal, share_bar};
use crate::units::{count, duration, percent};
use std::io::{self, Write};
use tardy_explain::GroupFinding;

/// The columns of a name, in hundredths of all.
const NAME_SHARE: usize = 46;

/// As what it took most, and in which function, where stacks tell.
fn mostly(found: &GroupFinding) -> String {
    let cause = found.main_cause;
    match found.place(cause) {
        Some((stack, _)) => format!("{} in {}", cause.0, clean(stack.function())),
        None => format!("mostly as {}", cause.0),
    }
}

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let Some(explanation) = data.explanation.filter(|e| !e.groups.is_empty()) else {
        return Ok(());
    };
    let ranking = Ranking::new(explanation, data.limits.rows);
    let columns = [Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
    let mut table = Table::new(&columns).flush().can_do_without(&[3]);
    let more = match ranking.others {
        0 => String::new(),
        more => {
            let share = ranking.tenths.last().copied().unwrap_or_default();
            format!("{} more, {}", count(more), percent(share))
        }
    };
    let columns = terminal.width * NAME_SHARE / 100;
    table.row(vec!["Who".to_owned(), "time".to_owned(), "of all".to_owned(), String::new(), more]);
    for (found, &share) in ranking.named.iter().zip(&ranking.tenths) {
        table.row(vec![
            cut(&format!("  {}", group_name(&found.group)), columns),
            duration(found.ns),
            percent(share),
            share_bar(share, SHARE_BAR_COLUMNS),
            mostly(found),
        ]);
    }
    table.write(out, terminal.width, |row, column, text| match (row, column) {
        (0, 0) => terminal.bold(text),
        (0, _) => terminal.dim(text),
        (_, 3) => terminal.in_cause(ranking.named[row - 1].main_cause, text),
        _ => text.to_owned(),
    })
}
