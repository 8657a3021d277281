//! How a service is set up and started.

use super::client::Client;
use super::error::StartError;
use super::free::Free;
use super::lane::Lane;
use super::level::fire_all;
use super::park::Park;
use super::scheduling::{Note, prepare};
use super::shared::{Desk, Shared};
use super::timebase::Clock;
use super::watch::{Slow, SlowHook, Watch};
use super::{Service, Threads};
use crate::Level;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Room for this many armed timers at each level, unless said otherwise; each takes about 200 bytes.
pub const TIMERS_DEFAULT: usize = 4096;

/// A callback longer than this is a slow one, unless said otherwise, ns.
pub const SLOW_NS_DEFAULT: u64 = 100_000;

/// The most that a thread spins before a precise timer, unless said otherwise, ns: enough for a wakeup
/// in a virtual machine whose processor was idle, and as long as the kernel lets a sleep without a
/// real-time policy be late (`prctl(2)`, `PR_SET_TIMERSLACK`).
pub const SPIN_NS_DEFAULT: u64 = 50_000;

/// The settings of a [`Service`].
#[must_use]
pub struct Builder {
    timers: usize,
    clock: Clock,
    priorities: [u8; Level::COUNT],
    thresholds: [u8; Level::COUNT - 1],
    slow_ns: u64,
    spin_ns: u64,
    on_slow: Option<SlowHook>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            timers: TIMERS_DEFAULT,
            clock: Clock::Monotonic,
            priorities: [50, 51, 52, 53],
            thresholds: [1, 34, 67],
            slow_ns: SLOW_NS_DEFAULT,
            spin_ns: SPIN_NS_DEFAULT,
            on_slow: None,
        }
    }
}

impl Builder {
    /// How many timers can be armed at a time at each level; one more is refused.
    pub fn timers(self, timers: usize) -> Self {
        Self { timers, ..self }
    }

    /// On which clock times are.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The `SCHED_FIFO` priorities of the levels' threads, the lowest level first; 50 to 53 unless set.
    /// 0: the policy and priority of the thread that starts the service. Where one is refused,
    /// [`Service::notes`] says so and the service works without it.
    pub fn priorities(self, priorities: [u8; Level::COUNT]) -> Self {
        Self { priorities, ..self }
    }

    /// From which real-time priority of the arming thread on a timer that inherits it fires at level
    /// 1, 2 and 3; 1, 34 and 67 unless set. A thread without a real-time policy counts as 0, one at
    /// `SCHED_DEADLINE` as 100. What counts is what the C library knows of the thread: glibc does not
    /// notice a change from outside, as by `chrt`, after the first time.
    pub fn inherit_from(self, thresholds: [u8; Level::COUNT - 1]) -> Self {
        Self { thresholds, ..self }
    }

    /// From which duration on, ns, a callback counts as slow; 100 µs unless set.
    pub fn slow_after(self, slow_ns: u64) -> Self {
        Self { slow_ns, ..self }
    }

    /// Called after each slow callback, by the thread of its level, which fires nothing meanwhile.
    pub fn on_slow(self, hook: impl Fn(&Slow) + Send + Sync + 'static) -> Self {
        Self { on_slow: Some(Box::new(hook)), ..self }
    }

    /// The most, ns, that a level's thread stays awake before a precise timer. It learns how long
    /// wakeups take and does so for about that time; 50 µs unless set, 0: never.
    pub fn spin_at_most(self, spin_ns: u64) -> Self {
        Self { spin_ns, ..self }
    }

    /// Starts the threads, and returns when each is ready.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub fn start(self) -> Result<Service, StartError> {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        if !(1..=Free::SLOTS_MAX).contains(&self.timers) {
            return Err(StartError::Capacity { asked: self.timers, max: Free::SLOTS_MAX });
        }
        let mut desks = Vec::new();
        for level in Level::all() {
            let park = Park::new(self.clock).map_err(thread_error(level))?;
            desks.push(Desk { lane: Lane::new(self.timers), park, watch: Watch::default() });
        }
        let Ok(desks) = desks.try_into() else { unreachable!("one for each level") };
        let shared = Arc::new(Shared {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            clock: self.clock,
            desks,
            thresholds: self.thresholds,
            slow_ns: self.slow_ns,
            on_slow: self.on_slow,
            fork: forkguard::Guard::try_new()
                .map_err(|error| StartError::Fork(error.to_string()))?,
        });
        // Dropped on the way out of an error, it stops and joins what has been started.
        let mut service = Service {
            client: Client { shared: Arc::clone(&shared) },
            notes: Vec::new(),
            threads: Threads::default(),
        };
        for level in Level::all() {
            let (ready, notes) = mpsc::channel();
            let shared = Arc::clone(&shared);
            let priority = self.priorities[level.number() as usize];
            let thread = thread::Builder::new()
                .name(format!("tardy-timers/{}", level.number()))
                .spawn(move || {
                    // The other end waits for it.
                    let _ = ready.send(prepare(level, priority));
                    fire_all(&shared, level, self.spin_ns);
                })
                .map_err(thread_error(level))?;
            service.threads.0.push(thread);
            let notes: Vec<Note> =
                notes.recv().map_err(|gone| thread_error(level)(io::Error::other(gone)))?;
            service.notes.extend(notes);
        }
        Ok(service)
    }
}

fn thread_error(level: Level) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::Thread { level: level.number(), source }
}
