//! Any events through all that explains: balances, tables, patterns, stacks, timers, devices, differences, and what is
//! told of them in the end. The events are made of the bytes as `built/events.rs` says; the first byte chooses whose
//! wakeups, and whether the stream is looked at as two as well. That takes three times as long again, so of the inputs
//! that ask for it in a long run, one in [`CUT_EVERY`] gets it.

use super::Target;
use crate::built::stream;
use std::collections::VecDeque;
use tardy_explain::change::{Account, Change};
use tardy_explain::device::Devices;
use tardy_explain::lateness::LatenessTable;
use tardy_explain::timers::{TimerTable, by_program};
use tardy_explain::{Explainer, Explanation, Named, Options, Seen, Sink, Watch, WorstWakeup, why};
use tardy_model::{Batch, TimerDef, Wakeup};

pub(super) struct Explain;

/// The worst wakeups that are kept whole: few, as each is told.
const WORST: usize = 3;

/// By the input's checksum, so that an input that breaks something does so again.
const CUT_EVERY: u32 = if cfg!(feature = "libfuzzer") { 8 } else { 1 };

impl Target for Explain {
    fn name(&self) -> &'static str {
        "explain"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        let Some((chosen, how)) = bytes.split_first() else { return 0 };
        let batch = stream(how);
        let (whole, _) = explained(*chosen, &[&batch]);
        if chosen & 4 != 0 && crc32c::crc32c(bytes).is_multiple_of(CUT_EVERY) {
            let (first, second) = cut(&batch);
            // Definitions come once: another of the same id is of another timer.
            let rest = Batch { events: second.events.clone(), ..Batch::default() };
            let (cut, _) = explained(*chosen, &[&first, &rest]);
            let sums = |it: &Explanation| (it.latencies.count(), it.latencies.sum_ns());
            assert_eq!(sums(&cut), sums(&whole), "it matters how a stream is cut");
            let (a, b) = (explained(*chosen, &[&first]).1, explained(*chosen, &[&second]).1);
            if let (Some(a), Some(b)) =
                (a.account.taken(0..a.wakeups), b.account.taken(0..b.wakeups))
            {
                let _ = Change::between(&a, &b);
            }
        }
        batch.events.len()
    }
}

fn cut(batch: &Batch) -> (Batch, Batch) {
    let (mut first, mut second) = (batch.clone(), batch.clone());
    second.events = first.events.split_off(batch.events.len() / 2);
    (first, second)
}

fn watch(chosen: u8) -> Watch {
    match chosen & 3 {
        0 => Watch { all: true, ..Watch::default() },
        1 => Watch { pids: vec![1, 2, 3], ..Watch::default() },
        2 => Watch { comms: vec![String::new()], ..Watch::default() },
        _ => Watch::default(),
    }
}

fn explained(chosen: u8, batches: &[&Batch]) -> (Explanation, Tables) {
    let options = Options { watch: watch(chosen), worst: WORST };
    let mut explainer = Explainer::new(options, Tables::default());
    let mut devices = Devices::default();
    for batch in batches {
        explainer.batch(batch);
        devices.batch(batch, |_| {});
    }
    let (explanation, mut tables) = explainer.finish();
    assert!(tables.ended.is_empty(), "all are final in the end");
    assert_eq!(explanation.latencies.count(), tables.wakeups as u64);
    let sum = |parts: &mut dyn Iterator<Item = u64>| parts.map(u128::from).sum::<u128>();
    let lateness = explanation.latencies.sum_ns();
    // Sums of six centuries and more stay at that.
    if lateness <= u64::MAX.into() {
        assert_eq!(sum(&mut explanation.causes.iter().map(|cause| cause.ns)), lateness);
        assert_eq!(sum(&mut explanation.culprits.iter().map(|culprit| culprit.ns)), lateness);
        assert_eq!(sum(&mut explanation.groups.iter().map(|group| group.ns)), lateness);
    }
    for worst in &explanation.worst {
        let told = why(worst, &explanation.patterns);
        assert!(told.iter().all(|sentence| !sentence.text.is_empty()));
    }
    let _ = by_program(&tables.timers.rows());
    let _ = tables.late.look();
    (explanation, tables)
}

/// Everything that follows wakeups and events.
#[derive(Default)]
struct Tables {
    timers: TimerTable,
    late: LatenessTable,
    account: Account,
    wakeups: usize,
    /// Those that have ended and are not final.
    ended: VecDeque<Wakeup>,
}

impl Sink for Tables {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        assert_eq!(self.ended.pop_front().as_ref(), Some(wakeup), "as it ended, and was revised");
        self.wakeups += 1;
        self.timers.wakeup(named);
        self.late.wakeup(named);
        self.account.add(named);
    }

    fn ended(&mut self, named: &Named<'_>) {
        self.ended.push_back(named.wakeup().clone());
    }

    fn touched(&mut self, before: usize, is_loss: bool) {
        let at = self.ended.len() - 1 - before;
        self.ended[at].touched_by_loss = true;
        self.ended[at].near_loss |= is_loss;
    }

    fn wants_whole(&self, wakeup: &Wakeup) -> bool {
        self.late.wants_whole(wakeup)
    }

    fn whole(&mut self, worst: WorstWakeup) {
        self.late.whole(worst);
    }

    fn define(&mut self, timers: &[TimerDef]) {
        self.timers.define(timers);
    }

    fn event(&mut self, seen: &Seen<'_>) {
        self.timers.event(seen);
        self.late.event(seen);
    }
}
