//! The figures, in the table that the experiment asks for.

use super::Part;
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::Shown;
use crate::experiment::table::view;
use crate::text::Terminal;
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Figures;

const REPORTED: &str = "Columns headed “source” show what the source reports, from another \
    machine: for reference, never tested against.";

impl Part for Figures {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let grids = grids(shown);
        for (number, grid) in grids.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            grid.write(terminal, out)?;
        }
        if grids.iter().any(Grid::has_reported) {
            for line in textwrap::wrap(REPORTED, terminal.width - 2) {
                writeln!(out, "  {}", terminal.dim(&line))?;
            }
        }
        Ok(())
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        let grids = grids(shown);
        html! {
            @if !grids.is_empty() {
                section #figures {
                    h2 { "Figures" }
                    @for grid in &grids { (grid.html()) }
                    @if grids.iter().any(Grid::has_reported) { p.note { (REPORTED) } }
                }
            }
        }
    }
}

fn grids(shown: &Shown<'_>) -> Vec<Grid> {
    let mut grids = view(shown.results.experiment.table).grids(shown);
    // Only now it is known what the other tables show.
    grids.push(others(shown));
    grids.retain(|grid| !grid.is_empty());
    grids
}

/// What the source reports and no other table has.
fn others(shown: &Shown<'_>) -> Grid {
    let mut grid = Grid::new("What else the source reports");
    grid.column("condition", Holds::Name);
    grid.column("figure", Holds::Name);
    grid.column("source", Holds::Reported);
    for one in shown.reported.others() {
        grid.row(vec![one.condition.to_owned(), one.key.to_owned(), format!("{}", one.value)]);
    }
    grid
}
