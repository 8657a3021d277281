//! What is predicted to help, a line each.

use crate::clean::cut;
use crate::data::Data;
use crate::text::{Align, Table, Terminal};
use crate::whatif::{Predictions, in_short};
use std::io::{self, Write};

/// Before one whose range lies below what was recorded, and before one whose range does not.
const WOULD: &str = "Would help";
const MAY: &str = "May help";

/// Writes the best changes, right under the verdict; nothing where none is predicted to help.
pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let Some(Ok(predictions)) = data.predictions else { return Ok(()) };
    let mut table = Table::new(&[Align::Left; 4]).flush().can_do_without(&[3]).gives(1);
    let mut before = "";
    for (tried, prediction) in predictions.best() {
        let short = in_short(tried, prediction);
        let heading = if short.is_sure { WOULD } else { MAY };
        let shown = if heading == before { "" } else { heading };
        before = heading;
        table.row(vec![shown.to_owned(), short.change, short.worst, short.mean]);
    }
    table.write(out, terminal.width, |_, column, text| match column {
        0 | 1 => terminal.bold(text),
        3 => terminal.dim(text),
        _ => text.to_owned(),
    })?;
    for remark in remarks(predictions) {
        let remark = cut(&format!("  {remark}"), terminal.width);
        writeln!(out, "{}", terminal.dim(&remark))?;
    }
    Ok(())
}

/// What must be known of the figures, or why there are none although changes were tried.
fn remarks(predictions: Predictions<'_>) -> Vec<String> {
    let is_any = predictions.best().next().is_some();
    let warning = predictions.warning().filter(|_| is_any || !predictions.is_ground());
    let left_out = predictions.left_out().filter(|_| is_any);
    warning.into_iter().chain(left_out).collect()
}

/// How many lines that are.
pub(super) fn lines(data: &Data<'_>) -> usize {
    let Some(Ok(predictions)) = data.predictions else { return 0 };
    predictions.best().count() + remarks(predictions).len()
}
