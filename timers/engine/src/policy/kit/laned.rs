//! The policies that differ in where an expired timer goes: each lane has a context.
//!
//! The interrupt takes what is due out of the queue, in time order, and puts each into its lane; the
//! lanes' contexts run them. What goes to hard irq runs before the interrupt ends.

use super::device::Device;
use super::edges::Edges;
use super::pending::{Equals, Pending};
use super::rounds::{Over, Rounds};
use super::slots::Key;
use super::store::{Course, Store};
use crate::policy::settings::thread_priority;
use crate::policy::{
    Arm, Context, HARD_IRQ_PRIORITY, Policy, Program, Rearm, Runnable, Runnables, Settings, Step,
};
use crate::queue::{Full, Queue};
use crate::{Expiry, Kind, Stale};
use alloc::vec::Vec;

/// Who serves a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) by: Context,
    /// Of threads; hard irq has its own.
    pub(crate) priority: u8,
}

/// What makes one such policy: which lane a timer goes to, and who serves it.
pub(crate) trait Rules {
    /// Its lanes, at most one per priority of a thread. A context that serves several runs the highest one first.
    fn lanes(&self, settings: &Settings) -> Vec<Served>;

    /// The lane of a timer of this priority. Asked when it is armed.
    fn lane(&self, arm: &Arm, priority: u8) -> u8;

    /// Whether a timer waits for the tick instead of programming the device.
    fn waits_for_tick(&self, _arm: &Arm) -> bool {
        false
    }

    /// The priority of a lane that has someone, where it is not fixed.
    fn follows(&self, _pending: &Pending) -> Option<u8> {
        None
    }

    /// Who comes first of those in a lane that expire at the same time.
    fn equals(&self) -> Equals {
        Equals::AsTheyCame
    }

    /// Switches deferral; `false` where there is none.
    fn defer(&mut self, _on: bool) -> bool {
        false
    }
}

const PRECISE: u8 = 0;
const WHEEL: u8 = 1;

/// A policy by its rules.
#[derive(Debug)]
pub(crate) struct Laned<T, Q, R> {
    rules: R,
    settings: Settings,
    lanes: Vec<Served>,
    /// The lane of timers that are to be fired in the interrupt.
    hard_lane: u8,
    /// Which lanes each context serves, a bit each.
    contexts: Vec<(Context, u128)>,
    store: Store<T, Q, 2>,
    device: Device,
    edges: Edges,
    rounds: Rounds,
    in_interrupt: bool,
}

impl<T, Q: Queue<Key>, R: Rules> Laned<T, Q, R> {
    pub(crate) fn new(rules: R, settings: &Settings, queue: &dyn Fn() -> Q) -> Self {
        let mut lanes = rules.lanes(settings);
        let is_hard = |lane: &Served| lane.by == Context::HardIrq;
        let hard_lane = lanes.iter().position(is_hard).unwrap_or(lanes.len());
        if hard_lane == lanes.len() {
            lanes.push(Served { by: Context::HardIrq, priority: HARD_IRQ_PRIORITY });
        }
        let edges = Edges::new(settings.jiffy_ns, settings.start_ns);
        Self {
            store: Store::new(settings.timers, lanes.len(), rules.equals(), queue),
            device: Device::new(settings.rearm, edges.next_ns()),
            contexts: contexts(&lanes),
            rules,
            settings: *settings,
            lanes,
            hard_lane: hard_lane as u8,
            edges,
            rounds: Rounds::new(settings.rounds),
            in_interrupt: false,
        }
    }

    /// When the device is needed next.
    fn first_ns(&mut self) -> Option<u64> {
        let first_ns = self.store.first_ns(PRECISE);
        [first_ns, self.edges.next_ns()].into_iter().flatten().min()
    }

    fn queue(&self, arm: &Arm) -> u8 {
        let in_wheel = self.settings.rearm == Rearm::Wheel && arm.class.kind == Kind::Coarse;
        let waits = in_wheel || self.rules.waits_for_tick(arm);
        if waits && !arm.hard { WHEEL } else { PRECISE }
    }

    /// Who is first in a context's highest lane.
    fn first_in(&self, context: Context) -> Option<Key> {
        let (_, lanes) = self.contexts.iter().find(|(served, _)| *served == context)?;
        self.store.first_pending(*lanes)
    }

    /// The interrupt's turn: what comes first, the tick or a callback; at last, the device.
    fn interrupt_step(&mut self, now_ns: u64) -> Option<Step<T>> {
        if !self.in_interrupt {
            return None;
        }
        loop {
            // What has become due meanwhile is run by the same interrupt, as by the kernel's.
            let until_ns = self.rounds.until_ns(now_ns);
            self.store.collect(PRECISE, until_ns);
            let first = self.first_in(Context::HardIrq);
            let hard_ns =
                first.and_then(|key| Some(self.store.get(key).ok()?.arm.expiry.hard_ns()));
            if self.edges.is_due(until_ns)
                && hard_ns.is_none_or(|ns| self.edges.next_ns() <= Some(ns))
            {
                let jiffies = self.edges.pass(until_ns);
                self.store.collect(WHEEL, self.edges.last_ns());
                return Some(Step::Tick { jiffies });
            }
            if let Some(key) = first {
                return self.store.fire(key).map(Step::Fire);
            }
            let first_ns = self.first_ns();
            match self.rounds.over(first_ns, now_ns) {
                Over::Again => continue,
                Over::Ends => self.device.ends(first_ns),
                Over::PutOff { until_ns } => self.device.puts_off(until_ns),
            }
            self.in_interrupt = false;
            return None;
        }
    }
}

impl<T, Q: Queue<Key>, R: Rules> Policy<T> for Laned<T, Q, R> {
    fn arm(&mut self, arm: Arm, payload: T) -> Result<Key, Full<T>> {
        let priority = self.settings.priority(&arm);
        let lane = if arm.hard { self.hard_lane } else { self.rules.lane(&arm, priority) };
        let key =
            self.store.arm(Course { queue: self.queue(&arm), lane, priority }, arm, payload)?;
        if !self.in_interrupt {
            let first_ns = self.first_ns();
            self.device.started(first_ns);
        }
        Ok(key)
    }

    fn cancel(&mut self, key: Key) -> Result<T, Stale> {
        let timer = self.store.cancel(key)?;
        if !self.in_interrupt {
            let first_ns = self.first_ns();
            self.device.removed(first_ns);
        }
        Ok(timer.payload)
    }

    fn rearm(&mut self, key: Key, expiry: Expiry) -> Result<(), Stale> {
        let timer = self.store.get(key)?;
        let queue = self.queue(&timer.arm);
        if self.in_interrupt {
            return self.store.rearm(key, queue, expiry);
        }
        if self.device.removes_first() {
            self.store.withdraw(key)?;
            let first_ns = self.first_ns();
            self.device.removed(first_ns);
        }
        self.store.rearm(key, queue, expiry)?;
        let first_ns = self.first_ns();
        self.device.removed(first_ns);
        Ok(())
    }

    fn interrupt(&mut self, now_ns: u64) {
        self.in_interrupt = true;
        self.rounds.begin(now_ns);
        self.device.fired();
        self.store.collect(PRECISE, now_ns);
    }

    fn step(&mut self, context: Context, now_ns: u64) -> Option<Step<T>> {
        if context == Context::HardIrq {
            return self.interrupt_step(now_ns);
        }
        let key = self.first_in(context)?;
        self.store.fire(key).map(Step::Fire)
    }

    fn runnable(&self) -> Runnables {
        let mut runnables = Runnables::default();
        if self.in_interrupt {
            runnables.add(Runnable { context: Context::HardIrq, priority: HARD_IRQ_PRIORITY });
        }
        let pending = self.store.pending();
        for (context, lanes) in &self.contexts {
            if *context == Context::HardIrq {
                continue;
            }
            if let Some(lane) = pending.highest_lane(*lanes) {
                let own = self.lanes[usize::from(lane)].priority;
                let priority = thread_priority(self.rules.follows(pending).unwrap_or(own));
                runnables.add(Runnable { context: *context, priority });
            }
        }
        runnables
    }

    super::asked_of_store_and_device!();

    fn defer(&mut self, on: bool) -> bool {
        self.rules.defer(on)
    }
}

fn contexts(lanes: &[Served]) -> Vec<(Context, u128)> {
    let mut contexts: Vec<(Context, u128)> = Vec::new();
    for (at, lane) in lanes.iter().enumerate() {
        match contexts.iter_mut().find(|(context, _)| *context == lane.by) {
            Some((_, mask)) => *mask |= 1 << at,
            None => contexts.push((lane.by, 1 << at)),
        }
    }
    contexts
}
