//! Is whoever really delayed a thread the one that is named first?
//!
//! bench/inject.py runs the culprits and their victims and holds what tardy says against what both saw
//! themselves. Here it runs for some seconds each; nothing is asserted of how late anybody was.

use crate::machine::Machine;
use crate::program::{PATH, Said};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const SECONDS: &str = "3";
/// Fewer delays than this say little of a share of 99 %.
const DELAYS_MIN: u64 = 200;
const NAMED_SHARE_MIN: f64 = 0.99;
const FUNCTION_SHARE_MIN: f64 = 0.95;
/// Where each of those shares is just reached, one of so many rows has fewer by chance than are asked for.
const BY_CHANCE: f64 = 0.001;

/// In so many it may be named though by its own record it did not run: what a hypervisor took from it is in neither
/// record alike.
const INNOCENT_SHARE_MAX: f64 = 0.03;
/// What is said of a delay in which no wakeup of the victim's lies. Kernels of some sandboxes record nothing while
/// their agent (process 1) runs, the switch from it to the victim included: the busier that is, the more.
const NO_WAKEUP: &str = "no wakeup there (none)";
const ABSENT_SHARE_MAX: f64 = 0.15;

/// Who is named in place of a culprit and is guilty itself: a host that takes the CPU meanwhile ...
const HOST: &str = "the hypervisor ";
/// ... the victim itself, where a host does so without counting it while the victim goes to wait for a lock ...
const ON_ITS_WAY: &str = "v-lock-40 (own_kernel_work)";
const ON_ITS_WAY_SHARE_MAX: f64 = 0.1;

/// ... and the thread of tardy's own that reads symbols when it begins, which is not to be in the way for longer.
const READER: &str = "tardy-symbols ";
const READER_SHARE_MAX: f64 = 0.03;

/// `tardy.bench.inject/1`.
#[derive(Debug, Deserialize)]
struct Judged {
    injections: BTreeMap<String, Injection>,
    /// By name: why.
    skipped: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Injection {
    /// Whether what it does delays nobody for that long by itself.
    rare: bool,
    /// Wakeups late enough whose balance gives most to the culprit, and those of them in which it ran
    /// for less than half of that.
    blamed: u64,
    innocent: u64,
    rows: Vec<Row>,
}

/// What came of victims of one policy.
#[derive(Debug, Deserialize)]
struct Row {
    victims: String,
    n: u64,
    named: u64,
    /// Those of the named in which the culprit was in a function that it should be named with, and those where it is;
    /// none where this injection has no such function.
    in_function: Option<u64>,
    function: u64,
    instead: BTreeMap<String, u64>,
}

/// Of so many delays so many whose culprit is named first.
#[derive(Debug, Default)]
struct Share {
    named: u64,
    of: u64,
}

/// Injects, and says where that cannot be.
fn judged(injection: &str) -> Option<Judged> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/inject.py");
    if !has("python3") || !has("cc") {
        eprintln!("skipped: this needs python3 and a C compiler");
        return None;
    }
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        eprintln!("skipped: this needs two CPUs");
        return None;
    }
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(["--json", "--seconds", SECONDS, "--only", injection]);
    let said = Said::by(command.args(["--tardy", PATH]).stdin(Stdio::null())).expect(0);
    let judged: Judged = serde_json::from_value(said.json()).expect("tardy.bench.inject/1");
    for (name, why) in &judged.skipped {
        eprintln!("skipped: {name}: {why}");
    }
    Some(judged)
}

fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// In how many somebody of that name was named.
fn instead_by(instead: &BTreeMap<String, u64>, name: &str) -> u64 {
    instead.iter().filter(|(who, _)| who.starts_with(name)).map(|(_, count)| count).sum()
}

/// How many of `n` are to be, where each of them is with a chance of `share`.
fn of_these(share: f64, n: u64) -> u64 {
    tardy_stats::binomial_quantile(BY_CHANCE, n, share)
}

#[track_caller]
fn assert_named_first(injection: &str) {
    let Some(_machine) = Machine::that_records() else { return };
    let Some(judged) = judged(injection) else { return };
    let mut all = Share::default();
    for (name, found) in &judged.injections {
        let Injection { blamed, innocent, .. } = found;
        if *blamed >= DELAYS_MIN {
            let told = format!("{name}: named in {blamed} wakeups, innocent of {innocent}");
            assert!(*innocent as f64 <= INNOCENT_SHARE_MAX * *blamed as f64, "{told}");
        }
        for Row { victims, n, named, in_function, function, instead } in &found.rows {
            let told =
                format!("{name}, {victims}: {named} of {n} named first, instead {instead:?}");
            eprintln!("{told}");
            if found.rare || *n < DELAYS_MIN {
                continue;
            }
            // On a machine with much else to do the victim may have been awake: that blames nobody.
            let absent = instead.get(NO_WAKEUP).copied().unwrap_or(0);
            assert!(absent as f64 <= ABSENT_SHARE_MAX * *n as f64, "{told}");
            let reader = instead_by(instead, READER);
            assert!(reader as f64 <= READER_SHARE_MAX * *n as f64, "{told}");
            let on_its_way = instead_by(instead, ON_ITS_WAY);
            assert!(on_its_way as f64 <= ON_ITS_WAY_SHARE_MAX * *n as f64, "{told}");
            let theirs = *n - absent - reader - on_its_way - instead_by(instead, HOST);
            if theirs < DELAYS_MIN {
                eprintln!("skipped: {told}: the host took the CPU too often for a share");
                continue;
            }
            assert!(*named >= of_these(NAMED_SHARE_MIN, theirs), "{told}");
            all = Share { named: all.named + named, of: all.of + theirs };
            let Some(in_function) = *in_function else { continue };
            let told = format!("{told}; its function is named in {function} of {in_function}");
            eprintln!("{told}");
            if in_function < DELAYS_MIN {
                eprintln!("skipped: {told}: too few for a share");
                continue;
            }
            assert!(*function >= of_these(FUNCTION_SHARE_MIN, in_function), "{told}");
        }
    }
    // One row alone has to be far off for that not to be chance; all of them together less so.
    assert!(all.named >= of_these(NAMED_SHARE_MIN, all.of), "{injection}: {all:?}");
}

#[test]
fn a_spinner_of_a_higher_priority_is() {
    assert_named_first("spin");
}

#[test]
fn a_deadline_hog_is() {
    assert_named_first("deadline");
}

#[test]
fn an_ordinary_thread_that_contends_is() {
    assert_named_first("contend");
}

#[test]
fn a_deadline_budget_that_is_used_up_is() {
    assert_named_first("budget");
}

#[test]
fn a_control_group_whose_quota_is_used_up_is() {
    assert_named_first("quota");
}

#[test]
fn an_unmapping_of_much_memory_is() {
    assert_named_first("munmap");
}

#[test]
fn storms_of_barriers_and_of_tlb_flushes_are() {
    assert_named_first("membarrier,tlb,membarrier-remote,tlb-remote");
}

#[test]
fn the_owner_at_the_end_of_a_chain_of_pi_mutexes_is() {
    assert_named_first("pi");
}

#[test]
fn the_owner_at_the_end_of_a_chain_of_plain_mutexes_is() {
    assert_named_first("plain");
}

#[test]
fn an_owner_that_waits_for_pages_of_a_file_is_with_the_function_in_which_it_does() {
    assert_named_first("fault");
}

#[test]
fn an_owner_that_sleeps_on_a_timer_is_with_the_function_in_which_it_does() {
    assert_named_first("asleep");
}

#[test]
fn an_owner_of_a_plain_mutex_that_sleeps_is_with_the_function_in_which_it_does() {
    assert_named_first("asleep-plain");
}
