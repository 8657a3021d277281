//! The threads of a measurement, and that none of them outlives it.

use super::high;
use super::plan::PiError;
use super::{Ended, Shared};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// The threads. Dropped, they are ended and joined, so that none outlives its measurement.
pub(super) struct Crew {
    pub(super) shared: Arc<Shared>,
    /// Open as long as the watchdog is to watch.
    watch: Option<Sender<()>>,
    watchdog: Option<JoinHandle<()>>,
    pub(super) high: Option<JoinHandle<Option<Result<high::Outcome, PiError>>>>,
    pub(super) busy: Option<JoinHandle<()>>,
    pub(super) low: Option<JoinHandle<Result<u64, PiError>>>,
}

impl Crew {
    pub(super) fn new(shared: Arc<Shared>, watch: Sender<()>, watchdog: JoinHandle<()>) -> Self {
        let (watch, watchdog) = (Some(watch), Some(watchdog));
        Self { shared, watch, watchdog, high: None, busy: None, low: None }
    }

    pub(super) fn go(&self, high: &Sender<()>) {
        // A thread that is gone shows when it is joined.
        if let Some(watch) = &self.watch {
            let _ = watch.send(());
        }
        let _ = high.send(());
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.end(Ended::Stopped);
        self.watch = None;
        // Those that still wait for the start go when High's end of the channels has: by the error
        // that led here, everything else that `start` had is gone by now.
        drop(self.high.take().map(JoinHandle::join));
        drop(self.busy.take().map(JoinHandle::join));
        drop(self.low.take().map(JoinHandle::join));
        drop(self.watchdog.take().map(JoinHandle::join));
    }
}

pub(super) fn join<T>(thread: Option<JoinHandle<T>>) -> Result<T, PiError> {
    thread.and_then(|thread| thread.join().ok()).ok_or(PiError::Gone)
}
