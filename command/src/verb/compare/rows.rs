//! Which rows of which side are compared with which.

use super::opened::Opened;
use crate::failure::Failure;
use tardy_stats::ab::VALUES_MIN;

/// Rows compared one by one at most, where they can be taken together; of more, a reader sees no verdict
/// for verdicts.
pub(super) const ROWS_MAX: usize = 8;

/// Names listed at most where one must be chosen.
const NAMES_MAX: usize = 8;

/// What is compared with what.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matched {
    /// In the order of the first side.
    pub(super) rows: Vec<MatchedRow>,
    /// What was left out or taken together, a sentence each.
    pub(super) notes: Vec<String>,
}

/// Rows of all sides that are compared with each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MatchedRow {
    /// The name that they share; empty where all there are are taken together.
    pub(super) name: String,
    /// For each side, places among its names.
    pub(super) places: Vec<Vec<usize>>,
}

/// Rows of the same name are compared with each other; where no name is on all sides, or with
/// `merge`, all rows of a side are taken together.
pub(super) fn matched(sides: &[Opened], merge: bool) -> Result<Matched, Failure> {
    let filled: Vec<Vec<usize>> = sides
        .iter()
        .map(|side| (0..side.names.len()).filter(|row| side.count(*row) > 0).collect())
        .collect();
    for (side, rows) in sides.iter().zip(&filled) {
        if rows.is_empty() {
            return Err(Failure::new(format!(
                "{} has no latency to compare: no wakeup of the threads chosen, or no sample",
                side.facts.given
            )));
        }
    }
    let whole = || MatchedRow { name: String::new(), places: filled.clone() };
    let one_each = filled.iter().all(|rows| rows.len() == 1);
    if merge || one_each {
        return Ok(Matched { rows: vec![whole()], notes: Vec::new() });
    }
    let shared: Vec<MatchedRow> = filled[0]
        .iter()
        .filter_map(|row| {
            let name = &sides[0].names[*row];
            let places: Option<Vec<Vec<usize>>> = sides
                .iter()
                .zip(&filled)
                .map(|(side, rows)| {
                    let place = rows.iter().find(|row| side.names[**row] == *name)?;
                    Some(vec![*place])
                })
                .collect();
            Some(MatchedRow { name: name.clone(), places: places? })
        })
        .collect();
    let (shared, small) = enough(sides, shared);
    // What cannot be taken together, as the methods of an experiment, is compared one by one.
    let too_many = shared.len() > ROWS_MAX && sides.iter().all(Opened::can_merge);
    if shared.is_empty() || too_many {
        if let Some(side) = sides.iter().find(|side| !side.can_merge()) {
            return Err(choose(side));
        }
        let why = if shared.is_empty() {
            "no thread name occurs on all sides".to_owned()
        } else {
            format!("{} threads are on all sides", shared.len())
        };
        let note = format!("{why}: all threads of a side are pooled (--thread chooses one)");
        return Ok(Matched { rows: vec![whole()], notes: vec![note] });
    }
    let mut notes = left_out(sides, &filled, &[&shared[..], &small].concat());
    if !small.is_empty() {
        let names: Vec<&str> = small.iter().map(|row| row.name.as_str()).collect();
        notes.push(format!(
            "left out because a side has fewer than {VALUES_MIN} values: {}",
            listed(&names)
        ));
    }
    Ok(Matched { notes, rows: shared })
}

/// Rows that have enough values on every side, and those that have not: of a program's helpers that live for a moment
/// nothing can be said, and what can be said of the others would be lost among them. Where none has enough, all.
fn enough(sides: &[Opened], shared: Vec<MatchedRow>) -> (Vec<MatchedRow>, Vec<MatchedRow>) {
    let has_enough = |row: &MatchedRow| {
        let of = |(side, rows): (&Opened, &Vec<usize>)| -> u64 {
            rows.iter().map(|row| side.count(*row)).sum()
        };
        sides.iter().zip(&row.places).all(|side| of(side) >= VALUES_MIN)
    };
    if !shared.iter().any(has_enough) {
        return (shared, Vec::new());
    }
    shared.into_iter().partition(has_enough)
}

fn left_out(sides: &[Opened], filled: &[Vec<usize>], shared: &[MatchedRow]) -> Vec<String> {
    let mut notes = Vec::new();
    for (place, (side, rows)) in sides.iter().zip(filled).enumerate() {
        let is_alone = |row: &&usize| shared.iter().all(|other| other.places[place] != [**row]);
        let names: Vec<&str> =
            rows.iter().filter(is_alone).map(|row| side.names[*row].as_str()).collect();
        if !names.is_empty() {
            notes.push(format!(
                "left out because they are not on all sides: {} of {}",
                listed(&names),
                side.facts.name
            ));
        }
    }
    notes
}

/// Some names, and how many more.
pub(super) fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn choose(side: &Opened) -> Failure {
    let names: Vec<&str> = side.names.iter().map(String::as_str).collect();
    Failure::usage(format!(
        "{} has several rows that cannot be pooled: choose a condition (DIR:CONDITION), or a row \
         with --thread; it has {}",
        side.facts.given,
        listed(&names)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::opened::{Binned, Data};
    use super::*;
    use std::collections::BTreeMap;
    use tardy_report::SideFacts;
    use tardy_stats::Counted;

    fn side(names: &[&str]) -> Opened {
        let row = |name: &&str| {
            let count = u64::from(*name != "empty");
            Binned { counted: Counted::new([(5, count)]), ..Binned::default() }
        };
        Opened {
            facts: SideFacts { given: "x.hist".to_owned(), ..SideFacts::default() },
            settings: BTreeMap::new(),
            account: Err(String::new()),
            reserve: None,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            data: Data::Bins { width_ns: 1, rows: names.iter().map(row).collect() },
        }
    }

    fn names(matched: &Matched) -> Vec<(&str, Vec<Vec<usize>>)> {
        matched.rows.iter().map(|row| (row.name.as_str(), row.places.clone())).collect()
    }

    #[test]
    fn the_same_names_are_compared_and_the_others_told() {
        let mut sides = [side(&["t0", "empty", "t1"]), side(&["t1", "t0", "t7"])];
        sides[1].facts.name = "after".to_owned();
        let found = matched(&sides, false).expect("rows");
        assert_eq!(names(&found), [("t0", vec![vec![0], vec![1]]), ("t1", vec![vec![2], vec![0]])]);
        assert_eq!(found.notes, ["left out because they are not on all sides: t7 of after"]);
        let merged = matched(&sides, true).expect("rows");
        assert_eq!(names(&merged), [("", vec![vec![0, 2], vec![0, 1, 2]])]);
    }

    #[test]
    fn where_one_has_enough_values_those_that_have_not_are_left_out() {
        let mut sides = [side(&["t0", "t1"]), side(&["t0", "t1"])];
        for side in &mut sides {
            let Data::Bins { rows, .. } = &mut side.data else { panic!("bins") };
            rows[1].over = VALUES_MIN;
        }
        let found = matched(&sides, false).expect("rows");
        assert_eq!(names(&found), [("t1", vec![vec![1], vec![1]])]);
        assert_eq!(found.notes, ["left out because a side has fewer than 20 values: t0"]);
    }

    #[test]
    fn where_no_name_matches_all_are_taken_together() {
        let found = matched(&[side(&["a", "b"]), side(&["c"])], false).expect("rows");
        assert_eq!(names(&found), [("", vec![vec![0, 1], vec![0]])]);
        assert!(found.notes[0].contains("no thread name occurs on all sides"), "{:?}", found.notes);
        let one = matched(&[side(&["a"]), side(&["c"])], false).expect("rows");
        assert_eq!((one.rows.len(), one.notes.len()), (1, 0));
    }

    #[test]
    fn many_rows_are_taken_together_and_an_empty_side_is_refused() {
        let many: Vec<String> = (0..9).map(|at| format!("t{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let found = matched(&[side(&many), side(&many)], false).expect("rows");
        assert_eq!((found.rows.len(), found.notes.len()), (1, 1));
        let failure = matched(&[side(&["a"]), side(&["empty"])], false).expect_err("nothing");
        assert!(failure.to_string().contains("x.hist"), "{failure}");
    }

    #[test]
    fn what_is_not_alike_is_not_taken_together_unasked() {
        let rows = vec![vec![Counted::of_values([1])], vec![Counted::of_values([2])]];
        let methods = |names: [&str; 2]| Opened {
            names: names.map(str::to_owned).to_vec(),
            data: Data::Blocks { run: ("run".into(), vec![0]), rows: rows.clone() },
            ..side(&[])
        };
        let sides = [methods(["a", "b"]), methods(["c", "d"])];
        assert_eq!(matched(&sides, false).expect_err("a choice").status(), 2);
        assert!(matched(&sides, true).is_ok());
    }
}
