//! The kernel's bases for soft timers, with the softirq's own expiry time beside the device's.
//!
//! Soft timers have a queue of their own. The interrupt does not look into it: it compares the clock
//! with a cached time, `softirq_expires_next`, and raises the softirq when that has come. While the
//! softirq is raised, soft timers leave the device alone; when it is done, it caches the time of the
//! first one that is left and programs the device for it if need be.

use super::device::Device;
use super::edges::Edges;
use super::pending::Equals;
use super::rounds::{Over, Rounds};
use super::slots::{Key, Place};
use super::store::{Course, Store};
use crate::policy::settings::thread_priority;
use crate::policy::{
    Arm, Context, HARD_IRQ_PRIORITY, Policy, Program, Rearm, Runnable, Runnables, Settings, Step,
};
use crate::queue::{Full, Queue};
use crate::{Expiry, Stale};

const HARD: u8 = 0;
const SOFT: u8 = 1;

/// The only lane: hard timers that have expired. Soft ones stay in their queue until the softirq
/// takes them.
const HARD_IRQ_LANE: u8 = 0;

/// A policy with a cached softirq expiry time.
#[derive(Debug)]
pub(crate) struct SoftirqBase<T, Q> {
    /// Whether the cached time is updated wherever the first soft timer may have changed.
    fixed: bool,
    settings: Settings,
    store: Store<T, Q, 2>,
    device: Device,
    edges: Edges,
    rounds: Rounds,
    softirq_expires_next_ns: Option<u64>,
    softirq_raised: bool,
    in_interrupt: bool,
}

impl<T, Q: Queue<Key>> SoftirqBase<T, Q> {
    pub(crate) fn new(fixed: bool, settings: &Settings, queue: &dyn Fn() -> Q) -> Self {
        let edges = Edges::new(settings.jiffy_ns, settings.start_ns);
        Self {
            fixed,
            settings: *settings,
            store: Store::new(settings.timers, 1, Equals::AsTheyCame, queue),
            device: Device::new(Rearm::EagerDouble, edges.next_ns()),
            edges,
            rounds: Rounds::new(settings.rounds),
            softirq_expires_next_ns: None,
            softirq_raised: false,
            in_interrupt: false,
        }
    }

    fn first_hard_ns(&mut self) -> Option<u64> {
        let first_ns = self.store.first_ns(HARD);
        [first_ns, self.edges.next_ns()].into_iter().flatten().min()
    }

    /// A timer was put into its queue.
    fn started(&mut self, soft: bool) {
        if !soft {
            let first_ns = self.store.first_ns(HARD);
            self.program_earlier(first_ns);
            return;
        }
        let first_ns = self.store.first_ns(SOFT);
        let is_earlier = match (first_ns, self.softirq_expires_next_ns) {
            (Some(first_ns), Some(cached_ns)) => first_ns < cached_ns,
            (first_ns, _) => first_ns.is_some(),
        };
        if !self.softirq_raised && is_earlier {
            // Also during an interrupt, which would otherwise end with the device programmed for a
            // timer that no interrupt looks at.
            self.softirq_expires_next_ns = first_ns;
            self.program_earlier(first_ns);
        }
    }

    fn program_earlier(&mut self, first_ns: Option<u64>) {
        if !self.in_interrupt {
            self.device.started(first_ns);
        }
    }

    /// What the device is needed for first, at the end of an interrupt or not. Caches the soft timers' time on the way.
    fn first_ns(&mut self, interrupt_ends: bool) -> Option<u64> {
        let hard_ns = self.first_hard_ns();
        let soft_ns = if self.softirq_raised { None } else { self.store.first_ns(SOFT) };
        let soft_is_first = soft_ns.is_some_and(|soft_ns| hard_ns.is_none_or(|ns| soft_ns < ns));
        // The bug: the time was only cached where the first of all was a soft timer, and never by the
        // interrupt.
        if !self.softirq_raised && (self.fixed || soft_is_first && !interrupt_ends) {
            self.softirq_expires_next_ns = soft_ns;
        }
        if soft_is_first { soft_ns } else { hard_ns }
    }

    /// Tells the device of a removal, if it was programmed for that timer.
    fn removed(&mut self, place: Place, expiry: Expiry) {
        let was_first = self.device.at_ns() == Some(expiry.hard_ns());
        if !self.in_interrupt && was_first && place != Place::Pending {
            let first_ns = self.first_ns(false);
            self.device.settle(first_ns);
        }
    }

    fn interrupt_step(&mut self, now_ns: u64) -> Option<Step<T>> {
        if !self.in_interrupt {
            return None;
        }
        loop {
            let until_ns = self.rounds.until_ns(now_ns);
            self.store.collect(HARD, until_ns);
            let first = self.store.first_pending(1 << HARD_IRQ_LANE);
            let hard_ns =
                first.and_then(|key| Some(self.store.get(key).ok()?.arm.expiry.hard_ns()));
            if self.edges.is_due(until_ns)
                && hard_ns.is_none_or(|ns| self.edges.next_ns() <= Some(ns))
            {
                return Some(Step::Tick { jiffies: self.edges.pass(until_ns) });
            }
            if let Some(key) = first {
                return self.store.fire(key).map(Step::Fire);
            }
            let first_ns = self.first_ns(true);
            match self.rounds.over(first_ns, now_ns) {
                Over::Again => {
                    self.raises(now_ns);
                    continue;
                }
                Over::Ends => self.device.ends(first_ns),
                Over::PutOff { until_ns } => self.device.puts_off(until_ns),
            }
            self.in_interrupt = false;
            return None;
        }
    }

    /// Raises the softirq where the cached time has come.
    fn raises(&mut self, now_ns: u64) {
        if self.softirq_expires_next_ns.is_some_and(|cached_ns| cached_ns <= now_ns) {
            self.softirq_expires_next_ns = None;
            self.softirq_raised = true;
        }
    }

    fn softirq_step(&mut self, now_ns: u64) -> Option<Step<T>> {
        if !self.softirq_raised {
            return None;
        }
        if let Some(key) = self.store.pop(SOFT, now_ns) {
            return self.store.fire(key).map(Step::Fire);
        }
        self.softirq_raised = false;
        self.softirq_expires_next_ns = None;
        self.started(true);
        None
    }
}

impl<T, Q: Queue<Key>> Policy<T> for SoftirqBase<T, Q> {
    fn arm(&mut self, arm: Arm, payload: T) -> Result<Key, Full<T>> {
        let queue = if arm.is_soft() { SOFT } else { HARD };
        let priority = self.settings.priority(&arm);
        let key = self.store.arm(Course { queue, lane: HARD_IRQ_LANE, priority }, arm, payload)?;
        self.started(arm.is_soft());
        Ok(key)
    }

    fn cancel(&mut self, key: Key) -> Result<T, Stale> {
        let timer = self.store.cancel(key)?;
        self.removed(timer.place, timer.arm.expiry);
        Ok(timer.payload)
    }

    fn rearm(&mut self, key: Key, expiry: Expiry) -> Result<(), Stale> {
        let timer = self.store.get(key)?;
        let (place, arm) = (timer.place, timer.arm);
        self.store.withdraw(key)?;
        self.removed(place, arm.expiry);
        self.store.rearm(key, if arm.is_soft() { SOFT } else { HARD }, expiry)?;
        self.started(arm.is_soft());
        Ok(())
    }

    fn interrupt(&mut self, now_ns: u64) {
        self.in_interrupt = true;
        self.rounds.begin(now_ns);
        self.device.fired();
        self.raises(now_ns);
        self.store.collect(HARD, now_ns);
    }

    fn step(&mut self, context: Context, now_ns: u64) -> Option<Step<T>> {
        match context {
            Context::HardIrq => self.interrupt_step(now_ns),
            Context::CommonSoftirq => self.softirq_step(now_ns),
            Context::TopHalf | Context::TimerThread(_) => None,
        }
    }

    fn runnable(&self) -> Runnables {
        let mut runnables = Runnables::default();
        if self.in_interrupt {
            runnables.add(Runnable { context: Context::HardIrq, priority: HARD_IRQ_PRIORITY });
        }
        if self.softirq_raised {
            let priority = thread_priority(self.settings.common);
            runnables.add(Runnable { context: Context::CommonSoftirq, priority });
        }
        runnables
    }

    super::asked_of_store_and_device!();
}
