//! Locks with priority inheritance (`FUTEX_LOCK_PI`, `kernel/futex/pi.c`), and the lock inside the kernel that
//! protects each while it is taken and given (the hash bucket's), which on `PREEMPT_RT` sleeps and inherits too.
//!
//! Who gives a lock up whom others wait for wakes the first of them and loses its priority. The old kernel does
//! both with the bucket's lock held: preempted there, at its own priority again, it holds up the very thread
//! that it has just woken, which needs the bucket's lock to get out of its call and has to lend its priority
//! once more. The new one (since 4.11 and 4.14: `futex_unlock_pi`, `rt_mutex_postunlock`) lets the bucket go
//! first, and wakes and falls back without being preempted between.
//!
//! Left out: inheritance of nice values and deadlines, time-outs, and buckets that several locks share.

use super::{NOBODY, Simulation, Step};
use crate::observer::{Observer, ThreadAt};
use crate::sched::{class_of, prio_of};
use crate::{Measured, Operation, Rtmutex};
use tardy_model::Prio;
use tardy_model::event::{Call, SyscallEnter, TaskState, futex};

/// Whom a chain of waiting threads is followed through: deeper ones are not boosted, as in the kernel
/// (`max_lock_depth`, which is 1024 there).
const CHAIN_MAX: u32 = 64;

/// `futex` of x86-64.
pub(super) const FUTEX: u32 = 202;

/// Where the first futex is; each has a cache line.
const FIRST_ADDRESS: u64 = 0x7f00_0000_1000;

/// Somebody has it, and others wait.
#[derive(Debug)]
pub(super) struct Waited {
    pub(super) owner: ThreadAt,
    /// In the order of coming.
    pub(super) waiters: Vec<ThreadAt>,
}

impl Waited {
    pub(super) const fn new() -> Self {
        Self { owner: NOBODY, waiters: Vec::new() }
    }
}

/// A lock, and its hash bucket's.
#[derive(Debug)]
pub(super) struct PiLock {
    user: Waited,
    bucket: Waited,
}

impl PiLock {
    pub(super) const fn new() -> Self {
        Self { user: Waited::new(), bucket: Waited::new() }
    }
}

/// Where a thread is in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Takes the bucket's lock to enter itself among those who wait.
    Queues,
    /// Waits for the lock.
    Waits,
    /// Has got the lock, and takes the bucket's to leave.
    Leaves,
    /// Takes the bucket's to give the lock up.
    GivesUp,
    /// Has given it up, and still has the bucket's lock; of the new kernel, no more.
    GaveUp,
    /// Is done.
    Returns,
}

impl<O: Observer> Simulation<O> {
    fn pi_lock_of(&self, thread: ThreadAt) -> Option<u32> {
        let thread = &self.threads[thread as usize];
        let last = thread.at.checked_sub(1)?;
        match thread.program.get(last)?.operation {
            Operation::PiLock(lock) | Operation::PiUnlock(lock) => Some(lock),
            _ => None,
        }
    }

    fn pi_lock(&mut self, lock: u32) -> &mut PiLock {
        &mut self.pi_locks[lock as usize]
    }

    /// The current thread wants a lock: at once, or by a call.
    pub(super) fn pi_locks(&mut self, at: usize, lock: u32) {
        let me = self.cpus[at].current;
        let user = &mut self.pi_lock(lock).user;
        if user.owner == NOBODY {
            user.owner = me;
            if self.threads[me as usize].measured == Measured::Locks {
                self.observer.late(self.now_ns, me, 0);
            }
            return self.go(at, Step::Fetch, 0);
        }
        self.threads[me as usize].called_ns = self.now_ns;
        self.lock_calls += 1;
        self.pi_calls(at, lock, futex::LOCK_PI, Stage::Queues);
    }

    /// The current thread gives a lock up.
    pub(super) fn pi_unlocks(&mut self, at: usize, lock: u32) {
        let me = self.cpus[at].current;
        let bucket_free = self.pi_lock(lock).bucket.owner == NOBODY;
        let user = &mut self.pi_lock(lock).user;
        if user.owner != me {
            return self.go(at, Step::Fetch, 0);
        }
        if user.waiters.is_empty() && bucket_free {
            user.owner = NOBODY;
            return self.go(at, Step::Fetch, 0);
        }
        self.pi_calls(at, lock, futex::UNLOCK_PI, Stage::GivesUp);
    }

    fn pi_calls(&mut self, at: usize, lock: u32, op: u16, stage: Stage) {
        let argument = FIRST_ADDRESS + u64::from(lock) * 64;
        self.event(at, SyscallEnter { call: Call::Futex, number: FUTEX, op, value: 0, argument });
        let thread = &mut self.threads[self.cpus[at].current as usize];
        thread.stage = Some(stage);
        let ns = self.machine.syscall_entry.draw(&mut thread.streams.entry);
        self.go(at, Step::SyscallEntry, ns);
    }

    /// Takes the bucket's lock, or sleeps for it.
    pub(super) fn takes_bucket(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let Some(lock) = self.pi_lock_of(me) else { return self.go(at, Step::Fetch, 0) };
        let bucket = &mut self.pi_lock(lock).bucket;
        if bucket.owner == NOBODY {
            bucket.owner = me;
        }
        if bucket.owner == me {
            return self.futex_works(at);
        }
        bucket.waiters.push(me);
        let owner = bucket.owner;
        let thread = &mut self.threads[me as usize];
        (thread.prepared, thread.sleep_state) = (true, TaskState::RtLock);
        self.adjusts(at, owner, CHAIN_MAX);
        self.go(at, Step::GoesToSleep, 0);
    }

    fn futex_works(&mut self, at: usize) {
        let thread = &mut self.threads[self.cpus[at].current as usize];
        let ns = self.machine.futex.draw(&mut thread.streams.futex);
        self.go(at, Step::Futex, ns);
    }

    /// The work under the bucket's lock is done.
    pub(super) fn futex_worked(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let Some(lock) = self.pi_lock_of(me) else { return self.go(at, Step::Fetch, 0) };
        let old = self.kernel.rtmutex == Rtmutex::Old;
        match self.threads[me as usize].stage {
            Some(Stage::Queues) => {
                let user = &mut self.pi_lock(lock).user;
                if user.owner == NOBODY {
                    user.owner = me;
                    self.threads[me as usize].stage = Some(Stage::Returns);
                } else {
                    user.waiters.push(me);
                    let owner = user.owner;
                    let thread = &mut self.threads[me as usize];
                    thread.stage = Some(Stage::Waits);
                    // From here on the owner may wake it.
                    thread.prepared = true;
                    self.adjusts(at, owner, CHAIN_MAX);
                }
                self.gives_bucket(at, lock);
            }
            Some(Stage::Leaves | Stage::GaveUp) => {
                self.threads[me as usize].stage = Some(Stage::Returns);
                self.gives_bucket(at, lock);
            }
            Some(Stage::GivesUp) if old => self.hands_over(at, lock),
            Some(Stage::GivesUp) => {
                self.threads[me as usize].stage = Some(Stage::GaveUp);
                self.gives_bucket(at, lock);
            }
            Some(Stage::Waits | Stage::Returns) | None => self.futex_goes_on(at),
        }
    }

    /// The lock goes to the first who waits at the highest priority, which is woken.
    fn hands_over(&mut self, at: usize, lock: u32) {
        let me = self.cpus[at].current;
        self.threads[me as usize].stage = Some(Stage::GaveUp);
        let next = self.first_waiter(&self.pi_locks[lock as usize].user);
        let user = &mut self.pi_lock(lock).user;
        let Some(next) = next.map(|first| user.waiters.remove(first)) else {
            user.owner = NOBODY;
            return self.futex_goes_on(at);
        };
        user.owner = next;
        self.threads[next as usize].stage = Some(Stage::Leaves);
        self.wakes(at, next);
    }

    fn first_waiter(&self, waited: &Waited) -> Option<usize> {
        let prio = |at: &usize| self.threads[waited.waiters[*at] as usize].prio;
        (0..waited.waiters.len()).min_by_key(prio)
    }

    /// Lets the bucket's lock go, to whoever sleeps for it.
    fn gives_bucket(&mut self, at: usize, lock: u32) {
        let me = self.cpus[at].current;
        let next = self.first_waiter(&self.pi_locks[lock as usize].bucket);
        let bucket = &mut self.pi_lock(lock).bucket;
        let next = next.map(|first| bucket.waiters.remove(first));
        bucket.owner = next.unwrap_or(NOBODY);
        self.adjusts(at, me, CHAIN_MAX);
        match next {
            Some(next) => self.wakes(at, next),
            None => self.futex_goes_on(at),
        }
    }

    /// After somebody was woken, or nobody had to be.
    pub(super) fn futex_goes_on(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let old = self.kernel.rtmutex == Rtmutex::Old;
        let Some(lock) = self.pi_lock_of(me) else { return self.go(at, Step::Fetch, 0) };
        let has_bucket = self.pi_lock(lock).bucket.owner == me;
        let has_lock = self.pi_lock(lock).user.owner == me;
        match self.threads[me as usize].stage {
            Some(Stage::Waits) => self.go(at, Step::GoesToSleep, 0),
            Some(Stage::GaveUp) if old && has_bucket => {
                self.adjusts(at, me, CHAIN_MAX);
                self.futex_works(at);
            }
            // The new kernel has let the bucket go, and comes to the wakeup now, or has it behind it.
            Some(Stage::GaveUp) if has_lock => self.hands_over(at, lock),
            Some(Stage::GaveUp) => {
                self.adjusts(at, me, CHAIN_MAX);
                self.threads[me as usize].stage = Some(Stage::Returns);
                self.futex_goes_on(at);
            }
            _ => {
                let thread = &mut self.threads[me as usize];
                let ns = self.machine.syscall_exit.draw(&mut thread.streams.exit);
                self.go(at, Step::SyscallExit, ns);
            }
        }
    }

    /// A thread in a call for a lock was woken.
    pub(super) fn futex_woken(&mut self, at: usize) {
        self.threads[self.cpus[at].current as usize].sleep_state = TaskState::Interruptible;
        self.takes_bucket(at);
    }

    /// Gives a thread the priority that it has by itself and by those who wait for it, and follows what it
    /// waits for itself.
    fn adjusts(&mut self, at: usize, thread: ThreadAt, depth: u32) {
        let own = prio_of(self.threads[thread as usize].policy);
        let waited = self.pi_locks.iter().flat_map(|lock| [&lock.user, &lock.bucket]);
        let owned = waited.filter(|waited| waited.owner == thread);
        let lent = owned.flat_map(|waited| &waited.waiters);
        let lent = lent.map(|waiter| self.threads[*waiter as usize].prio).min();
        // A deadline is not lent; its priority is that of the first of real-time threads.
        let lent = lent.filter(|prio| prio.is_realtime()).map(|prio| prio.max(Prio(0)));
        let prio = lent.map_or(own, |lent| lent.min(own));
        if prio == self.threads[thread as usize].prio {
            return;
        }
        let boosted = &self.threads[thread as usize];
        if prio < boosted.prio {
            self.boosts += 1;
            let fell_back = boosted.stage == Some(Stage::GaveUp) && boosted.prio == own;
            self.double_boosts += u64::from(fell_back);
        }
        self.sets_priority(at, thread, class_of(prio), prio);
        let Some(depth) = depth.checked_sub(1) else { return };
        let next = {
            let waits = |waited: &&Waited| waited.waiters.contains(&thread);
            let mut all = self.pi_locks.iter().flat_map(|lock| [&lock.user, &lock.bucket]);
            all.find(waits).map(|waited| waited.owner)
        };
        if let Some(next) = next.filter(|next| *next != NOBODY) {
            self.adjusts(at, next, depth);
        }
    }
}
