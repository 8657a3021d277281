//! Progress on the terminal while something runs.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A line on standard error that shows how far a timed run is; nothing where that is no terminal or
/// the user wants quiet.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For something that takes `duration`, or nobody knows how long.
    pub(crate) fn new(duration: Option<Duration>, quiet: bool) -> Self {
        let milliseconds = duration.map(|duration| duration.as_millis() as u64);
        let bar = milliseconds.map_or_else(ProgressBar::no_length, ProgressBar::new);
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let template = if duration.is_some() {
            "{elapsed_precise} {bar:24} {percent:>3} %  {msg}"
        } else {
            "{elapsed_precise} {spinner}  {msg}"
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        bar.set_style(style);
        Self { bar }
    }

    /// Shows that `elapsed` has passed, with a few words.
    pub(crate) fn show(&self, elapsed: Duration, words: String) {
        self.bar.set_position(elapsed.as_millis() as u64);
        self.bar.set_message(words);
    }

    /// Does something that writes to the terminal too, with the line out of its way.
    pub(crate) fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
