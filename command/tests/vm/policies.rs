//! The kernel `policies`, really booted: its switches turn, and do what they say.
//!
//! Needs `TARDY_TEST_VM`, QEMU, and the kernel built before by `tardy vm build policies`, which takes
//! minutes and is not done here. What is missing is said, and the tests are skipped.

use super::guests::{alone, fetched, tardy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// How much of all lateness may be nobody's.
const UNEXPLAINED_MAX: f64 = 0.005;

/// Runs a script in a guest; what it prints, or why it cannot be run.
fn printed(script: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    printed_beside(&folder.path().join("out"), &[], script)
}

/// The same, of a guest with these flags too; what it writes to its folder comes to `out`.
fn printed_beside(out: &Path, more: &[&str], script: &str) -> Result<String, String> {
    if std::env::var_os("TARDY_TEST_VM").is_none() {
        return Err("guests are booted with TARDY_TEST_VM=1 only".to_owned());
    }
    let listed = tardy(&["vm", "list", "--json"]).output().map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&listed.stdout).map_err(|error| error.to_string())?;
    let kernels = list["kernels"].as_array().into_iter().flatten();
    let is_there = |kernel: &&Value| kernel["name"] == "policies" && kernel["state"] == "there";
    if kernels.clone().find(is_there).is_none() {
        return Err("the kernel policies is not here: tardy vm build policies".to_owned());
    }
    fetched("tools-x86_64")?;
    let flags = ["vm", "run", "--kernel", "policies", "--no-record", "--quiet", "-o"];
    let mut run = tardy(&flags);
    run.arg(out).args(more).args(["--", "sh", "-c", script]);
    let output = run.output().map_err(|error| error.to_string())?;
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// What a script tells, a line `NAME VALUE…` each.
fn told(script: &str) -> Option<BTreeMap<String, String>> {
    match printed(script) {
        Ok(text) => {
            let pairs = text.lines().filter_map(|line| line.split_once(' '));
            Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        }
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

#[test]
fn every_switch_turns_and_takes_no_other_position() {
    let _alone = alone();
    // The kernel takes for a yes or no whatever begins like one: "nonsense" is a no.
    let script = r#"
        cd /sys/kernel/timer_policy || exit 1
        for turn in defer_nonrt=0 defer_nonrt=1 rearm=lazy rearm=eager_double rearm=today \
            softirq_expires_next=stale softirq_expires_next=updated sleep_calls=1; do
            name=${turn%%=*} to=${turn#*=}
            echo "$to" > "$name" && echo "$turn $(cat "$name")"
            { echo what > "$name"; } 2>/dev/null && echo "what-$name taken"
        done
        exit 0
    "#;
    let Some(told) = told(script) else { return };
    let expected = [
        ("defer_nonrt=0", "0"),
        ("defer_nonrt=1", "1"),
        ("rearm=eager_double", "today lazy [eager_double]"),
        ("rearm=lazy", "today [lazy] eager_double"),
        ("rearm=today", "[today] lazy eager_double"),
        ("sleep_calls=1", "1"),
        ("softirq_expires_next=stale", "updated [stale]"),
        ("softirq_expires_next=updated", "[updated] stale"),
    ];
    let told: Vec<_> = told.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(told, expected);
}

/// Time is counted in these guests: what is moved between two ticks is the same in every run.
#[test]
fn moving_a_timer_programs_the_device_twice_once_or_not_at_all() {
    let _alone = alone();
    let script = r#"
        cd /sys/kernel/timer_policy || exit 1
        for policy in today lazy eager_double; do
            echo $policy > rearm
            echo 1 > rearm_counters
            i=0
            while [ $i -lt 2000 ]; do echo 300000 > rearm_move; i=$((i+1)); done
            set -- $(tail -n 1 rearm_counters)
            echo "$policy $3 $6"
            echo 0 > rearm_move
        done
    "#;
    let Some(told) = told(script) else { return };
    let counted = |policy: &str| {
        let numbers: Vec<f64> =
            told[policy].split(' ').map(|word| word.parse().expect("a number")).collect();
        (numbers[0] / 2000.0, numbers[1] / 2000.0)
    };
    let (today, lazy, eager) = (counted("today"), counted("lazy"), counted("eager_double"));
    assert!((0.8..1.05).contains(&today.0), "{told:?}");
    assert!((1.6..2.1).contains(&eager.0), "{told:?}");
    assert!(lazy.0 < 0.05 && lazy.1 > today.1, "it settles in early interrupts: {told:?}");
}

/// What an interrupt leaves to a thread has expired, so the interrupt was not too early.
#[test]
fn interrupts_that_wake_a_thread_for_timers_are_not_counted_as_early() {
    let _alone = alone();
    let script = r#"
        cd /sys/kernel/timer_policy || exit 1
        for turn in levels=1 levels=0 order=batch order=off; do
            echo "${turn#*=}" > "${turn%%=*}"
            echo 1 > rearm_counters
            tardy load timers:4,level=2,seed=1 -D 1s --json > /tmp/out
            set -- $(tail -n 1 rearm_counters)
            echo "$turn $4 $6"
        done
    "#;
    let Some(told) = told(script) else { return };
    for (turn, counted) in &told {
        let (interrupts, early) = counted.split_once(' ').expect("two numbers");
        let number = |text: &str| -> u64 { text.parse().expect("a number") };
        let (interrupts, early) = (number(interrupts), number(early));
        assert!(interrupts > 100, "{turn}: {told:?}");
        assert!(early * 10 < interrupts, "{turn}: {early} of {interrupts} were early");
    }
}

#[test]
fn the_calls_of_2021_sleep_where_they_are_switched_on() {
    let _alone = alone();
    let script = r#"
        cd /sys/kernel/timer_policy || exit 1
        for on in 0 1; do
            echo $on > sleep_calls
            tardy measure sleep -l 200 --json | tr -d '\n' > /tmp/$on
            echo "$on $(cat /tmp/$on)"
        done
    "#;
    let Some(told) = told(script) else { return };
    let measured = |on: &str| -> Value { serde_json::from_str(&told[on]).expect("JSON") };
    let methods = |on: &str| -> Vec<String> {
        let measured = measured(on);
        let methods = measured["methods"].as_array().expect("a list").clone();
        methods.iter().map(|method| method["call"].as_str().expect("a name").to_owned()).collect()
    };
    for call in ["nanosleep_u64", "hr_sleep"] {
        assert!(methods("1").iter().any(|found| found == call), "{call}");
        assert!(methods("0").iter().all(|found| found != call), "{call}");
        let note = measured("0")["notes"].to_string();
        assert!(note.contains("echo 1 > /sys/kernel/timer_policy/sleep_calls"), "{note}");
    }
    let measured = measured("1");
    for method in measured["methods"].as_array().expect("a list") {
        assert_eq!(method["early"], 0, "{method}");
    }
}

/// Names of a cause's culprits in an explanation, and its share of all lateness.
fn cause<'a>(explained: &'a Value, name: &str) -> Option<&'a Value> {
    explained["causes"].as_array()?.iter().find(|found| found["cause"] == name)
}

#[test]
fn timers_that_wait_for_a_thread_are_explained_by_it_whoever_records() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    for (source, switch) in
        [("ebpf", "levels=1"), ("ebpf", "order=inherit"), ("tracefs", "levels=1")]
    {
        let out = folder.path().join(format!("{source}-{switch}"));
        let (name, to) = switch.split_once('=').expect("a switch");
        let script = format!(
            "echo {to} > /sys/kernel/timer_policy/{name} && \
             tardy measure staircase --timer-levels 2,2,1,1,1 -D 1s --load storm:20 --record rec \
             --source {source} --buffer 65536"
        );
        if let Err(why) = printed_beside(&out, &[], &script) {
            eprintln!("skipped: {why}");
            return;
        }
        let output = tardy(&["explain", "--json"]).arg(out.join("rec")).output().expect("it runs");
        let explained: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(explained["lost"], 0, "{source}, {switch}");
        let share =
            |name| cause(&explained, name).map_or(0.0, |it| it["share"].as_f64().unwrap_or(0.0));
        let said = format!("{source}, {switch}: {}", explained["causes"]);
        // It has to come to run, which takes a switch, and then to the timer.
        assert!(share("timer_thread_wait") > 0.0 && share("timer_thread_work") > 0.0, "{said}");
        // Threads of the staircase have no timer in the softirq.
        assert!(share("softirq_wait") + share("softirq_work") == 0.0, "{said}");
        assert!(share("unexplained") < UNEXPLAINED_MAX, "{said}");
        let threads = if name == "levels" { "timer_level" } else { "timer_order" };
        let culprits = explained["culprits"].as_array().into_iter().flatten();
        let named: Vec<&str> = culprits.filter_map(|it| it["name"].as_str()).collect();
        assert!(named.iter().any(|it| it.starts_with(threads)), "{source}, {switch}: {named:?}");
    }
}
