//! Every policy under random calls: against the reference, and against what all of them promise.

use crate::plain::Plain;
use crate::reference::{Does, Reference};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use tardy_timers::policy::{
    self, Arm, Context, KNOWN, Key, Policy, Program, Rearm, Settings, Step,
};
use tardy_timers::{Class, Expiry, Kind, Level, Priority};

/// One call, or a while that passes.
#[derive(Clone, Debug)]
enum Call {
    Arm {
        soft_in: u64,
        slack: u64,
        arm: Arm,
    },
    Cancel(usize),
    Rearm {
        which: usize,
        soft_in: u64,
        slack: u64,
    },
    Pass(u64),
    /// The device interrupts, if its time has come.
    Device,
    /// It interrupts although it has not.
    Spurious,
    /// The most urgent runnable runs.
    Run,
    /// Another context is asked.
    Ask(Context),
    Defer(bool),
}

fn arms() -> impl Strategy<Value = Arm> {
    let task_priority = prop_oneof![Just(0_u8), 1_u8..=99];
    let priority = prop_oneof![
        Just(Priority::Inherit),
        (0_u8..4).prop_map(|level| Priority::Level(Level::new(level).unwrap())),
    ];
    let kind = prop_oneof![Just(Kind::Precise), Just(Kind::Coarse)];
    (task_priority, priority, kind, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(task_priority, priority, kind, sleeper, soft, hard)| Arm {
            expiry: Expiry::at(0),
            class: Class { kind, priority },
            task_priority,
            sleeper,
            soft,
            hard,
        },
    )
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    // Hundreds of ns under a jiffy of 1000: ties, edges hit exactly, and timers several jiffies away.
    let ns = || (0_u64..40).prop_map(|hundreds| hundreds * 100);
    let slack = || prop_oneof![3 => Just(0_u64), 1 => (0_u64..20).prop_map(|n| n * 100)];
    let contexts = prop_oneof![
        Just(Context::HardIrq),
        Just(Context::TopHalf),
        Just(Context::CommonSoftirq),
        (0_u8..4).prop_map(Context::TimerThread),
    ];
    let call = prop_oneof![
        6 => (ns(), slack(), arms()).prop_map(|(soft_in, slack, arm)| Call::Arm { soft_in, slack, arm }),
        2 => any::<usize>().prop_map(Call::Cancel),
        4 => (any::<usize>(), ns(), slack())
            .prop_map(|(which, soft_in, slack)| Call::Rearm { which, soft_in, slack }),
        5 => prop_oneof![Just(0_u64), Just(50), Just(100), Just(300), Just(1000), Just(2500)]
            .prop_map(Call::Pass),
        8 => Just(Call::Device),
        1 => Just(Call::Spurious),
        12 => Just(Call::Run),
        2 => contexts.prop_map(Call::Ask),
        1 => any::<bool>().prop_map(Call::Defer),
    ];
    proptest::collection::vec(call, 1..200)
}

fn settings() -> impl Strategy<Value = Settings> {
    let rearm = prop_oneof![
        Just(Rearm::EagerDouble),
        Just(Rearm::Single),
        Just(Rearm::Lazy),
        Just(Rearm::Wheel),
    ];
    // Above the softirq's thread, and as high as that one.
    let top_half = prop_oneof![Just(None), Just(Some(90)), Just(Some(1))];
    let too_close_ns = prop_oneof![Just(0), Just(150)];
    // So often that all in reach are tried, also with the while that one callback takes.
    let rounds = prop_oneof![Just(0), Just(1), Just(2), Just(3)];
    (top_half, too_close_ns, any::<bool>(), rearm, rounds).prop_map(
        |(top_half, too_close_ns, deferred_own_thread, rearm, rounds)| Settings {
            jiffy_ns: NonZeroU64::new(1000).unwrap(),
            common: 1,
            top_half,
            too_close_ns,
            deferred_own_thread,
            rearm,
            rounds,
            ..Settings::default()
        },
    )
}

impl Drop for Pair {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("policy {}, at {} ns", self.name, self.now_ns);
        }
    }
}

/// A policy beside its reference, and a ledger of what became of each timer.
struct Pair {
    name: &'static str,
    policy: Box<dyn Policy<u32>>,
    reference: Reference,
    now_ns: u64,
    armed: BTreeMap<u32, (Key, Arm)>,
    gone: Vec<Key>,
    next_id: u32,
}

impl Pair {
    fn new(name: &'static str, settings: Settings) -> Self {
        Self {
            name,
            policy: policy::build(name, &settings, &Plain::new).unwrap(),
            reference: Reference::new(name, settings),
            now_ns: 0,
            armed: BTreeMap::new(),
            gone: Vec::new(),
            next_id: 0,
        }
    }

    fn pick(&self, which: usize) -> Option<(u32, Key)> {
        let at = which.checked_rem(self.armed.len())?;
        self.armed.iter().nth(at).map(|(id, (key, _))| (*id, *key))
    }

    fn call(&mut self, call: &Call) {
        match *call {
            Call::Arm { soft_in, slack, arm } => {
                let expiry = Expiry::with_slack(self.now_ns + soft_in, slack);
                let arm = Arm { expiry, ..arm };
                let id = self.next_id;
                self.next_id += 1;
                let key = self.policy.arm(arm, id).unwrap();
                self.reference.arm(id, arm);
                assert!(self.armed.insert(id, (key, arm)).is_none());
            }
            Call::Cancel(which) => {
                let Some((id, key)) = self.pick(which) else { return };
                assert_eq!(self.policy.cancel(key), Ok(id));
                self.reference.cancel(id);
                self.is_gone(id);
            }
            Call::Rearm { which, soft_in, slack } => {
                let Some((id, key)) = self.pick(which) else { return };
                let expiry = Expiry::with_slack(self.now_ns + soft_in, slack);
                self.policy.rearm(key, expiry).unwrap();
                self.reference.rearm(id, expiry);
                self.armed.get_mut(&id).unwrap().1.expiry = expiry;
            }
            Call::Pass(ns) => self.now_ns += ns,
            Call::Device if self.policy.device_ns().is_some_and(|ns| ns <= self.now_ns) => {
                self.interrupt();
            }
            Call::Device => {}
            Call::Spurious => self.interrupt(),
            Call::Run => {
                if let Some(runnable) = self.policy.runnable().first() {
                    self.step(runnable.context);
                }
            }
            Call::Ask(context) => self.step(context),
            Call::Defer(on) => {
                self.policy.defer(on);
                self.reference.defer(on);
            }
        }
    }

    fn interrupt(&mut self) {
        self.policy.interrupt(self.now_ns);
        self.reference.interrupt(self.now_ns);
    }

    fn step(&mut self, context: Context) {
        let step = self.policy.step(context, self.now_ns);
        let expected = self.reference.step(context, self.now_ns);
        let does = step.map(|step| match step {
            Step::Fire(fire) => {
                let (key, arm) = self.armed[&fire.payload];
                assert_eq!((fire.key, fire.arm), (key, arm), "as it was armed");
                assert!(
                    arm.expiry.soft_ns() <= self.now_ns,
                    "{fire:?} is early at {}",
                    self.now_ns
                );
                self.is_gone(fire.payload);
                Does::Fire(fire.payload)
            }
            Step::Tick { jiffies } => Does::Tick(jiffies),
            Step::Move { timers } => Does::Move(timers),
            Step::Wait { until_ns } => {
                self.now_ns = until_ns;
                Does::Wait(until_ns)
            }
        });
        assert_eq!(does, expected, "{context:?} at {}", self.now_ns);
    }

    fn is_gone(&mut self, id: u32) {
        let (key, _) = self.armed.remove(&id).expect("nothing fires twice");
        self.gone.push(key);
    }

    fn check(&mut self) {
        assert_eq!(self.policy.len(), self.armed.len());
        assert_eq!(self.reference.timers.len(), self.armed.len());
        for (key, arm) in self.armed.values() {
            assert_eq!(self.policy.expiry(*key), Ok(arm.expiry));
        }
        for key in &self.gone {
            assert!(self.policy.expiry(*key).is_err());
            assert!(self.policy.cancel(*key).is_err());
            assert!(self.policy.rearm(*key, Expiry::at(0)).is_err());
        }
        assert_eq!(self.policy.device_ns(), self.reference.device_ns, "device");
        assert_eq!(self.policy.put_off_ns(), self.reference.put_off_ns(), "put off");
        assert_eq!(self.policy.programmed(), self.reference.programmed, "programmed");
        if let Program::At { at_ns } = self.policy.program() {
            assert_eq!(Some(at_ns), self.policy.device_ns());
        }
        assert_eq!(self.policy.program(), Program::Leave, "it is told once");
        let runnable: Vec<_> =
            self.policy.runnable().iter().map(|r| (r.context, r.priority)).collect();
        let mut expected = self.reference.runnable();
        expected.sort_by_key(|(context, priority)| (std::cmp::Reverse(*priority), *context));
        assert_eq!(runnable, expected, "runnable");
    }

    /// Lets all that is armed fire, and fails where something never does.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            if self.armed.is_empty() {
                return;
            }
            if let Some(runnable) = self.policy.runnable().first() {
                self.step(runnable.context);
            } else {
                self.now_ns = self.now_ns.max(self.policy.device_ns().unwrap());
                self.interrupt();
            }
        }
        panic!("{} timers are lost", self.armed.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_policy_does_as_its_definition_says(calls in calls(), settings in settings()) {
        for about in KNOWN {
            let mut pair = Pair::new(about.name, settings);
            for call in &calls {
                pair.call(call);
                pair.check();
            }
            pair.drain();
            pair.check();
        }
    }
}
