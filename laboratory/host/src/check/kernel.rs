//! Which kernel this is.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let calls = &probe.calls;
    let value = format!("{} {}, {}", calls.release, calls.arch, calls.version);
    if probe.version.is_none() {
        let why = "Which code expires timers depends on the version, and this one cannot be read.";
        return Finding::unknown(value, why);
    }
    if probe.preemption.realtime && probe.is_before((4, 16)) {
        return Finding::notice(
            value,
            "PREEMPT_RT of this age expires every sleeping thread's timer in the timer interrupt: \
             a crowd of ordinary sleepers delays real-time wakeups.",
        )
        .change("a kernel of 5.4 or later, where ordinary sleepers expire in the softirq");
    }
    let why = if probe.preemption.realtime {
        "PREEMPT_RT expires real-time threads' timers in the timer interrupt and ordinary \
         threads' in the softirq, so that these do not delay those."
    } else {
        "Without PREEMPT_RT every sleeping thread's timer expires in the timer interrupt, in order \
         of time: timers of ordinary threads come before later ones of real-time threads."
    };
    Finding::good(value, why)
}
