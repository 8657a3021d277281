//! Simulated figures as a page: the table, curves over what varies, and each thread's tail under every policy.

use super::{
    HEADS, INTERVALS, LOCKS_HEADS, MOVES_HEADS, SimulatedData, SimulatedMoves, SimulatedRow,
};
use crate::clean::{clean, clean_cut};
use crate::experiment::curve_of;
use crate::page::document;
use crate::plot::{self, LINES_MAX, Line};
use crate::units::{count, duration, unbroken};
use maud::{Markup, html};
use tardy_stats::Counted;

/// Threads and conditions that have a picture; the table has all.
const PICTURES_MAX: usize = 24;

/// Simulated systems as one HTML page that loads nothing.
pub fn simulated_page(data: &SimulatedData<'_>) -> String {
    let title = match data.title {
        "" => "A simulated system".to_owned(),
        title => clean(title),
    };
    let subjects = subjects(&data.rows);
    let first = data.first_column();
    let cells = |row: &SimulatedRow<'_>| row.cells().split_off(first);
    let moves_cells = |moves: &SimulatedMoves<'_>| moves.cells().split_off(first);
    document(
        &title,
        &html! {
            header {
                h1 { (title) }
                p.note {
                    "Simulated: " (duration(data.span_ns)) " of the system's time"
                    @if data.runs > 1 { " in each of " (count(data.runs.into())) " runs of each policy" }
                    ", with seed " (data.seed) ". Every policy gets the same random numbers."
                }
            }
            @if !data.rows.is_empty() {
                section #figures {
                    h2 { "How late each thread is" }
                    div.scroll { (table(&HEADS[first..], 3 - first, data.rows.iter().map(cells))) }
                    p.note { (INTERVALS) }
                }
            }
            @if !data.moves.is_empty() {
                section #moves {
                    h2 { "What moving timers costs" }
                    @let moves = data.moves.iter().map(moves_cells);
                    div.scroll { (table(&MOVES_HEADS[first..], 2 - first, moves)) }
                }
            }
            @if !data.locks.is_empty() {
                section #locks {
                    h2 { "Locks with priority inheritance" }
                    @let locks = data.locks.iter().map(|locks| locks.cells().split_off(first));
                    div.scroll { (table(&LOCKS_HEADS[first..], 2 - first, locks)) }
                }
            }
            @if let Some((over, curves)) = curve_of(data.truth) {
                section #curves {
                    h2 { "Mean and maximum over " bdi { (clean_cut(&over, 40)) } }
                    (curves)
                }
            }
            @for subject in subjects.iter().take(PICTURES_MAX) { (picture(subject)) }
            @if subjects.len() > PICTURES_MAX {
                p.note {
                    "Only the first " (PICTURES_MAX) " of " (subjects.len()) " pictures are shown; the table has all figures."
                }
            }
        },
    )
}

/// The rows of one thread in one condition, a policy each.
type Subject<'a, 'b> = Vec<&'b SimulatedRow<'a>>;

fn subjects<'a, 'b>(rows: &'b [SimulatedRow<'a>]) -> Vec<Subject<'a, 'b>> {
    let mut subjects: Vec<Subject<'a, 'b>> = Vec::new();
    for row in rows {
        let is_same = |subject: &&mut Subject<'a, 'b>| {
            subject
                .first()
                .is_some_and(|of| of.condition == row.condition && of.thread == row.thread)
        };
        match subjects.iter_mut().find(is_same) {
            Some(subject) => subject.push(row),
            None => subjects.push(vec![row]),
        }
    }
    subjects
}

fn picture(subject: &Subject<'_, '_>) -> Markup {
    let Some(of) = subject.first() else { return Markup::default() };
    let values: Vec<Counted> =
        subject.iter().map(|row| Counted::new(row.latencies.classes())).collect();
    let lines: Vec<Line<'_>> = subject
        .iter()
        .zip(&values)
        .enumerate()
        .filter(|(_, (_, values))| !values.is_empty())
        .map(|(colour, (row, values))| Line {
            name: row.policy,
            colour,
            values,
            resolution_ns: row.latencies.resolution_ns(),
            known_share: 1.0,
        })
        .collect();
    html! {
        section.subject {
            h2 {
                bdi { (clean_cut(of.thread, 40)) }
                @if !of.condition.is_empty() { ", " bdi { (clean_cut(of.condition, 40)) } }
                ": how often later than a given time"
            }
            @for lines in lines.chunks(LINES_MAX) { (plot::ccdf(lines)) }
        }
    }
}

/// A table whose first columns hold words.
fn table(heads: &[&str], words: usize, rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        table {
            thead {
                tr {
                    @for (at, head) in heads.iter().enumerate() { th.number[at >= words] { (head) } }
                }
            }
            tbody {
                @for row in rows {
                    tr {
                        @for (at, cell) in row.iter().enumerate() {
                            td.number[at >= words] { bdi { (unbroken(cell)) } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, latencies};
    use super::*;

    #[test]
    fn every_policy_has_its_row_and_its_line() {
        let (latencies, truth) = latencies();
        let page = simulated_page(&data(&latencies, &truth));
        assert_eq!(
            page.matches("<tr>").count(),
            7,
            "heads, a row per policy, and one each of moves and of locks"
        );
        assert_eq!(page.matches("how often later than").count(), 1, "both policies in one picture");
        assert!(page.contains("line-0") && page.contains("line-1"));
        assert!(!page.contains('\u{1b}') && !page.contains("<script>alert"), "{page}");
    }
}
