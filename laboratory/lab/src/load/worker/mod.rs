//! Loads that are processes of their own.
//!
//! They are made by running the present program again, so that there is nothing else to install and
//! nothing to find. The program has to take part, by [`enter`] as the first thing in its `main`:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     if let Some(code) = tardy_lab::load::worker::enter() {
//!         return code;
//!     }
//!     // what the program does
//!     std::process::ExitCode::SUCCESS
//! }
//! ```
//!
//! A load has one process, its keeper, which holds everything else of it beneath itself. It ends all
//! of that when the [`Running`](super::Running) is dropped, and as well when the program that held
//! it is gone, however that came about.

mod beneath;
mod client;
mod counted;
mod keeper;
pub(super) mod passing;

pub(super) use beneath::beneath;
pub(super) use client::Worker;
pub(super) use counted::Counted;
pub use keeper::Keeper;
pub(super) use keeper::wait_for_all;

use super::hackbench;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The first argument of a keeper; the second is the load as written.
const KEEPER: &str = "tardy-load-keeper";

/// The first argument of a sender or receiver of `hackbench`.
pub(super) const TASK: &str = "tardy-load-hackbench";

static OFFERED: AtomicBool = AtomicBool::new(false);

/// Where the program was started to be a part of a load: does that, and returns with what to end
/// with. Otherwise returns none at once, and from then on loads may start processes by running the
/// program again. To be called first in `main`, with one thread alone.
pub fn enter() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    match arguments.next().as_deref() {
        Some(KEEPER) => Some(keeper::serve(&arguments.next().unwrap_or_default())),
        Some(TASK) => Some(hackbench::run_task(arguments)),
        _ => {
            OFFERED.store(true, Relaxed);
            None
        }
    }
}

fn is_offered() -> bool {
    OFFERED.load(Relaxed)
}
