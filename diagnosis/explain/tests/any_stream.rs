//! Whatever comes: no panic, every wakeup balanced, the causes sum to all lateness, who revises what has ended
//! has what is final, and what is found does not depend on whether anybody looks at segments.
#![allow(missing_docs)]

use proptest::prelude::*;
use std::collections::VecDeque;
use tardy_explain::{Explainer, Explanation, Named, Options, Sink, Watch};
use tardy_model::{Batch, Event, TimerDef, TimerId, Wakeup};

/// How many wakeups were final, and those that have ended and are not.
#[derive(Default)]
struct Balanced(u64, VecDeque<Wakeup>);

impl Sink for Balanced {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        assert_eq!(self.1.pop_front().as_ref(), Some(wakeup), "as it ended, and was revised");
        self.0 += 1;
    }

    fn ended(&mut self, named: &Named<'_>) {
        self.1.push_back(named.wakeup().clone());
    }

    fn touched(&mut self, before: usize, is_loss: bool) {
        let at = self.1.len() - 1 - before;
        self.1[at].touched_by_loss = true;
        self.1[at].near_loss |= is_loss;
    }
}

/// Records with few CPUs, tasks, timers and times, so that they meet.
fn record() -> impl Strategy<Value = [u8; 32]> {
    (prop::array::uniform32(any::<u8>()), 0u8..42, 0u8..3, 0u8..4, 0u8..4, 0u8..4).prop_map(
        |(mut bytes, tag, cpu, task, b, c)| {
            bytes[8..12].copy_from_slice(&u32::from(task).to_le_bytes());
            bytes[12..14].copy_from_slice(&u16::from(cpu).to_le_bytes());
            bytes[14] = tag;
            bytes[18..24].fill(0);
            bytes[24..28].copy_from_slice(&u32::from(b).to_le_bytes());
            bytes[28] = c;
            bytes[29] = 0;
            bytes[31] = 0;
            bytes
        },
    )
}

/// Few are kept as the worst, whose segments are always looked at.
fn explanation_of<S: Sink>(batch: &Batch, sink: S) -> (Explanation, S) {
    let watch = Watch { pids: vec![1, 2, 3], ..Watch::default() };
    let mut explainer = Explainer::new(Options { watch, worst: 1 }, sink);
    explainer.batch(batch);
    explainer.finish()
}

fn explain(records: impl Iterator<Item = [u8; 32]>) -> Result<(), TestCaseError> {
    let mut batch = Batch::default();
    for id in 1..4 {
        batch.timers.push(TimerDef { id: TimerId(id), ..TimerDef::default() });
    }
    batch.events.extend(records.map(|record| Event::from_bytes(&record)));
    let (explanation, Balanced(wakeups, ended)) = explanation_of(&batch, Balanced::default());
    let (unseen, ()) = explanation_of(&batch, ());
    prop_assert_eq!(format!("{unseen:?}"), format!("{explanation:?}"));
    prop_assert!(ended.is_empty(), "all are final in the end");
    prop_assert_eq!(explanation.latencies.count(), wakeups);
    let sum = |parts: &mut dyn Iterator<Item = u64>| parts.map(u128::from).sum::<u128>();
    let causes = sum(&mut explanation.causes.iter().map(|cause| cause.ns));
    let culprits = sum(&mut explanation.culprits.iter().map(|culprit| culprit.ns));
    prop_assert_eq!(causes, explanation.latencies.sum_ns());
    prop_assert_eq!(culprits, causes);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn balances(records in prop::collection::vec((record(), 0u64..50), 0..400)) {
        let mut now_ns = 0;
        let in_order = records.into_iter().map(|(mut bytes, later_ns)| {
            now_ns += later_ns;
            bytes[..8].copy_from_slice(&u64::to_le_bytes(now_ns));
            bytes
        });
        explain(in_order)?;
    }

    /// A source that breaks its promise of order gets nonsense, but no panic, and sums.
    #[test]
    fn balances_in_any_order(
        records in prop::collection::vec((record(), 0u64..2000), 0..400)
    ) {
        let at = |(mut bytes, time_ns): ([u8; 32], u64)| {
            bytes[..8].copy_from_slice(&time_ns.to_le_bytes());
            bytes
        };
        explain(records.into_iter().map(at))?;
    }
}
