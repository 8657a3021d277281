//! By how much a CPU's own work takes longer after it has slept. Its caches get cold, its clock goes down, and the host of a
//! guest gives the core to somebody else: the longer it sleeps, the longer all takes for a while, by a factor that is about
//! the same for each kind of work.

use super::draft::Draft;
use super::pace::FAR;
use super::samples::median;
use std::ops::Range;
use tardy_sim::{ColdStep, Coldness, PERMILLE_MAX};

/// For how long work is slower: about what a wakeup and all that it brings take.
const FOR_NS: u64 = 100_000;

/// Lengths of sleep that are told apart: up to this, and to each of its doubles.
const SHORT_NS: u64 = 20_000;
pub(super) const LENGTHS: usize = 11;

/// Up to here it does not matter for how long a CPU sleeps, as lengths are told apart: 80 µs.
pub(super) const MATTERS_FROM: usize = 3;

/// Work of a CPU that has not just slept, which is the first, and those lengths.
pub(super) const COLDS: usize = 1 + LENGTHS;
const SLEPT: Range<usize> = 1..COLDS;

/// Of fewer samples nothing is told.
const SAMPLES_MIN: f64 = 30.0;

/// A spread of factors below this (the standard deviation of their logarithm) changes nothing that anybody could see.
const SPREAD_MIN: f64 = 0.03;

/// What differs by fewer standard errors is chance.
const ERRORS: f64 = 5.0;

/// Least squares are found by turns, so often at most, until none changes anything by more than this. Kinds of work that
/// come after lengths of their own take many.
const TURNS_MAX: usize = 1_000;
const SETTLED: f64 = 1e-6;

/// Sleeps that are longer than any that was seen: work is as much slower with each double as it was among those that were
/// seen, for so many doubles, and by no more each time.
const DOUBLES: usize = 3;
const SLOPE_MAX: f64 = 0.35;

/// Which of those lengths it is.
pub(super) fn length(slept_ns: u64) -> usize {
    let doubles = (slept_ns / SHORT_NS).checked_ilog2().map_or(0, |log| log as usize + 1);
    doubles.min(LENGTHS - 1)
}

/// The shortest sleep of a length.
pub(super) const fn shortest_ns(length: usize) -> u64 {
    if length == 0 { 0 } else { SHORT_NS << (length - 1) }
}

/// How a CPU had slept before some work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cold(u8);

impl Cold {
    /// It has slept for so long.
    pub(super) fn after(slept_ns: u64) -> Self {
        Self(1 + length(slept_ns) as u8)
    }

    /// Whether it has just slept.
    pub(super) fn is_cold(self) -> bool {
        self != Self::default()
    }

    /// Whether that was so long ago that it does not matter.
    pub(super) const fn is_over(woke_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(woke_ns) > FOR_NS
    }

    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// Samples of one kind of work after one length of sleep, as logarithms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    pub(super) fn add(&mut self, ln: f64) {
        self.count += 1.0;
        self.sum += ln;
        self.squares += ln * ln;
    }

    /// Of these and others.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// The same samples, each by so much less.
    pub(super) fn less(self, ln: f64) -> Self {
        let Self { count, sum, squares } = self;
        Self { count, sum: sum - count * ln, squares: squares - 2.0 * ln * sum + count * ln * ln }
    }

    /// Their mean; 0 of none.
    pub(super) fn mean(self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// The squares of what they are off from their mean.
    pub(super) fn off_squares(self) -> f64 {
        self.less(self.mean()).squares
    }
}

/// By length of sleep: the logarithm of the factor by which work takes longer than after all sleeps on average. Work of a
/// CPU that has not just slept has none: most of it comes after other work, which says more of what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Factors {
    ln: [f64; COLDS],
    /// By how much it grows with each double.
    slope: f64,
}

impl Factors {
    /// Those that explain best what kinds of work took after sleeps: of two ways to group samples, what each adds (least
    /// squares, by turns). None where that is chance.
    pub(super) fn of(seen: &[[Sums; COLDS]]) -> Self {
        let mut ln = [0.0; COLDS];
        let mut means = vec![0.0; seen.len()];
        for _ in 0..TURNS_MAX {
            let before = ln;
            for (mean, kind) in means.iter_mut().zip(seen) {
                let each = SLEPT.map(|cold| kind[cold].less(ln[cold]));
                *mean = each.fold(Sums::default(), Sums::with).mean();
            }
            for (cold, ln) in ln.iter_mut().enumerate().skip(SLEPT.start) {
                let each = seen.iter().zip(&means).map(|(kind, mean)| kind[cold].less(*mean));
                *ln = each.fold(Sums::default(), Sums::with).mean();
            }
            if before.iter().zip(&ln).all(|(before, ln)| (before - ln).abs() < SETTLED) {
                break;
            }
        }
        let counts = counts(seen);
        let all: f64 = counts.iter().sum();
        let rest = seen.iter().zip(&means).flat_map(|(kind, mean)| {
            SLEPT.map(move |cold| kind[cold].less(mean + ln[cold]).squares)
        });
        let variance = rest.sum::<f64>() / all.max(1.0);
        let known = |cold: usize| counts[cold] >= SAMPLES_MIN;
        let spread: f64 = SLEPT.map(|cold| counts[cold] * ln[cold] * ln[cold]).sum();
        let is_none = SLEPT.into_iter().all(|cold| {
            !known(cold) || ln[cold].abs() <= ERRORS * (variance / counts[cold]).sqrt()
        });
        if is_none || spread / all.max(1.0) < SPREAD_MIN * SPREAD_MIN {
            return Self::default();
        }
        let lengths: Vec<usize> = SLEPT.filter(|cold| known(*cold)).collect();
        let slope = slope(lengths.iter().map(|cold| (*cold as f64, ln[*cold], counts[*cold])));
        if let (Some(&first), Some(&last)) = (lengths.first(), lengths.last()) {
            let doubles = |from: usize, to: usize| slope * to.saturating_sub(from) as f64;
            for cold in (1..first).rev() {
                ln[cold] = ln[first] - doubles(cold.max(MATTERS_FROM), first);
            }
            for cold in first..last {
                if !known(cold) {
                    ln[cold] = ln[cold - 1];
                }
            }
            for cold in last + 1..COLDS {
                ln[cold] = ln[last] + doubles(last, cold.min(last + DOUBLES));
            }
        }
        Self { ln, slope }
    }

    /// The same, where no length of sleep makes more of a difference to the shortest than among others. `counts` is of how
    /// many samples they are, by length: on average there is no difference again.
    fn no_further_apart_than(self, others: &Self, counts: &[f64; COLDS]) -> Self {
        let mut nearer = Self { slope: self.slope.min(others.slope), ..Self::default() };
        let (mut sum, mut n) = (0.0, 0.0);
        for cold in SLEPT {
            let apart = |factors: &Self| factors.ln[cold] - factors.ln[SLEPT.start];
            let most = apart(others);
            nearer.ln[cold] = apart(&self).clamp(most.min(0.0), most.max(0.0));
            sum += counts[cold] * nearer.ln[cold];
            n += counts[cold];
        }
        for cold in SLEPT {
            nearer.ln[cold] -= if n > 0.0 { sum / n } else { 0.0 };
        }
        nearer
    }

    pub(super) const fn ln(&self, cold: usize) -> f64 {
        self.ln[cold]
    }

    /// Those of what threads run, of each thread's runs. Whoever runs for longer after longer sleeps may have more to do then:
    /// runs are not slower than the kernel's own work, whose factors these are.
    pub(super) fn of_runs<'a>(drafts: impl Iterator<Item = &'a Draft>, work: &Self) -> Self {
        let seen: Vec<[Sums; COLDS]> = drafts.filter_map(sums_of_runs).collect();
        Self::of(&seen).no_further_apart_than(work, &counts(&seen))
    }

    /// What a run would take after a sleep that is like all on average.
    pub(super) fn warm_run_ns(&self, cold: Cold, ns: u64) -> u64 {
        let factor = self.ln[cold.place()].exp();
        let slow_ns = (FOR_NS as f64 * factor) as u64;
        if ns <= slow_ns { (ns as f64 / factor) as u64 } else { ns - slow_ns + FOR_NS }
    }

    /// Samples of one kind of work, as they would be after sleeps that are like all on average.
    pub(super) fn without(&self, colds: &[Sums; COLDS]) -> Sums {
        let each = colds.iter().zip(&self.ln).map(|(sums, ln)| sums.less(*ln));
        each.fold(Sums::default(), Sums::with)
    }

    /// By what it grows with each double of a sleep.
    pub(super) fn each_double(&self) -> f64 {
        self.slope.exp()
    }

    /// For the simulator: these are what work takes, and others what threads' runs do.
    pub(super) fn coldness(&self, runs: &Self) -> Coldness {
        if [self, runs].into_iter().all(|factors| *factors == Self::default()) {
            return Coldness::default();
        }
        let permille = |ln: f64| ((ln.exp() * 1e3).round() as u16).clamp(1, PERMILLE_MAX);
        let step = |at: usize| ColdStep {
            from_ns: shortest_ns(at),
            work: permille(self.ln[1 + at]),
            runs: permille(runs.ln[1 + at]),
        };
        Coldness { steps: (0..LENGTHS).map(step).collect(), for_ns: FOR_NS }
    }
}

/// How many samples there are after sleeps of each length.
fn counts(seen: &[[Sums; COLDS]]) -> [f64; COLDS] {
    let mut counts = [0.0; COLDS];
    for cold in SLEPT {
        counts[cold] = seen.iter().map(|kind| kind[cold].count).sum();
    }
    counts
}

/// How long a thread runs, by how the CPU had slept; `None` where it runs rarely, or so long that hardly any of it is slow.
fn sums_of_runs(draft: &Draft) -> Option<[Sums; COLDS]> {
    let mut all: Vec<u64> = draft.runs().map(|(_, ns)| ns.max(1)).collect();
    if (all.len() as f64) < SAMPLES_MIN {
        return None;
    }
    let median_ns = median(&mut all);
    if median_ns > FOR_NS {
        return None;
    }
    let middle = (median_ns as f64).ln();
    let mut colds = [Sums::default(); COLDS];
    for (cold, ns) in draft.runs() {
        let ln = (ns.max(1) as f64).ln();
        colds[cold.place()].add(ln.clamp(middle - FAR, middle + FAR));
    }
    Some(colds)
}

/// By how much the logarithm grows with each double, of `(length, logarithm, weight)`; none below where lengths matter.
fn slope(each: impl Iterator<Item = (f64, f64, f64)>) -> f64 {
    let each: Vec<_> = each.filter(|(length, ..)| *length >= MATTERS_FROM as f64).collect();
    let weight: f64 = each.iter().map(|(.., weight)| weight.sqrt()).sum();
    let mean = |of: fn(&(f64, f64, f64)) -> f64| {
        each.iter().map(|it| of(it) * it.2.sqrt()).sum::<f64>() / weight.max(1.0)
    };
    let (middle, level) = (mean(|it| it.0), mean(|it| it.1));
    let (mut both, mut own) = (0.0, 0.0);
    for (length, ln, weight) in &each {
        both += weight.sqrt() * (length - middle) * (ln - level);
        own += weight.sqrt() * (length - middle) * (length - middle);
    }
    if own > 0.0 { (both / own).clamp(0.0, SLOPE_MAX) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::TaskState;
    use tardy_sim::{Entity, Stream};

    /// Two kinds of work, 900 and 3,000 ns, each made so many times as long by the length of the sleep before.
    fn seen(factor: impl Fn(usize) -> f64, lengths: std::ops::Range<usize>) -> [[Sums; COLDS]; 2] {
        let mut seen = [[Sums::default(); COLDS]; 2];
        let mut stream = Stream::new(1, Entity::Maker, 5);
        for _ in 0..2_000 {
            for cold in lengths.clone() {
                for (kind, usual_ns) in [900.0, 3_000.0].into_iter().enumerate() {
                    let chance = 0.8 + stream.below(400) as f64 / 1e3;
                    let ln = (usual_ns * factor(cold) * chance).ln();
                    seen[kind][cold].add(ln);
                }
            }
        }
        seen
    }

    #[test]
    fn lengths_of_sleep_are_told_apart() {
        let after = [0, 19_999, 20_000, 39_999, 40_000, 1_000_000, u64::MAX].map(Cold::after);
        assert_eq!(after.map(Cold::place), [1, 1, 2, 2, 3, 7, LENGTHS]);
        assert!(Cold::is_over(5, FOR_NS + 6) && !Cold::is_over(5, FOR_NS + 5));
    }

    #[test]
    fn factors_are_found_and_go_on_as_they_went() {
        let truly = |cold: usize| 1.2_f64.powi(cold.saturating_sub(MATTERS_FROM) as i32);
        let factors = Factors::of(&seen(truly, 4..7));
        assert!((1.18..1.22).contains(&factors.each_double()), "{}", factors.each_double());
        let ratio = |one: usize, other: usize| (factors.ln(one) - factors.ln(other)).exp();
        for (one, other, expected) in [(6, 4, 1.44), (8, 6, 1.44), (4, 1, 1.2), (11, 6, 1.728)] {
            let ratio = ratio(one, other);
            assert!((ratio / expected - 1.0).abs() < 0.05, "{one} {other}: {ratio}");
        }
        let steps = factors.coldness(&Factors::default()).steps;
        let from = |at: usize| steps[at].from_ns;
        assert_eq!((steps.len(), from(0), from(1)), (LENGTHS, 0, SHORT_NS));
        assert!(steps.is_sorted_by_key(|step| (step.from_ns, step.work)));
        assert!(steps.iter().all(|step| step.runs == 1_000));
    }

    /// A thread that runs for 5 µs after sleeps of 20 µs, and each time longer after one of 320 µs.
    fn runs(longer: u64) -> Draft {
        let mut draft = Draft::default();
        for at in 0..2_000u64 {
            let (slept_ns, ns) = if at % 2 == 0 { (20_000, 5_000) } else { (320_000, longer) };
            draft.ran(ns - at % 7 * 100, Cold::after(slept_ns));
            draft.sleeps(TaskState::Interruptible);
            draft.other_wakes();
        }
        draft
    }

    #[test]
    fn runs_are_slower_after_sleeps_and_no_slower_than_work() {
        let truly = |cold: usize| 1.2_f64.powi(cold.saturating_sub(2) as i32);
        let work = Factors::of(&seen(truly, 2..7));
        for (longer, expected) in [(6_500, 1.3), (25_000, 1.2_f64.powi(4)), (3_000, 1.0)] {
            let mut draft = runs(longer);
            let factors = Factors::of_runs([&draft].into_iter(), &work);
            let [short, long] = [20_000, 320_000].map(|ns| factors.ln(Cold::after(ns).place()));
            let found = (long - short).exp();
            assert!((found / expected - 1.0).abs() < 0.06, "{longer}: {found}");
            draft.warms(&factors);
            let warm_ns = draft.runs().nth(1).unwrap().1 as f64;
            let cold_ns = warm_ns * long.exp();
            assert!((cold_ns / (longer - 100) as f64 - 1.0).abs() < 0.01, "{longer}: {warm_ns}");
        }
        let none = Factors::of_runs([&runs(6_500)].into_iter(), &Factors::default());
        assert!(none.ln(5).abs() < 1e-9, "nothing else is slower");
    }

    #[test]
    fn what_comes_late_in_a_run_is_not_slower() {
        let work = Factors::of(&seen(|cold| 1.0 + cold as f64 / 5.0, 1..7));
        let cold = Cold::after(320_000);
        assert!(work.ln(cold.place()) > 0.1);
        let slow_ns = (FOR_NS as f64 * work.ln(cold.place()).exp()) as u64;
        for ns in [0, 5_000, slow_ns, 2 * slow_ns, 10_000_000] {
            let warm_ns = work.warm_run_ns(cold, ns);
            assert!(warm_ns <= ns && (ns <= slow_ns || ns - warm_ns == slow_ns - FOR_NS), "{ns}");
        }
    }

    #[test]
    fn chance_is_no_factor() {
        assert_eq!(Factors::of(&seen(|_| 1.0, 1..9)), Factors::default());
        assert_eq!(Factors::of(&[[Sums::default(); COLDS]; 2]), Factors::default());
        let none = Factors::default();
        assert_eq!(none.coldness(&none), Coldness::default());
    }
}
