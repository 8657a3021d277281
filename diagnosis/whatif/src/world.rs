//! A recording, the same simulated as it was, and how what a change does to the second moves the first.

use crate::change;
use crate::correction::{Correction, alike, is_of_lateness, near};
use crate::experience::{self, Widening};
use crate::figures::{BLOCKS, Blocks, Figures, Means, Sample};
use crate::model::Model;
use crate::observed::Observed;
use crate::predict::{COVERAGE, Moved, Others, WAKEUPS_MIN, recorded};
use crate::refusal::Refusal;
use crate::simulate::{Simulated, simulate, simulate_with_causes};
use crate::unmodelled::{Unmodelled, are_alike};
use std::collections::BTreeMap;
use tardy_changes::Change;
use tardy_model::{Segment, TaskId};
use tardy_sim::{Entity, Stream};

/// Where mean and median are off by this factor, whichever way, nothing is said.
const UNLIKE_MIN: f64 = 2.0;

/// Where the median alone is off by this factor, nothing is said: what one part of the lateness hides in a mean is off.
const MEDIAN_UNLIKE_MIN: f64 = 4.0;

/// The same of a mean that is so much later than recorded. What the simulation lacks is known, and taken into account; what
/// it makes up is not.
const MEAN_UNLIKE_MIN: f64 = 6.0;

/// What is left of a figure's error once latenesses are corrected is taken off by no more than this factor, in the
/// order of [`Figures::all`].
const LEFT_MOST: [f64; 6] = [2.0, 1.25, 1.25, 1.25, 2.0, 1.5];

/// The quantile at which, or above which, each figure is, in the order of [`Figures::all`]; of the mean there is none.
const QUANTILES: [f64; 6] = [0.0, 0.5, 0.99, 0.999, 0.99, 0.999];

/// Figures that are no further apart than by this factor may be one that nothing has changed.
const SAME: f64 = 1.1;

/// Where figures are in [`Figures::all`].
const MEAN: usize = 0;
const MEDIAN: usize = 1;
const P99: usize = 2;
const P999: usize = 3;
const TAIL: usize = P999;
const WORST: usize = 4;

/// No range reaches further down than to this share of what is predicted, before it is widened.
const LOW_MIN: f64 = 0.1;

/// Of who is to blame for so much of all lateness, more cannot be predicted where the simulation has less than that part of
/// it.
const EXPLORED_FROM: f64 = 0.1;
const EXPLORED_MIN: f64 = 0.5;

/// Times that blocks are drawn anew.
const DRAWS: usize = 200;

/// The recorded system, simulated as it was.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// As recorded.
    pub recorded: Figures,
    /// So many wakeups more are in no figure: events are missing near them, and nobody knows what delayed them.
    pub left_out: u64,
    /// As simulated.
    pub simulated: Figures,
    /// How far the simulated figures are off in the second half of the time, on which nothing was fitted: a share
    /// of the recorded figure, in the order of [`Figures::all`].
    pub error: [f64; 6],
    /// Shares of the causes, as recorded and as simulated, the largest first.
    pub causes: Vec<(String, f64, f64)>,
    /// CPUs hardly ever slept for so long that the hypervisor did not wait for them: what waking up takes then is
    /// assumed.
    pub waking_is_assumed: bool,
}

/// A recording and what it is simulated as.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) model: Model,
    recorded: Blocks,
    /// What the simulation has no idea of, and what is left of the recording without it.
    unmodelled: Unmodelled,
    rest: Blocks,
    pub(crate) base: Simulated,
    /// For how much of the recorded lateness threads are to blame, by cause, ns.
    blamed: BTreeMap<(&'static str, TaskId), u64>,
    pub(crate) baseline: Baseline,
}

impl World {
    /// Simulates a model as it was recorded. Segments that are not in the model are gone from the recording too.
    pub(crate) fn new(
        model: Model,
        observed: &Observed,
        is_gone: impl Fn(&Segment) -> bool,
    ) -> Result<Self, Refusal> {
        model.system.check().map_err(|error| Refusal::Meaningless(error.to_string()))?;
        let recorded = recorded(observed, &is_gone);
        let hides_ends = observed.costs.hides_ends();
        let base = simulate_with_causes(&model, model.system.seed, hides_ends)?;
        let simulated = base.victims.figures();
        if simulated.n < WAKEUPS_MIN as u64 {
            return Err(Refusal::Unlike(format!(
                "the victims wake up {} times in it, and {} times in the recording",
                simulated.n,
                recorded.count()
            )));
        }
        let second = |blocks: &Blocks| blocks.sample(BLOCKS / 2..BLOCKS).figures();
        let (was, is) = (second(&recorded), second(&base.victims));
        let mut error = [0.0; 6];
        for (error, (was, is)) in error.iter_mut().zip(was.all().into_iter().zip(is.all())) {
            *error = if was > 0.0 { (is / was - 1.0).abs() } else { 0.0 };
        }
        for (was, is) in [(&was, &is), (&recorded.figures(), &simulated)] {
            if are_unlike(was, is) {
                return Err(Refusal::Unlike(format!(
                    "its victims are late by {:.1} µs on average, and in the recording by {:.1} µs",
                    is.mean_ns / 1e3,
                    was.mean_ns / 1e3
                )));
            }
        }
        let (unmodelled, rest) = Unmodelled::of(observed, &base.by_class, &is_gone);
        let blamed = blamed(observed, &is_gone);
        let causes = causes(observed, &base, is_gone);
        let (recorded_figures, left_out) = (recorded.figures(), observed.near_missing);
        let baseline = Baseline {
            recorded: recorded_figures,
            left_out,
            simulated,
            error,
            causes,
            waking_is_assumed: model.assumes_waking,
        };
        Ok(Self { model, recorded, unmodelled, rest, base, blamed, baseline })
    }

    /// The changed system, simulated.
    pub(crate) fn with(&self, changes: &[Change]) -> Result<With, Refusal> {
        let mut model = self.model.clone();
        let mut prices = Vec::new();
        let mut removes = Vec::new();
        let mut already = None;
        for change in changes {
            self.has_explored(change)?;
            let known =
                change::predicted(change).ok_or_else(|| Refusal::Unpredicted(change.name()))?;
            removes.extend(known.removes(change, &self.model));
            match known.apply(change, &mut model) {
                Ok(()) => prices.push(known.price_of(change)),
                // Beside another one it may be so already, whichever comes first.
                Err(Refusal::Already(what)) => already = Some(what),
                Err(why) => return Err(why),
            }
        }
        if let (true, Some(what)) = (prices.is_empty(), already) {
            return Err(Refusal::Already(what));
        }
        model.system.check().map_err(|error| Refusal::Meaningless(error.to_string()))?;
        let simulated = simulate(&model, model.system.seed)?;
        let n = simulated.victims.count();
        // Who starves does not wake up, and its lateness is in no figure.
        if n * 2 < self.baseline.simulated.n {
            return Err(Refusal::Meaningless(format!(
                "the victims would hardly run: {n} wakeups instead of {}",
                self.baseline.simulated.n
            )));
        }
        removes.push(change::blames(model.away()));
        let unmodelled =
            self.unmodelled.left(|segment| removes.iter().any(|removes| removes(segment)));
        Ok(With { simulated, unmodelled, prices })
    }

    /// Whether a changed system is as it was.
    pub(crate) fn is_unchanged(&self, with: &With) -> bool {
        with.simulated.is_as(&self.base) && with.unmodelled == self.unmodelled.left(|_| false)
    }

    /// Of whom there is to be more has to delay the victims in the simulation as in the recording: of an error nobody can
    /// say how it grows.
    fn has_explored(&self, change: &Change) -> Result<(), Refusal> {
        let tasks = change::multiplied(change, &self.model);
        let mut recorded: BTreeMap<&str, f64> = BTreeMap::new();
        for ((cause, task), ns) in &self.blamed {
            if tasks.contains(task) {
                *recorded.entry(cause).or_default() += *ns as f64;
            }
        }
        let all_ns = self.baseline.recorded.mean_ns * self.baseline.recorded.n as f64;
        let simulated_ns = |cause: &str| {
            let alike = self.base.causes.iter().filter(|(other, _)| are_alike(cause, other));
            alike.map(|(_, ns)| *ns as f64).sum::<f64>()
        };
        let missed = recorded.into_iter().filter(|(cause, ns)| {
            *ns >= EXPLORED_FROM * all_ns && simulated_ns(cause) < EXPLORED_MIN * ns
        });
        match missed.map(|(_, ns)| ns).fold(0.0, f64::max) {
            missed_ns if missed_ns > 0.0 => {
                Err(Refusal::Unexplored((100.0 * missed_ns / all_ns).round() as u8))
            }
            _ => Ok(()),
        }
    }

    /// Blocks drawn anew, so often; the same each time.
    fn draws(&self) -> impl Iterator<Item = [usize; BLOCKS]> {
        let mut stream = Stream::new(self.model.system.seed, Entity::Maker, 3);
        (0..DRAWS).map(move |_| std::array::from_fn(|_| stream.below(BLOCKS as u64) as usize))
    }

    /// What becomes of the mean of all others, of whom there are only simulated figures.
    pub(crate) fn others(&self, with: &With, widening: Widening) -> Option<Others> {
        let means_ns = |blocks: &[usize]| {
            let mean_ns = |of: &Means| of.mean_ns(blocks.iter().copied());
            (mean_ns(&self.base.others), mean_ns(&with.simulated.others))
        };
        let (before_ns, after_ns) = means_ns(&all_blocks());
        if before_ns <= 0.0 || after_ns <= 0.0 {
            return None;
        }
        let whole = after_ns / before_ns;
        let drawn = self.draws().map(|blocks| match means_ns(&blocks) {
            (before_ns, after_ns) if before_ns > 0.0 => after_ns / before_ns,
            _ => whole,
        });
        // What the victims' mean is off is all that is known of how wrong means are.
        let Range { narrow, wide, .. } = self.range(MEAN, (1.0, whole), drawn, widening);
        let (low, high) = (wide.0 - 1.0, wide.1 - 1.0);
        Some(Others { before_ns, after_ns, low, high, narrow: (narrow.0 - 1.0, narrow.1 - 1.0) })
    }

    /// The range of what a figure becomes, by what it becomes in blocks drawn anew.
    fn range(
        &self,
        figure: usize,
        (was, becomes): (f64, f64),
        drawn: impl Iterator<Item = f64>,
        widening: Widening,
    ) -> Range {
        let (low, high) = covered(drawn);
        let off = off_by(self.baseline.error[figure], was, becomes);
        let low = (low.min(becomes) / off).max(becomes * LOW_MIN);
        let high = high.max(becomes) * off;
        let nearest = experience::NEAREST[figure];
        let widened = |below: f64, above: f64| {
            ((low / below).min(becomes / nearest), (high * above).max(becomes * nearest))
        };
        let Widening { below, above, surer } = widening;
        Range { narrow: (low, high), wide: widened(below, above), wider: widened(surer.0, surer.1) }
    }

    /// The recorded figures moved as the simulated ones are, each with its interval.
    pub(crate) fn moved(&self, with: &With, widening: &[Widening; 6]) -> [Moved; 6] {
        let all_unmodelled = self.unmodelled.left(|_| false);
        let figures = |blocks: &[usize]| {
            let of = |all: &Blocks| all.sample(blocks.iter().copied());
            let (rest, base) = (of(&self.rest), of(&self.base.victims));
            let correction = Correction::of(&rest, &base);
            let stands_for = |simulated: &Sample, unmodelled: &Blocks| {
                correction.corrected(simulated).plus(&of(unmodelled)).figures().all()
            };
            let unchanged = stands_for(&base, &all_unmodelled);
            let mut changed = stands_for(&of(&with.simulated.victims), &with.unmodelled);
            let recorded = of(&self.recorded).figures().all();
            let goes_on = (tail(&changed) / tail(&unchanged).max(1.0)).clamp(0.0, 1.0)
                * alike(changed[TAIL], unchanged[TAIL]);
            for (at, changed) in changed.iter_mut().enumerate() {
                let most = LEFT_MOST[at];
                *changed = if at == MEAN {
                    // What is left of a mean's error is the tail's, whose latenesses are few and far between.
                    let left_ns = (recorded[at] - unchanged[at]) * goes_on;
                    (*changed + left_ns).clamp(*changed / most, *changed * most)
                } else {
                    let left = (recorded[at] / unchanged[at].max(1.0)).clamp(1.0 / most, most);
                    let is_factor = is_of_lateness(&rest, &base, QUANTILES[at]);
                    let is_same = near(*changed, unchanged[at], SAME);
                    *changed * left.powf(alike(*changed, unchanged[at]) * is_factor.max(is_same))
                };
            }
            changed
        };
        let whole = figures(&all_blocks());
        let drawn: Vec<[f64; 6]> = self.draws().map(|blocks| figures(&blocks)).collect();
        let recorded = self.baseline.recorded.all();
        let moved = std::array::from_fn(|at| {
            let (recorded_ns, predicted_ns) = (recorded[at], whole[at]);
            let drawn = drawn.iter().map(|figures| figures[at]);
            let Range { narrow, wide: (low_ns, high_ns), wider } =
                self.range(at, (recorded_ns, predicted_ns), drawn, widening[at]);
            Moved { recorded_ns, predicted_ns, low_ns, high_ns, surer_ns: wider, narrow_ns: narrow }
        });
        in_order(moved)
    }
}

/// By what factor a figure may be off where the simulated system is off by a share: by that share of the effect. The error
/// of what a change takes away goes with it, and does not count for the little that is left.
fn off_by(error: f64, was: f64, becomes: f64) -> f64 {
    1.0 + error.min(1.0) * (becomes - was).abs() / becomes.max(was).max(f64::MIN_POSITIVE)
}

/// Figures of which none can be above the next.
const ORDERED: [[usize; 2]; 3] = [[MEDIAN, P99], [P99, P999], [P99, WORST]];

/// Ranges are made figure by figure. But where the median is at least so late, p99 is too; and where p99 is at most so late,
/// the median is.
fn in_order(mut moved: [Moved; 6]) -> [Moved; 6] {
    for [lower, upper] in ORDERED {
        let below = moved[lower];
        let above = &mut moved[upper];
        let at_least = |low_ns: f64, other_ns: f64| low_ns.max(other_ns.min(above.predicted_ns));
        let low_ns = at_least(above.low_ns, below.low_ns);
        let surer_ns = at_least(above.surer_ns.0, below.surer_ns.0);
        (above.low_ns, above.surer_ns.0) = (low_ns, surer_ns);
    }
    for [lower, upper] in ORDERED.into_iter().rev() {
        let above = moved[upper];
        let below = &mut moved[lower];
        let at_most = |high_ns: f64, other_ns: f64| high_ns.min(other_ns.max(below.predicted_ns));
        let high_ns = at_most(below.high_ns, above.high_ns);
        let surer_ns = at_most(below.surer_ns.1, above.surer_ns.1);
        (below.high_ns, below.surer_ns.1) = (high_ns, surer_ns);
    }
    moved
}

/// A range before and after it is widened for what checked predictions were off.
#[derive(Clone, Copy, Debug)]
struct Range {
    narrow: (f64, f64),
    wide: (f64, f64),
    /// For the larger share that it is to hold.
    wider: (f64, f64),
}

/// Each block once.
fn all_blocks() -> [usize; BLOCKS] {
    std::array::from_fn(|at| at)
}

/// The ends of what covers so many of the draws as an interval is to.
fn covered(drawn: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut sample: Vec<f64> = drawn.collect();
    sample.sort_by(f64::total_cmp);
    let tail = (1.0 - COVERAGE) / 2.0;
    let low = sample[(DRAWS as f64 * tail) as usize];
    (low, sample[((DRAWS as f64 * (1.0 - tail)) as usize).min(DRAWS - 1)])
}

/// A changed system, simulated.
#[derive(Debug)]
pub(crate) struct With {
    pub(crate) simulated: Simulated,
    /// What is left of what is not modelled.
    unmodelled: Blocks,
    /// What the changes cost.
    pub(crate) prices: Vec<&'static str>,
}

/// What of a mean lies above the median, ns.
fn tail(figures: &[f64; 6]) -> f64 {
    (figures[MEAN] - figures[MEDIAN]).max(0.0)
}

/// Whether figures have nothing to do with each other: a prediction moves the one as it moves the other.
fn are_unlike(was: &Figures, is: &Figures) -> bool {
    let off = |was: f64, is: f64| f64::max(is / was.max(1.0), was / is.max(1.0));
    let (mean, median) = (off(was.mean_ns, is.mean_ns), off(was.p50_ns, is.p50_ns));
    let is_invented = is.mean_ns >= MEAN_UNLIKE_MIN * was.mean_ns.max(1.0);
    mean.min(median) >= UNLIKE_MIN || median >= MEDIAN_UNLIKE_MIN || is_invented
}

/// The recorded segments that are not gone.
fn there(
    observed: &Observed,
    is_gone: impl Fn(&Segment) -> bool,
) -> impl Iterator<Item = &Segment> {
    let segments = observed.wakeups.iter().flat_map(|wakeup| wakeup.segments.iter());
    segments.filter(move |segment| !is_gone(segment))
}

/// Which threads are to blame for how much, by cause, ns.
fn blamed(
    observed: &Observed,
    is_gone: impl Fn(&Segment) -> bool,
) -> BTreeMap<(&'static str, TaskId), u64> {
    let mut blamed = BTreeMap::new();
    for segment in there(observed, is_gone) {
        if let Some(task) = change::blamed(segment) {
            let ns: &mut u64 = blamed.entry((segment.cause.0, task)).or_default();
            *ns = ns.saturating_add(segment.ns);
        }
    }
    blamed
}

/// Shares of the causes, as recorded and as simulated.
fn causes(
    observed: &Observed,
    base: &Simulated,
    is_gone: impl Fn(&Segment) -> bool,
) -> Vec<(String, f64, f64)> {
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for segment in there(observed, is_gone) {
        shares.entry(segment.cause.0).or_default().0 += segment.ns as f64;
    }
    // A recording without all interrupts cannot tell one from the other.
    let is_told = |cause: &str| shares.contains_key(cause);
    let has_no_interrupts = is_told("switch_delay") && !is_told("not_preemptible");
    for (cause, ns) in &base.causes {
        let is_delay = has_no_interrupts && *cause == "not_preemptible";
        let cause = if is_delay { "switch_delay" } else { cause };
        shares.entry(cause).or_default().1 += *ns as f64;
    }
    let all = shares.values().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let share = |ns: f64, all: f64| if all > 0.0 { ns / all } else { 0.0 };
    let shares = shares
        .into_iter()
        .map(|(cause, (was, is))| (cause.to_owned(), share(was, all.0), share(is, all.1)));
    let mut shares: Vec<(String, f64, f64)> = shares.collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_of_the_effect_and_goes_with_what_is_removed() {
        let off = |was, becomes| off_by(0.2, was, becomes);
        assert!((off(100.0, 100.0) - 1.0).abs() < 1e-9, "nothing changes");
        assert!((off(100.0, 90.0) - 1.02).abs() < 1e-9);
        assert!((off(10.0, 20.0) * 20.0 - 22.0).abs() < 1e-9, "a fifth of what comes on top");
        assert!(off(540.0, 22.0) < 1.2, "not a fifth of the 518 that are gone");
        assert!(off_by(9.0, 1.0, 1e9) <= 2.0 && (off_by(0.2, 0.0, 0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_simulated_far_too_early_is_as_unlike_as_what_is_too_late() {
        let figures = |mean_ns, p50_ns| Figures { mean_ns, p50_ns, ..Figures::default() };
        let recorded = figures(7_480_000.0, 2_380_000.0);
        assert!(are_unlike(&recorded, &figures(95_500.0, 94_700.0)), "groups share the CPUs, say");
        assert!(are_unlike(&figures(95_500.0, 94_700.0), &recorded));
        assert!(!are_unlike(&recorded, &figures(95_500.0, 2_000_000.0)), "the median is right");
        assert!(!are_unlike(&recorded, &figures(4_000_000.0, 1_300_000.0)));
        assert!(
            are_unlike(&figures(555_600.0, 72_200.0), &figures(3_440_000.0, 94_000.0)),
            "a tail"
        );
        assert!(
            are_unlike(&figures(183_000.0, 6_200.0), &figures(182_000.0, 0.0)),
            "a hog hides it"
        );
    }
}
