//! Softirqs: raised in interrupts, run at their end or in threads.

use super::cpu::{COMMON, Raise, TOP_HALF};
use super::tell::Softirq;
use super::thread::sleeper_of;
use super::{Frame, NOBODY, Simulation, Step};
use crate::observer::{HRTIMER, NET_RX, Observer, ThreadAt};
use crate::sched::{class_of, prio_of};
use tardy_model::event::TaskState;
use tardy_timers::policy::Context;

/// The place of a policy's context; `None` of the interrupt.
pub(super) const fn context_at(context: Context) -> Option<u8> {
    match context {
        Context::HardIrq => None,
        Context::CommonSoftirq => Some(COMMON),
        // A policy has up to four.
        Context::TimerThread(number) => Some(1 + (number & 3)),
        Context::TopHalf => Some(TOP_HALF),
    }
}

pub(super) const fn policy_context(at: u8) -> Context {
    match at {
        COMMON => Context::CommonSoftirq,
        TOP_HALF => Context::TopHalf,
        at => Context::TimerThread(at - 1),
    }
}

impl<O: Observer> Simulation<O> {
    /// Raises the softirqs of all contexts that have got something to do. One that runs takes it along. Says
    /// how long the interrupt takes to give threads other priorities for that.
    pub(super) fn raises(&mut self, at: usize) -> u64 {
        let mut moving_ns = 0;
        let runnables = self.cpus[at].timers.runnable();
        for runnable in runnables.iter() {
            let Some(context) = context_at(runnable.context) else { continue };
            let cpu = &mut self.cpus[at];
            let (arrival_ns, entry_ns) = cpu.interrupt_times();
            let served = &mut cpu.contexts[usize::from(context)];
            let thread = served.thread;
            if served.raised.is_none() && served.runs.is_none() {
                let (time_ns, put_off) = (self.now_ns, cpu.was_put_off);
                served.raised = Some(Raise { time_ns, entry_ns, arrival_ns, put_off });
                served.wakes = thread != NOBODY;
                self.tell_softirq(at, HRTIMER, Softirq::Raise);
            }
            if thread != NOBODY && self.follows_timers {
                moving_ns += self.follows(at, thread, runnable.priority, false);
            }
        }
        moving_ns
    }

    /// The next thread that is to be woken for softirqs, if one is. Where one has been broken into, that is
    /// timers' own alone (`__irq_exit_rcu`).
    pub(super) fn softirq_thread(&mut self, at: usize, in_softirq: bool) -> Option<ThreadAt> {
        let cpu = &mut self.cpus[at];
        let ksoftirqd = cpu.ksoftirqd;
        if cpu.net_raised && ksoftirqd != NOBODY && !in_softirq {
            let thread = &self.threads[cpu.ksoftirqd as usize];
            if thread.prepared {
                return Some(cpu.ksoftirqd);
            }
        }
        for context in &mut cpu.contexts {
            if in_softirq && context.thread == ksoftirqd {
                continue;
            }
            if std::mem::take(&mut context.wakes) && self.threads[context.thread as usize].prepared
            {
                return Some(context.thread);
            }
        }
        None
    }

    /// Whether softirqs run that this interrupt has broken into: no others begin at its end, they see to that
    /// themselves.
    pub(super) fn in_softirq(&self, at: usize) -> bool {
        let cpu = &self.cpus[at];
        let in_thread = matches!(
            cpu.frame(0).step,
            Step::SoftirqEntry
                | Step::NetRx
                | Step::Dequeue
                | Step::Callback
                | Step::CallbackEnd
                | Step::CallbackWakes
                | Step::Moving
                | Step::Waiting
                | Step::SoftirqProgram
        );
        in_thread
            || cpu.depth > 2 && cpu.below[1..cpu.depth - 1].iter().any(|frame| frame.entry_ns == 0)
    }

    /// Whether softirqs are to run at the end of this interrupt.
    pub(super) fn has_tail(&self, at: usize) -> bool {
        let cpu = &self.cpus[at];
        let common = &cpu.contexts[usize::from(COMMON)];
        let net = cpu.net_raised && cpu.ksoftirqd == NOBODY;
        net || common.thread == NOBODY && common.raised.is_some()
    }

    pub(super) fn tail_begins(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let ns = self.machine.softirq_entry.draw(&mut cpu.streams.softirq);
        let ns = cpu.paced(self.now_ns, ns);
        cpu.push(Frame::new(Step::SoftirqEntry, self.now_ns + ns), self.now_ns);
    }

    /// Softirqs may run: the first that is raised begins.
    pub(super) fn softirq_begins(&mut self, at: usize) {
        let now_ns = self.now_ns;
        let in_thread = self.cpus[at].depth == 1;
        let serves = if in_thread {
            self.threads[self.cpus[at].current as usize].serves.unwrap_or(COMMON)
        } else {
            COMMON
        };
        let cpu = &mut self.cpus[at];
        let takes_net =
            if in_thread { cpu.ksoftirqd == cpu.current } else { cpu.ksoftirqd == NOBODY };
        if takes_net && cpu.net_raised {
            cpu.net_raised = false;
            let ns = std::mem::take(&mut cpu.net_ns);
            self.tell_softirq_begin(at, NET_RX, in_thread);
            return self.go(at, Step::NetRx, ns);
        }
        let thread = if in_thread { cpu.current } else { NOBODY };
        let has_lock = in_thread && self.threads[thread as usize].has_softirq_lock;
        let context = &mut cpu.contexts[usize::from(serves)];
        if (context.thread == thread || has_lock)
            && let Some(raise) = context.raised.take()
        {
            context.runs = Some((raise, now_ns));
            context.wakes &= !has_lock;
            if in_thread {
                cpu.softirq_owner = thread;
            }
            let top = cpu.top_mut();
            (top.context, top.has_fired) = (serves, false);
            self.tell_softirq_begin(at, HRTIMER, in_thread);
            return self.fires_next(at);
        }
        self.softirqs_end(at, in_thread);
    }

    pub(super) fn net_rx_ends(&mut self, at: usize) {
        self.tell_softirq(at, NET_RX, Softirq::End);
        self.softirq_begins(at);
    }

    /// A context has nothing left to do.
    pub(super) fn softirq_done(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let context = usize::from(cpu.top().context);
        cpu.contexts[context].runs = None;
        self.tell_softirq(at, HRTIMER, Softirq::End);
        self.softirq_begins(at);
    }

    fn softirqs_end(&mut self, at: usize, in_thread: bool) {
        if !in_thread {
            return self.wakes_softirqs(at);
        }
        // What interrupts have raised meanwhile for others.
        if let Some(other) = self.softirq_thread(at, false) {
            return self.wakes(at, other);
        }
        if let Some(waiter) = self.gives_softirq_lock(at) {
            return self.wakes(at, waiter);
        }
        let current = self.cpus[at].current as usize;
        if std::mem::take(&mut self.threads[current].has_softirq_lock) {
            let thread = &mut self.threads[current];
            (thread.runs_softirqs, thread.serves) = (false, None);
            return self.go(at, Step::GoesToSleep, 0);
        }
        self.threads[current].prepared = true;
        self.go(at, Step::Parked, 0);
    }

    /// Whether it runs softirqs in a thread that holds the lock of softirqs: those that a timer policy has for itself
    /// take none where they are not the only ones (`levels` and the like only wake threads).
    pub(super) fn runs_softirqs_in_thread(&self, at: usize) -> bool {
        let cpu = &self.cpus[at];
        cpu.depth == 1 && (cpu.top().context == COMMON || self.kernel.timers == "timer-thread")
    }

    /// The current thread comes back from its sleep, and has to wait for the thread that runs its timer's callback, if
    /// it has preempted that: which gets its priority until it has done.
    pub(super) fn waits_for_callback(&mut self, at: usize) -> bool {
        let me = self.cpus[at].current;
        let entry = &self.timers[sleeper_of(me) as usize];
        if !self.kernel.softirq_lock {
            return false;
        }
        let waiter = &mut self.threads[me as usize];
        if std::mem::replace(&mut waiter.sleep_state, TaskState::Interruptible) == TaskState::RtLock
        {
            return self.does_softirqs(at);
        }
        let owner = self.cpus[at].softirq_owner;
        if !entry.is_running || usize::from(entry.cpu) != at || owner == NOBODY {
            return false;
        }
        self.cpus[at].softirq_waiters.push(me);
        let waiter = &mut self.threads[me as usize];
        (waiter.prepared, waiter.sleep_state) = (true, TaskState::RtLock);
        self.lends_to_softirqs(at, owner);
        self.go(at, Step::GoesToSleep, 0);
        true
    }

    /// Who has waited for the lock of softirqs lets it go again, but before that does itself what has been raised
    /// meanwhile (`__local_bh_enable_ip`).
    fn does_softirqs(&mut self, at: usize) -> bool {
        let cpu = &mut self.cpus[at];
        let raised = cpu.contexts.iter().position(|context| context.raised.is_some());
        let Some(raised) = raised else { return false };
        let ns = self.machine.softirq_entry.draw(&mut cpu.streams.softirq);
        let me = &mut self.threads[cpu.current as usize];
        (me.has_softirq_lock, me.runs_softirqs) = (true, true);
        me.serves = Some(raised as u8);
        self.go(at, Step::SoftirqEntry, ns);
        true
    }

    /// The thread for softirqs has done; the first at the highest priority of those who wait for it.
    fn gives_softirq_lock(&mut self, at: usize) -> Option<ThreadAt> {
        self.cpus[at].softirq_owner = NOBODY;
        let waiters = &self.cpus[at].softirq_waiters;
        let prio = |place: &usize| self.threads[waiters[*place] as usize].prio;
        let first = (0..waiters.len()).min_by_key(prio)?;
        let waiter = self.cpus[at].softirq_waiters.remove(first);
        self.lends_to_softirqs(at, self.cpus[at].current);
        Some(waiter)
    }

    /// A thread for softirqs has the highest priority of those who wait for it, or its own.
    fn lends_to_softirqs(&mut self, at: usize, thread: ThreadAt) {
        let own = prio_of(self.threads[thread as usize].policy);
        let waiters = self.cpus[at].softirq_waiters.iter();
        let lent = waiters.map(|waiter| self.threads[*waiter as usize].prio).min();
        let prio = lent.map_or(own, |lent| lent.min(own));
        if prio != self.threads[thread as usize].prio {
            self.sets_priority(at, thread, class_of(prio), prio);
        }
    }

    /// A thread for softirqs goes to sleep, or goes on because it was woken before that.
    pub(super) fn unparked(&mut self, at: usize) {
        let current = self.cpus[at].current as usize;
        if self.threads[current].prepared {
            return self.schedules(at, true);
        }
        let ns = self.machine.softirq_entry.draw(&mut self.cpus[at].streams.softirq);
        self.go(at, Step::SoftirqEntry, ns);
    }
}
