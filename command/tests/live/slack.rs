//! Is a timer slack that a thread really has found, and not found where it has none?

use crate::explained::{Explained, explain_all};
use crate::machine::Machine;
use crate::program::{Said, tardy};

fn run_as_other(more: &[&str]) -> Explained {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tardy(["run", "--json", "--policy", "other", "--load", "none", "-D", "2"]);
    Said::by(command.args(more).arg("-o").arg(folder.path().join("run"))).expect(0);
    explain_all(&folder.path().join("run"), &[])
}

#[test]
fn the_default_slack_of_50_us_is_named_and_measured() {
    let Some(_machine) = Machine::that_records() else { return };
    let explained = run_as_other(&[]);
    let first: Vec<&str> = explained.causes.iter().take(3).map(|found| &*found.cause).collect();
    assert!(first.contains(&"slack"), "{first:?}");
    let timed = explained.timed().count() as u64;
    assert!(timed > 100);
    // An interrupt that comes earlier for others' timers takes this one along.
    let mean_ns = explained.ns_of("slack") / timed;
    assert!((40_000..=55_000).contains(&mean_ns), "{mean_ns}");
    let culprits = explained.wakeups.iter().flat_map(|wakeup| &wakeup.segments);
    for segment in culprits.filter(|segment| segment.cause == "slack") {
        assert!(segment.ns <= 50_000, "never longer than it is: {segment:?}");
        assert_eq!(segment.culprits[0].kind, "setting");
    }
}

#[test]
fn without_slack_it_is_not_a_cause() {
    let Some(_machine) = Machine::that_records() else { return };
    let explained = run_as_other(&["--slack", "1ns"]);
    let timed = explained.timed().count() as u64;
    assert!(timed > 100);
    assert!(explained.ns_of("slack") < 1000 * timed, "{:?}", explained.causes);
}
