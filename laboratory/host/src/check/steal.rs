//! How much of its time a guest was not given.

use super::Finding;
use crate::probe::Probe;

/// Shares of all CPU time, from which a guest's waiting is worth a word, and from which it
/// dominates: with 1 % a 1 ms period is hit every 100 ms.
const NOTICE_SHARE: f64 = 0.001;
const PROBLEM_SHARE: f64 = 0.01;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some((steal, all)) = times(probe).filter(|(_, all)| *all > 0) else {
        return Finding::unknown("not told", "A guest's virtual CPUs wait for real ones.");
    };
    let share = steal as f64 / all as f64;
    let value = format!("{:.2} % since boot", share * 100.0);
    if !probe.virtualisation.is_guest() && steal == 0 {
        return Finding::good(value, "No hypervisor takes the CPU away.");
    }
    if steal == 0 {
        return Finding::unknown(
            value,
            "Either the host always had a CPU free, or it does not report it to the guest: time \
             that it took then counts as the cause that it fell into.",
        );
    }
    let why = "While another guest or the host has the real CPU, no timer of this one fires and \
               nothing here runs.";
    if share < NOTICE_SHARE {
        Finding::good(value, why)
    } else if share < PROBLEM_SHARE {
        Finding::notice(value, why)
    } else {
        Finding::problem(value, why).change("on the host: a CPU of its own per virtual CPU")
    }
}

/// Ticks stolen and all ticks. Guest time (the last two fields) is in user time already.
fn times(probe: &Probe) -> Option<(u64, u64)> {
    let text = probe.root.text("proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> =
        line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let all = times.iter().try_fold(0u64, |sum, time| sum.checked_add(*time))?;
    Some((*times.get(7)?, all))
}
