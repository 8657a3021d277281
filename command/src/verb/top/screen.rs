//! The table on a terminal.

use super::plain::summary;
use super::watcher::Look;
use super::{COLUMNS, Pace, View};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::session::Stream;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};
use ratatui::{DefaultTerminal, Frame};
use std::time::Duration;
use tardy_report::{TimerColumn, TimerGrouping, TimerLine, TimerSort, timer_lines};

/// How often signals are looked for.
const ATTENTION: Duration = Duration::from_millis(100);

/// What the last column is cut to before another one is left out.
const WORDS_MIN: usize = 16;

const GAP: usize = 2;

const LEGEND: &str =
    "cost: others' lateness by these timers, 1 s late · armings, cost, slack: since the start";

pub(super) fn show(
    stream: &Stream,
    view: View,
    pace: Pace,
    interrupt: &Interrupt,
    look: impl FnMut() -> Look,
) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot use this terminal: {error}"));
    let terminal = ratatui::try_init().map_err(failed)?;
    let mut screen = Screen { view, look: Look::default(), first_line: 0, stream, is_new: true };
    let shown = screen.run(terminal, pace, interrupt, look);
    // Whatever happened, the terminal is the user's again before anything is said.
    let restored = ratatui::try_restore();
    shown.and(restored).map_err(failed)
}

struct Screen<'a> {
    view: View,
    look: Look,
    /// The first line that is shown.
    first_line: usize,
    stream: &'a Stream,
    /// There was no look yet.
    is_new: bool,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Quit,
    Sort(TimerSort),
    Regroup,
    /// So many lines down, or up.
    Scroll(isize),
    Nothing,
}

fn wish_of(key: KeyEvent) -> Wish {
    const PAGE: isize = 20;
    if key.kind == KeyEventKind::Release {
        return Wish::Nothing;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Wish::Quit,
        _ if control => Wish::Nothing,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        KeyCode::Char('t') => Wish::Regroup,
        KeyCode::Down => Wish::Scroll(1),
        KeyCode::Up => Wish::Scroll(-1),
        KeyCode::PageDown => Wish::Scroll(PAGE),
        KeyCode::PageUp => Wish::Scroll(-PAGE),
        KeyCode::Home => Wish::Scroll(isize::MIN),
        KeyCode::Char(letter) => {
            let known = TimerSort::ALL.into_iter().find(|(_, key, _)| *key == letter);
            known.map_or(Wish::Nothing, |(sort, ..)| Wish::Sort(sort))
        }
        _ => Wish::Nothing,
    }
}

impl Screen<'_> {
    fn run(
        &mut self,
        mut terminal: DefaultTerminal,
        mut pace: Pace,
        interrupt: &Interrupt,
        mut look: impl FnMut() -> Look,
    ) -> std::io::Result<()> {
        terminal.draw(|frame| self.draw(frame))?;
        while !interrupt.is_asked() && !self.stream.has_ended() {
            let mut changed = false;
            if event::poll(pace.until_next().min(ATTENTION))? {
                match event::read()? {
                    Event::Key(key) => match wish_of(key) {
                        Wish::Quit => return Ok(()),
                        wish => changed = self.grant(wish),
                    },
                    Event::Resize(..) => changed = true,
                    _ => {}
                }
            }
            let mut more = true;
            if pace.until_next().is_zero() {
                self.look = look();
                self.is_new = false;
                changed = true;
                more = pace.looked();
            }
            if changed {
                terminal.draw(|frame| self.draw(frame))?;
            }
            if !more {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Says whether anything is to be drawn anew.
    fn grant(&mut self, wish: Wish) -> bool {
        match wish {
            Wish::Sort(sort) => self.view.sort = sort,
            Wish::Regroup => {
                self.view.grouping = match self.view.grouping {
                    TimerGrouping::Threads => TimerGrouping::Programs,
                    TimerGrouping::Programs => TimerGrouping::Tree,
                    TimerGrouping::Tree => TimerGrouping::Threads,
                };
                self.first_line = 0;
            }
            Wish::Scroll(lines) => {
                self.first_line = self.first_line.saturating_add_signed(lines);
            }
            Wish::Quit | Wish::Nothing => return false,
        }
        true
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let notes = self.stream.notes.join("; ");
        let width = usize::from(frame.area().width).max(1);
        let notes_height = notes.chars().count().div_ceil(width).min(3) as u16;
        let [head, note, keys, body, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(notes_height),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let words = if self.is_new {
            format!("tardy top - {}, looking", self.stream.source)
        } else {
            format!("tardy top - {}", summary(&self.look, self.stream.source))
        };
        let lost = if self.look.lost > 0 { bold.fg(Color::Yellow) } else { bold };
        frame.render_widget(Line::styled(words, lost), head);
        let note_style = Style::new().fg(Color::Yellow);
        let paragraph = Paragraph::new(Text::styled(notes, note_style)).wrap(Wrap { trim: true });
        frame.render_widget(paragraph, note);
        frame.render_widget(self.keys(), keys);
        self.draw_table(frame, body);
        let dim = Style::new().add_modifier(Modifier::DIM);
        frame.render_widget(Line::styled(LEGEND, dim), foot);
    }

    fn keys(&self) -> Line<'static> {
        let grouping = match self.view.grouping {
            TimerGrouping::Threads => "threads",
            TimerGrouping::Programs => "programs",
            TimerGrouping::Tree => "both",
        };
        let dim = Style::new().add_modifier(Modifier::DIM);
        let chosen = Style::new().add_modifier(Modifier::BOLD);
        let mut words = vec![Span::styled(format!("q quit  t {grouping}  sort by:"), dim)];
        words.extend(TimerSort::ALL.map(|(sort, key, name)| {
            let style = if sort == self.view.sort { chosen } else { dim };
            Span::styled(format!("  {key} {name}"), style)
        }));
        Line::from(words)
    }

    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let Look { uses, interval_ns, total_ns, .. } = &self.look;
        let lines = timer_lines(uses, *interval_ns, *total_ns, self.view.grouping, self.view.sort);
        let room = usize::from(area.height).saturating_sub(1);
        self.first_line = self.first_line.min(lines.len().saturating_sub(room));
        let shown = &lines[self.first_line..lines.len().min(self.first_line + room)];
        let columns = fitting(&lines, usize::from(area.width));
        let aligned = |column: TimerColumn, text: String| {
            let line = Line::from(text);
            Cell::new(if column.is_words() { line.left_aligned() } else { line.right_aligned() })
        };
        let rows = shown.iter().map(|line| {
            let row = columns.iter().map(|(column, _)| aligned(*column, column.cell(line)));
            let is_quiet = line.now.counts.is_empty();
            let quiet = if is_quiet { Modifier::DIM } else { Modifier::empty() };
            Row::new(row).style(Style::new().add_modifier(quiet))
        });
        let header =
            columns.iter().map(|(column, _)| aligned(*column, column.heading().to_owned()));
        let header = Row::new(header).style(Style::new().add_modifier(Modifier::REVERSED));
        let widths = columns.iter().map(|(column, width)| match column {
            TimerColumn::What => Constraint::Fill(1),
            _ => Constraint::Length(*width as u16),
        });
        let table = Table::new(rows, widths).header(header).column_spacing(GAP as u16);
        frame.render_widget(table, area);
    }
}

/// The columns that fit into `width`, each with its own: those that can be done without go first.
fn fitting(lines: &[TimerLine], width: usize) -> Vec<(TimerColumn, usize)> {
    let width_of = |column: TimerColumn| {
        let cells = lines.iter().map(|line| column.cell(line));
        let widest = cells.map(|cell| Line::from(cell).width()).max().unwrap_or(0);
        widest.max(Line::from(column.heading()).width())
    };
    let mut columns: Vec<_> = COLUMNS.map(|column| (column, width_of(column))).into();
    loop {
        let needed = |(column, width): &(TimerColumn, usize)| match column {
            TimerColumn::What => WORDS_MIN,
            _ => width + GAP,
        };
        if columns.iter().map(needed).sum::<usize>() <= width {
            return columns;
        }
        let ranked = |at: &usize| columns[*at].0.rank();
        let least = (0..columns.len()).filter(|at| ranked(at).is_some()).min_by_key(ranked);
        match least {
            Some(at) => columns.remove(at),
            None => return columns,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ask_for_what_the_screen_says() {
        let plain = |code| wish_of(KeyEvent::new(code, KeyModifiers::NONE));
        let control = |code| wish_of(KeyEvent::new(code, KeyModifiers::CONTROL));
        assert_eq!(plain(KeyCode::Char('q')), Wish::Quit);
        assert_eq!(control(KeyCode::Char('c')), Wish::Quit);
        assert_eq!(plain(KeyCode::Char('c')), Wish::Sort(TimerSort::Cost));
        assert_eq!(plain(KeyCode::Char('t')), Wish::Regroup);
        assert_eq!(plain(KeyCode::Char('z')), Wish::Nothing);
    }

    #[test]
    fn a_narrow_screen_keeps_who_how_often_what_it_costs_and_what_for() {
        let names = |width| -> Vec<TimerColumn> {
            fitting(&[], width).into_iter().map(|(column, _)| column).collect()
        };
        assert_eq!(names(200), COLUMNS);
        let narrow = names(20);
        for column in [TimerColumn::Name, TimerColumn::Armed, TimerColumn::CostRate] {
            assert!(narrow.contains(&column), "{narrow:?}");
        }
        assert_eq!(narrow.last(), Some(&TimerColumn::What));
        assert!(!narrow.contains(&TimerColumn::SlackRange));
    }
}
