//! Which methods differ, by how much, and whether that is the slack.

use super::{MethodMeasurement, Slack, SleepMeasurement};
use tardy_stats::{Blocks, Interval, MannWhitney, holm, mann_whitney, moving_blocks};

/// Methods whose means differ by less than this are told as one group.
pub const ALIKE_NS: f64 = 300.0;

/// The probability of error that is accepted for all tests together.
pub const ALPHA: f64 = 0.05;

/// How far, as a part of the slack, a difference may be from the slack and still be called it.
/// Below, because a timer with slack also expires along with any interrupt that comes before its
/// hard expiry; above, because of what else a longer sleep meets.
const SLACK_TOLERANCE: f64 = 0.2;

/// How methods compare. Methods are given by their place in [`SleepMeasurement::methods`].
#[derive(Clone, Debug)]
pub struct Comparison {
    /// How the intervals of means were made.
    pub blocks: Blocks,
    /// Each two methods once, the earlier one first.
    pub pairs: Vec<Pair>,
    /// Groups of methods whose means differ by less than [`ALIKE_NS`] with all of the 95 %
    /// interval, each with each; least mean first. Who is like nobody is a group of its own.
    pub by_mean: Vec<Vec<usize>>,
    /// The same of medians.
    pub by_median: Vec<Vec<usize>>,
    /// What the slack does to each call that was measured with and without it.
    pub slack: Vec<SlackFinding>,
}

impl Comparison {
    /// The pair of two methods, as the one minus the other.
    pub fn between(&self, one: usize, two: usize) -> Option<Pair> {
        between(&self.pairs, one, two)
    }
}

fn between(pairs: &[Pair], one: usize, two: usize) -> Option<Pair> {
    pairs.iter().find_map(|pair| match (pair.one, pair.two) {
        both if both == (one, two) => Some(*pair),
        both if both == (two, one) => Some(pair.turned()),
        _ => None,
    })
}

/// Two methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The one.
    pub one: usize,
    /// The other.
    pub two: usize,
    /// Mean of the one minus mean of the other, ns, by moving blocks of rounds.
    pub mean: Interval,
    /// Median minus median, ns: from the ends of both medians' own 95 % intervals, so wider than
    /// need be.
    pub median: Interval,
    /// Ranks.
    pub test: MannWhitney,
    /// The test's p after Holm's correction for all pairs.
    pub p_adjusted: f64,
}

impl Pair {
    /// Whether the test says that they differ.
    pub fn differs(&self) -> bool {
        self.p_adjusted < ALPHA
    }

    /// The other minus the one.
    fn turned(&self) -> Self {
        Self {
            one: self.two,
            two: self.one,
            mean: turned(self.mean),
            median: turned(self.median),
            test: self.test.turned(),
            p_adjusted: self.p_adjusted,
        }
    }
}

/// One call, with the thread's slack and without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlackFinding {
    /// The method with the thread's slack.
    pub with: usize,
    /// The same call with a slack of 1 ns.
    pub without: usize,
    /// How much longer it takes at the median, ns: what the verdict goes by, because a few long
    /// delays that hit one of the two by chance move means.
    pub median: Interval,
    /// How much longer it takes in the mean, ns.
    pub mean: Interval,
    /// The p of the test, after Holm's correction.
    pub p_adjusted: f64,
    /// What may be said of it.
    pub verdict: SlackVerdict,
}

/// What may be said of a call's slack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlackVerdict {
    /// They differ, by the slack.
    IsTheSlack,
    /// The thread has no slack that could be taken away.
    NoSlack,
    /// They differ, but not by the slack.
    NotTheSlack,
    /// The test does not tell them apart.
    NotToldApart,
}

/// Compares all methods. Without rounds there is nothing to compare.
pub fn compare(measurement: &SleepMeasurement) -> Comparison {
    let methods = &measurement.methods;
    let blocks = Blocks::for_length(measurement.rounds as usize, measurement.seed);
    let pairs = pairs(methods, blocks);
    let order = |value: fn(&MethodMeasurement) -> f64| {
        let mut order: Vec<usize> = (0..methods.len()).collect();
        order.sort_by(|&one, &two| value(&methods[one]).total_cmp(&value(&methods[two])));
        order
    };
    let by_mean = groups(&order(|method| method.elapsed.mean_ns()), &pairs, |pair| pair.mean);
    let by_median =
        groups(&order(|method| method.elapsed.quantile_ns(0.5) as f64), &pairs, |pair| pair.median);
    let slack = slack_findings(measurement, &pairs);
    Comparison { blocks, pairs, by_mean, by_median, slack }
}

fn pairs(methods: &[MethodMeasurement], blocks: Blocks) -> Vec<Pair> {
    let series: Vec<&[u32]> = methods.iter().map(|method| &*method.series).collect();
    let Some(means) = moving_blocks(&series, blocks) else { return vec![] };
    let sorted: Vec<Vec<u32>> = series
        .iter()
        .map(|series| {
            let mut sorted = series.to_vec();
            sorted.sort_unstable();
            sorted
        })
        .collect();
    let medians: Vec<Interval> = sorted.iter().map(|sorted| median(sorted)).collect();
    let mut pairs = vec![];
    for one in 0..methods.len() {
        for two in one + 1..methods.len() {
            let Some(test) = mann_whitney(&sorted[one], &sorted[two]) else { continue };
            pairs.push(Pair {
                one,
                two,
                mean: means.difference(one, two),
                median: minus(medians[one], medians[two]),
                test,
                p_adjusted: 1.0,
            });
        }
    }
    let adjusted = holm(&pairs.iter().map(|pair| pair.test.p).collect::<Vec<_>>());
    for (pair, p) in pairs.iter_mut().zip(adjusted) {
        pair.p_adjusted = p;
    }
    pairs
}

/// The median with the 95 % interval of its rank (Conover, Practical Nonparametric Statistics, 3.2).
fn median(sorted: &[u32]) -> Interval {
    let n = sorted.len();
    let half = 1.96 * (n as f64).sqrt() / 2.0;
    let low = n as f64 / 2.0 - half;
    let high = n as f64 / 2.0 + half;
    let at = |rank: f64| f64::from(sorted[(rank as usize).min(n - 1)]);
    Interval {
        value: at(n as f64 / 2.0),
        low: if low < 0.0 { f64::NEG_INFINITY } else { at(low) },
        high: if high > (n - 1) as f64 { f64::INFINITY } else { at(high.ceil()) },
    }
}

fn minus(one: Interval, two: Interval) -> Interval {
    Interval { value: one.value - two.value, low: one.low - two.high, high: one.high - two.low }
}

/// Goes up by `order` and lets each method into the group before it if it is like all in there.
fn groups(order: &[usize], pairs: &[Pair], of: fn(&Pair) -> Interval) -> Vec<Vec<usize>> {
    let alike = |one: usize, two: usize| {
        between(pairs, one, two)
            .map(|pair| of(&pair))
            .is_some_and(|interval| interval.low > -ALIKE_NS && interval.high < ALIKE_NS)
    };
    let mut groups: Vec<Vec<usize>> = vec![];
    for &method in order {
        match groups.last_mut() {
            Some(group) if group.iter().all(|&other| alike(method, other)) => group.push(method),
            _ => groups.push(vec![method]),
        }
    }
    groups
}

fn slack_findings(measurement: &SleepMeasurement, pairs: &[Pair]) -> Vec<SlackFinding> {
    let methods = &measurement.methods;
    let is = |place: usize, call: &str, slack| {
        methods[place].call == call && methods[place].slack == slack
    };
    let mut findings = vec![];
    for (with, method) in
        methods.iter().enumerate().filter(|(_, method)| method.slack == Slack::Thread)
    {
        let without = (0..methods.len()).find(|&other| is(other, method.call, Slack::OneNs));
        let Some(pair) = without.and_then(|without| between(pairs, with, without)) else {
            continue;
        };
        let Pair { two: without, mean, median, p_adjusted, .. } = pair;
        let verdict = slack_verdict(measurement, median.value, p_adjusted);
        findings.push(SlackFinding { with, without, median, mean, p_adjusted, verdict });
    }
    findings
}

fn turned(interval: Interval) -> Interval {
    Interval { value: -interval.value, low: -interval.high, high: -interval.low }
}

fn slack_verdict(measurement: &SleepMeasurement, longer_ns: f64, p_adjusted: f64) -> SlackVerdict {
    if measurement.slack_ns <= measurement.least_slack_ns {
        return SlackVerdict::NoSlack;
    }
    let taken_away_ns = (measurement.slack_ns - measurement.least_slack_ns) as f64;
    if p_adjusted >= ALPHA {
        SlackVerdict::NotToldApart
    } else if (longer_ns - taken_away_ns).abs() <= SLACK_TOLERANCE * taken_away_ns {
        SlackVerdict::IsTheSlack
    } else {
        SlackVerdict::NotTheSlack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use tardy_stats::Latencies;

    const ROUNDS: usize = 500;

    fn method(call: &'static str, slack: Slack, ns: u32, seed: u64) -> MethodMeasurement {
        let mut random = fastrand::Rng::with_seed(seed);
        let series: Vec<u32> = (0..ROUNDS).map(|_| ns + random.u32(0..1000)).collect();
        let mut elapsed = Latencies::default();
        for &ns in &series {
            elapsed.record(u64::from(ns));
        }
        let (micros, cpu) = (vec![], Latencies::default());
        MethodMeasurement { call, summary: "", slack, elapsed, micros, cpu, early: 0, series }
    }

    fn measured(slack_ns: u64, methods: Vec<MethodMeasurement>) -> SleepMeasurement {
        SleepMeasurement {
            request_ns: 50_000,
            rounds: ROUNDS as u64,
            warm_up_rounds: 0,
            interrupted: 0,
            slack_ns,
            least_slack_ns: slack_ns.min(1),
            policy: Policy::Other,
            prio: 0,
            cpu: None,
            seed: 1,
            cpu_clock_ns: 0,
            usage: None,
            methods,
            notes: vec![],
        }
    }

    fn as_in_2021(slack_ns: u64, with_ns: u32) -> SleepMeasurement {
        let methods = vec![
            method("a", Slack::Thread, with_ns, 1),
            method("a", Slack::OneNs, 54_000, 2),
            method("b", Slack::OneNs, 54_050, 3),
        ];
        measured(slack_ns, methods)
    }

    #[test]
    fn fifty_microseconds_longer_at_a_slack_of_fifty_are_the_slack() {
        let comparison = compare(&as_in_2021(50_000, 104_000));
        assert_eq!(comparison.by_mean, [vec![1, 2], vec![0]]);
        assert_eq!(comparison.by_median, [vec![1, 2], vec![0]]);
        let [finding] = comparison.slack[..] else { panic!("{:?}", comparison.slack) };
        assert_eq!((finding.with, finding.without), (0, 1));
        assert_eq!(finding.verdict, SlackVerdict::IsTheSlack);
        assert!(finding.mean.low > 49_800.0 && finding.mean.high < 50_200.0, "{finding:?}");
    }

    #[test]
    fn nothing_is_said_of_the_slack_that_the_numbers_do_not_bear() {
        for (slack_ns, with_ns, verdict) in [
            (50_000, 74_000, SlackVerdict::NotTheSlack),
            (500_000, 104_000, SlackVerdict::NotTheSlack),
            (50_000, 54_000, SlackVerdict::NotToldApart),
            (0, 104_000, SlackVerdict::NoSlack),
            (1, 54_000, SlackVerdict::NoSlack),
        ] {
            let comparison = compare(&as_in_2021(slack_ns, with_ns));
            assert_eq!(comparison.slack[0].verdict, verdict, "{slack_ns} {with_ns}");
        }
    }

    #[test]
    fn a_chain_of_small_steps_is_no_group() {
        let methods = [0, 200, 400].map(|ns| method("a", Slack::Thread, 50_000 + ns, ns.into()));
        let comparison = compare(&measured(0, methods.into()));
        assert_eq!(comparison.by_mean, [vec![0, 1], vec![2]]);
    }

    #[test]
    fn few_rounds_make_no_group_and_none_no_pair() {
        let mut few = as_in_2021(50_000, 54_000);
        few.rounds = 2;
        for method in &mut few.methods {
            method.series.truncate(2);
        }
        assert_eq!(compare(&few).by_median.len(), 3, "2 samples do not bound a median");
        few.rounds = 0;
        for method in &mut few.methods {
            method.series.clear();
        }
        let none = compare(&few);
        assert!(none.pairs.is_empty() && none.slack.is_empty());
        assert_eq!(none.by_mean.len(), 3);
    }
}
