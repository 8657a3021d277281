//! Are the call chains of a `perf.data` that perf wrote read?

use crate::machine::Machine;
use crate::program::{Said, tardy};
use serde_json::Value;
use std::process::Command;

/// The names of all stacks in a document.
fn stacks<'a>(value: &'a Value, into: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("stack").filter(|stack| !stack.is_null()));
            fields.values().for_each(|value| stacks(value, into));
        }
        Value::Array(all) => all.iter().for_each(|value| stacks(value, into)),
        _ => {}
    }
}

#[test]
fn culprits_of_a_perf_data_have_their_functions() {
    let Some(_machine) = Machine::that_records() else { return };
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("perf.data");
    // Where nobody has mounted tracefs perf does, and leaves it: in a mount namespace that goes with it.
    let mut perf = Command::new("unshare");
    perf.args([
        "--mount",
        "perf",
        "record",
        "-q",
        "-a",
        "-g",
        "-e",
        "sched:sched_switch,sched:sched_waking",
        "-o",
    ]);
    perf.arg(&file).arg(env!("CARGO_BIN_EXE_tardy"));
    // Ordinary threads that take the CPU from each other, in the kernel.
    perf.args(["load", "-D", "1", "hackbench:1,loops=20"]);
    match perf.output() {
        Ok(done) if done.status.success() => {}
        other => return eprintln!("skipped: perf does not record here: {other:?}"),
    }
    let mut explain = tardy(["explain", "--all", "--json", "--no-write", "--worst", "20"]);
    let document = Said::by(explain.arg(&file)).expect(0).json();
    let mut found = Vec::new();
    stacks(&document, &mut found);
    assert!(!found.is_empty(), "{document:#}");
}
