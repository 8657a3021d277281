//! One text for many systems.
#![allow(missing_docs)]

use tardy_sim::Cost;
use tardy_sim::file::{Template, Values};

const TEXT: &str = r#"
with = { storm = "other", threads = 3 }
[machine]
switch = "lognormal {switch} {spread}"
[[thread]]
name = "cyclic"
program = [{ sleep-grid = { period = "1ms", phase = "1us..2us" } }]
watched = true
[[thread]]
name = "storm"
count = "{threads}"
policy = "{storm}"
program = [{ sleep = "0us..1ms" }]
[[condition]]
name = "idle"
with = { threads = 0 }
[[condition]]
name = "hard-{threads}"
with = { storm = "fifo:1" }
over = { threads = [1, 20] }
at = { context = "hard irq" }
[free]
switch = ["100ns", "1us", "9us"]
spread = [0.1, 0.25, 1]
"#;

#[test]
fn conditions_fill_names_in() {
    let template = Template::parse(TEXT).expect("it can be");
    let names: Vec<&str> = template.conditions.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["idle", "hard-1", "hard-20"]);
    let threads: Vec<usize> = template
        .conditions
        .iter()
        .map(|one| template.file(one, &Values::new()).expect("it can be").groups[1].1.len())
        .collect();
    assert_eq!(threads, [0, 1, 20]);
    let hard = &template.conditions[2];
    assert_eq!((hard.at["threads"].as_str(), hard.at["context"].as_str()), ("20", "hard irq"));
    let file = template.file(hard, &Values::new()).expect("it can be");
    let switch = |median_ns| Cost::LogNormal { median_ns, sigma: 0.25 };
    assert_eq!(file.system.machine.switch, switch(1_000.0), "what is free begins there");
    let chosen = Values::from([("switch".to_owned(), template.free[1].written(2_500.4))]);
    assert_eq!(template.free[1].name, "switch");
    let file = template.file(hard, &chosen).expect("it can be");
    assert_eq!(file.system.machine.switch, switch(2_500.0));
    let machine = template.machine(hard, &chosen).expect("it can be");
    assert_eq!(machine.trim(), r#"switch = "lognormal 2500ns 0.2500""#);
}

#[test]
fn anything_can_vary() {
    let mut template = Template::parse(TEXT).expect("it can be");
    let values = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
    template.conditions.truncate(1);
    template.vary("threads", &values(&["5", "6"])).expect("a name in braces");
    template.vary("kernel.hz", &values(&["100"])).expect("an entry that there was not");
    template.vary("thread.storm.slack", &values(&["1ns", "9us"])).expect("an entry of a list");
    let names: Vec<&str> = template.conditions.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["idle-5-100-1ns", "idle-5-100-9us", "idle-6-100-1ns", "idle-6-100-9us"]);
    let last = template.conditions.last().expect("four");
    assert_eq!(last.at["slack"], "9us");
    let file = template.file(last, &Values::new()).expect("it can be");
    assert_eq!(file.groups[1].1.len(), 6);
    assert_eq!(file.system.kernel.settings.jiffy_ns.get(), 10_000_000);
    assert_eq!(file.system.workload.threads[1].slack_ns, 9_000);
    for missing in ["switch_off", "threads.storm.count", "thread.calm.count", "machine.a.b"] {
        let why = template.vary(missing, &values(&["1"])).expect_err(missing);
        assert!(why.contains("there is no"), "{why}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    for (from, to, line, why) in [
        ("over = { threads = [1, 20] }", "over = { threads = [] }", 19, "has no value"),
        ("name = \"idle\"", "name = \"hard-1\"", 19, "two conditions hard-1"),
        ("{ threads = 0 }", "{ threads = [0] }", 16, "a text, a number"),
        ("storm = \"other\"", "storm = \"{threads}\"", 2, "quotes or braces"),
        ("[0.1, 0.25, 1]", "[0.1, 0.05, 1]", 26, "in this order"),
        ("[0.1, 0.25, 1]", "[0.1, 1]", 26, "write the least"),
        ("\"100ns\"", "\"100 parsecs\"", 25, "write the least"),
        ("over = {", "above = {", 19, "unknown field `above`"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT, "{from}");
        let error = Template::parse(&text).expect_err(to);
        let said = error.to_string();
        assert!(said.contains(why), "{to}: {said}");
        assert!(error.line.is_some_and(|at| at.abs_diff(line) <= 3), "{to}: {said}");
    }
    // What a name stands for is looked at where it stands.
    let template = Template::parse(&TEXT.replace("\"fifo:1\"", "\"fifo:x\"")).expect("it can be");
    let error = template.file(&template.conditions[1], &Values::new()).expect_err("no priority");
    assert_eq!(error.line, Some(12), "{error}");
}
