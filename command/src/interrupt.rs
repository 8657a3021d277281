//! Ctrl-C and the other signals that ask a program to end do so cleanly; a second one ends the process, unless something
//! is being changed or put back just then.

use crate::failure::Failure;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{SigId, flag, low_level};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Those that ask for an end.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// What signals do to this process, from the first time that it matters.
static ACTIONS: Mutex<Option<Actions>> = Mutex::new(None);

/// Whether the user wants an end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// The signal's number; 0 where none came.
    by: Arc<AtomicUsize>,
}

/// What is done at a signal, and what of it now.
struct Actions {
    interrupt: Interrupt,
    /// It ends the process, as if nobody had caught it.
    is_uncaught: Arc<AtomicBool>,
    /// It ends the process, because it is not the first.
    is_further: Arc<AtomicBool>,
    /// What makes the next one a further one.
    further: Vec<SigId>,
    /// A verb catches them.
    is_caught: bool,
    is_held: bool,
}

impl Actions {
    fn new() -> std::io::Result<Self> {
        let flag = || Arc::new(AtomicBool::new(false));
        let interrupt = Interrupt { asked: flag(), by: Arc::new(AtomicUsize::new(0)) };
        let it = Self {
            interrupt,
            is_uncaught: Arc::new(AtomicBool::new(true)),
            is_further: flag(),
            further: Vec::new(),
            is_caught: false,
            is_held: false,
        };
        for signal in Self::signals() {
            // In this order: a further signal finds what the first one set, and ends us.
            flag::register_conditional_default(signal, Arc::clone(&it.is_uncaught))?;
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&it.is_further))?;
            flag::register(signal, Arc::clone(&it.interrupt.asked))?;
            flag::register_usize(signal, Arc::clone(&it.interrupt.by), signal as usize)?;
        }
        Ok(it)
    }

    /// Without what whoever started this has it ignore, as nohup does.
    fn signals() -> impl Iterator<Item = i32> {
        SIGNALS.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP))
    }

    /// As it is to be now.
    fn settle(&mut self) -> std::io::Result<()> {
        let ends_at_second = self.is_caught && !self.is_held;
        self.is_uncaught.store(!self.is_caught && !self.is_held, Ordering::SeqCst);
        if ends_at_second && self.further.is_empty() {
            let asked = self.interrupt.is_asked();
            for signal in Self::signals() {
                self.further.push(flag::register(signal, Arc::clone(&self.is_further))?);
            }
            self.is_further.fetch_or(asked, Ordering::SeqCst);
        } else if !ends_at_second {
            for id in self.further.drain(..) {
                low_level::unregister(id);
            }
            self.is_further.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// Changes what signals do.
fn change(change: impl FnOnce(&mut Actions)) -> std::io::Result<Interrupt> {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if actions.is_none() {
        *actions = Some(Actions::new()?);
    }
    let actions = actions.as_mut().expect("they were just made");
    change(actions);
    actions.settle()?;
    Ok(actions.interrupt.clone())
}

/// Lets signals wait, or no longer: while something is changed or put back, no signal ends the process halfway. What came
/// meanwhile is asked for all the same.
pub(crate) fn hold(is_held: bool) {
    // Where it cannot be had, the journal has what is left.
    let _ = change(|actions| actions.is_held = is_held);
}

/// Whether somebody wanted an end while signals waited, before any verb caught them.
pub(crate) fn was_asked_meanwhile() -> bool {
    let actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    actions.as_ref().is_some_and(|actions| actions.interrupt.is_asked())
}

impl Interrupt {
    /// Catches the signals from now on.
    pub(crate) fn catch() -> Result<Self, Failure> {
        change(|actions| actions.is_caught = true)
            .map_err(|error| Failure::new(format!("cannot catch signals: {error}")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Tells this program that it is to send itself signals.
    const SIGNALS_ITSELF: &str = "TARDY_TEST_SIGNALS_ITSELF";

    fn ctrl_c() {
        low_level::raise(SIGINT).expect("it is a signal");
    }

    /// A process of its own: whatever goes wrong ends it.
    #[test]
    fn signals_itself_where_it_was_started_for_that() {
        let Some(how) = std::env::var_os(SIGNALS_ITSELF) else { return };
        if how == "caught" {
            let interrupt = Interrupt::catch().expect("signals can be caught");
            ctrl_c();
            assert!(interrupt.is_asked());
        }
        hold(true);
        ctrl_c();
        ctrl_c();
        std::fs::write("survived", "").expect("the folder is ours");
        hold(false);
        assert!(was_asked_meanwhile());
        ctrl_c();
        std::fs::write("lives on", "").expect("the folder is ours");
    }

    #[test]
    fn signals_wait_while_something_is_put_back() {
        for (how, status) in [("caught", Some(130)), ("uncaught", None)] {
            let folder = tempfile::tempdir().unwrap();
            let own = std::env::current_exe().unwrap();
            let mut command = Command::new(own);
            command.args([
                "--exact",
                "interrupt::tests::signals_itself_where_it_was_started_for_that",
            ]);
            command.env(SIGNALS_ITSELF, how).current_dir(folder.path());
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(folder.path().join("survived").exists(), "{how}: {told}");
            assert!(!folder.path().join("lives on").exists(), "{how}: {told}");
            assert_eq!(output.status.code(), status, "{how}: {told}");
        }
    }
}
