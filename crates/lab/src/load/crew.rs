//! The threads of a load: made together, counted, told to stop, joined.

use super::{LoadError, RunningLoad, Work};
use crate::Policy;
use crate::sched::{Budget, set_current};
use rustix::thread::gettid;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// These threads call little and not deeply; where memory is locked, their stacks are memory.
const STACK_BYTES: usize = 128 << 10;

/// A thread that is to be made.
pub(super) struct Post {
    /// Its name, of which the kernel keeps 15 bytes.
    pub(super) name: String,
    /// What it counts, if anything.
    pub(super) unit: Option<&'static str>,
    /// What it does, from its beginning to its end. It calls [`Duty::begin`] when all that it needs is
    /// there; an error before that keeps the load from starting.
    pub(super) work: Body,
}

/// A thread, from its beginning to its end.
pub(super) type Body = Box<dyn FnOnce(&mut Duty) -> io::Result<()> + Send>;

/// A thread's side: whether it goes on, and what it has done.
pub(super) struct Duty {
    stop: Arc<AtomicBool>,
    count: Arc<Count>,
    ready: Option<Sender<Result<u32, LoadError>>>,
}

impl Duty {
    /// Says that all is there. To be called once.
    pub(super) fn begin(&mut self) {
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Ok(gettid().as_raw_nonzero().get().cast_unsigned()));
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    pub(super) fn did(&self, count: u64) {
        // One thread writes.
        self.count.0.store(self.count.0.load(Relaxed) + count, Relaxed);
    }
}

/// A counter with a cache line to itself.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

struct Member {
    unit: Option<&'static str>,
    count: Arc<Count>,
    join: JoinHandle<()>,
}

/// Threads that run. Dropped, they are told to stop and joined; who lets them wait for something
/// else than time wakes them after [`Crew::tell_to_stop`].
pub(super) struct Crew {
    stop: Arc<AtomicBool>,
    tids: Vec<u32>,
    members: Vec<Member>,
    /// Of threads that ended while they should have gone on.
    errors: Arc<Mutex<Vec<String>>>,
}

impl Crew {
    /// Makes all the threads of `load`, under `SCHED_FIFO` at `fifo_prio` or else the default policy,
    /// and waits until each has begun.
    pub(super) fn start(
        load: &str,
        fifo_prio: Option<u8>,
        posts: Vec<Post>,
    ) -> Result<Self, LoadError> {
        let errors = Arc::default();
        let mut crew = Self { stop: Arc::default(), tids: vec![], members: vec![], errors };
        let (ready_sender, ready) = channel();
        let count = posts.len();
        for (index, Post { name, unit, work }) in posts.into_iter().enumerate() {
            let mut duty = Duty {
                stop: Arc::clone(&crew.stop),
                count: Arc::default(),
                ready: Some(ready_sender.clone()),
            };
            let (its_count, errors) = (Arc::clone(&duty.count), Arc::clone(&crew.errors));
            let of = load.to_owned();
            let join = std::thread::Builder::new()
                .name(name)
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    let result = take_policy(&of, fifo_prio).and_then(|()| {
                        let failed = |source| LoadError::Thread { load: of, source };
                        work(&mut duty).map_err(failed)
                    });
                    let Err(error) = result else { return };
                    if let Some(ready) = duty.ready.take() {
                        let _ = ready.send(Err(error));
                    } else if duty.goes_on() {
                        errors
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(error.to_string());
                    }
                })
                .map_err(|source| {
                    let load = load.to_owned();
                    // Those that were made wait for nothing that would not come.
                    LoadError::Spawn { load, index, count, source }
                })?;
            crew.members.push(Member { unit, count: its_count, join });
        }
        drop(ready_sender);
        for tid in ready {
            crew.tids.push(tid?);
        }
        crew.tids.sort_unstable();
        Ok(crew)
    }

    pub(super) fn tell_to_stop(&self) {
        self.stop.store(true, Relaxed);
    }
}

impl RunningLoad for Crew {
    fn tids(&self) -> Vec<u32> {
        self.tids.clone()
    }

    /// What all have done, by unit, in the order in which they were made.
    fn work(&self) -> Vec<Work> {
        let mut work = vec![];
        for Member { unit, count, .. } in &self.members {
            if let Some(unit) = unit {
                add(&mut work, unit, count.0.load(Relaxed));
            }
        }
        work
    }

    fn notes(&self) -> Vec<String> {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        // They tend to end for one reason.
        let note =
            |first| format!("{} of its threads ended early; the first: {first}", errors.len());
        errors.first().map(note).into_iter().collect()
    }
}

/// Adds to what was counted in `unit`.
pub(super) fn add(work: &mut Vec<Work>, unit: &'static str, count: u64) {
    match work.iter_mut().find(|work| work.unit == unit) {
        Some(work) => work.count += count,
        None => work.push(Work { unit, count }),
    }
}

/// Also without `fifo`: a thread inherits the policy of the one that made it.
fn take_policy(load: &str, fifo_prio: Option<u8>) -> Result<(), LoadError> {
    let policy = if fifo_prio.is_some() { Policy::Fifo } else { Policy::Other };
    let prio = fifo_prio.unwrap_or_default();
    set_current(policy, prio, Budget { runtime_ns: 0, period_ns: 0 })
        .map_err(|source| LoadError::Policy { load: load.to_owned(), prio, source })
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.tell_to_stop();
        for member in self.members.drain(..) {
            // What it had to report it has counted.
            let _ = member.join.join();
        }
    }
}
