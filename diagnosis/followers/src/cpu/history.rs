//! What a CPU did in the recent past.

use crate::Activity;
use std::collections::VecDeque;
use tardy_model::{Prio, TaskId};

/// Changes of activity remembered per CPU: 32 ms at a million a second. A lateness that reaches back
/// further has its first part unexplained, and the report says so.
pub const SPANS_MAX: usize = 1 << 15;

/// From when to what; it holds until the next one begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start_ns: u64,
    pub(super) activity: Activity,
}

/// Spans in time order.
#[derive(Debug, Default)]
pub(super) struct History {
    spans: VecDeque<Span>,
    max: usize,
    /// Spans before the first of these have been dropped for want of room.
    has_dropped: bool,
    /// Nothing from the first of these on has been dropped: each is when a span began, and they move on by one with every
    /// half of [`History::max`] that comes. The first span of all would tell more, but it lies where nobody else looks,
    /// far from the processor.
    kept_from_ns: [u64; 2],
    /// How many came since they moved.
    came: usize,
    /// When the last stretch in which it idled ended.
    idled_ns: u64,
}

/// A walk through what a CPU did, in time order. Who asks for one time after another looks for the first
/// alone.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    at_ns: u64,
    /// What it did where this walk has come.
    activity: &'a Activity,
    /// The spans that begin later: as far as they lie one after the other in memory, and those after them.
    later: &'a [Span],
    latest: &'a [Span],
}

impl<'a> Walk<'a> {
    /// How far it has come.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Calls `piece` for each change of activity from where it has come up to `to_ns`, in order, without a gap.
    #[inline]
    pub fn to(&mut self, to_ns: u64, mut piece: impl FnMut(u64, u64, &'a Activity)) {
        // By itself while it goes: nobody has to find each step of it in memory.
        let mut walk = self.clone();
        while walk.at_ns < to_ns {
            if walk.later.is_empty() {
                walk.later = std::mem::take(&mut walk.latest);
            }
            let next = walk.later.split_first().filter(|(span, _)| span.start_ns <= to_ns);
            let end_ns = next.map_or(to_ns, |(span, _)| span.start_ns);
            if end_ns > walk.at_ns {
                piece(walk.at_ns, end_ns, walk.activity);
                walk.at_ns = end_ns;
            }
            let Some((span, later)) = next else { break };
            (walk.activity, walk.later) = (&span.activity, later);
        }
        *self = walk;
    }
}

impl History {
    pub(super) fn new(max: usize) -> Self {
        Self {
            spans: VecDeque::new(),
            max,
            has_dropped: false,
            kept_from_ns: [0; 2],
            came: 0,
            idled_ns: 0,
        }
    }

    #[inline]
    pub(super) fn note(&mut self, time_ns: u64, activity: &Activity) {
        if let Some(last) = self.spans.back_mut() {
            if last.activity == *activity {
                return;
            }
            if last.activity.is_idle() {
                self.idled_ns = time_ns;
            }
            if last.start_ns == time_ns {
                return self.note_at_once(*activity);
            }
        }
        self.push(Span { start_ns: time_ns, activity: *activity });
    }

    /// It does something else at the time at which the last span began.
    #[inline(never)]
    fn note_at_once(&mut self, activity: Activity) {
        if let Some(last) = self.spans.back_mut() {
            last.activity = activity;
        }
        // What took no time broke into nothing: a span of its own would look like another beginning.
        let before = self.spans.len().checked_sub(2).map(|at| self.spans[at].activity);
        if before == Some(activity) {
            self.spans.pop_back();
        }
    }

    #[inline]
    fn push(&mut self, span: Span) {
        if self.spans.len() >= self.max {
            if self.max == 0 {
                return;
            }
            self.spans.pop_front();
            self.has_dropped = true;
        }
        self.comes(span.start_ns);
        self.spans.push_back(span);
    }

    #[inline]
    fn comes(&mut self, start_ns: u64) {
        self.came += 1;
        if self.came >= self.max / 2 {
            self.kept_from_ns = [self.kept_from_ns[1], start_ns];
            self.came = 0;
        }
    }

    /// As [`History::note`], and a span of its own even where it does the same as before.
    pub(super) fn note_anew(&mut self, time_ns: u64, activity: &Activity) {
        self.note(time_ns, activity);
        let last = self.spans.back().map(|last| last.start_ns);
        if self.spans.len() < self.max && last.is_some_and(|last_ns| last_ns < time_ns) {
            self.push(Span { start_ns: time_ns, activity: *activity });
        }
    }

    /// What was noted last becomes something else.
    pub(super) fn last_was(&mut self, activity: Activity) {
        if let Some(last) = self.spans.back_mut() {
            last.activity = activity;
        }
    }

    /// From `from_ns` to `to_ns` it was this: of what is known only the last span can be cut.
    pub(super) fn insert(&mut self, from_ns: u64, to_ns: u64, activity: Activity) {
        let Some(last) = self.spans.back().copied() else { return };
        let from_ns = from_ns.max(last.start_ns);
        if from_ns < to_ns {
            self.note(from_ns, &activity);
            self.note(to_ns, &last.activity);
        }
    }

    /// In a time it was stolen, but for what a thread was held up by another CPU's. Calls `changed` for each stretch.
    pub(super) fn stolen(&mut self, times: (u64, u64), sure: bool, changed: impl FnMut(u64, u64)) {
        self.overwrite(times, changed, |was| match was {
            Activity::HeldUp(..) => None,
            _ => Some(Activity::Stolen(sure)),
        });
    }

    /// Wherever a task ran in a time, it was held up. Calls `changed` for each stretch.
    pub(super) fn held_up(
        &mut self,
        task: TaskId,
        times: (u64, u64),
        sure: bool,
        changed: impl FnMut(u64, u64),
    ) {
        self.overwrite(times, changed, |was| match was {
            Activity::Task(ran, prio) if ran == task => Some(Activity::HeldUp(sure, task, prio)),
            _ => None,
        });
    }

    /// What it did in a time was something else after all, by what it seemed to be.
    fn overwrite(
        &mut self,
        (from_ns, to_ns): (u64, u64),
        mut changed: impl FnMut(u64, u64),
        is: impl Fn(Activity) -> Option<Activity>,
    ) {
        let mut at_ns = from_ns;
        while at_ns < to_ns {
            let next = self.first_after(at_ns);
            let end_ns = self.spans.get(next).map_or(to_ns, |span| span.start_ns.min(to_ns));
            let was = next.checked_sub(1).map(|at| self.spans[at].activity);
            if let Some(activity) = was.and_then(&is) {
                self.overwrite_one(at_ns, end_ns, activity);
                changed(at_ns, end_ns);
            }
            at_ns = end_ns;
        }
    }

    /// From `from_ns` to `to_ns`, between which no span begins, it was this after all.
    fn overwrite_one(&mut self, from_ns: u64, to_ns: u64, activity: Activity) {
        let next = self.first_after(from_ns);
        let Some(at) = next.checked_sub(1) else { return };
        let was = self.spans[at];
        let ends = self.spans.get(next).is_some_and(|span| span.start_ns <= to_ns);
        if let Some(last_ns) = self.spans.back().map(|last| last.start_ns) {
            self.comes(last_ns);
            self.comes(last_ns);
        }
        if !ends {
            self.spans.insert(next, Span { start_ns: to_ns, activity: was.activity });
        }
        if was.start_ns == from_ns {
            self.spans[at].activity = activity;
        } else {
            self.spans.insert(next, Span { start_ns: from_ns, activity });
        }
        while self.spans.len() > self.max {
            self.spans.pop_front();
            self.has_dropped = true;
        }
    }

    /// A task had another priority than was thought, as far back as it ran without an event that told one.
    pub(super) fn had_prio(&mut self, task: TaskId, thought: Prio, prio: Prio) {
        for span in self.spans.iter_mut().rev() {
            match &mut span.activity {
                Activity::Task(other, was)
                | Activity::InjectedIdle(.., other, was)
                | Activity::HeldUp(_, other, was)
                | Activity::ThreadedSoftirq(_, other, was)
                | Activity::ThreadedExpiry(_, _, _, other, was) => {
                    if *other != task || *was != thought {
                        return;
                    }
                    *was = prio;
                }
                other if other.is_interrupt() => {}
                _ => return,
            }
        }
    }

    /// Nothing is known of what was from `since_ns` on.
    pub(super) fn forget(&mut self, since_ns: u64) {
        while self.spans.back().is_some_and(|span| span.start_ns >= since_ns) {
            self.spans.pop_back();
        }
    }

    /// Whether what was at `ns` has been dropped for want of room.
    pub(super) fn is_dropped(&self, ns: u64) -> bool {
        self.has_dropped
            && ns < self.kept_from_ns[0]
            && self.spans.front().is_none_or(|first| ns < first.start_ns)
    }

    /// Calls `piece` for each change of activity in `from_ns..to_ns`, in order, without a gap.
    #[inline]
    pub(super) fn between(
        &self,
        from_ns: u64,
        to_ns: u64,
        mut piece: impl FnMut(u64, u64, Activity),
    ) {
        self.walk(from_ns).to(to_ns, |start_ns, end_ns, activity| {
            piece(start_ns, end_ns, *activity);
        });
    }

    /// A walk that begins at a time.
    #[inline]
    pub(super) fn walk(&self, from_ns: u64) -> Walk<'_> {
        let (older, newer) = self.spans.as_slices();
        let (begun, later, latest) = if has_begun(newer, from_ns) {
            let (begun, later) = newer.split_at(first_after(newer, from_ns));
            (begun, later, &[][..])
        } else {
            let (begun, later) = older.split_at(first_after(older, from_ns));
            (begun, later, newer)
        };
        let activity = begun.last().map_or(&Activity::Unknown, |before| &before.activity);
        Walk { at_ns: from_ns, activity, later, latest }
    }

    /// Whether it idled at any time since `ns`; perhaps also where it only idled until then.
    pub(super) fn idled_since(&self, ns: u64) -> bool {
        self.idled_ns >= ns || self.spans.back().is_some_and(|last| last.activity.is_idle())
    }

    /// What it did right before a time, interrupts aside.
    pub(super) fn base_before(&self, ns: u64) -> Activity {
        let before = self.spans.range(..self.first_after(ns));
        let mut bases = before.rev().filter(|span| span.start_ns < ns).map(|span| span.activity);
        bases.find(|activity| !activity.is_interrupt()).unwrap_or(Activity::Unknown)
    }

    /// The place of the first span that begins after `ns`.
    fn first_after(&self, ns: u64) -> usize {
        let (older, newer) = self.spans.as_slices();
        if has_begun(newer, ns) {
            older.len() + first_after(newer, ns)
        } else {
            first_after(older, ns)
        }
    }
}

/// Whether the first of these spans begins at `ns` or before.
fn has_begun(spans: &[Span], ns: u64) -> bool {
    spans.first().is_some_and(|first| first.start_ns <= ns)
}

/// The place of the first of these spans that begins after `ns`. What is asked for is recent: going back
/// in steps that double finds it among the newest, where a search over all reaches far.
fn first_after(spans: &[Span], ns: u64) -> usize {
    let len = spans.len();
    let (mut step, mut low, mut high) = (4, len, len);
    while low > 0 && spans[low - 1].start_ns > ns {
        high = low - 1;
        low = high.saturating_sub(step);
        step *= 2;
    }
    // All before `low` begin by then, none from `high` on.
    while low < high {
        let middle = low.midpoint(high);
        if spans[middle].start_ns <= ns {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_span_after_a_time_is_found_wherever_it_lies() {
        for count in [0, 1, 5, 100] {
            let mut history = History::new(SPANS_MAX);
            for at in 0..count {
                history.note(10 + 3 * at, &Activity::Task(TaskId(at as u32), Prio(120)));
            }
            for ns in 0..320 {
                let begun = history.spans.iter().filter(|span| span.start_ns <= ns).count();
                assert_eq!(history.first_after(ns), begun, "{ns} of {count}");
            }
        }
    }

    #[test]
    fn a_priority_is_corrected_as_far_back_as_nothing_else_was_told() {
        let (task, was, is) = (TaskId(7), Prio(120), Prio(0));
        let mut history = History::new(SPANS_MAX);
        history.note(10, &Activity::Task(task, Prio(50)));
        history.note(20, &Activity::Task(task, was));
        history.note(30, &Activity::Softirq(3));
        history.note(40, &Activity::Task(task, was));
        history.had_prio(task, was, is);
        let mut told = Vec::new();
        history.between(0, 50, |from_ns, _, activity| told.push((from_ns, activity)));
        assert_eq!(
            told,
            [
                (0, Activity::Unknown),
                (10, Activity::Task(task, Prio(50))),
                (20, Activity::Task(task, is)),
                (30, Activity::Softirq(3)),
                (40, Activity::Task(task, is)),
            ]
        );
    }

    #[test]
    fn a_walk_in_steps_tells_what_one_stride_does() {
        let mut history = History::new(SPANS_MAX);
        for at in 0..20 {
            history.note(10 + 3 * at, &Activity::Task(TaskId(at as u32), Prio(120)));
        }
        for step in 1..80 {
            let (mut in_steps, mut at_once) = (Vec::new(), Vec::new());
            let mut walk = history.walk(0);
            while walk.at_ns() < 80 {
                walk.to((walk.at_ns() + step).min(80), |from_ns, to_ns, activity| {
                    (from_ns..to_ns).for_each(|ns| in_steps.push((ns, *activity)));
                });
            }
            history.between(0, 80, |from_ns, to_ns, activity| {
                (from_ns..to_ns).for_each(|ns| at_once.push((ns, activity)));
            });
            assert_eq!(in_steps, at_once, "in steps of {step}");
        }
    }

    #[test]
    fn idling_is_remembered_from_its_end() {
        let mut history = History::new(SPANS_MAX);
        history.note(10, &Activity::Softirq(3));
        assert!(!history.idled_since(5));
        history.note(20, &Activity::Idle(1));
        assert!(history.idled_since(25), "it idles");
        history.note(30, &Activity::Softirq(3));
        assert!(history.idled_since(25) && !history.idled_since(31));
    }

    #[test]
    fn what_takes_no_time_breaks_into_nothing() {
        let mut history = History::new(SPANS_MAX);
        history.note(10, &Activity::Idle(1));
        history.note(20, &Activity::Softirq(3));
        history.note(20, &Activity::Idle(1));
        history.note(30, &Activity::Softirq(3));
        history.note(40, &Activity::Idle(1));
        let begins: Vec<u64> = history.spans.iter().map(|span| span.start_ns).collect();
        assert_eq!(begins, [10, 30, 40]);
        history.note_anew(50, &Activity::Idle(1));
        assert_eq!(history.spans.len(), 4, "an entry is told apart");
    }

    #[test]
    fn what_is_dropped_is_said() {
        for max in 2..9 {
            let mut history = History::new(max);
            for at in 0..40 {
                history.note(at * 10, &Activity::Idle(at as u32));
                if at % 7 == 3 {
                    history.overwrite_one(at * 10 - 8, at * 10 - 5, Activity::Softirq(1));
                }
                let first_ns = history.spans.front().map_or(0, |first| first.start_ns);
                for ns in 0..at * 10 {
                    let is_gone = ns < first_ns;
                    assert_eq!(history.is_dropped(ns), is_gone, "{ns} after {at} of {max}");
                }
            }
        }
    }
}
