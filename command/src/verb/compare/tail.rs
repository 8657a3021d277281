//! What a sample says of latencies beyond those that it has.

use tardy_report::{SideSample, units};
use tardy_stats::tail::{Question, tail};

/// How many times as many further samples are spoken of.
const TIMES: u64 = 10;

/// What the latest of ten times as many would be, in a sentence; or why that cannot be told. `None`
/// where there is no sample.
pub(super) fn sentence(side: &SideSample) -> Option<String> {
    let whole = side.sample.whole();
    if whole.is_empty() {
        return None;
    }
    let question = Question {
        resolution_ns: side.sample.resolution_ns,
        above_bins: side.over_bins,
        ..Question::default()
    };
    let name = &side.sample.name;
    let further = whole.count().saturating_mul(TIMES);
    Some(match tail(&whole, &question).and_then(|tail| tail.maximum_of(further)) {
        Ok(most) => format!(
            "{name}: in another {} the maximum would be about {} (95 %: {} to {}), extrapolated \
             from its tail, if nothing changes.",
            units::count(further),
            units::duration(most.median_ns),
            units::duration(most.low_ns),
            units::duration(most.high_ns)
        ),
        Err(refusal) => {
            format!("{name}: the tail is not extrapolated: {refusal}.")
        }
    })
}
