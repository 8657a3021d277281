//! What changed from the first side to each later one, by cause and by culprit.

use super::opened::Opened;
use super::rows::MatchedRow;
use tardy_explain::change::Change;
use tardy_report::Changed;

/// Of these rows taken together, one for each later side. Only events tell why a wakeup was late.
pub(super) fn of(sides: &[Opened], rows: &[MatchedRow]) -> Vec<Changed> {
    let taken = |place: usize| {
        let of: Vec<usize> = rows.iter().flat_map(|row| &row.places[place]).copied().collect();
        sides[place].taken(&of)
    };
    let first = taken(0);
    (1..sides.len())
        .map(|place| {
            let first = first.as_ref().map_err(Clone::clone)?;
            let none = || "a side has no wakeup".to_owned();
            Change::between(first, &taken(place)?).ok_or_else(none)
        })
        .collect()
}
