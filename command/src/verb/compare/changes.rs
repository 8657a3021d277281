//! What changed from the first side to each later one, by cause and by culprit.

use super::opened::Opened;
use super::rows::MatchedRow;
use tardy_explain::change::Change;
use tardy_report::{Changed, units};
use tardy_stats::ab::VALUES_MIN;

/// Of these rows taken together, one for each later side. Only events tell why a wakeup was late,
/// and what a few wakeups are made of is chance.
pub(super) fn of(sides: &[Opened], rows: &[MatchedRow]) -> Vec<Changed> {
    let taken = |place: usize| {
        let of: Vec<usize> = rows.iter().flat_map(|row| &row.places[place]).copied().collect();
        let side = &sides[place];
        let n: u64 = of.iter().map(|row| side.count(*row)).sum();
        if n < VALUES_MIN {
            let wakeups = units::counted(n, "wakeup");
            let name = &side.facts.name;
            return Err(format!("{name} has {wakeups}, and it takes {VALUES_MIN} on each side"));
        }
        side.taken(&of)
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
