//! Threads' programs: what each operation is made of.

use super::futex::FUTEX;
use super::thread::{sleeper_of, timeout_of};
use super::{NOBODY, START_NS, Simulation, Step};
use crate::observer::{Observer, ThreadAt};
use crate::system::REPEAT_NS_MIN;
use crate::{Measured, Operation};
use tardy_model::event::{Call, SyscallEnter, SyscallExit};

/// A lock.
#[derive(Debug)]
pub(super) struct Lock {
    owner: ThreadAt,
    /// In the order of coming.
    waiters: Vec<ThreadAt>,
}

impl Lock {
    pub(super) const fn new() -> Self {
        Self { owner: NOBODY, waiters: Vec::new() }
    }
}

/// `clock_nanosleep` and `timerfd_settime` of x86-64.
const CLOCK_NANOSLEEP: u32 = 230;
const TIMERFD_SETTIME: u32 = 286;

/// `TIMER_ABSTIME`.
const ABSOLUTE: u16 = 1;

impl<O: Observer> Simulation<O> {
    fn current(&mut self, at: usize) -> &mut super::Thread {
        &mut self.threads[self.cpus[at].current as usize]
    }

    /// The current thread takes its next operation.
    pub(super) fn fetches(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let thread = &mut self.threads[me as usize];
        if thread.script.is_some() {
            thread.follows_script(self.now_ns);
        }
        if thread.at >= thread.program.len() {
            return self.program_is_over(at);
        }
        let planned = &mut thread.program[thread.at];
        thread.at += 1;
        let stream = &mut planned.stream;
        match &planned.operation {
            Operation::Run(cost) | Operation::Kernel(cost) => {
                let in_user = matches!(planned.operation, Operation::Run(_));
                let ns = cost.draw(stream);
                let cold_for_ns = self.machine.cold.for_ns;
                thread.run_ns = self.cpus[at].run_ns(self.now_ns, ns, cold_for_ns);
                thread.run_step = if in_user { Step::User } else { Step::Kernel };
                self.runs_on(at);
                if in_user {
                    self.returns_to_user(at, me);
                }
            }
            Operation::IrqsOff(cost) => {
                let ns = cost.draw(stream);
                self.go(at, Step::IrqsOff, ns);
            }
            Operation::PreemptOff(cost) => {
                let ns = cost.draw(stream);
                self.tell_preemption(at, true);
                self.go(at, Step::PreemptOff, ns);
            }
            Operation::Sleep(_)
            | Operation::SleepGrid { .. }
            | Operation::SleepUntil(_)
            | Operation::Rearm(_) => {
                self.calls(at);
            }
            Operation::Wake(other) => {
                let other = *other;
                let woken = &mut self.threads[other as usize];
                if woken.waits && woken.prepared {
                    self.wakes(at, other);
                } else {
                    woken.tokens = woken.tokens.saturating_add(1);
                    self.go(at, Step::Fetch, 0);
                }
            }
            Operation::Back => {
                let late_ns = self.now_ns.saturating_sub(thread.asks_ns);
                self.observer.late(self.now_ns, me, late_ns);
                self.go(at, Step::Fetch, 0);
            }
            Operation::Wait => {
                if thread.tokens > 0 {
                    thread.tokens -= 1;
                    return self.go(at, Step::Fetch, 0);
                }
                (thread.waits, thread.prepared) = (true, true);
                self.go(at, Step::GoesToSleep, 0);
            }
            Operation::PiLock(lock) => {
                let lock = *lock;
                self.pi_locks(at, lock);
            }
            Operation::PiUnlock(lock) => {
                let lock = *lock;
                self.pi_unlocks(at, lock);
            }
            Operation::Lock(lock) => {
                let lock = &mut self.locks[*lock as usize];
                if lock.owner == NOBODY {
                    lock.owner = me;
                    return self.go(at, Step::Fetch, 0);
                }
                lock.waiters.push(me);
                thread.prepared = true;
                self.go(at, Step::GoesToSleep, 0);
            }
            Operation::Unlock(lock) => {
                let lock = &mut self.locks[*lock as usize];
                if lock.owner != me {
                    return self.go(at, Step::Fetch, 0);
                }
                let threads = &self.threads;
                let prio = |waiter: &usize| threads[lock.waiters[*waiter] as usize].prio;
                let first = (0..lock.waiters.len()).min_by_key(prio);
                let Some(first) = first else {
                    lock.owner = NOBODY;
                    return self.go(at, Step::Fetch, 0);
                };
                let next = lock.waiters.remove(first);
                lock.owner = next;
                self.wakes(at, next);
            }
        }
    }

    /// The current thread begins again, or sleeps for ever.
    fn program_is_over(&mut self, at: usize) {
        let now_ns = self.now_ns;
        let thread = self.current(at);
        let begins_again = if thread.script.is_some() {
            thread.begins_script_again()
        } else if thread.repeat_from < thread.program.len() {
            thread.at = thread.repeat_from;
            true
        } else {
            false
        };
        if !begins_again {
            thread.prepared = true;
            return self.go(at, Step::GoesToSleep, 0);
        }
        let begins_ns = (thread.began_ns + REPEAT_NS_MIN).max(now_ns);
        thread.began_ns = begins_ns;
        self.go(at, Step::Fetch, begins_ns - now_ns);
    }

    pub(super) fn wakes(&mut self, at: usize, other: ThreadAt) {
        self.threads[other as usize].waits = false;
        let ns = self.tell_waking(at, other);
        self.current(at).wakes = other;
        self.go(at, Step::WakesOther, ns);
    }

    pub(super) fn woke_other(&mut self, at: usize) {
        let other = self.current(at).wakes;
        if self.enqueues_and_sends(at, other, Step::WakesOther) {
            return;
        }
        let me = self.current(at);
        if me.runs_softirqs {
            return self.softirq_begins(at);
        }
        if me.stage.is_some() {
            return self.futex_goes_on(at);
        }
        self.go(at, Step::Fetch, 0);
    }

    /// Runs on up to the next section in it, or to its end.
    fn runs_on(&mut self, at: usize) {
        let thread = self.current(at);
        if thread.run_ns == 0 {
            return self.go(at, Step::Fetch, 0);
        }
        let until_section = thread.strewn.iter().map(|strewn| strewn.left_ns).min();
        let ns = until_section.map_or(thread.run_ns, |left_ns| left_ns.min(thread.run_ns));
        thread.run_ns -= ns;
        for strewn in &mut thread.strewn {
            strewn.left_ns -= ns;
        }
        let step = thread.run_step;
        self.go(at, step, ns);
    }

    /// A run comes to a section, or to its end.
    pub(super) fn ran(&mut self, at: usize) {
        let thread = self.current(at);
        let Some(strewn) = thread.strewn.iter_mut().find(|strewn| strewn.left_ns == 0) else {
            return self.runs_on(at);
        };
        let length_ns = strewn.sections.length.draw(&mut strewn.stream);
        strewn.left_ns = strewn.sections.every.draw(&mut strewn.stream).max(1);
        let step = strewn.step;
        if step == Step::PreemptOff {
            self.tell_preemption(at, true);
        }
        self.go(at, step, length_ns);
    }

    pub(super) fn section_ends(&mut self, at: usize) {
        if self.cpus[at].top().step == Step::PreemptOff {
            self.tell_preemption(at, false);
        }
        // Of a section that is an operation nothing is left to run.
        self.runs_on(at);
    }

    /// The current thread enters a system call for its operation.
    fn calls(&mut self, at: usize) {
        if O::EVENTS {
            let thread = self.current(at);
            let planned = &thread.program[thread.at - 1];
            let (call, number, op) = match planned.operation {
                Operation::SleepGrid { .. } => (Call::ClockNanosleep, CLOCK_NANOSLEEP, ABSOLUTE),
                Operation::Rearm(_) => (Call::Timerfd, TIMERFD_SETTIME, 0),
                _ => (Call::ClockNanosleep, CLOCK_NANOSLEEP, 0),
            };
            self.event(at, SyscallEnter { call, number, op, value: 0, argument: 0 });
        }
        let now_ns = self.now_ns;
        let thread = &mut self.threads[self.cpus[at].current as usize];
        thread.called_ns = now_ns;
        let ns = self.machine.syscall_entry.draw(&mut thread.streams.entry);
        self.go(at, Step::SyscallEntry, ns);
    }

    /// The call's work: when the timer is to fire.
    pub(super) fn syscall_entered(&mut self, at: usize) {
        if self.current(at).stage.is_some() {
            return self.takes_bucket(at);
        }
        let now_ns = self.now_ns;
        let queue_operation = &self.machine.queue_operation;
        let thread = &mut self.threads[self.cpus[at].current as usize];
        let planned = &mut thread.program[thread.at - 1];
        thread.asks_ns = match &planned.operation {
            Operation::Sleep(cost) | Operation::Rearm(cost) => {
                now_ns + cost.draw(&mut planned.stream)
            }
            Operation::SleepUntil(ns) => START_NS + ns,
            Operation::SleepGrid { period_ns, phase, from_ns } => {
                planned.next_ns = match planned.next_ns {
                    0 => now_ns.max(START_NS + *from_ns) + phase.draw(&mut planned.stream),
                    last_ns => last_ns + period_ns,
                };
                planned.next_ns
            }
            _ => now_ns,
        };
        let ns = queue_operation.draw(&mut thread.streams.queue);
        self.go(at, Step::Arming, ns);
    }

    pub(super) fn arms(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let thread = &mut self.threads[me as usize];
        let sleeps = !matches!(thread.program[thread.at - 1].operation, Operation::Rearm(_));
        let slack_ns = if thread.timer_priority() > 0 { 0 } else { thread.slack_ns };
        let asks_ns = thread.asks_ns;
        thread.prepared = sleeps;
        let timer = if sleeps { sleeper_of(me) } else { timeout_of(me) };
        let writes = self.arm(at, timer, asks_ns, slack_ns);
        if writes > 0 {
            let ns = self.programming_ns(at, writes);
            return self.go(at, Step::Program, ns);
        }
        self.goes_to_sleep(at);
    }

    /// The timer is armed: a sleep begins, anything else is done.
    pub(super) fn goes_to_sleep(&mut self, at: usize) {
        let thread = &mut self.threads[self.cpus[at].current as usize];
        if matches!(thread.program[thread.at - 1].operation, Operation::Rearm(_)) {
            let ns = self.machine.syscall_exit.draw(&mut thread.streams.exit);
            return self.go(at, Step::SyscallExit, ns);
        }
        self.go(at, Step::GoesToSleep, 0);
    }

    /// The scheduler is called to sleep; who was woken before goes on instead.
    pub(super) fn sleeps(&mut self, at: usize) {
        let thread = self.current(at);
        if thread.prepared {
            return self.schedules(at, true);
        }
        if thread.stage.is_some() {
            return self.futex_woken(at);
        }
        let last = thread.at.checked_sub(1).and_then(|last| thread.program.get(last));
        let in_call = last.is_some_and(|planned| {
            matches!(
                planned.operation,
                Operation::Sleep(_) | Operation::SleepGrid { .. } | Operation::SleepUntil(_)
            )
        });
        if in_call {
            if self.waits_for_callback(at) {
                return;
            }
            let thread = &mut self.threads[self.cpus[at].current as usize];
            let stream = &mut thread.streams.exit;
            let ns = self.machine.syscall_exit.draw(stream) + thread.returns.draw(stream);
            return self.go(at, Step::SyscallExit, ns);
        }
        self.go(at, Step::Fetch, 0);
    }

    pub(super) fn syscall_left(&mut self, at: usize) {
        let me = self.cpus[at].current;
        let thread = &self.threads[me as usize];
        let locks = thread.measured == Measured::Locks;
        let (number, is_measured) = match thread.program[thread.at - 1].operation {
            Operation::Rearm(_) => (TIMERFD_SETTIME, false),
            Operation::PiLock(_) => (FUTEX, locks),
            Operation::PiUnlock(_) => (FUTEX, false),
            _ => (CLOCK_NANOSLEEP, !locks),
        };
        let since_ns = match thread.measured {
            Measured::Lateness => thread.asks_ns,
            Measured::Sleeps | Measured::Locks => thread.called_ns,
        };
        self.threads[me as usize].stage = None;
        self.event(at, SyscallExit { number, result: 0 });
        if is_measured && self.threads[me as usize].script.is_none() {
            self.observer.late(self.now_ns, me, self.now_ns.saturating_sub(since_ns));
        }
        self.go(at, Step::Fetch, 0);
        self.returns_to_user(at, me);
    }
}
