//! A timer service for a live process: four levels of priority, a thread each.
//!
//! ```
//! use tardy_timers::service::{Request, Service};
//! use tardy_timers::{Kind, Level};
//!
//! let service = Service::start()?;
//! let (tell, told) = std::sync::mpsc::channel();
//! let soon = service.now_ns() + 1_000_000;
//! service.call(Request::at(soon).level(Level::HIGHEST).tag(1), move |firing| {
//!     let _ = tell.send(firing.lateness_ns());
//! })?;
//! let timeout = service.call(Request::at(soon + 1_000_000_000).kind(Kind::Coarse), |_| {})?;
//! println!("late by {} ns", told.recv()?);
//! service.cancel(timeout)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//! - A timer never fires before its soft expiry, and at most once. Precise timers of a level that are
//!   due fire in the order of their hard expiry, then the coarse ones.
//! - Arming, cancelling and moving wait for nobody, allocate nothing (except what is to be called) and
//!   make a system call only where the level's thread must be woken: where it sleeps for longer.
//! - Whether a timer is cancelled, moved or fired is decided by one compare-and-swap: a cancelled one
//!   surely does not fire, and who comes too late is told.
//! - Where there is no room the timer comes back at once, and it is counted.
//! - A slow callback holds up its own level alone, and is counted and named ([`Report`]); a panic in
//!   one is caught and counted, unless the program is built to abort.
//!
//! A cancelled timer, or one moved to later, may wake its level's thread once for nothing.
//!
//! # What happens when
//! - **A thread ends**: the timers it armed stay armed.
//! - **The service is dropped**: nothing fires any more; callbacks that run come to their end, then the
//!   threads end and are waited for, except where it is one of them that drops the service. Armed
//!   timers are disarmed: callbacks are dropped, [`Target::abandoned`] is called, a [`Sleep`] ends
//!   with [`SleepError::Stopped`]. A [`Client`] that is left arms nothing more.
//! - **The process forks**: the threads are in the parent, and what was armed fires there alone. The
//!   child gets `Forked` from each call instead of silence, may drop the service and start its own.
//! - **The system is suspended**: see [`Clock`].
//! - **A timer lies beyond the end of time**: `u64::MAX` ns is a time like another; it does not come.
//!
//! Start reading at `slots.rs` for how threads agree, at `run.rs` for what a level's thread does.

mod builder;
mod client;
mod delivery;
mod due;
mod error;
mod eventfd;
mod free;
mod future;
mod inbox;
mod lane;
mod level;
mod park;
mod queues;
mod request;
mod run;
mod scheduling;
mod shared;
mod slots;
mod sync;
mod tail;
#[cfg(test)]
mod tests;
mod timebase;
mod watch;
mod word;

pub use builder::{Builder, SLOW_NS_DEFAULT, SPIN_NS_DEFAULT, TIMERS_DEFAULT};
pub use client::Client;
pub use delivery::{Delivery, Firing, Target};
pub use error::{ArmError, ChangeError, StartError};
pub use eventfd::EventFd;
pub use future::{Sleep, SleepError};
pub use queues::COARSE_NS;
pub use request::{Request, Timer};
pub use scheduling::Note;
pub use timebase::Clock;
pub use watch::{Report, Slow};

use std::ops::Deref;
use std::thread::JoinHandle;

/// The service itself: while it lives, timers fire. What can be done with it is at [`Client`].
#[derive(Debug)]
pub struct Service {
    client: Client,
    notes: Vec<Note>,
    threads: Threads,
}

#[derive(Debug, Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Service {
    /// One with default settings.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Settings to be changed.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A way to the service for another thread, a callback or a task.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// What its threads were given and what they were refused.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl Deref for Service {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let shared = &self.client.shared;
        if shared.is_forked() {
            // There is no thread to wait for, and what they slept on is the parent's.
            return;
        }
        for desk in &shared.desks {
            desk.lane.stop();
            desk.park.wake();
        }
        let this = std::thread::current().id();
        for thread in self.threads.0.drain(..).filter(|thread| thread.thread().id() != this) {
            // They catch what they call; a panic of their own has been printed.
            let _ = thread.join();
        }
        for desk in &shared.desks {
            desk.lane.slots.cancel_all(|delivery| {
                if level::guarded(|| delivery.abandon()).is_none() {
                    watch::add_one(&desk.watch.panicked);
                }
            });
        }
    }
}
