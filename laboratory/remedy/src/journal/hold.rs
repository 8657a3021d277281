//! Who is to know while something is made or taken back: until that is over, nothing may end the process that can wait.

use std::sync::{Mutex, OnceLock};

/// Told `true` when the first begins, and `false` when the last is over.
static TOLD: OnceLock<fn(bool)> = OnceLock::new();

/// How many there are.
static HOLDS: Mutex<usize> = Mutex::new(0);

/// Has somebody told while places are changed, in any thread: `true` when that begins, `false` when it is over. Who
/// catches signals lets them wait meanwhile. Only the first call counts.
pub fn tell_while_changing(tell: fn(bool)) {
    let _ = TOLD.set(tell);
}

/// Something is made or taken back as long as this is.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Begins.
    #[must_use = "it is over when it is dropped"]
    pub fn new() -> Self {
        count(|holds| holds + 1, |holds| holds == 1);
        Self(())
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        count(|holds| holds.saturating_sub(1), |holds| holds == 0);
    }
}

fn count(change: impl Fn(usize) -> usize, is_told: impl Fn(usize) -> bool) {
    let mut holds = HOLDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = *holds;
    *holds = change(*holds);
    if is_told(*holds)
        && let Some(tell) = TOLD.get()
    {
        // Told under the lock, so that beginnings and ends keep their order.
        tell(before < *holds);
    }
}
