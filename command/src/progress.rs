//! Progress on the terminal while something runs.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Work whose end nobody waits long for shows no progress: the line appears after this.
const SHOWN_AFTER: Duration = Duration::from_millis(700);

/// Between two looks of [`while_running`] at whether the work has ended.
const LOOK: Duration = Duration::from_millis(100);

/// A line on standard error that shows how far something is and how long it still takes; nothing where that is no
/// terminal or the user wants quiet. It is gone when this is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_shown: bool,
}

impl Progress {
    /// For something that takes `duration`, or nobody knows how long.
    pub(crate) fn new(duration: Option<Duration>, quiet: bool) -> Self {
        Self::with(duration.map(|duration| duration.as_millis() as u64), quiet, true)
    }

    /// For work of so many steps of any size, where it takes long enough for anybody to wonder.
    pub(crate) fn of_steps(steps: Option<u64>, quiet: bool) -> Self {
        Self::with(steps, quiet, false)
    }

    fn with(length: Option<u64>, quiet: bool, is_shown: bool) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let template = match length {
            Some(_) => "{elapsed_precise} {bar:24} {percent:>3} %, {eta} left  {msg}",
            None => "{elapsed_precise} {spinner}  {msg}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        bar.set_style(style);
        if is_shown && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        // What is quiet counts as shown, so that it never comes to be.
        Self { bar, begun: Instant::now(), is_shown: is_shown || quiet }
    }

    /// Shows that `elapsed` has passed, with a few words.
    pub(crate) fn show(&self, elapsed: Duration, words: String) {
        self.bar.set_position(elapsed.as_millis() as u64);
        self.bar.set_message(words);
    }

    /// Shows that so many steps are done.
    pub(crate) fn step(&mut self, done: u64, words: impl FnOnce() -> String) {
        if !self.is_shown && self.begun.elapsed() >= SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.is_shown = true;
        }
        self.bar.set_position(done);
        if !self.bar.is_hidden() {
            self.bar.set_message(words());
        }
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

/// Works on another thread, and shows meanwhile that it goes on, and how far it is: `done` of `steps`.
pub(crate) fn while_running<T: Send>(
    quiet: bool,
    words: &str,
    steps: Option<u64>,
    work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T + Send,
) -> T {
    use std::sync::atomic::{AtomicU64, Ordering};
    let done = AtomicU64::new(0);
    let mut progress = Progress::of_steps(steps, quiet);
    std::thread::scope(|scope| {
        let working = scope.spawn(|| work(&|at| done.store(at, Ordering::Relaxed)));
        while !working.is_finished() {
            progress.step(done.load(Ordering::Relaxed), || words.to_owned());
            std::thread::park_timeout(LOOK);
        }
        working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
