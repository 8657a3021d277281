//! Callbacks of timers: which one runs, and how it came to run.

use super::{Context, Cpu, Raise};
use crate::activity::{Activity, RunBy};
use std::collections::VecDeque;
use tardy_model::event::{ExpireBegin, softirq};
use tardy_model::{Prio, TaskId, TimerClass, TimerId};

/// A timer's callback that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Which timer's.
    pub timer: TimerId,
    /// Whose timer that is; [`TaskId::IDLE`] where no thread's, or not known.
    pub owner: TaskId,
    /// An interrupt runs it, no softirq.
    pub in_interrupt: bool,
    /// A thread that is there for timers runs it.
    pub in_timer_thread: bool,
}

/// How a timer's callback came to run.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Which timer.
    pub timer: TimerId,
    /// Whose timer that is; [`TaskId::IDLE`] where no thread's, or not known.
    pub owner: TaskId,
    /// The earliest time it was allowed to fire.
    pub soft_ns: u64,
    /// Hard minus soft expiry.
    pub slack_ns: u32,
    /// The number of the callback on its CPU.
    pub callback: u32,
    /// The entry of the interrupt that runs it, or that raised the softirq which does.
    pub interrupt_ns: Option<u64>,
    /// What it was put off to, where no interrupt runs it.
    pub deferred: Option<Deferral>,
    /// It is a timer of the timer wheel.
    pub of_wheel: bool,
    /// It is none of those and fires with the tick all the same (low-resolution mode).
    pub in_tick: bool,
    /// When the tick was due with which that fired, where known.
    pub tick_ns: Option<u64>,
    /// When the callback began.
    pub begin_ns: u64,
}

/// A callback that an interrupt has put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// When what runs it was asked to, where that is known: the softirq's raise, or the waking of the thread.
    pub asked_ns: Option<u64>,
    /// When that began.
    pub begin_ns: u64,
    /// The thread that is there for timers; [`TaskId::IDLE`] for a softirq.
    pub thread: TaskId,
    /// The thread that runs the softirq, where one does, else [`TaskId::IDLE`]; and its priority.
    pub softirq_in: (TaskId, Prio),
}

/// Where a callback may run besides the interrupt or softirq that is seen to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunIn {
    /// Nowhere else.
    Itself,
    /// In the current task, which runs softirqs, whose begin need not have been told.
    SoftirqThread,
    /// In the current task, which is there for timers.
    TimerThread,
}

impl Cpu {
    /// The innermost callback, whatever has interrupted that.
    pub fn callback(&self) -> Option<Callback> {
        let is_callback = |context: &Context| context.expiry.is_some();
        let at = self.contexts.iter().rposition(is_callback)?;
        let Expiry { timer, owner, .. } = self.contexts[at].expiry?;
        let in_interrupt = self.contexts[..at].iter().any(Context::is_interrupt);
        let in_timer_thread = self.contexts[at].is_of_timer_thread();
        Some(Callback { timer, owner, in_interrupt, in_timer_thread })
    }

    /// The callback that runs now, where one does.
    pub fn expiry(&self) -> Option<Expiry> {
        self.contexts.last().and_then(|context| context.expiry)
    }

    /// A timer of a class expires, and its callback begins; `owner` is whose timer it is. `armed_ns` is when it was armed, where it may be
    /// one that fires with the tick though it is none of the timer wheel's.
    pub fn expire_begin(
        &mut self,
        time_ns: u64,
        begin: ExpireBegin,
        owner: TaskId,
        class: TimerClass,
        run_in: RunIn,
        armed_ns: Option<u64>,
    ) {
        self.callbacks = self.callbacks.wrapping_add(1);
        let hard_ns = begin.soft_ns.saturating_add(begin.slack_ns.into());
        let mut expiry = Expiry {
            timer: begin.timer,
            owner,
            soft_ns: begin.soft_ns,
            slack_ns: begin.slack_ns,
            callback: self.callbacks,
            interrupt_ns: None,
            deferred: None,
            of_wheel: class == TimerClass::TimerList,
            in_tick: false,
            tick_ns: None,
            begin_ns: time_ns,
        };
        let (run_by, vector) = match class {
            _ if run_in == RunIn::TimerThread => (RunBy::TimerThread, softirq::HRTIMER),
            TimerClass::Hrtimer => (RunBy::HrtimerSoftirq, softirq::HRTIMER),
            TimerClass::TimerList => (RunBy::TimerSoftirq, softirq::TIMER),
        };
        // No other softirq runs such timers: an interrupt that is not recorded has broken into it.
        let breaks_in = class == TimerClass::Hrtimer
            && self.contexts.last().is_some_and(|around| around.runs_softirq_but(vector));
        let thread = match self.activity() {
            _ if breaks_in => None,
            Activity::Task(thread, prio) if run_in != RunIn::Itself => Some((thread, prio)),
            Activity::ThreadedSoftirq(_, thread, prio)
            | Activity::ThreadedExpiry(_, _, _, thread, prio) => Some((thread, prio)),
            _ => None,
        };
        if let Some(armed_ns) = armed_ns {
            expiry.tick_ns = self.fires_with_tick(time_ns, begin.soft_ns.max(armed_ns), hard_ns);
            expiry.in_tick = expiry.tick_ns.is_some();
        }
        let activity = match thread {
            Some((thread, prio)) => {
                Activity::ThreadedExpiry(run_by, begin.timer, self.callbacks, thread, prio)
            }
            None if breaks_in || self.contexts.last().is_some_and(Context::is_interrupt) => {
                Activity::Expiry(begin.timer, owner, self.callbacks)
            }
            None => Activity::SoftExpiry(begin.timer, owner, self.callbacks),
        };
        if run_in == RunIn::TimerThread {
            // Of its last callback no end need have been told.
            self.contexts.clear();
            let thread = thread.map_or(TaskId::IDLE, |(thread, _)| thread);
            self.in_timer_thread(&mut expiry, thread, begin.soft_ns);
        } else if self.contexts.is_empty()
            && (begin.mode.is_soft() || run_in == RunIn::SoftirqThread)
        {
            // In a softirq whose events are not recorded: what it waited for is known, not since when.
            // What was due when the thread was done last, and was not run, was left for a later interrupt.
            let due_ns = begin.soft_ns.max(self.rounds.done_ns);
            expiry.interrupt_ns = first_since(&self.timer_irqs, due_ns);
            let raised_ns = expiry.interrupt_ns.unwrap_or(hard_ns.min(time_ns));
            let begin_ns = thread.and_then(|(thread, _)| self.ran_since(raised_ns, thread));
            expiry.deferred = Some(to_softirq(Some(raised_ns), begin_ns.unwrap_or(time_ns)));
        }
        let deliveries = match self.base {
            _ if expiry.in_tick => None,
            Activity::Task(..) => Some(&mut self.to_tasks),
            Activity::Polling(_) => Some(&mut self.to_polling),
            _ => None,
        };
        if let Some(around) = self.contexts.last() {
            let around_vector = match around.activity {
                Activity::Softirq(vector) => Some(vector),
                Activity::ThreadedSoftirq(vector, ..) => Some(vector.into()),
                _ => None,
            };
            if let Some(around_vector) = around_vector.filter(|_| !breaks_in) {
                let raise = around.raise.filter(|_| around_vector == vector);
                self.in_softirq(&mut expiry, raise, around.begin_ns);
            } else if around.is_interrupt() {
                expiry.interrupt_ns = Some(around.begin_ns);
                self.hangs.runs(time_ns, activity, around.begin_ns);
                self.silences.was_due(around.begin_ns, expiry.tick_ns.unwrap_or(hard_ns));
                // The device is programmed for the first that must fire; an interrupt before that is another's.
                let is_first = self.contexts.len() == 1 && !around.after_callback;
                if let Some(deliveries) = deliveries.filter(|_| is_first)
                    && let Some(late_ns) = around.begin_ns.checked_sub(hard_ns)
                {
                    deliveries.saw(late_ns);
                }
            }
        } else if let Some(deliveries) = deliveries
            && expiry.deferred.is_none()
            && class == TimerClass::Hrtimer
            && let Some(late_ns) = time_ns.checked_sub(hard_ns)
        {
            // In an interrupt that is not recorded: it is in what that takes to come.
            deliveries.saw(late_ns);
        }
        if let (Some(deferral), Some((thread, prio))) = (&mut expiry.deferred, thread)
            && deferral.thread == TaskId::IDLE
        {
            deferral.softirq_in = (thread, prio);
        }
        if let Some(around) = self.contexts.last_mut() {
            // The loop's work since the last callback was for this one: taking it off the queue.
            if std::mem::take(&mut around.after_callback) {
                self.history.last_was(activity);
            }
        }
        self.enters(Context { expiry: Some(expiry), ..Context::of(activity, time_ns) });
    }

    /// When the tick was due that has a timer fire at last, which may have at `from_ns` and must have by `hard_ns`; if it
    /// is the tick that has, in low-resolution mode. A softirq has none of those fire.
    fn fires_with_tick(&mut self, time_ns: u64, from_ns: u64, hard_ns: u64) -> Option<u64> {
        let around = self.contexts.last();
        let entry_ns = around.filter(|it| it.is_interrupt()).map(|it| it.begin_ns);
        if entry_ns.is_none() && (around.is_some() || !self.timer_irqs.is_empty()) {
            return None;
        }
        // One that is armed for a time that has passed waits since then.
        self.expiry_rounds.expires(time_ns, entry_ns.unwrap_or(time_ns), hard_ns.max(from_ns));
        self.expiry_rounds.tick_of(&self.timer_irqs, from_ns)
    }

    /// How a callback came to run that a softirq runs, which began at `begin_ns`.
    fn in_softirq(&self, expiry: &mut Expiry, raise: Option<Raise>, begin_ns: u64) {
        let raised_ns = if let Some(raise) = raise {
            (expiry.interrupt_ns, expiry.tick_ns) = (raise.interrupt_ns, raise.tick_ns);
            Some(raise.time_ns)
        } else if expiry.of_wheel {
            // Raises are not recorded: it was the first tick from its expiry on.
            let tick = self.ticks.iter().find(|(due_ns, _)| *due_ns >= expiry.soft_ns);
            let tick = tick.filter(|(_, entry_ns)| *entry_ns <= begin_ns);
            expiry.tick_ns = tick.map(|(due_ns, _)| *due_ns);
            expiry.interrupt_ns = tick.map(|(_, entry_ns)| *entry_ns);
            expiry.interrupt_ns
        } else {
            let since = first_since(&self.timer_irqs, expiry.soft_ns);
            expiry.interrupt_ns = since.filter(|entry_ns| *entry_ns <= begin_ns);
            expiry.interrupt_ns
        };
        expiry.deferred = Some(to_softirq(raised_ns, begin_ns));
    }

    /// How a callback came to run that is run by a thread for timers, for one that was due at a time.
    fn in_timer_thread(&self, expiry: &mut Expiry, thread: TaskId, soft_ns: u64) {
        let pending = self.pendings.of(thread, soft_ns);
        let seen_ns = pending.and_then(|pending| pending.interrupt_ns);
        // An interrupt before it was due is another's: the thread was at it already.
        let seen_ns = seen_ns.filter(|entry_ns| *entry_ns >= soft_ns);
        expiry.interrupt_ns = seen_ns.or_else(|| first_since(&self.timer_irqs, soft_ns));
        let asked_ns = pending.map(|pending| pending.time_ns.max(soft_ns)).or(expiry.interrupt_ns);
        let begin_ns = self.switched_ns.max(asked_ns.unwrap_or(0)).min(expiry.begin_ns);
        let softirq_in = NO_THREAD;
        expiry.deferred = Some(Deferral { asked_ns, begin_ns, thread, softirq_in });
    }

    /// A callback ends, and all above it. Yields when it began, where that was seen.
    pub fn expire_end(&mut self, time_ns: u64, timer: TimerId) -> Option<u64> {
        let is_it = |activity| match activity {
            Activity::Expiry(inner, ..)
            | Activity::SoftExpiry(inner, ..)
            | Activity::ThreadedExpiry(_, inner, ..) => inner == timer,
            _ => false,
        };
        let ended = self.contexts.iter().rfind(|context| is_it(context.activity));
        let in_interrupt = ended.is_some_and(|it| matches!(it.activity, Activity::Expiry(..)));
        let begin_ns = ended.map(|it| it.begin_ns);
        self.leave(time_ns, is_it);
        if let Some(around) = self.contexts.last_mut() {
            // What an interrupt that is not recorded ran is none of the softirq's that it broke into.
            around.after_callback = !(in_interrupt && around.is_softirq());
            self.hangs.ran(time_ns, around.begin_ns);
        }
        begin_ns
    }
}

/// No thread runs it.
const NO_THREAD: (TaskId, Prio) = (TaskId::IDLE, Prio::UNKNOWN);

const fn to_softirq(asked_ns: Option<u64>, begin_ns: u64) -> Deferral {
    Deferral { asked_ns, begin_ns, thread: TaskId::IDLE, softirq_in: NO_THREAD }
}

/// The first of these times, which are in order, from one on.
fn first_since(times: &VecDeque<u64>, ns: u64) -> Option<u64> {
    times.iter().rev().copied().take_while(|time_ns| *time_ns >= ns).last()
}
