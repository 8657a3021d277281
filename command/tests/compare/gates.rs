//! Bounds: what passes, what fails, what is no bound.

use super::{compare, data, json, later, text, zynq};

#[test]
fn a_gate_fails_where_it_is_shown_and_passes_where_it_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let later = later(folder.path(), 5);
    let status = |gates: &[&str]| {
        let mut arguments = vec!["--merge"];
        let zynq = zynq();
        arguments.extend([&zynq[..], &later]);
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
fn what_cannot_be_judged_does_not_pass() {
    let file = text(&data("histogram/cyclictest-2.40.json"));
    let gate = ["--merge", &file, &file, "--fail-over", "+5us@p99.9999"];
    let output = compare(&gate);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let words: Vec<&str> = said.split_whitespace().collect();
    let said = words.join(" ");
    // ln 0.025 / ln 0.999999.
    let needed = "about 3,688,878 values a side would decide it";
    assert!(said.contains("not judged") && said.contains(needed), "{said}");
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
