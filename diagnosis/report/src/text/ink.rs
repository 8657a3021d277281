//! Colour on a terminal that shows it, nothing on one that does not.

use super::Terminal;
use crate::palette::look;
use anstyle::{AnsiColor, Style};
use tardy_model::Cause;

impl Terminal {
    /// `text` in bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// `text` that matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// `text` that the reader must not miss.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    /// `text` in the colour of a cause.
    pub(crate) fn in_cause(self, cause: Cause, text: &str) -> String {
        self.paint(Style::new().fg_color(Some(look(cause).ansi().into())), text)
    }

    /// `text` on the colour of a cause.
    pub(crate) fn on_cause(self, cause: Cause, text: &str) -> String {
        let look = look(cause);
        let ink = if look.wants_black_ink() { AnsiColor::Black } else { AnsiColor::BrightWhite };
        let style = Style::new().fg_color(Some(ink.into())).bg_color(Some(look.ansi().into()));
        self.paint(style, text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
