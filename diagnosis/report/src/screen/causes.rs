//! Why: the causes that took most, of all wakeups or of the worst.

use crate::data::Data;
use crate::palette::look;
use crate::section::{CAUSE_COLUMNS, shares, worst_shares};
use crate::text::{SHARE_BAR_COLUMNS, Table, Terminal, share_bar};
use crate::units::{duration, percent};
use std::io::{self, Write};

/// What a cause means is worth more than the time or a bar, up to so many columns.
const WORDS: usize = 50;

/// The places of those that weigh most, in all lateness or in that of the worst wakeups.
fn shown(all: &[u32], worst: Option<&[u32]>, rows: usize) -> Vec<usize> {
    let weight = |at: &usize| all[*at].max(worst.map_or(0, |worst| worst[*at]));
    let mut shown: Vec<usize> = (0..all.len()).collect();
    shown.sort_by_key(|at| std::cmp::Reverse(weight(at)));
    shown.truncate(rows);
    shown.sort_unstable();
    shown
}

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let found = data.explanation.filter(|e| e.causes.iter().any(|cause| cause.ns > 0));
    let Some(explanation) = found else { return Ok(()) };
    let causes = &explanation.causes;
    let (all, worst) = (shares(causes, |cause| cause.ns), worst_shares(explanation));
    let mut table = Table::new(&CAUSE_COLUMNS).flush().can_do_without(&[2, 4]).with_words(WORDS);
    let more = match causes.len().saturating_sub(data.limits.rows) {
        0 => String::new(),
        more => format!("{more} more with --full"),
    };
    let worst_head = if worst.is_some() { "worst 1 %" } else { "" };
    table.row(vec![
        "Why".to_owned(),
        String::new(),
        "time".to_owned(),
        "of all".to_owned(),
        String::new(),
        worst_head.to_owned(),
        more,
    ]);
    let shown = shown(&all, worst.as_deref(), data.limits.rows);
    for &at in &shown {
        let cause = &causes[at];
        table.row(vec![
            format!("  {}", look(cause.cause).letter),
            cause.cause.0.to_owned(),
            duration(cause.ns),
            percent(all[at]),
            share_bar(all[at], SHARE_BAR_COLUMNS),
            worst.as_ref().map_or_else(String::new, |shares| percent(shares[at])),
            cause.meaning.to_owned(),
        ]);
    }
    table.write(out, terminal.width, |row, column, text| match (row, column) {
        (0, 0) => terminal.bold(text),
        (0, _) => terminal.dim(text),
        (_, 0) => {
            let letter = terminal.on_cause(causes[shown[row - 1]].cause, text.trim_start());
            format!("  {letter}")
        }
        (_, 4) => terminal.in_cause(causes[shown[row - 1]].cause, text),
        _ => text.to_owned(),
    })
}
