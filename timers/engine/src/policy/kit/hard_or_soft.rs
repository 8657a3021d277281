//! The kernel's contexts since soft timers exist: hard irq, and softirq for who asks for it.

use super::laned::{Laned, Rules, Served};
use super::slots::Key;
use crate::Kind;
use crate::policy::{Arm, Context, HARD_IRQ_PRIORITY, Rearm, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

/// Soft timers, and those in a wheel, in the common softirq thread; the others in hard irq.
#[derive(Debug)]
pub(crate) struct HardOrSoft {
    /// Coarse timers live in a wheel.
    has_wheel: bool,
}

impl HardOrSoft {
    /// These contexts, with one rule of programming the device, whatever the settings say of that.
    pub(crate) fn with<T, Q: Queue<Key>>(
        rearm: Rearm,
        settings: &Settings,
        queue: &dyn Fn() -> Q,
    ) -> Laned<T, Q, Self> {
        let rules = Self { has_wheel: rearm == Rearm::Wheel };
        Laned::new(rules, &Settings { rearm, ..*settings }, queue)
    }
}

impl Rules for HardOrSoft {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        vec![
            Served { by: Context::CommonSoftirq, priority: settings.common },
            Served { by: Context::HardIrq, priority: HARD_IRQ_PRIORITY },
        ]
    }

    fn lane(&self, arm: &Arm, _priority: u8) -> u8 {
        u8::from(!(arm.soft || self.has_wheel && arm.class.kind == Kind::Coarse))
    }
}
