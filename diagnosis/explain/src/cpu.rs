//! What one CPU does, and did in the recent past.

use crate::piece::Activity;
use crate::prios::Prios;
use std::collections::VecDeque;
use tardy_model::event::{ExpireBegin, IdleEnter, Irq, softirq};
use tardy_model::{Prio, TaskId, TimerClass, TimerId};

/// Changes of activity remembered per CPU: 32 ms at a million a second. A lateness that reaches back
/// further has its first part unexplained.
pub const SPANS_MAX: usize = 1 << 15;

/// Interrupts within softirqs within interrupts: deeper than any kernel nests them.
const NESTING_MAX: usize = 16;

/// One CPU.
#[derive(Debug)]
pub(crate) struct Cpu {
    /// What runs where no interrupt does.
    base: Activity,
    /// The task that must be current, by the last switch or event.
    current: Option<TaskId>,
    /// The time of the last event.
    last_ns: u64,
    /// Interrupt contexts above it, innermost last.
    contexts: Vec<Context>,
    /// From when to what, in time order; each holds until the next one begins.
    spans: VecDeque<Span>,
    /// The last raise of each softirq vector.
    raises: [Option<Raise>; 10],
    /// The softirq that was left by a switch (`PREEMPT_RT` runs them in threads), by thread.
    left_softirqs: Vec<(TaskId, Context)>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start_ns: u64,
    activity: Activity,
}

/// An interrupt context.
#[derive(Clone, Copy, Debug)]
struct Context {
    activity: Activity,
    begin_ns: u64,
    /// For a callback: how it came to run.
    expiry: Option<Expiry>,
    /// For an interrupt or softirq: a callback has ended in it, so what follows up to the next
    /// callback is the expiry loop's work for that one.
    after_callback: bool,
}

#[derive(Clone, Copy, Debug)]
struct Raise {
    time_ns: u64,
    /// The expiry of the timer whose callback raised it: of the timer wheel's softirq, the tick's.
    tick_ns: Option<u64>,
    /// The entry of the interrupt in which it was raised.
    interrupt_ns: Option<u64>,
}

/// How a timer's callback came to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub(crate) timer: TimerId,
    pub(crate) soft_ns: u64,
    pub(crate) slack_ns: u32,
    /// The entry of the interrupt that runs it, or that raised the softirq which does.
    pub(crate) interrupt_ns: Option<u64>,
    /// For a callback in softirq context: the raise, where known, and the softirq's begin.
    pub(crate) softirq: Option<(Option<u64>, u64)>,
    /// It is a timer of the timer wheel.
    pub(crate) of_wheel: bool,
    /// When the tick was due with which that fired, where known.
    pub(crate) tick_ns: Option<u64>,
    pub(crate) begin_ns: u64,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            base: Activity::Unknown,
            current: None,
            last_ns: 0,
            contexts: Vec::with_capacity(NESTING_MAX),
            spans: VecDeque::new(),
            raises: [None; 10],
            left_softirqs: Vec::new(),
        }
    }
}

impl Cpu {
    /// What it does now.
    #[inline]
    pub(crate) fn activity(&self) -> Activity {
        self.contexts.last().map_or(self.base, |context| context.activity)
    }

    /// Whether it is in no interrupt context.
    pub(crate) fn in_task_context(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The callback that runs now, where one does.
    pub(crate) fn expiry(&self) -> Option<Expiry> {
        self.contexts.last().and_then(|context| context.expiry)
    }

    /// Calls `piece` for each change of activity in `from_ns..to_ns`, in order, without a gap.
    pub(crate) fn between(
        &self,
        from_ns: u64,
        to_ns: u64,
        mut piece: impl FnMut(u64, u64, Activity),
    ) {
        let mut at = self.first_after(from_ns);
        let mut start_ns = from_ns;
        let mut activity =
            at.checked_sub(1).map_or(Activity::Unknown, |before| self.spans[before].activity);
        while start_ns < to_ns {
            let next = self.spans.get(at);
            let end_ns = next.map_or(to_ns, |span| span.start_ns.min(to_ns));
            if end_ns > start_ns {
                piece(start_ns, end_ns, activity);
                start_ns = end_ns;
            }
            match next {
                Some(span) => activity = span.activity,
                None => break,
            }
            at += 1;
        }
    }

    /// What ran, interrupts aside, right before a time; [`Activity::Unknown`] where that is not known.
    pub(crate) fn base_before(&self, ns: u64) -> Activity {
        let before = self.spans.range(..self.first_after(ns));
        let mut bases = before.rev().filter(|span| span.start_ns < ns).map(|span| span.activity);
        let interrupt = |activity: &Activity| {
            matches!(activity, Activity::Irq(_) | Activity::Softirq(_) | Activity::Expiry(..))
        };
        bases.find(|activity| !interrupt(activity)).unwrap_or(Activity::Unknown)
    }

    /// An event comes that has `task` as the current one. Where another should be, a switch is
    /// missing, and perhaps much else with it, although no loss was told of: who ran since the last
    /// event is not known, and must not be blamed. Returns since when, and the task that ran then.
    #[inline]
    pub(crate) fn witness(
        &mut self,
        time_ns: u64,
        task: TaskId,
        prios: &Prios,
    ) -> Option<(u64, TaskId)> {
        let since_ns = std::mem::replace(&mut self.last_ns, time_ns);
        let expected = self.current.replace(task);
        if expected == Some(task) {
            return None;
        }
        if expected.is_some() {
            self.forget(since_ns);
            self.current = Some(task);
        }
        self.base = match task {
            TaskId::IDLE => Activity::Idle(u32::MAX),
            task => Activity::Task(task, prios.of(task).unwrap_or(Prio::UNKNOWN)),
        };
        self.note(time_ns);
        expected.map(|expected| (since_ns, expected))
    }

    /// The place of the first span that begins after `ns`. What is asked for is recent: going back
    /// in steps that double finds it among the newest, where a search over all reaches far.
    fn first_after(&self, ns: u64) -> usize {
        let len = self.spans.len();
        let (mut step, mut low, mut high) = (4, len, len);
        while low > 0 && self.spans[low - 1].start_ns > ns {
            high = low - 1;
            low = high.saturating_sub(step);
            step *= 2;
        }
        // All before `low` begin by then, none from `high` on.
        while low < high {
            let middle = low.midpoint(high);
            if self.spans[middle].start_ns <= ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn note(&mut self, time_ns: u64) {
        let activity = self.activity();
        if let Some(last) = self.spans.back_mut() {
            if last.activity == activity {
                return;
            }
            if last.start_ns == time_ns {
                last.activity = activity;
                return;
            }
        }
        if self.spans.len() == SPANS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { start_ns: time_ns, activity });
    }

    #[inline]
    fn enter(&mut self, time_ns: u64, activity: Activity, expiry: Option<Expiry>) {
        if self.contexts.len() == NESTING_MAX {
            // Begins without ends: what is below cannot be true any more.
            self.contexts.clear();
        }
        let context = Context { activity, begin_ns: time_ns, expiry, after_callback: false };
        self.contexts.push(context);
        self.note(time_ns);
    }

    /// Leaves the innermost context that `is_it`, and all above it, whose ends were not seen.
    #[inline]
    fn leave(&mut self, time_ns: u64, is_it: impl Fn(Activity) -> bool) {
        if let Some(at) = self.contexts.iter().rposition(|context| is_it(context.activity)) {
            self.contexts.truncate(at);
            self.note(time_ns);
        }
    }

    pub(crate) fn irq_begin(&mut self, time_ns: u64, irq: Irq) {
        self.enter(time_ns, Activity::Irq(irq), None);
    }

    pub(crate) fn irq_end(&mut self, time_ns: u64, irq: Irq) {
        self.leave(
            time_ns,
            |activity| matches!(activity, Activity::Irq(inner) if inner.is_same(irq)),
        );
    }

    pub(crate) fn softirq_raise(&mut self, time_ns: u64, vector: u32) {
        let interrupt_ns = self.interrupt_entry_ns();
        let tick_ns = self.expiry().map(|expiry| expiry.soft_ns);
        if let Some(raise) = self.raises.get_mut(vector as usize) {
            // A raise while one is pending changes nothing: the first counts.
            raise.get_or_insert(Raise { time_ns, tick_ns, interrupt_ns });
        }
    }

    pub(crate) fn softirq_begin(&mut self, time_ns: u64, vector: u32) {
        self.enter(time_ns, Activity::Softirq(vector), None);
    }

    pub(crate) fn softirq_end(&mut self, time_ns: u64, vector: u32) {
        self.leave(time_ns, |activity| activity == Activity::Softirq(vector));
        if let Some(raise) = self.raises.get_mut(vector as usize) {
            // One that came while the action ran stays for the next.
            if raise.is_some_and(|raise| raise.time_ns < time_ns) {
                *raise = None;
            }
        }
    }

    fn interrupt_entry_ns(&self) -> Option<u64> {
        let is_irq = |context: &&Context| matches!(context.activity, Activity::Irq(_));
        self.contexts.iter().rev().find(is_irq).map(|context| context.begin_ns)
    }

    pub(crate) fn expire_begin(
        &mut self,
        time_ns: u64,
        begin: ExpireBegin,
        owner: TaskId,
        class: TimerClass,
    ) {
        let mut expiry = Expiry {
            timer: begin.timer,
            soft_ns: begin.soft_ns,
            slack_ns: begin.slack_ns,
            interrupt_ns: None,
            softirq: None,
            of_wheel: class == TimerClass::TimerList,
            tick_ns: None,
            begin_ns: time_ns,
        };
        match self.contexts.last().map(|context| (context.activity, context.begin_ns)) {
            Some((Activity::Irq(_), begin_ns)) => expiry.interrupt_ns = Some(begin_ns),
            Some((Activity::Softirq(vector), begin_ns)) => {
                let expected = match class {
                    TimerClass::Hrtimer => softirq::HRTIMER,
                    TimerClass::TimerList => softirq::TIMER,
                };
                let raise = if vector == expected { self.raises[vector as usize] } else { None };
                expiry.interrupt_ns = raise.and_then(|raise| raise.interrupt_ns);
                expiry.tick_ns = raise.and_then(|raise| raise.tick_ns);
                expiry.softirq = Some((raise.map(|raise| raise.time_ns), begin_ns));
            }
            // No interrupt events on this machine, or the begin was lost.
            _ => {}
        }
        let activity = Activity::Expiry(begin.timer, owner);
        if let Some(around) = self.contexts.last_mut() {
            // The loop's work since the last callback was for this one: taking it off the queue.
            if std::mem::take(&mut around.after_callback)
                && let Some(gap) = self.spans.back_mut()
            {
                gap.activity = activity;
            }
        }
        self.enter(time_ns, activity, Some(expiry));
    }

    pub(crate) fn expire_end(&mut self, time_ns: u64, timer: TimerId) {
        self.leave(time_ns, |activity| matches!(activity, Activity::Expiry(id, _) if id == timer));
        if let Some(around) = self.contexts.last_mut() {
            around.after_callback = true;
        }
    }

    pub(crate) fn switch(&mut self, time_ns: u64, prev: TaskId, next: TaskId, next_prio: Prio) {
        // Nothing switches inside a hard interrupt; on PREEMPT_RT softirqs run in threads and are
        // left and taken up with them.
        let in_softirq =
            self.contexts.last().is_some_and(|top| matches!(top.activity, Activity::Softirq(_)));
        if let (true, Some(context)) = (in_softirq, self.contexts.pop()) {
            if self.left_softirqs.len() == NESTING_MAX {
                self.left_softirqs.remove(0);
            }
            self.left_softirqs.push((prev, context));
        }
        self.contexts.clear();
        self.current = Some(next);
        self.base = match next {
            TaskId::IDLE => Activity::Idle(u32::MAX),
            task => Activity::Task(task, next_prio),
        };
        if let Some(at) = self.left_softirqs.iter().position(|(task, _)| *task == next) {
            let (_, context) = self.left_softirqs.remove(at);
            self.contexts.push(context);
        }
        self.note(time_ns);
    }

    pub(crate) fn idle_enter(&mut self, time_ns: u64, enter: IdleEnter) {
        self.base = if enter.polls {
            Activity::Polling(enter.state)
        } else {
            Activity::Idle(if enter.only { u32::MAX } else { enter.state })
        };
        self.contexts.clear();
        self.note(time_ns);
    }

    pub(crate) fn idle_exit(&mut self, time_ns: u64) {
        if !self.base.is_idle() {
            self.base = Activity::Idle(u32::MAX);
            self.note(time_ns);
        }
    }

    /// The task that runs here is now at `prio`.
    pub(crate) fn reprioritise(&mut self, time_ns: u64, task: TaskId, prio: Prio) {
        if matches!(self.base, Activity::Task(running, _) if running == task) {
            self.base = Activity::Task(task, prio);
            self.note(time_ns);
        }
    }

    /// Events were lost from `since_ns` on: nothing is known until the next switch or interrupt.
    pub(crate) fn forget(&mut self, since_ns: u64) {
        while self.spans.back().is_some_and(|span| span.start_ns >= since_ns) {
            self.spans.pop_back();
        }
        self.base = Activity::Unknown;
        self.current = None;
        self.contexts.clear();
        self.left_softirqs.clear();
        self.raises = [None; 10];
        self.note(since_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_span_after_a_time_is_found_wherever_it_lies() {
        for count in [0, 1, 5, 100] {
            let mut cpu = Cpu::default();
            for at in 0..count {
                cpu.switch(10 + 3 * at, TaskId(at as u32), TaskId(at as u32 + 1), Prio(120));
            }
            for ns in 0..320 {
                let begun = cpu.spans.iter().filter(|span| span.start_ns <= ns).count();
                assert_eq!(cpu.first_after(ns), begun, "{ns} of {count}");
            }
        }
    }
}
