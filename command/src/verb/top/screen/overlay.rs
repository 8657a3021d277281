//! What comes above the table: help, and one wakeup as a story.

use super::super::watcher::Story;
use super::Ink;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use tardy_report::{Terminal, why_text};

const HELP: &str = "\
Who is late, the latest first: a line for each thread. A wakeup counts a second
after its end, when no late news of lost events can change it any more.

  wake/s   wakeups a second, since the look before
  p50 p99  how late half and 99 % of all its wakeups since the start are at most
  max      the latest of them, of n
  trend    the latest of each of the last looks, by doublings
  mostly   the cause that took most of its lateness: a letter where there is
           little room (tardy explain says what each is), and who it was by

  Enter    the thread's worst wakeup as a story
  Tab t    who arms timers instead, and what they cost others; back again
  s        sort by the next: lateness of this look, max, p99, rate, name
  /        show only lines with these letters in name, id, cause or culprit;
           Enter keeps the filter, Esc ends it
  space    pause: figures stay as they are, and what comes is counted
  ↑ ↓ PgUp PgDn Home End  move      q  quit

  Of timers: c a x e n sort, g threads, programs, both.";

/// What is above.
pub(super) struct Overlay {
    lines: Vec<String>,
    first_line: usize,
}

impl Overlay {
    pub(super) fn help() -> Self {
        Self { lines: HELP.lines().map(str::to_owned).collect(), first_line: 0 }
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
