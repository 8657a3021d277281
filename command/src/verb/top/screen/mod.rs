//! The tables on a terminal, and what a key brings: `keys.rs` says what keys ask for, `table.rs` draws columns,
//! `views.rs` makes them of what was seen, `overlay.rs` is what comes above them.

mod keys;
mod overlay;
mod table;
#[cfg(test)]
mod tests;
mod views;

use super::plain::summary;
use super::watcher::{Look, Story};
use super::{Pace, View, Which};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::session::Stream;
use keys::{Wish, wish_of};
use overlay::Overlay;
use ratatui::crossterm::event::{self, Event};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use tardy_model::TaskId;

/// How often signals are looked for.
const ATTENTION: Duration = Duration::from_millis(100);

pub(super) fn show(
    stream: &Stream,
    view: View,
    pace: Pace,
    interrupt: &Interrupt,
    look: impl FnMut() -> Look,
    story: impl Fn(TaskId) -> Option<Story>,
) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot use this terminal: {error}"));
    let terminal = ratatui::try_init().map_err(failed)?;
    let mut screen = Screen::new(view, stream.source, stream.notes.join("; "));
    let has_ended = || interrupt.is_asked() || stream.has_ended();
    let shown = screen.run(terminal, pace, has_ended, look, story);
    // Whatever happened, the terminal is the user's again before anything is said.
    let restored = ratatui::try_restore();
    shown.and(restored).map_err(failed)
}

/// What comes from the terminal, read on a thread of its own: of a key that has come in part `event::read` waits for the
/// rest, and of a terminal that is gone it reads for ever. The thread ends with the process.
fn read_input() -> Receiver<Event> {
    let (sender, input) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    input
}

/// Whether the terminal is still there, where it is standard input: one that is gone does not say that it was one. Else
/// keys come from `/dev/tty`.
fn is_there(is_stdin: bool) -> std::io::Result<bool> {
    if !is_stdin {
        return Ok(true);
    }
    let stdin = rustix::stdio::stdin();
    let mut files = [PollFd::new(&stdin, PollFlags::IN)];
    match rustix::event::poll(&mut files, Some(&Timespec::default())) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(!files[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
}

/// What is shown, apart from the terminal that it is shown on.
struct Screen {
    view: View,
    look: Look,
    /// The first line that is shown.
    first_line: usize,
    /// The thread on which the bar is.
    chosen: Option<TaskId>,
    /// Only lines that have this in them.
    filter: String,
    /// Letters go into the filter.
    is_typing: bool,
    is_paused: bool,
    overlay: Option<Overlay>,
    source: &'static str,
    notes: String,
    /// There was no look yet.
    is_new: bool,
    /// Columns of the last drawing, for what is wrapped to them.
    width: u16,
}

/// Colours where they are wanted, and what is bold or dim in any case.
#[derive(Clone, Copy)]
struct Ink {
    colour: bool,
}

impl Ink {
    fn warn(self) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD);
        if self.colour { style.fg(Color::Yellow) } else { style.add_modifier(Modifier::REVERSED) }
    }

    fn bold() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn dim() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }
}

impl Screen {
    fn new(view: View, source: &'static str, notes: String) -> Self {
        Self {
            view,
            look: Look::default(),
            first_line: 0,
            chosen: None,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            overlay: None,
            source,
            notes,
            is_new: true,
            width: 80,
        }
    }

    fn run(
        &mut self,
        mut terminal: DefaultTerminal,
        mut pace: Pace,
        has_ended: impl Fn() -> bool,
        mut look: impl FnMut() -> Look,
        story: impl Fn(TaskId) -> Option<Story>,
    ) -> std::io::Result<()> {
        terminal.draw(|frame| self.draw(frame))?;
        let is_stdin = rustix::termios::isatty(rustix::stdio::stdin());
        let input = read_input();
        while !has_ended() {
            let mut changed = false;
            let until_next = pace.until_next().min(ATTENTION);
            match input.recv_timeout(until_next) {
                Ok(Event::Key(key)) => match wish_of(key, self.is_typing, self.view.which) {
                    Wish::Leave => return Ok(()),
                    Wish::Quit if self.overlay.is_none() => return Ok(()),
                    wish => changed = self.grant(wish, &story),
                },
                Ok(Event::Resize(..)) => changed = true,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                // It cannot be read any more; whether it is gone is seen below.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(until_next),
            }
            if !is_there(is_stdin)? {
                break;
            }
            let mut more = true;
            if pace.until_next().is_zero() {
                // What was seen stays while it is paused; what comes meanwhile is in the next look.
                if !self.is_paused {
                    self.sees(look());
                    changed = true;
                }
                more = pace.looked();
            }
            if changed {
                terminal.draw(|frame| self.draw(frame))?;
            }
            if !more {
                return Ok(());
            }
        }
        if !is_there(is_stdin)? {
            // At its end it shows the cursor, and where that fails writes why to the same terminal, which is a panic.
            std::mem::forget(terminal);
        }
        Ok(())
    }

    fn sees(&mut self, look: Look) {
        self.look = look;
        self.is_new = false;
    }

    /// Says whether anything is to be drawn anew.
    fn grant(&mut self, wish: Wish, story: &impl Fn(TaskId) -> Option<Story>) -> bool {
        if self.overlay.is_some() {
            return self.grant_above(wish);
        }
        match wish {
            Wish::SwitchView => {
                self.view.which = match self.view.which {
                    Which::Late => Which::Timers,
                    Which::Timers => Which::Late,
                };
                self.first_line = 0;
            }
            Wish::NextSort => self.view.sort_by_next(),
            Wish::Sort(sort) => self.view.timers = sort,
            Wish::Regroup => {
                self.view.regroup();
                self.first_line = 0;
            }
            Wish::Move(lines) => self.move_by(lines),
            Wish::Open => {
                let Some(task) = self.chosen_line() else { return false };
                self.overlay = Some(match story(task) {
                    Some(story) => Overlay::story(&story, self.width),
                    None => Overlay::no_story(),
                });
            }
            Wish::Help => self.overlay = Some(Overlay::help()),
            Wish::Pause => self.is_paused = !self.is_paused,
            Wish::Type => self.is_typing = true,
            Wish::Letter(letter) => self.filter.push(letter),
            Wish::Rubout => {
                self.filter.pop();
            }
            Wish::EndTyping => self.is_typing = false,
            Wish::Clear => {
                self.is_typing = false;
                self.filter.clear();
            }
            Wish::Leave | Wish::Quit | Wish::Nothing => return false,
        }
        true
    }

    /// What keys do while something is above the table.
    fn grant_above(&mut self, wish: Wish) -> bool {
        match wish {
            Wish::Move(lines) => {
                if let Some(overlay) = &mut self.overlay {
                    overlay.move_by(lines);
                }
            }
            Wish::Nothing => return false,
            _ => self.overlay = None,
        }
        true
    }

    /// The bar goes down, or up; where there is none, the lines do.
    fn move_by(&mut self, lines: isize) {
        if self.view.which == Which::Timers {
            self.first_line = self.first_line.saturating_add_signed(lines);
            return;
        }
        let shown = self.late_lines();
        let at = self.place_of_chosen(&shown).saturating_add_signed(lines);
        self.chosen = shown.get(at.min(shown.len().saturating_sub(1))).map(|line| line.row.task);
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.width = area.width;
        let notes_height =
            self.notes.chars().count().div_ceil(usize::from(area.width).max(1)).min(3) as u16;
        let [head, note, keys, body, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(notes_height),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let ink = Ink { colour: self.view.colour };
        frame.render_widget(self.headline(ink), head);
        let notes = Text::styled(self.notes.as_str(), ink.warn());
        frame.render_widget(Paragraph::new(notes).wrap(Wrap { trim: true }), note);
        frame.render_widget(self.status(ink), keys);
        if let Some(overlay) = &mut self.overlay {
            overlay.draw(frame, body);
            frame.render_widget(Line::styled("↑ ↓ scroll  Esc back", Ink::dim()), foot);
            return;
        }
        self.draw_body(frame, body, ink);
        frame.render_widget(self.foot(), foot);
    }

    fn headline(&self, ink: Ink) -> Line<'static> {
        if self.is_new {
            return Line::styled(format!("tardy top - {}, looking", self.source), Ink::bold());
        }
        let (before, lost, after) = summary(&self.look, self.source);
        let lost_style = if self.look.lost_total > 0 { ink.warn() } else { Ink::bold() };
        Line::from(vec![
            Span::styled(format!("tardy top - {before}"), Ink::bold()),
            Span::styled(lost, lost_style),
            Span::styled(after, Ink::bold()),
        ])
    }

    /// What is shown, and how to get at something else.
    fn status(&self, ink: Ink) -> Line<'static> {
        let (what, sort) = self.view.words();
        let mut words = vec![
            Span::styled(what, Ink::bold()),
            Span::styled(format!(" by {sort} "), Ink::bold()),
        ];
        if self.is_paused {
            words.push(Span::styled("paused", ink.warn()));
            words.push(Span::raw("  "));
        }
        if self.is_typing || !self.filter.is_empty() {
            let cursor = if self.is_typing { "_" } else { "" };
            words.push(Span::styled(format!("filter: {}{cursor}  ", self.filter), Ink::bold()));
        }
        words.push(Span::styled(
            "?:help t:view s:sort /:filter space:pause Enter:story q:quit",
            Ink::dim(),
        ));
        Line::from(words)
    }

    fn draw_body(&mut self, frame: &mut Frame<'_>, area: Rect, ink: Ink) {
        let room = usize::from(area.height).saturating_sub(1);
        let grid = match self.view.which {
            Which::Late => self.late_grid(room, ink),
            Which::Timers => self.timer_grid(room),
        };
        frame.render_widget(grid.widget(usize::from(area.width)), area);
    }
}
