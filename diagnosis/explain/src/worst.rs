//! The worst wakeups, kept whole: names and what every CPU did are copied while they are known.

use crate::findings::{Lane, LaneSpan, WorstWakeup};
use crate::label::{Label, Labels};
use crate::pattern::Patterns;
use crate::step::{Step, StepMaker};
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_followers::Activity;
use tardy_model::{CpuId, Culprit, TaskId};

/// Spans copied per CPU and wakeup at most; of more, the last ones.
const LANE_SPANS_MAX: usize = 2000;

/// How much before the expiry is shown, as a share of the lateness.
const BEFORE: f64 = 0.15;

#[derive(Debug)]
pub(crate) struct Worst {
    max: usize,
    /// Not sorted; at most `max`.
    told: Vec<Told>,
    /// The lateness of the least of them.
    least_ns: u64,
}

/// One of them. Most are worst for a while only: names are copied for those that remain.
#[derive(Debug)]
struct Told {
    /// Its lanes are below.
    wakeup: WorstWakeup,
    lanes: Vec<(CpuId, Vec<Span>)>,
    /// The names that spans have by number.
    names: Vec<Label>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start_ns: u64,
    end_ns: u64,
    name: u32,
}

impl Told {
    fn whole(self) -> WorstWakeup {
        let Self { wakeup, lanes, names } = self;
        let lane = |(cpu, spans): (CpuId, Vec<Span>)| {
            let named = |span: Span| LaneSpan {
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                label: names[span.name as usize].clone(),
            };
            Lane { cpu, spans: spans.into_iter().map(named).collect() }
        };
        WorstWakeup { lanes: lanes.into_iter().map(lane).collect(), ..wakeup }
    }
}

impl Worst {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, told: Vec::new(), least_ns: 0 }
    }

    /// Whether a wakeup is one of the worst so far.
    pub(crate) fn wants(&self, lateness_ns: u64) -> bool {
        self.told.len() < self.max || self.max > 0 && lateness_ns > self.least_ns
    }

    /// Keeps it, in the place of the least of those that are kept.
    pub(crate) fn keep(&mut self, maker: &StepMaker<'_>, patterns: Patterns, labels: &Labels) {
        if self.told.len() == self.max {
            let at = self.least();
            self.told.swap_remove(at);
        }
        self.told.push(tell(maker, patterns, labels));
        self.least_ns = self.told[self.least()].wakeup.wakeup.lateness_ns;
    }

    /// Events that turn out to be missing may belong to a wakeup that was kept.
    pub(crate) fn touched(
        &mut self,
        task: TaskId,
        expiry_ns: u64,
        lateness_ns: u64,
        is_loss: bool,
    ) {
        for told in &mut self.told {
            let wakeup = &mut told.wakeup.wakeup;
            let same = (wakeup.task, wakeup.expiry_ns, wakeup.lateness_ns);
            if same == (task, expiry_ns, lateness_ns) {
                wakeup.touched_by_loss = true;
                wakeup.near_loss |= is_loss;
            }
        }
    }

    /// The latest first.
    pub(crate) fn into_kept(mut self) -> Vec<WorstWakeup> {
        self.told.sort_by_key(|told| {
            let wakeup = &told.wakeup.wakeup;
            (std::cmp::Reverse(wakeup.lateness_ns), wakeup.expiry_ns)
        });
        self.told.into_iter().map(Told::whole).collect()
    }

    fn least(&self) -> usize {
        let lateness = |at: &usize| self.told[*at].wakeup.wakeup.lateness_ns;
        (0..self.told.len()).min_by_key(lateness).unwrap_or(0)
    }
}

/// One wakeup whole, now.
pub(crate) fn whole(maker: &StepMaker<'_>, patterns: Patterns, labels: &Labels) -> WorstWakeup {
    tell(maker, patterns, labels).whole()
}

fn tell(maker: &StepMaker<'_>, patterns: Patterns, labels: &Labels) -> Told {
    let (wakeup, cpus) = (maker.wakeup, maker.cpus);
    let before_ns = (wakeup.lateness_ns as f64 * BEFORE) as u64;
    let from_ns = wakeup.expiry_ns.saturating_sub(before_ns);
    let to_ns = wakeup.expiry_ns + wakeup.lateness_ns;
    // The same few tasks and timers come again and again.
    let mut numbers: FxHashMap<Culprit, u32> = FxHashMap::default();
    let mut names = Vec::new();
    let mut lanes = Vec::new();
    for (at, cpu) in cpus.iter().enumerate() {
        let known = |activity| activity != Activity::Unknown;
        let mut count = 0usize;
        cpu.between(from_ns, to_ns, |_, _, activity| count += usize::from(known(activity)));
        // Passed over rather than dropped afterwards: a CPU may remember many times what is kept.
        let mut passed_over = count.saturating_sub(LANE_SPANS_MAX);
        let mut spans = Vec::with_capacity(count - passed_over);
        cpu.between(from_ns, to_ns, |start_ns, end_ns, activity| {
            if !known(activity) {
                return;
            }
            if passed_over > 0 {
                passed_over -= 1;
                return;
            }
            let name = *numbers.entry(activity.culprit()).or_insert_with(|| {
                names.push(labels.activity_label(activity));
                names.len() as u32 - 1
            });
            spans.push(Span { start_ns, end_ns, name });
        });
        if !spans.is_empty() {
            lanes.push((CpuId(at as u16), spans));
        }
    }
    let steps = maker.steps();
    // Most have a part in it many times.
    let everybody = wakeup.participants().chain(steps.iter().flat_map(Step::participants));
    let everybody: FxHashSet<Culprit> = everybody.collect();
    let mut everybody: Vec<Culprit> = everybody.into_iter().collect();
    everybody.sort_unstable();
    let wakeup = WorstWakeup {
        victim: labels.label(Culprit::Task(wakeup.task)),
        labels: everybody.into_iter().map(|culprit| (culprit, labels.label(culprit))).collect(),
        steps,
        patterns,
        lanes: Vec::new(),
        wakeup: wakeup.clone(),
    };
    Told { wakeup, lanes, names }
}
