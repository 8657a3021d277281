//! Whether real-time threads are stopped for the sake of the others.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let number = |name: &str| probe.root.number::<i64>(&format!("proc/sys/kernel/{name}"));
    let (Some(runtime_us), Some(period_us)) =
        (number("sched_rt_runtime_us"), number("sched_rt_period_us"))
    else {
        return Finding::unknown("not told", "By default real-time threads get 95 % of a CPU.");
    };
    if runtime_us == 0 {
        return Finding::problem(
            format!("0 of {period_us} µs"),
            "Real-time threads are not allowed to run at all: the kernel refuses the priority.",
        )
        .change("sysctl kernel.sched_rt_runtime_us=950000");
    }
    if runtime_us < 0 || runtime_us >= period_us {
        return Finding::good(
            "off",
            "A real-time thread is never stopped. One that never sleeps takes its CPU for good.",
        );
    }
    let value = format!("{runtime_us} of {period_us} µs");
    let off_us = period_us - runtime_us;
    // 6.12 replaced the throttle by a deadline server for fair threads; the sysctl then bounds
    // only what may be granted, and groups where those have a runtime of their own.
    let (why, change) = if probe.is_before((6, 12)) {
        (
            format!(
                "Real-time threads that use a CPU for {runtime_us} µs within {period_us} µs are \
                 stopped for the remaining {off_us} µs, whatever their priority."
            ),
            "sysctl kernel.sched_rt_runtime_us=-1",
        )
    } else {
        (
            "From 6.12 on a server gives starving ordinary threads 50 ms of every second, ahead \
             of all real-time threads that take a CPU for themselves."
                .to_owned(),
            "echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime, for the CPU in question (where that is not there: \
             mount -t debugfs none /sys/kernel/debug)",
        )
    };
    // Only a thread that never sleeps uses that much; it has a CPU of its own where it is planned.
    if probe.isolated.is_empty() && probe.nohz_full.is_empty() {
        return Finding::good(value, why);
    }
    Finding::notice(value, why).change(change).fix("--only rt-runtime")
}
