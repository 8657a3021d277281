//! What comes above the table: help, and one wakeup as a story.

use super::super::watcher::Story;
use super::Ink;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use tardy_explain::causes;
use tardy_report::palette::look;
use tardy_report::{Terminal, why_text};

const HELP: &str = "\
Threads that wake up late, the latest first, one per line. A wakeup is counted
one second after its end, when it is known whether events of it were lost.

  wake/s   wakeups per second since the last update
  p50 p99  half and 99 % of all its wakeups since the start were no later
  max      the latest of these wakeups
  trend    the latest wakeup of each recent update, on a logarithmic scale
  by       the cause of most of its lateness, a letter where there is little
           room (listed below), and the main culprit
  [name]   a kernel thread

  Enter    show the thread's worst wakeup as a story
  Tab t    show who arms timers, and what they cost others; back again
  s        sort by the next column: recent lateness, max, p99, rate, name
  /        show only lines with these letters in name, id, cause or culprit;
           Enter keeps the filter, Esc ends it
  space    pause: the figures stay as they are, and counting goes on
  ↑ ↓ PgUp PgDn Home End  move      q  quit

  In the view of timers
  c        sort by cost: the lateness of others by these timers, known after 1 s
  a x e    sort by how many are armed, cancelled, or expire per second
  n        sort by name
  g        show threads, programs or both

The letters of causes";

/// What is above.
pub(super) struct Overlay {
    lines: Vec<String>,
    first_line: usize,
}

impl Overlay {
    pub(super) fn help() -> Self {
        let letters = causes()
            .map(|(cause, meaning)| format!("  {}  {:<18} {meaning}", look(cause).letter, cause.0));
        Self { lines: HELP.lines().map(str::to_owned).chain(letters).collect(), first_line: 0 }
    }

    /// A thread's worst wakeup, wrapped to so many columns.
    pub(super) fn story(story: &Story, width: u16) -> Self {
        let terminal = Terminal { width: usize::from(width), colour: false };
        let mut text = Vec::new();
        // Memory takes every write.
        let _ = why_text(&story.explanation, &story.worst, terminal, &mut text);
        let text = String::from_utf8_lossy(&text);
        Self { lines: text.lines().map(str::to_owned).collect(), first_line: 0 }
    }

    pub(super) fn no_story() -> Self {
        let words = "no wakeup of this thread is complete yet: try again in a second or two";
        Self { lines: vec![words.to_owned()], first_line: 0 }
    }

    pub(super) fn move_by(&mut self, lines: isize) {
        self.first_line = self.first_line.saturating_add_signed(lines);
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let room = usize::from(area.height);
        self.first_line = self.first_line.min(self.lines.len().saturating_sub(room));
        let shown = self.lines.iter().enumerate().skip(self.first_line).take(room);
        let line = |(at, line): (usize, &String)| {
            // The first says what it is about.
            let style = if at == 0 { Ink::bold() } else { ratatui::style::Style::new() };
            Line::styled(line.clone(), style)
        };
        frame.render_widget(Paragraph::new(shown.map(line).collect::<Text<'_>>()), area);
    }
}
