//! What was seen, as lines: who is late, and who arms timers.

use super::super::watcher::Look;
use super::super::{TIMER_COLUMNS, Which};
use super::table::{Column, Grid, GridLine};
use super::{Ink, Screen};
use ratatui::style::Color;
use ratatui::text::Line;
use tardy_model::{Cause, TaskId};
use tardy_report::palette::look;
use tardy_report::units::counted;
use tardy_report::{LateColumn, LateLine, TimerLine, timer_lines};

const TIMERS_LEGEND: &str =
    "sort by: c cost  a armed  x cancelled  e expired  n name   g: programs";

impl Screen {
    /// Those who are late, sorted, as far as the filter lets them through.
    pub(super) fn late_lines(&self) -> Vec<LateLine> {
        let lines = self.look.late.iter().filter(|line| line.matches(&self.filter));
        let mut lines: Vec<LateLine> = lines.cloned().collect();
        self.view.late.sort(&mut lines);
        lines
    }

    /// Where the bar is: on the first line where nobody was chosen, or where who was has gone.
    pub(super) fn place_of_chosen(&self, lines: &[LateLine]) -> usize {
        let chosen = self.chosen;
        lines.iter().position(|line| Some(line.row.task) == chosen).unwrap_or(0)
    }

    /// The thread on which the bar is.
    pub(super) fn chosen_line(&self) -> Option<TaskId> {
        if self.view.which == Which::Timers {
            return None;
        }
        let lines = self.late_lines();
        lines.get(self.place_of_chosen(&lines)).map(|line| line.row.task)
    }

    /// As many lines as there is room for; the bar is among them.
    pub(super) fn late_grid(&mut self, room: usize, ink: Ink) -> Grid {
        let lines = self.late_lines();
        let chosen = self.place_of_chosen(&lines);
        // In a terminal of a few rows there is room for none.
        let room = room.max(1);
        self.first_line = self.first_line.clamp((chosen + 1).saturating_sub(room), chosen);
        self.first_line = self.first_line.min(lines.len().saturating_sub(room));
        let columns = LateColumn::ALL.map(|column| Column {
            heading: column.heading(),
            is_words: column.is_words(),
            rank: column.rank(),
        });
        let of_cause =
            |column: &LateColumn| matches!(column, LateColumn::Letter | LateColumn::Cause);
        let coloured: Vec<usize> =
            (0..columns.len()).filter(|at| of_cause(&LateColumn::ALL[*at])).collect();
        let shown = lines.iter().enumerate().skip(self.first_line).take(room);
        let line = |(at, line): (usize, &LateLine)| GridLine {
            cells: LateColumn::ALL.iter().map(|column| column.cell(line)).collect(),
            is_quiet: line.row.now.count == 0,
            is_chosen: at == chosen,
            colour: line.cause().filter(|_| ink.colour).map(colour_of),
            coloured: coloured.clone(),
        };
        Grid { columns: columns.into(), lines: shown.map(line).collect() }
    }

    pub(super) fn timer_grid(&mut self, room: usize) -> Grid {
        let Look { uses, interval_ns, total_ns, .. } = &self.look;
        let view = self.view;
        let mut lines = timer_lines(uses, *interval_ns, *total_ns, view.grouping, view.timers);
        let words = self.filter.to_lowercase();
        lines.retain(|line| {
            let has = |text: &str| text.to_lowercase().contains(&words);
            has(&line.name) || has(&line.what)
        });
        self.first_line = self.first_line.min(lines.len().saturating_sub(room));
        let columns = TIMER_COLUMNS.map(|column| Column {
            heading: column.heading(),
            is_words: column.is_words(),
            rank: column.rank(),
        });
        let line = |line: &TimerLine| GridLine {
            cells: TIMER_COLUMNS.iter().map(|column| column.cell(line)).collect(),
            is_quiet: line.now.counts.is_empty(),
            is_chosen: false,
            colour: None,
            coloured: Vec::new(),
        };
        let shown = lines.iter().skip(self.first_line).take(room).map(line).collect();
        Grid { columns: columns.into(), lines: shown }
    }

    /// All of the line on which the bar is, as columns may be cut; of timers the legend.
    pub(super) fn foot(&self) -> Line<'static> {
        if self.view.which == Which::Timers {
            return Line::styled(TIMERS_LEGEND, Ink::dim());
        }
        let lines = self.late_lines();
        let Some(line) = lines.get(self.place_of_chosen(&lines)) else {
            let words = match (self.is_new, self.filter.is_empty()) {
                (true, _) => "",
                (false, true) => {
                    "no thread has woken up yet; a wakeup counts a second after its \
                    end"
                }
                (false, false) => {
                    "no line has these letters in name, id, cause or culprit: Esc ends the filter"
                }
            };
            return Line::styled(words, Ink::dim());
        };
        let row = &line.row;
        let cause = row.cause.map_or("nothing", |cause| cause.0);
        let by = LateColumn::Culprit.cell(line);
        let (name, all) = (LateColumn::Name.cell(line), counted(row.count, "wakeup"));
        let words = format!("{name}, {all}: {cause} by {by}");
        Line::styled(words, Ink::dim())
    }
}

/// A cause's colour, as near as a terminal of 256 comes.
fn colour_of(cause: Cause) -> Color {
    Color::Indexed(look(cause).ansi().0)
}
