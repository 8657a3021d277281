//! Is what is printed by itself one screen, and is there more for whoever asks?

use crate::machine::Machine;
use crate::program::{Said, tardy};

/// What `run` and `explain` print by themselves at most.
const LINES: usize = 40;
const COLUMNS: usize = 100;

#[track_caller]
fn assert_fits(said: &Said) {
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines.len() <= LINES, "{} lines:\n{}", lines.len(), said.out);
    for line in lines {
        // Paths are never cut.
        let is_path = line.starts_with("Page ") || line.starts_with("More ");
        assert!(is_path || line.chars().count() <= COLUMNS, "{line}");
    }
}

#[test]
fn a_run_and_its_explanation_are_one_screen_and_more_on_request() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let touched = folder.path().join("paged");
    let mut run = tardy(["run", "-q", "-D", "2", "--load", "storm:5", "-o"]);
    // Standard output is no terminal here: no pager.
    run.arg(&out).env("TARDY_PAGER", format!("touch {}", touched.display()));
    let said = Said::by(&mut run).expect(0);
    assert_fits(&said);
    assert!(!touched.exists());
    for part in ["wakeups of cyclic-", "Lateness", "Why", "Who", "Worst", "--why 1"] {
        assert!(said.out.contains(part), "no {part}:\n{}", said.out);
    }
    assert!(said.out.contains(out.join("report.html").to_str().unwrap()), "{}", said.out);

    let explain = |more: &[&str]| {
        let mut command = tardy(["explain", "--no-write"]);
        Said::by(command.args(more).arg(&out)).expect(0)
    };
    let short = explain(&[]);
    assert_fits(&short);
    assert_fits(&explain(&["--all"]));
    let full = explain(&["--full"]).out;
    assert!(full.contains("Late threads") && full.contains("Notes"), "{full}");
    assert!(full.lines().count() > short.out.lines().count());
    let more = explain(&["--worst", "5"]).out;
    assert!(more.contains("\n   5. ") && !short.out.contains("\n   4. "), "{more}");
    let mut nobody = tardy(["explain", "--no-write", "--comm", "nobody"]);
    let nobody = Said::by(nobody.arg(&out)).expect(2).err;
    assert!(nobody.contains("a thread called nobody; it has wakeups of"), "{nobody}");
}
