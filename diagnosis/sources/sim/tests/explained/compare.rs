//! A simulated system explained from its events, held against the account of the truth.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use tardy_explain::{Explainer, Explanation, Named, Options, Sink, Watch};
use tardy_model::{Batch, Culprit, Source, TaskId, Wakeup, WakeupKind};
use tardy_sim::truth::{Account, Kind, Truth};
use tardy_sim::{Simulated, System};

/// Differences that are shown of one system.
const SHOWN_MAX: usize = 5;

/// Takes wakeups as they are explained.
#[derive(Default)]
struct Keep(pub(crate) Vec<Wakeup>);

impl Sink for Keep {
    fn wakeup(&mut self, wakeup: &Named<'_>) {
        self.0.push(wakeup.wakeup().clone());
    }
}

/// What became of the wakeups of one system.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Wakeups of which the truth is known.
    pub(crate) wakeups: u64,
    /// Those whose balance is the account, to the nanosecond.
    pub(crate) equal: u64,
    /// Nanoseconds that were truly lost to the kernel's giving up an interrupt.
    pub(crate) hang_ns: u64,
    /// Those that differ in nothing but what is known to, see [`KNOWN`].
    pub(crate) known: u64,
    /// Those that the explainer does not have.
    pub(crate) missing: u64,
    /// Those that only the explainer has.
    pub(crate) invented: u64,
    /// Nanoseconds by (what is true, what was explained), where that differs.
    pub(crate) confused_ns: BTreeMap<(String, String), (u64, u64)>,
    /// The first few that differ, in words.
    pub(crate) shown: String,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.wakeups += other.wakeups;
        self.equal += other.equal;
        self.known += other.known;
        self.missing += other.missing;
        self.invented += other.invented;
        for (pair, (count, ns)) in other.confused_ns {
            let sum = self.confused_ns.entry(pair).or_default();
            *sum = (sum.0 + count, sum.1 + ns);
        }
    }
}

/// What is told otherwise than it is true, and known to be: a cause and what is told for it, and why.
const KNOWN: &[(&str, &str, &str)] = &[(
    "idle_exit IdleState",
    "forced_idle Nobody",
    "a CPU goes to sleep while another one is still on its way to put the thread into its queue",
)];

/// Whether a difference is known.
fn is_known(truth: &str, told: &str) -> bool {
    KNOWN.iter().any(|(one, other, _)| truth.starts_with(one) && told.starts_with(other))
}

/// A stretch: from when, how long, cause, culprit.
pub(crate) type Stretch = (u64, u64, &'static str, Culprit);

/// Simulates a system for a time, and explains what `leave` leaves of its events: the findings, the wakeups, and what is
/// true of them.
pub(crate) fn simulate(
    system: &System,
    span_ns: u64,
    mut leave: impl FnMut(&mut Batch),
) -> (Explanation, Vec<Wakeup>, Vec<Truth>) {
    let mut source = Simulated::new(system, span_ns, Account::new(system)).expect("it can be");
    let watch = Watch { all: true, ..Watch::default() };
    let mut explainer = Explainer::new(Options { watch, worst: 0 }, Keep::default());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("a simulation does not fail") {
        leave(&mut batch);
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, Keep(told)) = explainer.finish();
    (explanation, told, source.observer_mut().take())
}

/// Simulates a system for a time, explains it, and compares.
pub(crate) fn compare(system: &System, span_ns: u64) -> Outcome {
    let (_, told, truths) = simulate(system, span_ns, |_| {});
    let mut by_end: HashMap<(TaskId, u64), Wakeup> = HashMap::new();
    for wakeup in told.into_iter().filter(|wakeup| wakeup.kind != WakeupKind::Lock) {
        by_end.insert((wakeup.task, wakeup.expiry_ns + wakeup.lateness_ns), wakeup);
    }
    let mut outcome = Outcome::default();
    let mut shown = 0;
    for truth in truths.iter().filter(|truth| !truth.is_cut) {
        outcome.wakeups += 1;
        let hangs = truth.segments.iter().filter(|segment| segment.cause == "hrtimer_hang");
        outcome.hang_ns += hangs.map(|segment| segment.ns).sum::<u64>();
        let key = (truth.task, truth.expiry_ns + truth.lateness_ns);
        let Some(wakeup) = by_end.remove(&key) else {
            outcome.missing += 1;
            if shown < SHOWN_MAX {
                shown += 1;
                let _ = writeln!(outcome.shown, "missing: {truth:?}");
            }
            continue;
        };
        let true_ones =
            merged(truth.segments.iter().map(|it| (it.start_ns, it.ns, it.cause, it.culprit)));
        let told =
            merged(wakeup.segments.iter().map(|it| (it.start_ns, it.ns, it.cause.0, it.culprit)));
        let same = true_ones == told && kind_of(&wakeup) == truth.kind;
        outcome.equal += u64::from(same);
        if !same {
            let all_known = confuse(&true_ones, &told, &mut outcome.confused_ns);
            outcome.known += u64::from(all_known && kind_of(&wakeup) == truth.kind);
            if !all_known && shown < SHOWN_MAX {
                shown += 1;
                show(truth, &wakeup, &true_ones, &told, &mut outcome.shown);
            }
        }
    }
    outcome.invented = by_end.len() as u64;
    for wakeup in by_end.values().take(SHOWN_MAX) {
        let _ = writeln!(outcome.shown, "invented: {wakeup:?}");
    }
    outcome
}

fn kind_of(wakeup: &Wakeup) -> Kind {
    match wakeup.kind {
        WakeupKind::Timer => Kind::Timer,
        WakeupKind::Preempted => Kind::Preempted,
        _ => Kind::Other,
    }
}

/// A timer is the same whoever is said to have armed it.
fn plain(culprit: Culprit) -> Culprit {
    match culprit {
        Culprit::Timer(timer, _) => Culprit::Timer(timer, TaskId::IDLE),
        other => other,
    }
}

pub(crate) fn merged(segments: impl Iterator<Item = Stretch>) -> Vec<Stretch> {
    let mut merged: Vec<Stretch> = Vec::new();
    for (start_ns, ns, cause, culprit) in segments {
        let culprit = plain(culprit);
        match merged.last_mut() {
            Some(last) if (last.2, last.3) == (cause, culprit) => last.1 += ns,
            _ => merged.push((start_ns, ns, cause, culprit)),
        }
    }
    merged
}

/// What is confused with what, for how long; and whether all of it is known.
fn confuse(
    truth: &[Stretch],
    told: &[Stretch],
    confused: &mut BTreeMap<(String, String), (u64, u64)>,
) -> bool {
    let mut all_known = true;
    let name = |stretch: &Stretch| format!("{} {:?}", stretch.2, stretch.3);
    let cut = |name: String| name.split('(').next().unwrap_or_default().to_owned();
    for one in truth {
        for other in told {
            let from_ns = one.0.max(other.0);
            let to_ns = (one.0 + one.1).min(other.0 + other.1);
            if from_ns < to_ns && (one.2, one.3) != (other.2, other.3) {
                let pair = (cut(name(one)), cut(name(other)));
                all_known &= is_known(&pair.0, &pair.1);
                let sum = confused.entry(pair).or_default();
                *sum = (sum.0 + 1, sum.1 + to_ns - from_ns);
            }
        }
    }
    all_known
}

fn show(truth: &Truth, wakeup: &Wakeup, true_ones: &[Stretch], told: &[Stretch], out: &mut String) {
    let Truth { task, kind, expiry_ns, lateness_ns, .. } = truth;
    let _ = writeln!(out, "{task} {kind:?} as {:?}: {expiry_ns}+{lateness_ns}", wakeup.kind);
    for (what, stretches) in [("true", true_ones), ("told", told)] {
        let _ = write!(out, "  {what}:");
        for (start_ns, ns, cause, culprit) in stretches {
            let _ = write!(out, " {start_ns}+{ns} {cause} {culprit:?};");
        }
        let _ = writeln!(out);
    }
}
