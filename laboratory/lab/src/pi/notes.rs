//! What a reader must know besides the figures.

use super::Ended;
use super::high::Calibration;
use super::plan::{LockProtocol, Plan};

/// What a reader must know of how the numbers came about.
pub(super) fn circumstances(plan: &Plan, cpus: usize, calibration: &Calibration) -> Vec<String> {
    let mut notes = vec![];
    if cpus == 1 {
        notes.push(
            "All threads share one CPU: Low can run only while High waits for the lock that Low \
             holds, or while the kernel throttles real-time threads; contended calls follow a \
             throttling."
                .to_owned(),
        );
    }
    if plan.protocol == LockProtocol::Protect {
        notes.push(
            "Low ran under SCHED_FIFO 1: the C library refuses a lock with a ceiling to a thread \
             without a real-time priority."
                .to_owned(),
        );
    }
    for (which, load) in [("with", &calibration.locked), ("without", &calibration.free)] {
        if load.is_off() {
            notes.push(format!(
                "The load {which} the lock was requested as {} ns and took {} ns (median of {}): \
                 a load cannot be shorter than a few readings of the clock, {} ns each here.",
                load.asked_ns,
                load.real.quantile_ns(0.5),
                load.real.count(),
                calibration.clock_ns
            ));
        }
    }
    notes
}

/// What a reader must know of an end that was not planned.
pub(super) fn ending(ended: Ended, plan: &Plan) -> Option<String> {
    match ended {
        Ended::Stalled => Some(format!(
            "The watchdog ended the measurement: no round had ended for {:.1} s, so High did not \
             get the lock or did not get to run; the last round does not count.",
            plan.stall_max.as_secs_f64()
        )),
        Ended::TimeMax => Some(format!(
            "The watchdog ended the measurement after {:.0} s, because spinning real-time \
             threads take a CPU from all others; allow more time with -D.",
            plan.time_max().as_secs_f64()
        )),
        _ => None,
    }
}
