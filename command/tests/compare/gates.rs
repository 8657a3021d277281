//! Bounds: what passes, what fails, what is no bound.

use super::{compare, data, json, later, text, zynq};

#[test]
fn a_gate_fails_where_it_is_shown_and_passes_where_it_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let later = later(folder.path(), 5);
    let status = |gates: &[&str]| {
        let mut arguments = vec!["--merge"];
        let sides = [format!("A={}", zynq()), format!("B={later}")];
        arguments.extend(sides.iter().map(String::as_str));
        arguments.extend(gates);
        let output = compare(&arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = status(&["--fail-over", "+4us@p99.9"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("FAILED: +4.00 µs at p99.9 (B against A): B − A = +5.00 µs"), "{said}");
    let (code, said) = status(&["--fail-over", "+6us@p99.9", "--fail-over", "+25%@mean"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("passed: ").count(), 2, "{said}");
    assert!(said.contains("B − 1.25 · A"), "{said}");
    // 5 of 28 µs are 18 %.
    assert_eq!(status(&["--fail-over", "+15%@p50"]).0, Some(3));
    // At the bound itself neither is shown.
    let (code, said) = status(&["--fail-over", "+5us@p99.99"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("UNDECIDED: +5.00 µs at p99.99"), "{said}");
    assert_eq!(status(&["--fail-over", "+5us@p99.99", "--undecided", "pass"]).0, Some(0));
    assert_eq!(status(&["--fail-over", "+5us@p99.99", "--undecided", "fail"]).0, Some(3));
    // What is shown to be broken fails, whatever else is not decided.
    let both = ["--fail-over", "+5us@p99.99", "--fail-over", "+4us@p99.9", "--undecided", "pass"];
    assert_eq!(status(&both).0, Some(3));
}

#[test]
fn the_document_holds_what_came_out() {
    let zynq = zynq();
    let document = json(&["--thread", "thread 1", &zynq, &zynq, "--fail-over", "+1us@p50"]);
    let gate = &document["gates"][0];
    assert_eq!((&gate["outcome"], &gate["verdict"]), (&"under".into(), &"passed".into()));
    assert_eq!((&gate["bound_ns"], &gate["figure"]), (&1_000.into(), &"p50".into()));
    assert_eq!((&document["failed"], &document["undecided"]), (&false.into(), &false.into()));
}

#[test]
fn a_tail_that_was_cut_is_told_and_judged_as_far_as_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, known: &[(usize, u32)], over: u32| {
        let path = folder.path().join(name);
        let count = |at| known.iter().find(|(bin, _)| *bin == at).map_or(0, |(_, count)| *count);
        let bins: Vec<String> = (0..100).map(|at| format!("{at:06} {:06}\n", count(at))).collect();
        let bins = bins.concat();
        let total: u32 = (0..100).map(count).sum();
        let foot = format!(
            "# Total: {total:09}\n# Min Latencies: 00005\n# Avg Latencies: 00007\n# Max Latencies: 00900\n\
             # Histogram Overflows: {over:05}\n"
        );
        std::fs::write(&path, format!("# Histogram\n{bins}{foot}")).expect("a file");
        text(&path)
    };
    let whole = write("whole.hist", &[(5, 50_000), (6, 49_000), (9, 1_000)], 0);
    let cut = write("cut.hist", &[(5, 50_000), (6, 48_000), (99, 1_000)], 1_000);
    let judged = |gate| {
        let output = compare(&[&whole, &cut, "--fail-over", gate]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = said.split_whitespace().collect();
        (output.status.code(), words.join(" "))
    };
    let (code, said) = judged("+50us@p99.9");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cut.hist − whole.hist is +8"), "{said}");
    assert!(said.contains("the tail is cut, 1,000 of 100,000 values lie above"), "{said}");
    assert!(said.contains("beyond 100.0 µs"), "{said}");
    let (code, said) = judged("+200us@p99.9");
    assert_eq!(code, Some(4), "how much later it is is not known: {said}");
    assert_eq!(judged("+5us@p50").0, Some(0), "what lies in the bins is judged as ever");
}

#[test]
fn what_cannot_be_judged_does_not_pass() {
    let file = text(&data("histogram/cyclictest-2.40.json"));
    let gate = ["--merge", &file, &file, "--fail-over", "+5us@p99.9999"];
    let output = compare(&gate);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let words: Vec<&str> = said.split_whitespace().collect();
    let said = words.join(" ");
    // More values would lie above the same bins.
    let why = "measure with more bins (cyclictest -h)";
    assert!(said.contains("not judged") && said.contains(why), "{said}");
    assert!(!said.contains("values on each side"), "{said}");
    let output = compare(&[&gate[..], &["--undecided", "fail"]].concat());
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_is_no_bound_is_wrong_usage_and_says_how_one_is_written() {
    let zynq = zynq();
    for wrong in ["5us", "+5us@max", "-5us@p99", "+5us@p42", "+lots@mean"] {
        let output = compare(&[&zynq, &zynq, "--fail-over", wrong]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let first = said.lines().next().unwrap_or_default();
        assert!(first.contains(wrong) && first.contains("p99.9"), "{said}");
    }
    let output = compare(&[&zynq, &zynq, "--undecided", "fail"]);
    assert_eq!(output.status.code(), Some(2), "nothing can be undecided without a bound");
}
