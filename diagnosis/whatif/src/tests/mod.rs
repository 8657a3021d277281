//! Systems of which all is known: simulated, recorded, replayed, changed.

mod known;
mod ranking;
mod recorded;

use crate::predict::Moved;
use crate::{Figures, KernelSeen, Observed, Tried, WhatIf, rank};
use known::{Known, kernel, truth};
use tardy_changes::Change;

/// A system of one victim and whatever else runs.
fn system(victim: &str, others: &str) -> String {
    format!(
        r#"
title = "a victim and others"
span = "4s"
policies = ["hardirq"]

[machine]
like = "counted-x86"
cpus = 2
# The machine's own is that of threads for timers, and no recording tells it in which none of them ran.
softirq-entry = "759ns"

[kernel]
preemption = "full"
softirqs = "irq-tail"

[[thread]]
name = "victim"
cpus = [0]
{victim}
watched = true
{others}
"#
    )
}

const GRID: &str = r#"program = [{ sleep-grid = { period = "1ms" } }, { run = "20us" }]"#;
const STORM: &str = r#"
[[thread]]
name = "storm"
count = COUNT
program = [{ sleep = "0us..1ms" }, { run = "500ns" }]
"#;
const HOG: &str = r#"
[[thread]]
name = "hog"
cpus = [CPU]
POLICY
program = [{ run = "exponential 3ms" }, { sleep = "exponential 6ms" }]
"#;

const NIC: &str = r#"
[[device]]
name = "eth0"
cpu = 0
every = "exponential 100us"
handler = "8us"
softirq = "lognormal 6us 0.5"
"#;

fn storm(count: u32) -> String {
    STORM.replace("COUNT", &count.to_string())
}

fn hog(cpu: u32, policy: &str) -> String {
    HOG.replace("CPU", &cpu.to_string()).replace("POLICY", policy)
}

/// A system, what is changed, and the system as it is then.
fn cases() -> Vec<(&'static str, String, &'static str, String)> {
    let fifo = |prio: u8| format!("policy = \"fifo:{prio}\"\n{GRID}");
    let slack = |ns: u32| format!("slack = \"{ns}ns\"\n{GRID}");
    let with_device = |others: &str, takes: &str| {
        let takes = format!("cpus = 2\nprogram = \"{takes}\"");
        system(&fifo(50), others).replacen("cpus = 2", &takes, 1)
    };
    // Who uses up a group's bandwidth is another one in it.
    let in_group = "group = \"/app\"\n";
    let grouped = |quota: &str| {
        let group = format!("[[group]]\nname = \"/app\"\nquota = \"{quota}\"\nperiod = \"50ms\"\n");
        system(&format!("{}\n{in_group}", slack(1)), &(hog(1, in_group) + &group))
    };
    // Beside a group with more threads than its own.
    let weighed = |weight: u32| {
        let groups = format!(
            "[[group]]\nname = \"/app\"\nweight = {weight}\n[[group]]\nname = \"/others\"\n"
        );
        let others = "count = 3\ngroup = \"/others\"\n";
        let works = slack(1).replace("20us", "400us");
        system(&format!("{works}\n{in_group}"), &(hog(0, others) + &groups))
    };
    vec![
        ("slack", system(GRID, ""), "slack(victim)=1ns", system(&slack(1), "")),
        ("more", system(&fifo(50), &storm(10)), "more(storm)=30", system(&fifo(50), &storm(40))),
        (
            "slack beside a storm",
            system(GRID, &storm(10)),
            "slack(victim)=1ns",
            system(&slack(1), &storm(10)),
        ),
        (
            "prio",
            system(&slack(1), &hog(0, "")),
            "prio(victim)=fifo:50",
            system(&fifo(50), &hog(0, "")),
        ),
        ("remove", system(&slack(1), &hog(0, "")), "remove(hog)", system(&slack(1), "")),
        (
            "affinity",
            system(&slack(1), &hog(0, "")),
            "affinity(hog)=1",
            system(&slack(1), &hog(1, "")),
        ),
        (
            "affinity of one above",
            system(&fifo(50), &hog(0, "policy = \"fifo:60\"")),
            "affinity(hog)=1",
            system(&fifo(50), &hog(1, "policy = \"fifo:60\"")),
        ),
        (
            "prio of one above",
            system(&fifo(50), &hog(0, "policy = \"fifo:60\"")),
            "prio(hog)=fifo:40",
            system(&fifo(50), &hog(0, "policy = \"fifo:40\"")),
        ),
        ("fewer", system(&fifo(50), &storm(40)), "remove(storm)", system(&fifo(50), "")),
        (
            "a faster device",
            with_device(&storm(20), "3us"),
            "device=250ns",
            with_device(&storm(20), "250ns"),
        ),
        (
            "a slower device",
            with_device(&storm(20), "500ns"),
            "device=5us",
            with_device(&storm(20), "5us"),
        ),
        (
            "a group's bandwidth lifted",
            grouped("12ms"),
            "cpu-max(victim)=off",
            grouped("1ms").replace(in_group, ""),
        ),
        ("a group's bandwidth raised", grouped("12ms"), "cpu-max(/app)=15ms/50ms", grouped("15ms")),
        (
            "a group's bandwidth lifted, where threads are throttled by themselves",
            grouped("12ms").replace("[kernel]", "[kernel]\nthrottles-tasks = true"),
            "cpu-max(victim)=off",
            grouped("1ms").replace(in_group, ""),
        ),
        (
            "without who uses up a group's bandwidth",
            grouped("12ms"),
            "remove(hog)",
            system(&slack(1), ""),
        ),
        ("a group's weight raised", weighed(100), "cpu-weight(victim)=1000", weighed(1000)),
        (
            "another group removed",
            weighed(100),
            "remove(hog)",
            system(&slack(1).replace("20us", "400us"), ""),
        ),
        (
            "deferred",
            system(&fifo(50), &storm(40)),
            "timers=deferred",
            system(&fifo(50), &storm(40)).replace("hardirq", "deferred"),
        ),
    ]
}

/// What a mean may be off, and a p99, of the truth.
const OFF_MAX: [f64; 2] = [0.12, 0.30];

/// What costs that a recording does not show may add, ns: which idle state is chosen, and what a wakeup takes where
/// nobody is in its way.
const COSTS_NS: f64 = 3_000.0;

#[test]
fn predictions_come_true() {
    let mut wrong = Vec::new();
    for (name, before, change, after) in cases() {
        let known = Known::of(&before);
        let observed = known.observed();
        let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
        let change: Change = change.parse().unwrap();
        let prediction = whatif.predict(&[change]).unwrap_or_else(|why| panic!("{name}: {why}"));
        let truth = truth(&Known::of(&after), 77);
        let off = whatif.baseline().error.map(|error| (error * 100.0).round());
        println!("{name}: the baseline is off by {off:?} %");
        for (at, what) in Figures::NAMES.iter().enumerate() {
            let (moved, is) = (prediction.figures[at], truth.all()[at]);
            let off = moved.predicted_ns / is - 1.0;
            let is_in = (moved.low_ns..=moved.high_ns).contains(&is);
            println!(
                "  {what:10} {:9.0} -> {:9.0} ({:9.0}..{:9.0}), truly {is:9.0}: {:+5.1} %",
                moved.recorded_ns,
                moved.predicted_ns,
                moved.low_ns,
                moved.high_ns,
                off * 100.0,
            );
            let most = match *what {
                "mean" => OFF_MAX[0],
                "p99" => OFF_MAX[1],
                _ => continue,
            };
            let is_near = (moved.predicted_ns - is).abs() <= COSTS_NS;
            if off.abs() > most && !is_near && !is_in {
                wrong.push(format!("{name}: {what} is off by {:+.1} %", off * 100.0));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A figure with a change of a system with a real-time victim, by its name.
fn moved(others: &str, change: &str, figure: &str) -> Moved {
    let known = Known::of(&system(&format!("policy = \"fifo:50\"\n{GRID}"), others));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let prediction = whatif.predict(&[change.parse().unwrap()]).unwrap();
    let at = Figures::NAMES.iter().position(|name| *name == figure).unwrap();
    prediction.figures[at]
}

#[test]
fn a_real_time_thread_that_becomes_ordinary_has_the_default_slack() {
    let median = moved("", "prio(victim)=other", "p50");
    assert!((50_000.0..70_000.0).contains(&median.predicted_ns), "{median:?}");
}

/// Who asks another one on its CPU is mostly preempted by that, and has its answer before it waits for it. With a higher
/// priority it waits each time.
#[test]
fn an_answer_that_came_in_time_is_waited_for_where_it_comes_later() {
    let asks = |what: &str| {
        let program = r#"program = [{ sleep = "600us" }, { run = "10us" }, { wake = "server" }, "wait", { run = "5us" }]"#;
        let server = r#"
[[thread]]
name = "server"
cpus = [0]
program = ["wait", { run = "60us" }, { wake = "victim" }]
"#;
        system(&format!("{what}\n{program}"), &format!("{server}{}", hog(0, "")))
    };
    let known = Known::of(&asks("slack = \"1ns\""));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let predicted = whatif.predict(&["prio(victim)=fifo:50".parse().unwrap()]).unwrap();
    let truth = truth(&Known::of(&asks("policy = \"fifo:50\"")), 77);
    let recorded = whatif.baseline().recorded.n;
    println!("{recorded} wakeups, {} predicted, truly {}", predicted.simulated.n, truth.n);
    assert!(truth.n as f64 > 1.1 * recorded as f64, "it waits more often");
    assert!((predicted.simulated.n as f64 / truth.n as f64 - 1.0).abs() < 0.02);
    let mean_ns = predicted.figures[0].predicted_ns;
    assert!((mean_ns / truth.mean_ns - 1.0).abs() < OFF_MAX[0], "{mean_ns}, not {}", truth.mean_ns);
}

#[test]
fn what_an_interrupt_leaves_to_a_softirq_goes_with_it() {
    let without = moved(NIC, "remove(irq 24)", "p99");
    assert!(without.change() < -0.3, "{without:?}");
    let elsewhere = moved(NIC, "affinity(irq 24)=1", "p99");
    assert!(elsewhere.change() < -0.1, "{elsewhere:?}");
}

#[test]
fn where_nothing_changes_the_recording_is_the_prediction() {
    const BYSTANDER: &str = r#"
[[thread]]
name = "bystander"
cpus = [1]
program = [{ sleep = "100ms" }, { run = "2us" }]
"#;
    for victim in [GRID.to_owned(), format!("policy = \"fifo:50\"\n{GRID}")] {
        let others = format!("{}{BYSTANDER}", hog(0, ""));
        let known = Known::of(&system(&victim, &others));
        let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
        let change: Change = "remove(bystander)".parse().unwrap();
        let prediction = whatif.predict(&[change]).unwrap();
        for (name, moved) in Figures::NAMES.iter().zip(prediction.figures).take(5) {
            assert!(moved.change().abs() < 0.03, "{name}: {moved:?}");
        }
    }
}

#[test]
fn one_that_catches_up_does_so_however_rarely_it_is_late() {
    let rare = r#"
[[thread]]
name = "rare"
cpus = [0]
policy = "fifo:60"
program = [{ sleep = "exponential 400ms" }, { run = "exponential 3ms" }]
"#;
    let known = Known::of(&system(&format!("policy = \"fifo:50\"\n{GRID}"), rare));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let (was, is) = (whatif.baseline().recorded, whatif.baseline().simulated);
    assert!(was.max_ns > 3e6, "{was:?}");
    assert!((is.mean_ns / was.mean_ns - 1.0).abs() < 0.1, "{is:?}, recorded {was:?}");
}

#[test]
fn more_of_what_is_hardly_simulated_is_refused() {
    let io = r#"
[[thread]]
name = "io"
cpus = [0]
program = [{ sleep = "exponential 20ms" }, { kernel = "exponential 800us" }]
"#;
    let text = system(&format!("policy = \"fifo:50\"\n{GRID}"), io);
    let known = Known::of(&text.replace("\"full\"", "\"voluntary\""));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let ask = |change: &str| whatif.predict(&[change.parse().unwrap()]);
    for change in ["more(io)=3", "slower(io)=0.2"] {
        let why = ask(change).unwrap_err().to_string();
        assert!(why.contains("hardly anything of how these threads delay"), "{change}: {why}");
    }
    assert!(ask("remove(io)").is_ok() && ask("slower(io)=2").is_ok());
}

#[test]
fn what_a_host_takes_is_told_apart_and_its_end_is_an_answer() {
    let text = system(GRID, "");
    let stolen =
        text.replace("[kernel]", "theft = { every = \"20ms\", length = \"1ms\" }\n\n[kernel]");
    let known = Known::of(&stolen);
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    assert!(whatif.baseline_apart().is_some());
    let p99 = |change: &str| {
        let prediction = whatif.predict(&[change.parse().unwrap()]).unwrap();
        (prediction.figures[2].predicted_ns, prediction.own()[2].predicted_ns)
    };
    let truly = truth(&Known::of(&text), 9).p99_ns;
    let (no_theft, _) = p99("no-theft");
    assert!((no_theft / truly - 1.0).abs() < OFF_MAX[1], "{no_theft}, truly {truly}");
    let (whole, apart) = p99("slack(victim)=1ns");
    assert!(apart < truly && whole > 3.0 * truly, "{whole}, apart {apart}");
}

#[test]
fn a_change_that_is_so_already_is_none_beside_another() {
    let known = Known::of(&system(GRID, &hog(0, "policy = \"fifo:60\"")));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let ask = |texts: [&str; 2]| {
        let changes: Vec<Change> = texts.iter().map(|text| text.parse().unwrap()).collect();
        whatif.predict(&changes).unwrap().figures[0].predicted_ns
    };
    let one = ask(["prio(victim)=fifo:70", "slack(victim)=1ns"]);
    let other = ask(["slack(victim)=1ns", "prio(victim)=fifo:70"]);
    assert!((one / other - 1.0).abs() < 1e-9, "{one}, {other}");
    let offered: Vec<String> = whatif.candidates().iter().map(ToString::to_string).collect();
    assert!(offered.contains(&"prio(victim)=fifo:61".to_owned()), "{offered:?}");
}

#[test]
fn what_a_recording_does_not_tell_is_refused() {
    let known = Known::of(&system(GRID, &hog(0, "")));
    let observed = known.observed();
    let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
    for (change, why) in [
        ("preempt=full", "no events of when threads are in the kernel"),
        ("prio(nobody)=fifo:1", "there is no thread or program called nobody in it"),
        ("remove(victim)", "without the victim nothing is late"),
        ("affinity(hog)=7", "the machine has 2 CPUs, and not 7"),
        ("isolate=0-1", "no CPU would be left for the others"),
        ("remove(irq 9)", "there is no interrupt 9 in it"),
        ("timers=nope", "there are the timer policies"),
        ("prio(hog)=other", "those threads have that policy already"),
        ("rt-runtime=off", "it changes nothing in the simulated system"),
        ("cpu-max(victim)=off", "only a bound is possible"),
        ("no-theft", "no theft was recorded"),
    ] {
        let change: Change = change.parse().unwrap();
        let refused = whatif.predict(std::slice::from_ref(&change)).unwrap_err().to_string();
        assert!(refused.contains(why), "{change}: {refused}");
    }
}

#[test]
fn a_recording_that_says_too_little_is_refused() {
    let observed = Observed::default();
    let refused = WhatIf::new(&observed, &KernelSeen::default()).unwrap_err().to_string();
    assert_eq!(refused, "it has no events of switches");
    let known = Known::of(&system(GRID, "").replace("4s", "50ms"));
    let refused = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap_err().to_string();
    assert!(refused.starts_with("200 wakeups of the late threads by a timer"), "{refused}");
}

#[test]
fn the_best_change_comes_first() {
    for (others, victim, best) in [
        (
            hog(0, "policy = \"fifo:60\""),
            format!("policy = \"fifo:50\"\n{GRID}"),
            ["hog", "victim"],
        ),
        (hog(0, ""), format!("slack = \"1ns\"\n{GRID}"), ["hog", "victim"]),
        (String::new(), GRID.to_owned(), ["slack(victim)=1ns", "prio(victim)=fifo"]),
    ] {
        let known = Known::of(&system(&victim, &others));
        let observed = known.observed();
        let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
        let changes: Vec<Vec<Change>> =
            whatif.candidates().into_iter().map(|change| vec![change]).collect();
        let one = rank(&whatif, &observed, &changes, 1, &|_| {});
        let two = rank(&whatif, &observed, &changes, 2, &|_| {});
        let names = |tried: &[Tried]| tried.iter().map(Tried::name).collect::<Vec<_>>();
        assert_eq!(names(&one), names(&two), "the number of threads decides nothing");
        assert!(best.iter().any(|best| one[0].name().contains(best)), "{:?}", names(&one));
        let gain = one[0].gain().unwrap();
        assert!(gain > 0.5, "{}: {gain}", one[0].name());
    }
}

/// The victim's own grid beside one that is often in its way: times that it asks for have passed then.
const LATE: &str = r#"
[[thread]]
name = "frame"
cpus = [0]
policy = "fifo:60"
program = [{ sleep = "exponential 4ms" }, { run = "1ms..3ms" }]
"#;

#[test]
fn what_was_asked_for_too_late_is_waited_for_where_nobody_is_in_the_way() {
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    let known = Known::of(&system(&fifo, LATE));
    let observed = known.observed();
    let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
    let baseline = whatif.baseline();
    let (was, is) = (baseline.recorded.n as f64, baseline.simulated.n as f64);
    assert!((is / was - 1.0).abs() < 0.03, "{is} wakeups, and {was} were recorded");
    let without = whatif.predict(&["remove(frame)".parse().unwrap()]).unwrap();
    let all = known.span_ns / 1_000_000;
    let n = without.simulated.n;
    assert!(n + 5 >= all, "{n} wakeups in {all} periods, and nobody is in the way");
}

#[test]
fn what_a_softirq_thread_did_for_an_interrupt_goes_with_it() {
    let text = system(
        "slack = \"1ns\"\nprogram = [{ sleep-grid = { period = \"1ms\" } }, { run = \"20us\" }]",
        NIC,
    );
    let text = text.replace("lognormal 6us 0.5", "lognormal 30us 0.5");
    let text = text.replace("\"full\"", "\"rt\"").replace("irq-tail", "ksoftirqd");
    let known = Known::of(&text);
    let rt = KernelSeen { preemption: Some("PREEMPT_RT".to_owned()), ..kernel(&known.system) };
    let whatif = WhatIf::new(&known.observed(), &rt).unwrap();
    let (was, is) = (whatif.baseline().recorded, whatif.baseline().simulated);
    assert!((is.mean_ns / was.mean_ns - 1.0).abs() < 0.1, "{is:?}, recorded {was:?}");
    let without = whatif.predict(&["remove(irq 24)".parse().unwrap()]).unwrap();
    let mean = without.figures[0];
    let truly = truth(&Known::of(&text.replace("exponential 100us", "1000s")), 9).mean_ns;
    assert!((mean.predicted_ns / truly - 1.0).abs() < 0.1, "{mean:?}, truly {truly}");
}

#[test]
fn what_programming_the_device_takes_is_not_made_up() {
    let known = Known::of(&system(GRID, ""));
    let whatif = WhatIf::new(&known.observed(), &kernel(&known.system)).unwrap();
    let refused = whatif.predict(&["device=2us".parse().unwrap()]).unwrap_err().to_string();
    assert!(refused.contains("how long programming the device takes now"), "{refused}");
}
