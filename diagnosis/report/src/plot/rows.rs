//! What pictures with a row per name have in common.

use super::LINES_MAX;
use crate::clean::{clean, clean_cut};
use crate::page::{Axis, Frame, two};
use maud::{Markup, html};

/// Room of one row's one mark, and between two rows.
pub(super) const MARK_HEIGHT: f64 = 15.0;
const GAP: f64 = 12.0;

/// Columns of a name.
const NAME_MAX: usize = 30;

/// Rows of equal height under each other.
pub(super) struct Rows {
    pub(super) frame: Frame,
    row_height: f64,
}

impl Rows {
    /// Room for so many rows of so many marks each, and for lines of labels above.
    pub(super) fn new(rows: usize, marks: usize, label_lines: usize) -> Self {
        let row_height = marks.max(1) as f64 * MARK_HEIGHT + GAP;
        let frame = Frame { left: 210.0, right: 40.0, top: 10.0, bottom: 30.0, height: 0.0 };
        let top = frame.top + label_lines as f64 * 14.0;
        let height = top + rows.max(1) as f64 * row_height + frame.bottom;
        Self { frame: Frame { top, height, ..frame }, row_height }
    }

    /// The middle of a mark, by its row and its place in it.
    pub(super) fn middle(&self, row: usize, mark: usize) -> f64 {
        self.row_top(row) + GAP / 2.0 + (mark as f64 + 0.5) * MARK_HEIGHT
    }

    fn row_top(&self, row: usize) -> f64 {
        self.frame.top + row as f64 * self.row_height
    }

    /// Names at the left, a line under each row, and the scale across.
    pub(super) fn ground(&self, names: &[&str], x: &Axis, label: impl Fn(f64) -> String) -> Markup {
        let frame = &self.frame;
        html! {
            @for (value, label) in x.ticks(9, label) {
                line.grid x1=(two(x.at(value))) x2=(two(x.at(value))) y1=(two(frame.top))
                    y2=(two(frame.bottom())) {}
                (frame.below(x.at(value), &label))
            }
            @for (row, name) in names.iter().enumerate() {
                @let bottom = self.row_top(row + 1);
                text.row-name x=(two(frame.left - 10.0)) y=(two(bottom - self.row_height / 2.0 + 4.0))
                    text-anchor="end" { (clean_cut(name, NAME_MAX)) }
                line.grid x1="0" x2=(two(frame.right())) y1=(two(bottom)) y2=(two(bottom)) {}
            }
        }
    }
}

/// The colours' names.
pub(super) fn legend_of(names: &[&str]) -> Markup {
    html! {
        @if names.len() > 1 {
            ul.legend {
                @for (colour, name) in names.iter().enumerate() {
                    li class=(format!("line-{}", colour % LINES_MAX)) title=(clean(name)) {
                        bdi { (clean_cut(name, 48)) }
                    }
                }
            }
        }
    }
}
