//! A queue that asks to be looked at before anyone is due, as a wheel may, loses nothing either.

use crate::plain::Plain;
use proptest::prelude::*;
use std::num::NonZeroU64;
use tardy_timers::policy::{self, Arm, KNOWN, Rearm, Settings, Step};
use tardy_timers::queue::{Fired, Full, Queue};
use tardy_timers::{Expiry, Handle, Stale};

/// Names the beginning of the granule in which the first timer is due, until that has come.
struct Early<T> {
    plain: Plain<T>,
    seen_ns: u64,
}

const GRANULE_NS: u64 = 512;

impl<T> Queue<T> for Early<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        self.plain.insert(expiry, payload)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.plain.cancel(handle)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        self.plain.rearm(handle, expiry)
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        let hard_ns = self.plain.next_expiry_ns()?;
        let begins_ns = hard_ns / GRANULE_NS * GRANULE_NS;
        Some(if begins_ns > self.seen_ns { begins_ns } else { hard_ns })
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        self.seen_ns = now_ns;
        self.plain.pop_expired(now_ns)
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.plain.expiry(handle)
    }

    fn len(&self) -> usize {
        self.plain.len()
    }
}

/// The most interrupts and steps that a case of this test can need, by far.
const STEPS_MAX: usize = 10_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_is_lost_or_early(
        timers in proptest::collection::vec((0_u64..8000, 0_u64..500, 0_u8..3, any::<bool>()), 1..40),
        lazy in any::<bool>(),
    ) {
        for about in KNOWN {
            let settings = Settings {
                jiffy_ns: NonZeroU64::new(1000).unwrap(),
                rearm: if lazy { Rearm::Lazy } else { Rearm::Single },
                ..Settings::default()
            };
            let queue = || Early { plain: Plain::new(), seen_ns: 0 };
            let mut policy = policy::build(about.name, &settings, &queue).unwrap();
            for (soft_ns, slack_ns, priority, coarse) in &timers {
                let arm = Arm::sleep(Expiry::with_slack(*soft_ns, *slack_ns), *priority);
                let arm = if *coarse { arm.coarse().in_softirq() } else { arm };
                policy.arm(arm, ()).unwrap();
            }
            let (mut fired, mut now_ns) = (0, 0);
            for _ in 0..STEPS_MAX {
                if let Some(runnable) = policy.runnable().first() {
                    if let Some(Step::Fire(fire)) = policy.step(runnable.context, now_ns) {
                        prop_assert!(fire.arm.expiry.soft_ns() <= now_ns);
                        fired += 1;
                    }
                } else if policy.is_empty() {
                    break;
                } else {
                    now_ns = now_ns.max(policy.device_ns().unwrap());
                    policy.interrupt(now_ns);
                }
            }
            prop_assert_eq!(fired, timers.len(), "{}", about.name);
        }
    }
}
