//! Bounds: what passes, what fails, what is no bound.

use super::{compare, data, json, later, refused, text, zynq};

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
    let (code, said) =
        status(&["--fail-over", "+6us@p99.9", "--fail-over", "+25%@mean", "--strict"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("passed: ").count(), 2, "{said}");
    assert!(said.contains("B − 1.25 · A"), "{said}");
    // 5 of 28 µs are 18 %.
    assert_eq!(status(&["--fail-over", "+15%@p50"]).0, Some(3));
    // At the bound itself neither is shown.
    assert_eq!(status(&["--fail-over", "+5us@p99.99"]).0, Some(0));
    assert_eq!(status(&["--fail-over", "+5us@p99.99", "--strict"]).0, Some(3));
}

#[test]
fn the_document_holds_what_came_out() {
    let zynq = zynq();
    let document = json(&["--thread", "thread 1", &zynq, &zynq, "--fail-over", "+1us@p50"]);
    let gate = &document["gates"][0];
    assert_eq!((&gate["outcome"], &gate["failed"]), (&"under".into(), &false.into()));
    assert_eq!((&gate["bound_ns"], &gate["figure"]), (&1_000.into(), &"p50".into()));
    assert_eq!(document["failed"], false);
}

#[test]
fn what_cannot_be_judged_does_not_pass() {
    let file = text(&data("histogram/cyclictest-2.40.json"));
    let said = refused(1, &["--merge", &file, &file, "--fail-over", "+5us@p99.9999"]);
    assert!(said.contains("not judged"), "{said}");
    let output = compare(&["--merge", &file, &file, "--strict", "--fail-over", "+5us@p99.9999"]);
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
    let output = compare(&[&zynq, &zynq, "--strict"]);
    assert_eq!(output.status.code(), Some(2), "a flag that has nothing to be strict about");
}
