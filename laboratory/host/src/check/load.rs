//! What else runs now.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some((averages, one)) = averages(probe) else {
        return Finding::unknown("not told", "Other work shares the CPUs with what is measured.");
    };
    let value = format!("load average {averages}");
    if one <= probe.cpus.len() as f64 / 2.0 {
        return Finding::good(
            value,
            "The machine is mostly idle: a measurement shows the machine \
                                     alone.",
        );
    }
    Finding::notice(
        value,
        "Other work takes CPU time now: a measurement includes it, which is right if this is the \
         load in question.",
    )
    .change("top # shows whose it is")
}

/// The three averages as they stand, and the first as a number.
fn averages(probe: &Probe) -> Option<(String, f64)> {
    let line = probe.root.word("proc/loadavg")?;
    let averages: Vec<&str> = line.split_whitespace().take(3).collect();
    let numbers: Vec<f64> = averages.iter().map_while(|text| text.parse().ok()).collect();
    let good = numbers.len() == 3 && numbers.iter().all(|load| load.is_finite() && *load >= 0.0);
    good.then(|| (averages.join(" "), numbers[0]))
}
