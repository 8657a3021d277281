//! Are events that the kernel had to drop counted, and is what they may have touched marked?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Said, manifest, tardy};

#[test]
fn drops_are_counted_and_what_they_touch_says_so() {
    let Some(_machine) = Machine::that_records() else { return };
    for threads in [200, 400, 800] {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("run");
        let mut command = tardy(["run", "--json", "-D", "2", "--buffer", "32", "--load"]);
        command.arg(format!("storm:{threads}")).arg("-o").arg(&recording);
        let document = Said::by(&mut command).expect(0).json();
        let explained = explain_all(&recording, &[]);
        assert_eq!(document["explain"]["lost"], explained.lost);
        assert_eq!(manifest(&recording)["totals"]["lost"], explained.lost);
        // What was measured is all there, whatever was lost.
        for thread in document["measure"]["threads"].as_array().unwrap() {
            let name = thread["name"].as_str().unwrap();
            let victim = explained.victims.iter().find(|victim| victim.name == name).unwrap();
            assert!(victim.wakeups >= thread["samples"].as_u64().unwrap(), "{name}");
        }
        if explained.lost > 0 {
            eprintln!(
                "storm:{threads}: {} of {} events lost, {} of {} wakeups touched",
                explained.lost,
                explained.events + explained.lost,
                explained.touched_by_loss,
                explained.lateness.wakeups
            );
            assert!(explained.touched_by_loss > 0);
            let mut spared = explained.wakeups.iter().filter(|wakeup| !wakeup.touched_by_loss);
            let unmarked = spared.find(|wakeup| wakeup.kind == "mark_only");
            assert!(unmarked.is_none(), "its events were lost: {unmarked:?}");
            return;
        }
    }
    panic!("nothing was lost even under 800 threads with a buffer of 32 KiB");
}
