//! What text is made of: the terminal's width and colours, tables, bars.

mod bar;
mod ink;
mod table;

pub(crate) use bar::{SHARE_BAR_COLUMNS, segment_bar, share_bar};
pub(crate) use table::{Align, Table};

use std::io;

/// The width where none is known.
const WIDTH_DEFAULT: usize = 100;
/// Narrower, and the columns do not fit; wider, and the eye loses the line.
pub(crate) const WIDTH_MIN: usize = 60;
pub(crate) const WIDTH_MAX: usize = 140;

/// What the text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns; the text keeps to 60–140 whatever is asked for.
    pub width: usize,
    /// Whether it shows colours.
    pub colour: bool,
}

impl Default for Terminal {
    /// A file: 100 columns, no colours.
    fn default() -> Self {
        Self { width: WIDTH_DEFAULT, colour: false }
    }
}

impl Terminal {
    /// The process's standard output: its width, and colours only where it is a terminal and
    /// neither `NO_COLOR` nor `TERM=dumb` forbids them. Where it is none, `COLUMNS` tells the width.
    pub fn of_stdout() -> Self {
        Self::of_stdout_or(WIDTH_DEFAULT)
    }

    /// [`Self::of_stdout`], with a width for where nothing tells it.
    #[expect(clippy::disallowed_methods, reason = "it asks, and prints nothing")]
    pub fn of_stdout_or(width: usize) -> Self {
        let stdout = io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let columns = || std::env::var("COLUMNS").ok()?.parse::<u16>().ok().filter(|it| *it > 0);
        let width = match terminal_size::terminal_size_of(&stdout) {
            Some((width, _)) => usize::from(width.0),
            None => columns().map_or(width, usize::from),
        };
        Self { width, colour }
    }

    /// The same with the width that text keeps to.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self { width: self.width.clamp(WIDTH_MIN, WIDTH_MAX), ..self }
    }

    /// Chooses colours for every later [`Terminal::of_stdout`] of this process; `None` leaves it to the terminal.
    pub fn set_colours(wanted: Option<bool>) {
        let choice = match wanted {
            None => anstream::ColorChoice::Auto,
            Some(true) => anstream::ColorChoice::Always,
            Some(false) => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
