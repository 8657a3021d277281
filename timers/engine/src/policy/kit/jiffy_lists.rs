//! The policies whose timers sit in lists per jiffy: a precise timer comes to a list of its own only
//! at the edge of the jiffy it is due in.
//!
//! The device is periodic, so the tick does not program it; it is programmed for each precise timer
//! that comes first, and once to get back to the period.
//!
//! What is one list in the proposals is two queues here, by kind: precise timers that are due in a
//! later jiffy, and coarse ones, which fire at the first edge at or after their expiry.

use super::device::Device;
use super::edges::Edges;
use super::pending::Equals;
use super::slots::Key;
use super::store::{Course, Store};
use crate::policy::settings::thread_priority;
use crate::policy::{
    Arm, Context, HARD_IRQ_PRIORITY, Policy, Program, Rearm, Runnable, Runnables, Settings, Step,
};
use crate::queue::{Full, Queue};
use crate::{Expiry, Kind, Stale};

/// Who moves the lists at the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeWork {
    /// The jiffy timer code, in softirq: low-res callbacks first, since they are due before; then the
    /// precise timers of this jiffy are moved. Those due meanwhile are shadowed, and run there.
    InSoftirq,
    /// The interrupt: precise timers are moved and the shadowed ones run; then low-res timers go to a
    /// work list for the softirq.
    InInterrupt,
}

/// Precise timers due in this jiffy.
const NEAR: u8 = 0;
/// Precise timers due later.
const FAR: u8 = 1;
/// Low-res timers.
const COARSE: u8 = 2;

const SOFTIRQ_LANE: u8 = 0;
const HARD_IRQ_LANE: u8 = 1;

/// Jiffies that a thread counts.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// The thread's.
    priority: u8,
    /// The last edge that it counted.
    edge_ns: u64,
    /// It has one to count.
    is_due: bool,
}

/// A policy with lists per jiffy.
#[derive(Debug)]
pub(crate) struct JiffyLists<T, Q> {
    edge_work: EdgeWork,
    settings: Settings,
    store: Store<T, Q, 3>,
    device: Device,
    edges: Edges,
    /// Precise timers due before this have been moved, or are armed into the near queue at once.
    moved_until_ns: u64,
    /// The edge's work, or its second half, is still to be done.
    edge_work_due: bool,
    /// The jiffies as the softirq knows them, where the interrupt's thread counts them and not the interrupt.
    counted: Option<Counted>,
    in_interrupt: bool,
    /// The interrupt was the period's, which goes on by itself.
    was_periodic: bool,
}

impl<T, Q: Queue<Key>> JiffyLists<T, Q> {
    pub(crate) fn new(edge_work: EdgeWork, settings: &Settings, queue: &dyn Fn() -> Q) -> Self {
        let edges = Edges::new(settings.jiffy_ns, settings.start_ns);
        Self {
            edge_work,
            settings: *settings,
            store: Store::new(settings.timers, 2, Equals::AsTheyCame, queue),
            device: Device::new(Rearm::Single, edges.next_ns()),
            moved_until_ns: edges.next_ns().unwrap_or(u64::MAX),
            edges,
            edge_work_due: false,
            counted: None,
            in_interrupt: false,
            was_periodic: false,
        }
    }

    /// Jiffies are counted by the thread that the interrupt's handler was made into, if it was.
    pub(crate) fn counted_by_top_half(mut self) -> Self {
        let edge_ns = self.edges.last_ns();
        let counted = |priority| Counted { priority, edge_ns, is_due: false };
        self.counted = self.settings.top_half.map(thread_priority).map(counted);
        self
    }

    /// The edge by which the softirq goes.
    fn known_edge_ns(&self) -> u64 {
        self.counted.map_or(self.edges.last_ns(), |counted| counted.edge_ns)
    }

    /// The first edge after that.
    fn until_ns(&self) -> Option<u64> {
        match self.counted {
            Some(counted) => counted.edge_ns.checked_add(self.settings.jiffy_ns.get()),
            None => self.edges.next_ns(),
        }
    }

    fn queue(&self, arm: &Arm, expiry: Expiry) -> u8 {
        match arm.class.kind {
            _ if arm.hard => NEAR,
            Kind::Coarse => COARSE,
            Kind::Precise if expiry.soft_ns() < self.moved_until_ns => NEAR,
            Kind::Precise => FAR,
        }
    }

    /// Programs the device for whoever comes first: a near timer, or the edge.
    fn settle(&mut self) {
        let near_ns = self.store.first_ns(NEAR);
        self.device.settle([near_ns, self.edges.next_ns()].into_iter().flatten().min());
    }

    /// After an arm, a cancel or a rearm.
    fn changed(&mut self) {
        if !self.in_interrupt {
            self.settle();
        }
    }

    /// Moves the precise timers of this jiffy from the far queue to the near one. Says how many.
    fn move_precise(&mut self) -> usize {
        let mut timers = 0;
        self.moved_until_ns = self.until_ns().unwrap_or(u64::MAX);
        let until_ns = match self.until_ns() {
            Some(edge_ns) => edge_ns - 1,
            None => u64::MAX,
        };
        while let Some(key) = self.store.pop(FAR, until_ns) {
            timers += 1;
            let Ok(timer) = self.store.get(key) else { continue };
            let expiry = timer.arm.expiry;
            // A key just popped is not stale.
            let _ = self.store.rearm(key, NEAR, expiry);
        }
        timers
    }

    fn interrupt_step(&mut self, now_ns: u64) -> Option<Step<T>> {
        if !self.in_interrupt {
            return None;
        }
        if self.edges.is_due(now_ns) {
            return Some(self.tick(now_ns));
        }
        self.store.collect(NEAR, now_ns);
        if let Some(key) = self.store.first_pending(1 << HARD_IRQ_LANE) {
            let soft_ns = self.store.get(key).ok()?.arm.expiry.soft_ns();
            if soft_ns > now_ns {
                return Some(Step::Wait { until_ns: soft_ns });
            }
            return self.store.fire(key).map(Step::Fire);
        }
        if self.edge_work == EdgeWork::InInterrupt && core::mem::take(&mut self.edge_work_due) {
            let timers = self.store.collect(COARSE, self.edges.last_ns());
            if timers > 0 {
                return Some(Step::Move { timers });
            }
        }
        self.in_interrupt = false;
        self.settle();
        None
    }

    fn tick(&mut self, now_ns: u64) -> Step<T> {
        let jiffies = self.edges.pass(now_ns);
        self.edge_work_due = true;
        if let Some(counted) = &mut self.counted {
            counted.is_due = true;
        }
        if core::mem::take(&mut self.was_periodic) {
            self.device.repeats(self.edges.next_ns());
        }
        if self.edge_work == EdgeWork::InInterrupt {
            self.move_precise();
            // The shadowed ones are to run in this interrupt, so the device is not for them.
            self.store.collect(NEAR, now_ns.saturating_add(self.settings.too_close_ns));
            self.settle();
        }
        Step::Tick { jiffies }
    }

    fn softirq_step(&mut self, now_ns: u64) -> Option<Step<T>> {
        if self.edge_work == EdgeWork::InSoftirq && self.edge_work_due {
            if let Some(key) = self.store.pop(COARSE, self.known_edge_ns()) {
                return self.store.fire(key).map(Step::Fire);
            }
            self.edge_work_due = false;
            let timers = self.move_precise();
            // Presented when already expired: expired immediately, here.
            while let Some(key) = self.store.pop(NEAR, now_ns) {
                self.store.push_to(key, SOFTIRQ_LANE);
            }
            self.changed();
            if timers > 0 {
                return Some(Step::Move { timers });
            }
        }
        let key = self.store.first_pending(1 << SOFTIRQ_LANE)?;
        self.store.fire(key).map(Step::Fire)
    }
}

impl<T, Q: Queue<Key>> Policy<T> for JiffyLists<T, Q> {
    fn arm(&mut self, arm: Arm, payload: T) -> Result<Key, Full<T>> {
        let queue = self.queue(&arm, arm.expiry);
        let course = Course { queue, lane: lane(&arm), priority: self.settings.priority(&arm) };
        let key = self.store.arm(course, arm, payload)?;
        self.changed();
        Ok(key)
    }

    fn cancel(&mut self, key: Key) -> Result<T, Stale> {
        let timer = self.store.cancel(key)?;
        self.changed();
        Ok(timer.payload)
    }

    fn rearm(&mut self, key: Key, expiry: Expiry) -> Result<(), Stale> {
        let arm = self.store.get(key)?.arm;
        self.store.rearm(key, self.queue(&arm, expiry), expiry)?;
        self.store.set_lane(key, lane(&arm));
        self.changed();
        Ok(())
    }

    fn interrupt(&mut self, now_ns: u64) {
        if !self.in_interrupt {
            self.was_periodic = self.device.at_ns() == self.edges.next_ns();
            if !self.was_periodic || self.edges.is_due(now_ns) {
                self.device.fired();
            }
        }
        self.in_interrupt = true;
    }

    fn step(&mut self, context: Context, now_ns: u64) -> Option<Step<T>> {
        match context {
            Context::HardIrq => self.interrupt_step(now_ns),
            Context::CommonSoftirq => self.softirq_step(now_ns),
            Context::TopHalf => {
                if let Some(counted) = &mut self.counted {
                    (counted.edge_ns, counted.is_due) = (self.edges.last_ns(), false);
                }
                None
            }
            Context::TimerThread(_) => None,
        }
    }

    fn runnable(&self) -> Runnables {
        let mut runnables = Runnables::default();
        if self.in_interrupt {
            runnables.add(Runnable { context: Context::HardIrq, priority: HARD_IRQ_PRIORITY });
        }
        if let Some(Counted { priority, .. }) = self.counted.filter(|counted| counted.is_due) {
            runnables.add(Runnable { context: Context::TopHalf, priority });
        }
        let waiting = self.store.pending().highest_lane(1 << SOFTIRQ_LANE).is_some();
        if waiting || self.edge_work == EdgeWork::InSoftirq && self.edge_work_due {
            let priority = thread_priority(self.settings.common);
            runnables.add(Runnable { context: Context::CommonSoftirq, priority });
        }
        runnables
    }

    super::asked_of_store_and_device!();
}

/// Where an expired timer goes.
fn lane(arm: &Arm) -> u8 {
    match arm.class.kind {
        Kind::Coarse if !arm.hard => SOFTIRQ_LANE,
        _ => HARD_IRQ_LANE,
    }
}
