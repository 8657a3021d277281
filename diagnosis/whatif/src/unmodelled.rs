//! What the simulation has no idea of: rare parts of recorded latenesses that are far longer, or come far more often,
//! than it makes them. A callback that took 900 µs once, a kernel thread that did not let go for 400 µs twenty times:
//! they come whatever is changed, unless the change takes away who did it. So they are taken out of the recording
//! before the simulation is held against it, and added to what it predicts, as independent of all else.
//!
//! Who did it is not always who is named. Where a hypervisor stops a CPU and does not say so, whoever is on it then takes
//! long, each by its share of the time. So what goes with a culprit is only what it has beyond that: as much of such parts
//! as its usual time would have at the rate of all others' stays. A CPU that sleeps is not stopped: what idle states have, and
//! no other state would, goes with them.
//!
//! Waiting for other threads is never one of them, nor is asking too late, which comes of that. The simulator does that
//! itself, and where it errs there, its error goes with the waiting ([`crate::correction`]).

use crate::figures::{BLOCKS, Blocks};
use crate::observed::{Observed, Recorded};
use std::collections::HashMap;
use tardy_model::{Cause, Culprit, Segment};

/// Causes that take the place of each other: which of them it is the two sides may see differently.
const CLASSES: [&[&str]; 5] = [
    &[
        "irq_delay",
        "irqs_off",
        "hrtimer_hang",
        "stacked_timers",
        "callback",
        "interrupts",
        "softirq_wait",
        "softirq_work",
    ],
    &["not_preemptible", "switch_delay"],
    &["idle_exit", "forced_idle", "wrong_cpu"],
    &["own_kernel_work", "page_fault", "unexplained"],
    &["throttled"],
];

/// The cause of who asked for a time that had passed.
const ARMED_LATE: &str = "armed_late";

/// What more wakeups have is common, and left to the correction.
const RARE: f64 = 0.05;

/// So many times more often recorded than simulated.
const MORE_OFTEN: f64 = 3.0;

/// Fewer are no more often than by chance, unless all are so many times longer than what is simulated.
const MANY: f64 = 8.0;
const LONGER: f64 = 1.5;

/// Shorter parts make no tail.
const PART_NS_MIN: u64 = 5_000;

/// Whether two causes are the same, or take the place of each other.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    one == other || class(one).is_some_and(|it| class(other) == Some(it))
}

fn class(cause: &str) -> Option<usize> {
    CLASSES.iter().position(|causes| causes.contains(&cause))
}

/// How long wakeups spent in each class.
#[derive(Clone, Debug)]
pub(crate) struct ByClass([Blocks; CLASSES.len()]);

impl Default for ByClass {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Blocks::new(1)))
    }
}

impl ByClass {
    /// A wakeup's causes, each with its time.
    pub(crate) fn add<'a>(&mut self, causes: impl Iterator<Item = (&'a str, u64)>) {
        for (blocks, ns) in self.0.iter_mut().zip(sums(causes)) {
            blocks.add(0, ns);
        }
    }
}

fn sums<'a>(causes: impl Iterator<Item = (&'a str, u64)>) -> [u64; CLASSES.len()] {
    let mut sums = [0; CLASSES.len()];
    for (cause, ns) in causes {
        if let Some(class) = class(cause) {
            sums[class] += ns;
        }
    }
    sums
}

/// A wakeup with parts that the simulation has no idea of.
#[derive(Debug)]
struct Strange {
    at_ns: u64,
    /// The segments of such classes, which have taken so much more than is usual there.
    segments: Vec<Segment>,
    excess_ns: u64,
}

fn is_asleep(segment: &Segment) -> bool {
    matches!(segment.culprit, Culprit::IdleState(_) | Culprit::Polling(_))
}

impl Strange {
    /// The share of some of its segments; of what is usual there, each has its part.
    fn share(&self, of: impl Fn(&Segment) -> bool) -> f64 {
        let all_ns: u64 = self.segments.iter().map(|segment| segment.ns).sum();
        let of_ns: u64 =
            self.segments.iter().filter(|segment| of(segment)).map(|segment| segment.ns).sum();
        of_ns as f64 / all_ns.max(1) as f64
    }
}

/// Such parts of a recording.
#[derive(Debug)]
pub(crate) struct Unmodelled {
    /// Wakeups that have none, by their time.
    without: Blocks,
    strange: Vec<Strange>,
    /// What wakeups without any spent in such classes: a segment for each cause and culprit, as long as all of its kind.
    usual: Vec<Segment>,
}

impl Unmodelled {
    /// Of a recording and what was simulated of it, with the latenesses that are left when they are taken out.
    /// Segments that are gone count on neither side.
    pub(crate) fn of(
        observed: &Observed,
        simulated: &ByClass,
        is_gone: impl Fn(&Segment) -> bool,
    ) -> (Self, Blocks) {
        let there = |wakeup: &Recorded| -> Vec<Segment> {
            wakeup.segments.iter().filter(|segment| !is_gone(segment)).copied().collect()
        };
        // Who asked too late has been made late before; and what did that may lie further back than is remembered.
        let causes = |segments: &[Segment]| {
            let is_late_to_ask = segments.iter().any(|segment| segment.cause.0 == ARMED_LATE);
            let its_own = if is_late_to_ask { &[][..] } else { segments };
            sums(its_own.iter().map(|segment| (segment.cause.0, segment.ns)))
        };
        let mut recorded = ByClass::default();
        for wakeup in &observed.wakeups {
            for (blocks, ns) in recorded.0.iter_mut().zip(causes(&there(wakeup))) {
                blocks.add(0, ns);
            }
        }
        let was = recorded.0.each_ref().map(|blocks| blocks.sample(0..BLOCKS));
        let is = simulated.0.each_ref().map(|blocks| blocks.sample(0..BLOCKS));
        let usual_ns = was.each_ref().map(|sample| sample.quantile(0.5) as u64);
        let is_strange = |class: usize, ns: u64| {
            let often = was[class].share_from(ns);
            let many = MANY / observed.wakeups.len().max(1) as f64;
            ns >= PART_NS_MIN.max(usual_ns[class])
                && often <= RARE
                && (often >= many || ns as f64 > LONGER * is[class].quantile(1.0))
                && often > MORE_OFTEN * is[class].share_from(ns)
        };
        let span_ns = observed.span_ns();
        let mut found =
            Self { without: Blocks::new(span_ns), strange: Vec::new(), usual: Vec::new() };
        let mut usual: HashMap<(Cause, Culprit), Segment> = HashMap::new();
        let mut rest = Blocks::new(span_ns);
        for wakeup in &observed.wakeups {
            let mut segments = there(wakeup);
            let sums = causes(&segments);
            let gone_ns = wakeup.segments.iter().filter(|segment| is_gone(segment));
            let gone_ns: u64 = gone_ns.map(|segment| segment.ns).sum();
            let is_it: [bool; CLASSES.len()] =
                std::array::from_fn(|class| is_strange(class, sums[class]));
            let excess = (0..CLASSES.len()).filter(|class| is_it[*class]);
            let excess_ns: u64 = excess.map(|class| sums[class] - usual_ns[class]).sum();
            let at_ns = wakeup.expiry_ns.saturating_sub(observed.first_ns);
            rest.add(at_ns, wakeup.lateness_ns.saturating_sub(gone_ns + excess_ns));
            if excess_ns == 0 {
                found.without.add(at_ns, 0);
                for segment in segments.iter().filter(|segment| class(segment.cause.0).is_some()) {
                    let nothing = Segment { ns: 0, ..*segment };
                    let all = usual.entry((segment.cause, segment.culprit)).or_insert(nothing);
                    all.ns = all.ns.saturating_add(segment.ns);
                }
            } else {
                segments.retain(|segment| class(segment.cause.0).is_some_and(|class| is_it[class]));
                found.strange.push(Strange { at_ns, segments, excess_ns });
            }
        }
        found.usual = usual.into_values().collect();
        (found, rest)
    }

    /// What is left of them where some segments go.
    pub(crate) fn left(&self, goes: impl Fn(&Segment) -> bool) -> Blocks {
        let ran = |segment: &Segment| goes(segment) && !is_asleep(segment);
        let stays = self.stays(ran);
        let mut blocks = self.without.clone();
        for strange in &self.strange {
            let left = 1.0 - strange.share(&goes) + strange.share(ran) * stays;
            blocks.add(strange.at_ns, (strange.excess_ns as f64 * left) as u64);
        }
        blocks
    }

    /// The share of what those have who go that all others would have in their place.
    fn stays(&self, goes: impl Fn(&Segment) -> bool) -> f64 {
        let (mut usual, mut excess) = ([0.0, 0.0], [0.0, 0.0]);
        for segment in self.usual.iter().filter(|segment| !is_asleep(segment)) {
            usual[usize::from(goes(segment))] += segment.ns as f64;
        }
        for strange in &self.strange {
            let all = strange.share(|segment| !is_asleep(segment));
            let share = strange.share(&goes);
            excess[0] += strange.excess_ns as f64 * (all - share);
            excess[1] += strange.excess_ns as f64 * share;
        }
        if usual[0] <= 0.0 || excess[1] <= 0.0 {
            return 0.0;
        }
        (excess[0] / usual[0] * usual[1] / excess[1]).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{NameId, TaskId, TimerId};

    const STORM: Culprit = Culprit::Timer(TimerId(7), TaskId(7));
    const OTHER: Culprit = Culprit::Task(TaskId(8));
    const STATE: Culprit = Culprit::IdleState(1);

    /// So many ns more are left of what each culprit has in one wakeup where the storm, or the idle state, goes; all three
    /// usually took as long.
    fn left(excess: [(Culprit, u64); 3], goes: Culprit) -> u64 {
        let segment = |culprit, ns| {
            let (cause, stack) = (Cause("stacked_timers"), NameId::NONE);
            Segment { cause, culprit, start_ns: 0, ns, stretch: 0, stack }
        };
        let strange = |(culprit, ns)| Strange {
            at_ns: 0,
            segments: vec![segment(culprit, ns)],
            excess_ns: ns,
        };
        let all = Unmodelled {
            without: Blocks::new(1),
            strange: excess.into_iter().filter(|(_, ns)| *ns > 0).map(strange).collect(),
            usual: [STORM, OTHER, STATE].map(|culprit| segment(culprit, 1_000)).into(),
        };
        let left = all.left(|segment| segment.culprit == goes);
        let sample = left.sample(0..BLOCKS);
        (sample.figures().mean_ns * left.count() as f64).round() as u64
    }

    #[test]
    fn what_strikes_all_alike_stays_and_what_one_does_goes_with_it() {
        let alike = [(STORM, 60_000), (OTHER, 60_000), (STATE, 0)];
        assert_eq!(left(alike, STORM), 120_000, "whoever runs instead is struck");
        assert_eq!(left([(STORM, 60_000), (OTHER, 0), (STATE, 0)], STORM), 0, "it is the storm's");
        let more = [(STORM, 60_000), (OTHER, 15_000), (STATE, 0)];
        assert_eq!(left(more, STORM), 30_000, "of the storm's no more than of the other's");
        let asleep = [(STORM, 0), (OTHER, 60_000), (STATE, 60_000)];
        assert_eq!(left(asleep, STATE), 60_000, "nobody is stopped who sleeps");
        let slept = [(STORM, 60_000), (OTHER, 0), (STATE, 60_000)];
        assert_eq!(
            left(slept, STORM),
            60_000,
            "how long sleeps take to end tells nothing of who runs"
        );
    }
}
