//! Comparisons through the command, as a user would ask. Needs no rights.
#![forbid(unsafe_code)]

mod figures;
mod gates;
mod inputs;

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../diagnosis/sources/import/tests/data").join(name)
}

fn zynq() -> String {
    text(&data("histogram/zynq-2016-timer-load.hist"))
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

fn compare(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(["compare", "-q"]).args(arguments).output().expect("the command starts")
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let output = compare(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Ends with `status`, and says why in one line of standard error.
#[track_caller]
fn refused(status: i32, arguments: &[&str]) -> String {
    let output = compare(arguments);
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// A copy of the board's histogram in which every latency is `us` longer.
fn later(folder: &Path, us: usize) -> String {
    let original = std::fs::read_to_string(zynq()).expect("the file");
    let bins: Vec<&str> = original
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|line| line.split_once(' ').map(|(_, counts)| counts))
        .collect();
    let mut copy = String::from("# Histogram\n");
    for bin in 0..bins.len() + us {
        let counts = bin.checked_sub(us).map_or(bins[0], |from| bins[from]);
        writeln!(copy, "{bin:06} {counts}").expect("a String takes it");
    }
    for line in original.lines().filter(|line| line.starts_with("# ") && *line != "# Histogram") {
        match line.split_once(": ") {
            Some((title, values)) if title.ends_with("Latencies") => {
                let values = values
                    .split_whitespace()
                    .map(|value| format!("{:05}", value.parse::<usize>().expect("a number") + us));
                let values: Vec<String> = values.collect();
                writeln!(copy, "{title}: {}", values.join(" ")).expect("a String takes it");
            }
            _ => writeln!(copy, "{line}").expect("a String takes it"),
        }
    }
    let path = folder.join(format!("later-{us}.hist"));
    std::fs::write(&path, copy).expect("a file");
    text(&path)
}

fn verdicts(document: &Value) -> Vec<String> {
    let subjects = document["subjects"].as_array().expect("a list");
    let comparisons = subjects
        .iter()
        .flat_map(|subject| subject["comparisons"].as_array().expect("a list").clone());
    comparisons.map(|one| one["verdict"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_histogram_does_not_differ_from_itself() {
    let document = json(&[&zynq(), &zynq()]);
    assert_eq!(document["schema"], "tardy.compare/1");
    assert_eq!(verdicts(&document), ["no_difference_shown", "no_difference_shown"]);
    let subject = &document["subjects"][1];
    assert_eq!(subject["name"], "thread 1");
    assert_eq!(subject["sides"][0]["samples"], 243_037_770u64);
    let comparison = &subject["comparisons"][0];
    assert_eq!(comparison["basis"], "values");
    assert_eq!(comparison["quantiles"][0]["b_minus_a"]["ns"], 0.0);
    assert!(comparison["detectable_ns"].as_f64() > Some(0.0), "{comparison}");
}

#[test]
fn a_histogram_differs_from_one_that_is_later_by_as_much_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let later = later(folder.path(), 5);
    let document = json(&["--merge", &zynq(), &later]);
    assert_eq!(verdicts(&document), ["differ"]);
    let comparison = &document["subjects"][0]["comparisons"][0];
    for quantile in comparison["quantiles"].as_array().expect("a list") {
        let difference = &quantile["b_minus_a"];
        let ns = |name: &str| difference[name].as_f64().expect("a number");
        assert!((ns("ns") - 5_000.0).abs() < 1.0, "{quantile}");
        assert!(ns("low_ns") <= 5_000.0 && ns("high_ns") >= 5_000.0, "{quantile}");
    }
    let turned = json(&["--merge", &later, &zynq()]);
    let median = &turned["subjects"][0]["comparisons"][0]["quantiles"][0];
    assert!((median["b_minus_a"]["ns"].as_f64().expect("a number") + 5_000.0).abs() < 1.0);
}

#[test]
fn the_verdict_stands_first_and_the_page_holds_the_pictures() {
    let folder = tempfile::tempdir().expect("a folder");
    let sides = [zynq(), later(folder.path(), 5), later(folder.path(), 9)];
    let page = text(&folder.path().join("page.html"));
    let [a, b, c] = &sides;
    let [a, b, c] = [("A", a), ("B", b), ("C", c)].map(|(name, path)| format!("{name}={path}"));
    let output = compare(&["--thread", "thread 0", &a, &b, &c, "--page", &page]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("B is 5.00 µs later than A at the median"), "{said}");
    assert!(said.contains("C is 9.00 µs later than A at the median"), "{said}");
    assert!(said.contains("order of A and B and C in time is not known"), "{said}");
    let page = std::fs::read_to_string(page).expect("the page");
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("later than A") && !page.contains("style="), "{page}");
    assert!(said.contains("which has no causes"), "{said}");
    assert!(said.lines().count() <= 40, "{said}");
}

/// Of three values on each side nothing can be compared, and a script that asks is to know.
#[test]
fn too_few_values_are_undecided() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = |name: &str, bin: usize| {
        let mut hist = "# Histogram\n".to_owned();
        for at in 0..30 {
            writeln!(hist, "{at:06} {:06}", if at == bin { 3 } else { 0 })
                .expect("a String takes it");
        }
        writeln!(hist, "# Total: 000000003\n# Min Latencies: {bin:05}\n# Avg Latencies: {bin:05}\n# Max Latencies: {bin:05}\n# Histogram Overflows: 00000").expect("a String takes it");
        let path = folder.path().join(name);
        std::fs::write(&path, hist).expect("it is ours");
        text(&path)
    };
    let (one, other) = (few("one.hist", 10), few("other.hist", 20));
    assert_eq!(compare(&[&one, &other]).status.code(), Some(4));
    assert_eq!(compare(&[&zynq(), &later(folder.path(), 1)]).status.code(), Some(0));
}
