//! `tardy.measure.sleep/1`.

use super::cost::UsageDocument;
use serde::Serialize;
use tardy_lab::sleep::{
    Comparison, MethodMeasurement, Pair, Slack, SlackVerdict, SleepMeasurement,
};
use tardy_stats::{Interval, Latencies};

/// A comparison of sleeps: `measure sleep --json`.
#[derive(Debug, Serialize)]
pub struct SleepDocument<'a> {
    schema: &'static str,
    request_ns: u64,
    rounds: u64,
    warm_up_rounds: u64,
    interrupted_rounds: u64,
    seed: u64,
    policy: &'static str,
    prio: u8,
    cpu: Option<u16>,
    slack_ns: u64,
    cpu_clock_ns: u64,
    usage: Option<UsageDocument>,
    /// One per method and slack.
    pub methods: Vec<MethodDocument>,
    block_rounds: usize,
    resamples: usize,
    pairs: Vec<PairDocument>,
    alike_by_mean: Vec<Vec<String>>,
    alike_by_median: Vec<Vec<String>>,
    slack: Vec<SlackDocument>,
    verdict: Vec<String>,
    notes: &'a [String],
}

/// One method.
#[derive(Debug, Serialize)]
pub struct MethodDocument {
    name: String,
    call: &'static str,
    slack_ns: u64,
    samples: u64,
    min_ns: u64,
    mean_ns: f64,
    max_ns: u64,
    p50: QuantileDocument,
    p99: QuantileDocument,
    p999: QuantileDocument,
    cpu_mean_ns: f64,
    early: u64,
    micros: Vec<MicroDocument>,
}

#[derive(Debug, Serialize)]
struct QuantileDocument {
    ns: u64,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct MicroDocument {
    us: u64,
    count: u64,
    share: f64,
    total_share: f64,
}

#[derive(Debug, Serialize)]
struct PairDocument {
    first: String,
    second: String,
    mean: IntervalDocument,
    median: IntervalDocument,
    u: f64,
    z: f64,
    p: f64,
    p_holm: f64,
    vargha_delaney_a: f64,
    cliffs_delta: f64,
}

/// An end that nothing bounds is `null`, as JSON has no infinity.
#[derive(Debug, Serialize)]
struct IntervalDocument {
    ns: f64,
    low_ns: f64,
    high_ns: f64,
}

#[derive(Debug, Serialize)]
struct SlackDocument {
    with: String,
    without: String,
    median: IntervalDocument,
    mean: IntervalDocument,
    p_holm: f64,
    verdict: &'static str,
}

impl<'a> SleepDocument<'a> {
    /// The document of a measurement and its comparison.
    pub fn new(measurement: &'a SleepMeasurement, comparison: &Comparison) -> Self {
        let m = measurement;
        let name = |place: usize| m.methods[place].name();
        let names = |groups: &[Vec<usize>]| {
            groups.iter().map(|group| group.iter().map(|&place| name(place)).collect()).collect()
        };
        let slack = comparison.slack.iter().map(|finding| SlackDocument {
            with: name(finding.with),
            without: name(finding.without),
            median: finding.median.into(),
            mean: finding.mean.into(),
            p_holm: finding.p_adjusted,
            verdict: match finding.verdict {
                SlackVerdict::IsTheSlack => "is_the_slack",
                SlackVerdict::NoSlack => "no_slack",
                SlackVerdict::NotTheSlack => "not_the_slack",
                SlackVerdict::NotToldApart => "not_told_apart",
            },
        });
        Self {
            schema: "tardy.measure.sleep/1",
            request_ns: m.request_ns,
            rounds: m.rounds,
            warm_up_rounds: m.warm_up_rounds,
            interrupted_rounds: m.interrupted,
            seed: m.seed,
            policy: m.policy.name(),
            prio: m.prio,
            cpu: m.cpu,
            slack_ns: m.slack_ns,
            cpu_clock_ns: m.cpu_clock_ns,
            usage: m.usage.map(UsageDocument::from),
            methods: m.methods.iter().map(|method| MethodDocument::new(method, m)).collect(),
            block_rounds: comparison.blocks.length,
            resamples: comparison.blocks.resamples,
            pairs: comparison.pairs.iter().map(|pair| PairDocument::new(pair, &name)).collect(),
            alike_by_mean: names(&comparison.by_mean),
            alike_by_median: names(&comparison.by_median),
            slack: slack.collect(),
            verdict: crate::sleep_sentences(m, comparison),
            notes: &m.notes,
        }
    }
}

impl MethodDocument {
    fn new(method: &MethodMeasurement, measurement: &SleepMeasurement) -> Self {
        let elapsed = &method.elapsed;
        let all = elapsed.count().max(1) as f64;
        let mut so_far = 0;
        let micros = method.micros.iter().map(|&(us, count)| {
            so_far += count;
            let (share, total_share) = (count as f64 / all, so_far as f64 / all);
            MicroDocument { us, count, share, total_share }
        });
        Self {
            name: method.name(),
            call: method.call,
            slack_ns: match method.slack {
                Slack::Thread => measurement.slack_ns,
                Slack::OneNs | Slack::Own => measurement.least_slack_ns,
            },
            samples: elapsed.count(),
            min_ns: elapsed.min_ns(),
            mean_ns: elapsed.mean_ns(),
            max_ns: elapsed.max_ns(),
            p50: QuantileDocument::of(elapsed, 0.5),
            p99: QuantileDocument::of(elapsed, 0.99),
            p999: QuantileDocument::of(elapsed, 0.999),
            cpu_mean_ns: method.cpu.mean_ns(),
            early: method.early,
            micros: micros.collect(),
        }
    }
}

impl QuantileDocument {
    fn of(latencies: &Latencies, q: f64) -> Self {
        let quantile = latencies.quantile(q);
        Self { ns: quantile.ns, low_ns: quantile.low_ns, high_ns: quantile.high_ns }
    }
}

impl PairDocument {
    fn new(pair: &Pair, name: &impl Fn(usize) -> String) -> Self {
        Self {
            first: name(pair.one),
            second: name(pair.two),
            mean: pair.mean.into(),
            median: pair.median.into(),
            u: pair.test.u,
            z: pair.test.z,
            p: pair.test.p,
            p_holm: pair.p_adjusted,
            vargha_delaney_a: pair.test.a,
            cliffs_delta: pair.test.cliffs_delta(),
        }
    }
}

impl From<Interval> for IntervalDocument {
    fn from(interval: Interval) -> Self {
        Self { ns: interval.value, low_ns: interval.low, high_ns: interval.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sleep::fixture;
    use tardy_lab::sleep::compare;

    #[test]
    fn sleep_document() {
        let measurement = fixture::measurement(50_000, 500);
        let document = SleepDocument::new(&measurement, &compare(&measurement));
        let mut value = serde_json::to_value(document).unwrap();
        // One of each kind shows the schema.
        for list in ["methods", "pairs"] {
            value[list].as_array_mut().unwrap().truncate(1);
        }
        value["methods"][0]["micros"].as_array_mut().unwrap().truncate(2);
        insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    }
}
