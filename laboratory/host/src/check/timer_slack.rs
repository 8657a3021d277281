//! How much later than asked the kernel may end an ordinary thread's sleep.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some(slack_ns) = probe.root.number::<u64>("proc/self/timerslack_ns") else {
        return Finding::unknown(
            "not told",
            "A SCHED_OTHER thread's sleeps end later than asked by design, 50 µs by default.",
        );
    };
    let value = match slack_ns {
        0..1000 => format!("{slack_ns} ns"),
        _ => format!("{} µs", slack_ns as f64 / 1000.0),
    };
    if slack_ns <= 1000 {
        return Finding::good(value, "Sleeps of ordinary threads may end when they should.");
    }
    Finding::notice(
        value.clone(),
        format!(
            "A SCHED_OTHER thread's sleeps end up to {value} late by design, so that its timer \
             can share an interrupt with others; poll, select and epoll_wait add up to 0.1 % of \
             their timeout. SCHED_FIFO, RR and DEADLINE threads have none."
        ),
    )
    .change("echo 1 > /proc/PID/timerslack_ns")
    .change("prctl(PR_SET_TIMERSLACK, 1) in the thread")
    .change("TimerSlackNSec=1 in its systemd unit")
    .fix("-p PID --only slack")
}
