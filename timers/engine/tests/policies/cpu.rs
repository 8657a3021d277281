//! A model CPU: runs the most urgent context, preemptively; every callback costs the same.

use crate::plain::Plain;
use std::collections::BTreeMap;
use tardy_timers::policy::{self, Arm, Context, Policy, Settings, Step};

/// What the CPU did for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) context: Context,
    pub(crate) priority: u8,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// A callback that was run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) arm: Arm,
    /// When the interrupt that found it due was over.
    pub(crate) pending_ns: u64,
    pub(crate) begun_ns: u64,
}

/// A step that has begun and is not finished.
struct Begun {
    priority: u8,
    left_ns: u64,
}

pub(crate) struct Cpu {
    policy: Box<dyn Policy<usize>>,
    callback_ns: u64,
    now_ns: u64,
    begun: BTreeMap<Context, Begun>,
    arms: Vec<(Arm, Option<u64>)>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) ran: Vec<Ran>,
}

impl Cpu {
    pub(crate) fn new(name: &str, settings: &Settings, callback_ns: u64) -> Self {
        Self {
            policy: policy::build(name, settings, &Plain::new).unwrap(),
            callback_ns,
            now_ns: 0,
            begun: BTreeMap::new(),
            arms: Vec::new(),
            slices: Vec::new(),
            ran: Vec::new(),
        }
    }

    pub(crate) fn arm(&mut self, arm: Arm) {
        self.policy.arm(arm, self.arms.len()).unwrap();
        self.arms.push((arm, None));
    }

    /// Runs until all that was armed has run.
    pub(crate) fn run(&mut self) {
        while self.ran.len() < self.arms.len() || !self.begun.is_empty() {
            let interrupts = self.policy.device_ns();
            if interrupts.is_some_and(|at_ns| at_ns <= self.now_ns) {
                self.policy.interrupt(self.now_ns);
                continue;
            }
            let Some((context, priority)) = self.most_urgent() else {
                self.now_ns = interrupts.unwrap();
                continue;
            };
            if !self.begun.contains_key(&context) && !self.begin(context, priority) {
                continue;
            }
            // Until it is done, or the device interrupts.
            let begun = self.begun.get_mut(&context).unwrap();
            let until_ns = self.now_ns + begun.left_ns;
            let to_ns = interrupts.map_or(until_ns, |at_ns| at_ns.min(until_ns));
            begun.left_ns -= to_ns - self.now_ns;
            if begun.left_ns == 0 {
                self.begun.remove(&context);
            }
            self.slices.push(Slice { context, priority, from_ns: self.now_ns, to_ns });
            self.now_ns = to_ns;
        }
    }

    /// A thread in a callback has the priority at which it began, or a higher one it has got since.
    fn most_urgent(&self) -> Option<(Context, u8)> {
        let begun = self.begun.iter().map(|(context, begun)| (*context, begun.priority));
        let runnable = self.policy.runnable();
        let runnable = runnable.iter().map(|runnable| (runnable.context, runnable.priority));
        begun
            .chain(runnable)
            .max_by_key(|(context, priority)| (*priority, std::cmp::Reverse(*context)))
    }

    fn begin(&mut self, context: Context, priority: u8) -> bool {
        let step = self.policy.step(context, self.now_ns);
        if context == Context::HardIrq && step.is_none() {
            let now_ns = self.now_ns;
            for (arm, pending_ns) in &mut self.arms {
                if arm.expiry.soft_ns() <= now_ns {
                    pending_ns.get_or_insert(now_ns);
                }
            }
        }
        let left_ns = match step {
            Some(Step::Fire(fire)) => {
                let pending_ns = self.arms[fire.payload].1.unwrap_or(self.now_ns);
                self.ran.push(Ran { arm: fire.arm, pending_ns, begun_ns: self.now_ns });
                self.callback_ns
            }
            Some(Step::Wait { until_ns }) => until_ns - self.now_ns,
            Some(Step::Tick { .. } | Step::Move { .. }) | None => 0,
        };
        if left_ns > 0 {
            self.begun.insert(context, Begun { priority, left_ns });
        }
        left_ns > 0
    }
}
