//! How long the kernel puts the timer's interrupt off because the last one took too long.
//!
//! An interrupt of the timer runs what has expired, looks whether more has expired meanwhile, and runs that too.
//! What it still finds expired after the third time it leaves (`hrtimer_interrupt` in kernel/time/hrtimer.c, which
//! calls it a hang): it programs the device for as long from then as it has taken itself, and
//! until that comes nobody programs it for anything sooner. No event tells of it. It shows in what the next
//! interrupt runs first: a timer that had expired before the last one ended.

use super::Cpu;
use crate::activity::Activity;
use std::collections::VecDeque;

/// An interrupt looks as often, and each time has something to run.
const ROUNDS: u32 = 3;

/// Where nothing tells when the last callback ended, nobody knows when the kernel looked last. The next one then comes no
/// sooner than after this share of the time from the interrupt's begin to its end, which are further apart.
const PUT_OFF_SHARE: (u64, u64) = (3, 4);

/// So many are remembered: a wakeup has one or two of them.
const KEPT_MAX: usize = 16;

/// A stretch in which no interrupt of the timer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutOff {
    /// Where the interrupt before it ended.
    pub from_ns: u64,
    /// As long after it looked last as it had taken then; or where the next one began, if that is sooner.
    pub to_ns: u64,
    /// The callback that took most of that interrupt's time.
    pub by: Activity,
}

/// An interrupt of the timer.
#[derive(Clone, Copy, Debug)]
struct Run {
    begin_ns: u64,
    /// 0 while it runs.
    end_ns: u64,
    callbacks: u32,
    /// Where the first callback began, just after the kernel looked first.
    first_ns: u64,
    /// Where the last callback ended, just before it looked last.
    ran_ns: u64,
    /// The callback that runs, or ran last, and when it began.
    last: (Activity, u64),
    /// The longest of those before it.
    longest: (Activity, u64),
}

impl Run {
    /// The last callback lasts until then at most.
    fn settle(&mut self, now_ns: u64) {
        let (activity, begin_ns) = self.last;
        let end_ns = if self.ran_ns > begin_ns { self.ran_ns } else { now_ns };
        let ns = end_ns.saturating_sub(begin_ns);
        if self.callbacks > 0 && ns > self.longest.1 {
            self.longest = (activity, ns);
        }
    }

    /// Whether the source tells when callbacks end. Where it does not, they are said to end with the interrupt.
    fn tells_ends(&self) -> bool {
        self.first_ns < self.ran_ns && self.ran_ns < self.end_ns
    }

    /// Until when the next interrupt was put off, if it was, and when the kernel had looked.
    fn puts_off(&self) -> (u64, u64) {
        let (from_ns, looked_ns) = if self.tells_ends() {
            (self.first_ns, self.ran_ns)
        } else {
            (self.begin_ns, self.end_ns)
        };
        (looked_ns.saturating_add(looked_ns.saturating_sub(from_ns)), looked_ns)
    }
}

/// Of one CPU.
#[derive(Debug, Default)]
pub(super) struct Hangs {
    now: Option<Run>,
    /// The last one that has ended.
    before: Option<Run>,
    found: VecDeque<PutOff>,
}

impl Hangs {
    /// A callback begins in an interrupt that began at a time.
    #[inline]
    pub(super) fn runs(&mut self, now_ns: u64, activity: Activity, begin_ns: u64) {
        let longest = (Activity::Unknown, 0);
        let (end_ns, first_ns, ran_ns) = (0, now_ns, 0);
        let new = Run { begin_ns, end_ns, callbacks: 0, first_ns, ran_ns, last: longest, longest };
        let run = self.now.get_or_insert(new);
        if run.begin_ns != begin_ns {
            *run = new;
        }
        run.settle(now_ns);
        run.callbacks += 1;
        run.last = (activity, now_ns);
    }

    /// A callback ends, in an interrupt that began at a time or in something else.
    #[inline]
    pub(super) fn ran(&mut self, now_ns: u64, begin_ns: u64) {
        if let Some(run) = self.now.as_mut().filter(|run| run.begin_ns == begin_ns) {
            run.ran_ns = now_ns;
        }
    }

    /// An interrupt ends. Those that ran no callback are none of the timer.
    #[inline]
    pub(super) fn ends(&mut self, now_ns: u64) {
        if let Some(mut run) = self.now.take() {
            run.settle(now_ns);
            run.end_ns = now_ns;
            self.before = Some(run);
        }
    }

    /// Nothing is known of the past.
    pub(super) fn forget(&mut self) {
        (self.now, self.before) = (None, None);
    }

    /// The one before and the one that runs, where that one can have been put off and its first callback has begun.
    #[inline]
    fn suspects(&self) -> Option<(&Run, &Run)> {
        let (before, now) = (self.before.as_ref()?, self.now.as_ref()?);
        if before.callbacks < ROUNDS || now.callbacks != 1 {
            return None;
        }
        let (until_ns, looked_ns) = before.puts_off();
        let gap_ns = now.begin_ns.saturating_sub(looked_ns);
        let is_long = if before.tells_ends() {
            now.begin_ns >= until_ns
        } else {
            let (share, of) = PUT_OFF_SHARE;
            gap_ns.saturating_mul(of) >= (until_ns - looked_ns).saturating_mul(share)
        };
        is_long.then_some((before, now))
    }
}

impl Cpu {
    /// Whether it matters when the timer had expired, and was armed, whose callback has just begun.
    #[inline]
    pub(crate) fn may_have_hung(&self) -> bool {
        self.hangs.suspects().is_some()
    }

    /// The timer whose callback has just begun had to fire at a time, and was armed at another.
    pub(crate) fn had_expired(&mut self, hard_ns: u64, armed_ns: u64) {
        let Some((before, now)) = self.hangs.suspects() else { return };
        let (until_ns, looked_ns) = before.puts_off();
        if hard_ns >= looked_ns || armed_ns >= looked_ns {
            return;
        }
        let to_ns = until_ns.min(now.begin_ns).max(before.end_ns);
        let put_off = PutOff { from_ns: before.end_ns, to_ns, by: before.longest.0 };
        if self.hangs.found.len() == KEPT_MAX {
            self.hangs.found.pop_front();
        }
        self.hangs.found.push_back(put_off);
    }

    /// Stretches that end after a time, in order.
    pub fn put_off_since(&self, ns: u64) -> impl Iterator<Item = &PutOff> {
        self.hangs.found.iter().filter(move |put_off| put_off.to_ns > ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::TimerId;
    use tardy_model::event::{ExpireBegin, Irq, TimerMode, Vector};
    use tardy_model::{TaskId, TimerClass};

    use crate::cpu::RunIn;

    const TIMER: Irq = Irq::Vector(Vector::LOCAL_TIMER);

    /// An interrupt that runs callbacks at some times, and which of them took longest.
    fn interrupt(cpu: &mut Cpu, begin_ns: u64, callbacks: &[(u32, u64)], end_ns: u64) {
        cpu.irq_begin(begin_ns, TIMER, true);
        for (at, (timer, at_ns)) in callbacks.iter().enumerate() {
            expires(cpu, *at_ns, *timer);
            let next = callbacks.get(at + 1).map_or(end_ns, |(_, ns)| *ns);
            cpu.expire_end(next, TimerId(*timer));
        }
        cpu.irq_end(end_ns, TIMER);
    }

    fn expires(cpu: &mut Cpu, at_ns: u64, timer: u32) {
        let mode = TimerMode(TimerMode::HARD);
        let begin = ExpireBegin { timer: TimerId(timer), soft_ns: 1, slack_ns: 0, mode };
        cpu.expire_begin(at_ns, begin, TaskId(timer), TimerClass::Hrtimer, RunIn::Itself, None);
    }

    /// What is found where the next interrupt begins at a time, and runs a timer first that had to fire, and was
    /// armed, at others.
    fn found(callbacks: usize, next_ns: u64, hard_ns: u64, armed_ns: u64) -> Vec<PutOff> {
        let mut cpu = Cpu::new(100);
        let all = [(1, 11_000), (2, 12_000), (3, 18_000)];
        interrupt(&mut cpu, 10_000, &all[..callbacks], 20_000);
        cpu.irq_begin(next_ns, TIMER, true);
        expires(&mut cpu, next_ns + 1_000, 4);
        if cpu.may_have_hung() {
            cpu.had_expired(hard_ns, armed_ns);
        }
        cpu.put_off_since(0).copied().collect()
    }

    #[test]
    fn an_interrupt_that_leaves_what_has_expired_puts_the_next_one_off_by_what_it_took() {
        let by = Activity::Expiry(TimerId(2), TaskId(2), 2);
        let put_off = |to_ns| vec![PutOff { from_ns: 20_000, to_ns, by }];
        assert_eq!(found(3, 29_500, 19_000, 5_000), put_off(29_500));
        // What is later than that has another reason.
        assert_eq!(found(3, 45_000, 19_000, 5_000), put_off(30_000));
    }

    #[test]
    fn what_can_have_another_reason_is_none() {
        // It had not expired yet, or was not armed; the interrupt came at once; the one before had too little to run.
        assert_eq!(found(3, 29_500, 20_000, 5_000), []);
        assert_eq!(found(3, 29_500, 19_000, 21_000), []);
        assert_eq!(found(3, 22_000, 19_000, 5_000), []);
        assert_eq!(found(2, 29_500, 19_000, 5_000), []);
    }
}
