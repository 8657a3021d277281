//! Ctrl-C and the other signals that ask a program to end do so cleanly; a second one ends the process.

use crate::failure::Failure;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the user wants an end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// The signal's number; 0 where none came.
    by: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Catches the signals from now on.
    pub(crate) fn catch() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let by = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            // As nohup wants it.
            if signal == SIGHUP && is_ignored(SIGHUP) {
                continue;
            }
            // In this order: the second signal finds the flag set by the first, and ends us.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&by), signal as usize))
                .map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
        }
        Ok(Self { asked, by })
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// What to hand on to a program that is to end too: what came, or what Ctrl-C sends.
    pub(crate) fn signal(&self) -> Signal {
        match self.by.load(Ordering::Relaxed) as i32 {
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            SIGQUIT => Signal::QUIT,
            _ => Signal::INT,
        }
    }
}

/// Where files may not grow any further (`ulimit -f`), a write fails and says so, instead of ending the process.
pub(crate) fn write_errors_instead_of_xfsz() {
    // Best effort: without it the process ends there, as it would have.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Whether who started this process had it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
