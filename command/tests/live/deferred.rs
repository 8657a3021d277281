//! On `PREEMPT_RT` timers of ordinary threads are deferred: does a storm of them stack up less than
//! one of real-time threads?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Said, tardy};

/// Mean time that others' timers took in the interrupt, per wakeup.
fn stacked_ns(more: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tardy(["run", "--json", "-D", "3", "--load", "storm:40"]);
    Said::by(command.args(more).arg("-o").arg(folder.path().join("run"))).expect(0);
    let explained = explain_all(&folder.path().join("run"), &[]);
    explained.ns_of("stacked_timers") / explained.lateness.wakeups.max(1)
}

#[test]
fn a_storm_of_real_time_threads_stacks_and_one_of_ordinary_threads_is_deferred() {
    let Some(_machine) = Machine::that_records() else { return };
    let realtime = std::fs::read_to_string("/sys/kernel/realtime").unwrap_or_default();
    if realtime.trim() != "1" {
        return eprintln!("skipped: this kernel is not PREEMPT_RT");
    }
    let (deferred_ns, stacked_ns) = (stacked_ns(&[]), stacked_ns(&["--fifo"]));
    assert!(deferred_ns < stacked_ns, "{deferred_ns} {stacked_ns}");
}
