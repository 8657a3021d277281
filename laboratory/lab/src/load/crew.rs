//! The threads of a load: made together, counted, told to stop, joined.

use super::{LoadError, RunningLoad, Work};
use crate::sched::{set_fifo, set_other, tid};
use rustix::process::setpriority_process;
use std::fmt::Display;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// These threads call little and not deeply; where memory is locked, their stacks are memory.
const STACK_BYTES: usize = 64 << 10;

/// How threads are scheduled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rank {
    /// Under `SCHED_FIFO` at this priority instead of `SCHED_OTHER`.
    pub(super) fifo_prio: Option<u8>,
    /// Another nice value than the one inherited.
    pub(super) nice: Option<i32>,
}

impl Rank {
    pub(super) fn of(fifo_prio: Option<u8>) -> Self {
        Self { fifo_prio, nice: None }
    }

    /// Takes the rank for the calling thread. Without FIFO too there is something to do: a thread
    /// inherits the policy of the one that made it.
    fn take(self, load: &str) -> Result<(), LoadError> {
        let prio = self.fifo_prio.unwrap_or_default();
        self.fifo_prio.map_or_else(set_other, set_fifo).map_err(|source| LoadError::Policy {
            load: load.to_owned(),
            prio,
            source,
        })?;
        let Some(nice) = self.nice else { return Ok(()) };
        // Linux takes this for the calling thread alone.
        setpriority_process(None, nice).map_err(|errno| LoadError::Nice {
            load: load.to_owned(),
            nice,
            source: errno.into(),
        })
    }
}

/// A thread that is to be made.
pub(super) struct Post {
    /// Its name, of which the kernel keeps 15 bytes.
    name: String,
    /// What it counts, if anything.
    units: &'static [&'static str],
    work: Body,
}

type Body = Box<dyn FnOnce(&mut Duty) -> io::Result<()> + Send>;

impl Post {
    /// `work` is what it does, from its beginning to its end. It calls [`Duty::begin`] when all that it
    /// needs is there; an error before that keeps the load from starting.
    pub(super) fn new(
        name: String,
        units: &'static [&'static str],
        work: impl FnOnce(&mut Duty) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self { name, units, work: Box::new(work) }
    }
}

/// A thread's side: whether it goes on, and what it has done.
pub(super) struct Duty {
    stop: Arc<AtomicBool>,
    counts: Arc<[Count]>,
    ready: Option<Sender<Result<u32, LoadError>>>,
}

impl Duty {
    /// Says that all is there. To be called once.
    pub(super) fn begin(&mut self) {
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Ok(tid()));
        }
    }

    /// False once it is told to stop.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Ends the whole crew.
    pub(super) fn end_all(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Counts so much more of its first unit.
    pub(super) fn did(&self, more: u64) {
        self.did_of(0, more);
    }

    /// The same of another one, by its place among the units.
    pub(super) fn did_of(&self, unit: usize, more: u64) {
        let count = &self.counts[unit].0;
        // One thread writes.
        count.store(count.load(Relaxed) + more, Relaxed);
    }
}

/// A counter with a cache line to itself.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

struct Member {
    units: &'static [&'static str],
    counts: Arc<[Count]>,
    join: JoinHandle<()>,
}

/// Threads that run. Dropped, they are told to stop and joined.
pub(super) struct Crew {
    stop: Arc<AtomicBool>,
    /// Wakes those that wait for something else than time, once they are told to stop.
    wake: Box<dyn Fn() + Send>,
    tids: Vec<u32>,
    members: Vec<Member>,
    /// Of threads that ended while they should have gone on.
    errors: Arc<Mutex<Vec<String>>>,
}

impl Crew {
    /// Makes all the threads of `load` and waits until each has its rank and has begun.
    pub(super) fn start(
        load: &dyn Display,
        rank: Rank,
        posts: impl IntoIterator<Item = Post>,
    ) -> Result<Self, LoadError> {
        Self::start_woken_by(load, rank, posts, || {})
    }

    /// The same where they wait for something else than time: `wake` ends that, whether or not all of
    /// them have begun.
    pub(super) fn start_woken_by(
        load: &dyn Display,
        rank: Rank,
        posts: impl IntoIterator<Item = Post>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, LoadError> {
        let mut crew = Self {
            stop: Arc::default(),
            wake: Box::new(wake),
            tids: vec![],
            members: vec![],
            errors: Arc::default(),
        };
        let load = load.to_string();
        let (ready_sender, ready) = channel();
        let posts: Vec<_> = posts.into_iter().collect();
        let count = posts.len();
        for (index, Post { name, units, work }) in posts.into_iter().enumerate() {
            let counts: Arc<[Count]> = units.iter().map(|_| Count::default()).collect();
            let mut duty = Duty {
                stop: Arc::clone(&crew.stop),
                counts: Arc::clone(&counts),
                ready: Some(ready_sender.clone()),
            };
            let errors = Arc::clone(&crew.errors);
            let of = load.clone();
            let join = std::thread::Builder::new()
                .name(name)
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    let result = rank.take(&of).and_then(|()| {
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
                .map_err(|source| LoadError::Spawn { load: load.clone(), index, count, source })?;
            crew.members.push(Member { units, counts, join });
        }
        drop(ready_sender);
        for tid in ready {
            crew.tids.push(tid?);
        }
        crew.tids.sort_unstable();
        Ok(crew)
    }

    /// Waits until all of them have ended by themselves.
    pub(super) fn wait(mut self) {
        self.join();
    }

    /// Whether any of them has not ended.
    #[cfg(test)]
    pub(super) fn is_working(&self) -> bool {
        self.members.iter().any(|member| !member.join.is_finished())
    }

    fn join(&mut self) {
        for member in self.members.drain(..) {
            // What it had to report it has counted.
            let _ = member.join.join();
        }
    }
}

impl RunningLoad for Crew {
    fn tids(&self) -> Vec<u32> {
        self.tids.clone()
    }

    /// What all have done, by unit, in the order in which they were made.
    fn work(&self) -> Vec<Work> {
        let mut work = vec![];
        for Member { units, counts, .. } in &self.members {
            for (unit, count) in units.iter().zip(&**counts) {
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

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        (self.wake)();
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    fn starts(posts: Vec<Post>) -> Result<Crew, LoadError> {
        Crew::start(&"some", Rank::default(), posts)
    }

    /// A thread that does nothing until the other end is closed.
    fn waits(name: &str, open: Receiver<()>) -> Post {
        Post::new(name.to_owned(), &[], move |duty| {
            duty.begin();
            let _ = open.recv();
            Ok(())
        })
    }

    #[test]
    fn what_they_have_done_is_told_by_unit() {
        let post = |name: &str, units, done: [u64; 2]| {
            Post::new(name.to_owned(), units, move |duty| {
                duty.did(done[0]);
                duty.did_of(1, done[1]);
                duty.begin();
                Ok(())
            })
        };
        let posts =
            vec![post("a", &["sent", "lost"], [5, 1]), post("b", &["taken", "lost"], [4, 2])];
        let crew = starts(posts).unwrap();
        assert_eq!(crew.tids().len(), 2);
        let work = [("sent", 5), ("lost", 3), ("taken", 4)];
        assert_eq!(crew.work(), work.map(|(unit, count)| Work { unit, count }));
        assert_eq!(crew.notes(), [""; 0]);
        crew.wait();
    }

    #[test]
    fn one_that_cannot_begin_ends_those_that_wait() {
        let (close, open) = channel();
        let close = Mutex::new(Some(close));
        let wake = move || drop(close.lock().unwrap().take());
        let fails = Post::new("fails".to_owned(), &[], |_| Err(io::Error::other("no room")));
        let posts = [waits("waits", open), fails];
        let refused = Crew::start_woken_by(&"some", Rank::default(), posts, wake);
        assert_eq!(refused.err().unwrap().to_string(), "some: no room");
    }

    #[test]
    fn an_error_later_is_a_note_unless_all_were_to_end() {
        for (is_over, notes) in [(false, 1), (true, 0)] {
            let crew = starts(vec![Post::new("later".to_owned(), &[], move |duty| {
                duty.begin();
                if is_over {
                    duty.end_all();
                }
                Err(io::Error::other("no room"))
            })]);
            let crew = crew.unwrap();
            while crew.is_working() {
                std::thread::yield_now();
            }
            assert_eq!(crew.notes().len(), notes);
            let note = "1 of its threads ended early; the first: some: no room";
            assert!(crew.notes().iter().all(|said| said == note), "{:?}", crew.notes());
        }
    }
}
