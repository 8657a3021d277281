//! Several recorders at once: each sees all, and none the others' buffers.

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Running, tardy};

#[test]
fn recorders_side_by_side_explain_the_same_threads() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let measured = Running::start(&mut tardy([
        "measure", "cyclic", "-t1", "-i1ms", "-D", "20s", "-P", "80", "--quiet",
    ]));
    let pid = measured.pid().to_string();
    let recorders =
        ["ebpf", "ebpf", "tracefs", "tracefs"].iter().enumerate().map(|(number, source)| {
            let recording = folder.path().join(format!("{source}-{number}"));
            let mut record =
                tardy(["record", "--quiet", "-D", "2s", "-p", &pid, "--source", source, "-o"]);
            (recording.clone(), Running::start(record.arg(&recording)))
        });
    let recorders: Vec<_> = recorders.collect();
    let mut timed = vec![];
    for (recording, running) in recorders {
        running.said().expect(0);
        let explained = explain_all(&recording, &[]);
        timed.push(explained.wakeups.iter().filter(|wakeup| wakeup.kind == "timer").count());
    }
    measured.interrupt();
    // Each records for two seconds of its own.
    assert!(timed.iter().all(|timed| *timed >= 1500), "{timed:?}");
}
