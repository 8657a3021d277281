//! What the simulation has no idea of: rare parts of recorded latenesses that are far longer, or come far more often,
//! than it makes them. A callback that took 900 µs once, a kernel thread that did not let go for 400 µs twenty times:
//! they come whatever is changed, unless the change takes away who did it. So they are taken out of the recording
//! before the simulation is held against it, and added to what it predicts, as independent of all else.
//!
//! Waiting for other threads is never one of them, nor is asking too late, which comes of that. The simulator does that
//! itself, and where it errs there, its error goes with the waiting ([`crate::correction`]).

use crate::figures::{BLOCKS, Blocks};
use crate::observed::{Observed, Recorded};
use tardy_model::Segment;

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

/// Such parts of a recording.
#[derive(Debug)]
pub(crate) struct Unmodelled {
    /// Wakeups that have none, by their time.
    without: Blocks,
    strange: Vec<Strange>,
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
        let mut found = Self { without: Blocks::new(span_ns), strange: Vec::new() };
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
            } else {
                segments.retain(|segment| class(segment.cause.0).is_some_and(|class| is_it[class]));
                found.strange.push(Strange { at_ns, segments, excess_ns });
            }
        }
        (found, rest)
    }

    /// What is left of them where some segments go.
    pub(crate) fn left(&self, goes: impl Fn(&Segment) -> bool) -> Blocks {
        let mut blocks = self.without.clone();
        for strange in &self.strange {
            let all_ns: u64 = strange.segments.iter().map(|segment| segment.ns).sum();
            let goes = strange.segments.iter().filter(|segment| goes(segment));
            let gone_ns: u64 = goes.map(|segment| segment.ns).sum();
            // Of what is usual there, each segment has its part.
            let left = (all_ns - gone_ns) as f64 / all_ns.max(1) as f64;
            blocks.add(strange.at_ns, (strange.excess_ns as f64 * left) as u64);
        }
        blocks
    }
}
