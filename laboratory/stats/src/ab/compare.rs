//! Do two samples differ?

use super::band::band_quantiles;
use super::grouped::Grouped;
use super::normal::{normal_quantile, t_p, t_quantile};
use super::permutation::{Contrast, Rows, welch};
use super::prepared::{Prepared, are_pairs, basis, prepare};
use super::quantiles::{Own, difference};
use super::resample::resample;
use super::score::Score;
use super::{
    BandPoint, Basis, Comparison, Difference, QuantileDifference, Question, Side, Test, VALUES_MIN,
    Verdict,
};
use crate::{Counted, Interval, MannWhitney, Sample, holm, mann_whitney_counted};

/// The chance of finding it that a detectable difference is stated for.
const POWER: f64 = 0.8;

/// A p from exchanges is known to 1/√20 of itself where it would have to be for the first of Holm's
/// steps, so there are at least this many exchanges for each that may reach it.
const REACHED_MIN: f64 = 20.0;

/// Pairs are used where the least p that they can show is smaller by this than the first of Holm's steps:
/// with few pairs and many tests not even the clearest difference would be shown, while blocks that are
/// exchanged freely have many more ways to be exchanged.
const PAIRED_ROOM: f64 = 2.0;

/// The most exchanges: beyond, a p is as small as anybody needs.
const EXCHANGES_MAX: usize = 200_000;

/// The most drawings: the ends of an interval are then known to a hundredth of its width, and the
/// figures drawn take 40 MB.
const DRAWINGS_MAX: usize = 20_000;

/// Compares two samples: their means, their quantiles, and which tends to be larger.
///
/// Where both have [`BLOCKS_MIN`] blocks, blocks are what is exchanged for the p and drawn anew for
/// the intervals ([`Basis::Blocks`]); otherwise single values are taken for independent, and p and
/// intervals are the classical ones ([`Basis::Values`]). In [`Comparison::ranks`] A is the first:
/// its `a` is the probability that one of A is larger than one of B. Where the samples differ in
/// resolution, the finer one is first rounded down to the coarser's grid; where all values are multiples
/// of something more, as those of a clock that ticks coarsely, that is the resolution.
///
/// The time it takes grows with `resamples` × blocks × distinct values, not with the number of
/// values: 2000 × 128 × 500 take about 0.3 s.
pub fn compare(a: &Sample, b: &Sample, question: &Question) -> Comparison {
    let tests = sane_quantiles(question).len() + 2;
    finish(vec![Unadjusted::new(a, b, question, tests)], question.alpha)
        .pop()
        .expect("one is put in, and one comes out")
}

/// The quantiles asked for that can be one, ascending.
pub(super) fn sane_quantiles(question: &Question) -> Vec<f64> {
    let mut quantiles: Vec<f64> =
        question.quantiles.iter().copied().filter(|&q| q > 0.0 && q < 1.0).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    quantiles
}

/// A comparison whose p are not yet corrected for each other.
pub(super) struct Unadjusted {
    comparison: Comparison,
    /// Why nothing can be said.
    too_few: Option<String>,
    /// Of the shares above the median of all.
    median: Contrast,
    all: Counted,
    width: u64,
    /// The least p that its blocks can show, whatever they hold.
    least_p: f64,
}

/// Corrects all p of all of these for each other, and says what may be said.
pub(super) fn finish(mut several: Vec<Unadjusted>, alpha: f64) -> Vec<Comparison> {
    let p: Vec<f64> = several.iter().flat_map(|one| one.comparison.p()).collect();
    let mut adjusted = holm(&p).into_iter();
    let mut next = || adjusted.next().expect("as many as there are p");
    for one in &mut several {
        let comparison = &mut one.comparison;
        comparison.mean.p_adjusted = next();
        for quantile in &mut comparison.quantiles {
            quantile.difference.p_adjusted = next();
        }
        comparison.ranks_p_adjusted = next();
    }
    // A difference must be found by the strictest of Holm's steps to be promised.
    let first_step = alpha / p.len() as f64;
    several.into_iter().map(|one| one.judged(first_step)).collect()
}

impl Comparison {
    /// All p that have not been corrected: of the mean, the quantiles, the ranks.
    fn p(&self) -> impl Iterator<Item = f64> {
        let quantiles = self.quantiles.iter().map(|quantile| quantile.difference.p);
        std::iter::once(self.mean.p).chain(quantiles).chain([self.ranks_p])
    }
}

impl Unadjusted {
    /// Compares `a` and `b` where `tests` p in all are to be corrected for each other.
    pub(super) fn new(a: &Sample, b: &Sample, question: &Question, tests: usize) -> Self {
        let (sides, width) = {
            let (a, b, width) = prepare(a, b);
            ([a, b], width)
        };
        let work = Work {
            whole: sides.each_ref().map(|side| Grouped::new(&side.whole, width)),
            blocks: sides
                .each_ref()
                .map(|side| side.blocks.iter().map(|block| Grouped::new(block, width)).collect()),
            all: Counted::merged(sides.each_ref().map(|side| &side.whole)),
            basis: basis(&sides[0], &sides[1]),
            is_paired: question.paired
                && are_pairs(sides[0].blocks.len(), sides[1].blocks.len())
                && least_paired_p(sides[0].blocks.len()) * PAIRED_ROOM
                    <= question.alpha / tests as f64,
            sides: &sides,
            width,
        };
        let too_few = [a, b].iter().find_map(|sample| too_few(sample));
        let owns = work.bounded(sane_quantiles(question));
        let mut asked = vec![Test::Mean];
        asked.extend(owns.iter().map(|&(q, _)| Test::Quantile(q)));
        asked.push(Test::Ranks);
        let ranks = mann_whitney_counted(&sides[0].whole, &sides[1].whole).unwrap_or(MannWhitney {
            u: 0.0,
            pairs: 0.0,
            z: 0.0,
            p: 1.0,
            a: 0.5,
        });
        let is_empty = sides.iter().any(|side| side.whole.is_empty());
        let p =
            if is_empty { vec![1.0; asked.len()] } else { work.p(&asked, &ranks, question, tests) };
        let intervals = work.intervals(&owns, question);
        let of = |value: [f64; 2], b_minus_a, p| Difference {
            a: value[0],
            b: value[1],
            b_minus_a,
            p,
            p_adjusted: p,
        };
        let quantiles = owns.iter().zip(&intervals.asked).zip(&p[1..]);
        let comparison = Comparison {
            a: described(a),
            b: described(b),
            basis: work.basis,
            mean: of(sides.each_ref().map(|side| side.whole.mean_ns()), intervals.mean, p[0]),
            quantiles: quantiles
                .map(|((&(q, own), &interval), &p)| QuantileDifference {
                    q,
                    a: own[0].rounded(&sides[0], q),
                    b: own[1].rounded(&sides[1], q),
                    difference: of(own.map(|own| own.value), interval, p),
                })
                .collect(),
            ranks,
            ranks_p: p[p.len() - 1],
            ranks_p_adjusted: p[p.len() - 1],
            band: intervals.band,
            verdict: Verdict::TooFew { why: String::new() },
            alpha: question.alpha,
        };
        let median = work.contrast(Test::Quantile(0.5));
        let least_p = work.least_p();
        Self { comparison, too_few, median, all: work.all, width, least_p }
    }

    fn judged(mut self, first_step: f64) -> Comparison {
        let alpha = self.comparison.alpha;
        // A p and an interval are two ways to ask, and at the edge they may differ: what is said to be later lies
        // above 0 by both.
        let is_shown = |difference: &Difference| {
            let Interval { low, high, .. } = difference.b_minus_a;
            difference.p_adjusted < alpha && (low > 0.0 || high < 0.0)
        };
        let mean = is_shown(&self.comparison.mean);
        let ranks = self.comparison.ranks_p_adjusted < alpha;
        let differ = self.comparison.quantiles.iter();
        let quantiles: Vec<f64> =
            differ.filter(|one| is_shown(&one.difference)).map(|one| one.q).collect();
        self.comparison.verdict = if let Some(why) = self.too_few {
            Verdict::TooFew { why }
        } else if mean || ranks || !quantiles.is_empty() {
            Verdict::Differ { mean, quantiles, ranks }
        } else if self.least_p > first_step {
            Verdict::TooFew {
                why: format!(
                    "so few blocks cannot give a p below {:.2e}, but with so many tests the \
                     first needs {:.2e}: measure more blocks, or compare less at once",
                    self.least_p, first_step
                ),
            }
        } else if let Some(ns) = detectable_ns(self.median, &self.all, self.width, first_step) {
            Verdict::NoDifferenceShown { detectable_ns: ns }
        } else {
            Verdict::TooFew {
                why: "blocks of the same side differ so much from each other that no difference \
                      of the medians could have been found: measure more blocks, or find out what \
                      changes between them"
                    .to_owned(),
            }
        };
        self.comparison
    }
}

/// The least shift of one side that moves the shares above the median of all so far apart that the
/// median's test finds it at level `alpha` with [`POWER`].
fn detectable_ns(median: Contrast, all: &Counted, width: u64, alpha: f64) -> Option<f64> {
    let errors = t_quantile(1.0 - alpha / 2.0, median.freedom) + normal_quantile(POWER);
    let apart = errors * median.error;
    // Of what is spread around both medians, that much lies between them.
    if apart.is_nan() || apart >= 1.0 {
        return None;
    }
    let grouped = Grouped::new(all, width);
    let shift = grouped.quantile(0.5 + apart / 2.0) - grouped.quantile(0.5 - apart / 2.0);
    Some(shift.max(width as f64))
}

/// Of pairs each of which can be turned round, two-sided.
fn least_paired_p(pairs: usize) -> f64 {
    2f64.powi(1 - pairs.min(1000) as i32)
}

fn described(sample: &Sample) -> Side {
    let whole = sample.whole();
    Side {
        name: sample.name.clone(),
        count: whole.count(),
        blocks: sample.blocks.len(),
        resolution_ns: sample.resolution_ns,
        min_ns: whole.min_ns().unwrap_or(0),
        mean_ns: whole.mean_ns(),
        max_ns: whole.max_ns().unwrap_or(0),
    }
}

fn too_few(sample: &Sample) -> Option<String> {
    let n = sample.count();
    (n < VALUES_MIN).then(|| {
        format!(
            "{} has {n} value{}, but a comparison needs at least {VALUES_MIN} on each side: \
                measure longer",
            sample.name,
            if n == 1 { "" } else { "s" },
        )
    })
}

/// What a comparison works on.
struct Work<'a> {
    sides: &'a [Prepared; 2],
    whole: [Grouped<'a>; 2],
    blocks: [Vec<Grouped<'a>>; 2],
    all: Counted,
    width: u64,
    basis: Basis,
    is_paired: bool,
}

struct Intervals {
    mean: Interval,
    asked: Vec<Interval>,
    band: Vec<BandPoint>,
}

impl Work<'_> {
    /// The least p that exchanging its blocks can show: two of all ways to exchange them, the one
    /// observed and, where the sides have as many, its mirror image.
    fn least_p(&self) -> f64 {
        let (a, b) = (self.blocks[0].len(), self.blocks[1].len());
        match self.basis {
            Basis::Values => 0.0,
            Basis::Blocks if self.is_paired => least_paired_p(a),
            Basis::Blocks => {
                let ways: f64 = (1..=a).map(|i| (b + i) as f64 / i as f64).product();
                if a == b { 2.0 / ways } else { 1.0 / ways }
            }
        }
    }

    /// The quantiles that both sides bound.
    fn bounded(&self, quantiles: impl IntoIterator<Item = f64>) -> Vec<(f64, [Own; 2])> {
        if self.sides.iter().any(|side| side.whole.is_empty()) {
            return vec![];
        }
        let own = |at: usize, q| Own::new(&self.whole[at], &self.blocks[at], q, self.basis);
        quantiles
            .into_iter()
            .map(|q| (q, [own(0, q), own(1, q)]))
            .filter(|(_, own)| own.iter().all(|own| own.high.is_finite()))
            .collect()
    }

    fn rows(&self, test: Test) -> Rows {
        let score = Score::new(test, &self.all, self.width);
        let blocks = || self.sides.iter().flat_map(|side| &side.blocks);
        Rows {
            counts: blocks().map(|block| block.count() as f64).collect(),
            sums: blocks().map(|block| score.sums(block).0).collect(),
            a: self.sides[0].blocks.len(),
            is_paired: self.is_paired,
        }
    }

    /// The difference of the mean scores, with its error on this basis.
    fn contrast(&self, test: Test) -> Contrast {
        if self.basis == Basis::Blocks {
            return self.rows(test).contrast();
        }
        let score = Score::new(test, &self.all, self.width);
        let [a, b] = self.sides.each_ref().map(|side| {
            let n = side.whole.count() as f64;
            let (sum, squares) = score.sums(&side.whole);
            (n, sum / n, squares)
        });
        let difference = b.1 - a.1;
        if test == Test::Mean {
            let [one, two] = [a, b].map(|(n, mean, squares)| {
                ((squares - n * mean * mean).max(0.0) / (n * (n - 1.0)), n - 1.0)
            });
            let freedom = welch(one.0, one.1, two.0, two.1);
            return Contrast { difference, error: (one.0 + two.0).sqrt(), freedom };
        }
        // Were shares or ranks alike, so were their variances: that of all.
        let variance = (a.2 + b.2) / (a.0 + b.0 - 1.0);
        let error = (variance * (1.0 / a.0 + 1.0 / b.0)).sqrt();
        Contrast { difference, error, freedom: f64::INFINITY }
    }

    /// The p of each test on this basis.
    fn p(
        &self,
        asked: &[Test],
        ranks: &MannWhitney,
        question: &Question,
        tests: usize,
    ) -> Vec<f64> {
        if self.basis == Basis::Blocks {
            let rows: Vec<Rows> = asked.iter().map(|&test| self.rows(test)).collect();
            let least = REACHED_MIN * tests as f64 / question.alpha;
            // A float that is too large, or none, becomes the most or 0.
            let times = question.resamples.max(least as usize).min(EXCHANGES_MAX);
            return Rows::p(&rows, times, question.seed);
        }
        let counts = self.sides.each_ref().map(|side| side.whole.count() as f64);
        // Half a value is what a difference of two counts may be off by, as for the ranks.
        let continuity = 0.5 * (1.0 / counts[0] + 1.0 / counts[1]);
        let p = |&test: &Test| match test {
            Test::Ranks => ranks.p,
            Test::Mean => {
                let contrast = self.contrast(test);
                if contrast.error.is_nan() { 1.0 } else { t_p(contrast.t(), contrast.freedom) }
            }
            Test::Quantile(_) => {
                let contrast = self.contrast(test);
                let difference = (contrast.difference.abs() - continuity).max(0.0);
                t_p(Contrast { difference, ..contrast }.t(), contrast.freedom)
            }
        };
        asked.iter().map(p).collect()
    }

    fn intervals(&self, owns: &[(f64, [Own; 2])], question: &Question) -> Intervals {
        let band = self.bounded(band_quantiles());
        let mean = self.sides[1].whole.mean_ns() - self.sides[0].whole.mean_ns();
        let values = |owns: &[(f64, [Own; 2])]| -> Vec<Interval> {
            owns.iter().map(|(_, [a, b])| difference(*a, *b)).collect()
        };
        let (mean, asked, along) = match self.basis {
            Basis::Values => {
                let Contrast { error, freedom, .. } = self.contrast(Test::Mean);
                let half = t_quantile(0.975, freedom) * error;
                let half = if half.is_nan() { f64::INFINITY } else { half };
                let mean = Interval { value: mean, low: mean - half, high: mean + half };
                (mean, values(owns), values(&band))
            }
            Basis::Blocks => {
                let mut quantiles: Vec<f64> = owns.iter().chain(&band).map(|&(q, _)| q).collect();
                quantiles.sort_by(f64::total_cmp);
                quantiles.dedup();
                let [a, b] = self.sides;
                let random = (question.resamples.min(DRAWINGS_MAX), question.seed);
                let drawn = resample((a, b), self.width, &quantiles, self.is_paired, random);
                let interval = |&(q, [a, b]): &(f64, [Own; 2])| {
                    let figure = quantiles.partition_point(|&other| other < q) + 1;
                    drawn.interval(figure, b.value - a.value)
                };
                let asked = owns.iter().map(interval).collect();
                (drawn.interval(0, mean), asked, band.iter().map(interval).collect())
            }
        };
        let points = band.iter().zip(along);
        let band = points.map(|(&(q, _), b_minus_a)| BandPoint { q, b_minus_a }).collect();
        Intervals { mean, asked, band }
    }
}
