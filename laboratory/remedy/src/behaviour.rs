//! How threads behave before they are given more than others: whether they ever sleep.

use crate::place::{Thread, process_of};
use procfs::process::{Process, StatFlags};
use std::time::{Duration, Instant};

/// A thread that has used this much CPU time without a sleep is taken for one that never does: more than programs need to
/// begin, and as much as the kernel's own limit for real-time threads allows at a time.
const AWAKE: Duration = Duration::from_secs(1);

/// The same at the end, where others, or a limit, left it less: no thread that sleeps again and again needs as much.
const AWAKE_AT_LEAST: Duration = Duration::from_millis(20);

/// How long it is watched at most: on a busy machine a program takes long to begin.
const WATCHED_MAX: Duration = Duration::from_secs(5);

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a thread has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    /// How often it left a CPU by itself.
    sleeps: u64,
    ran: Duration,
    /// It waits for something now. Who is stopped waits for nothing of its own.
    is_asleep: bool,
}

/// One of these that never sleeps; `None` where all do, or have ended. Threads of the kernel's own are not looked at.
pub(crate) fn spinning(threads: &[Thread]) -> Option<&Thread> {
    let users = threads.iter().filter(|thread| !is_kernels(thread));
    let mut awake: Vec<(&Thread, Done)> = users
        .filter_map(|thread| Some((thread, done(thread.tid)?)))
        .filter(|(_, done)| !done.is_asleep)
        .collect();
    let begun = Instant::now();
    while !awake.is_empty() {
        let is_over = begun.elapsed() >= WATCHED_MAX;
        let mut still = Vec::new();
        for (thread, before) in awake {
            let Some(now) = done(thread.tid).filter(|_| thread.is_there()) else { continue };
            match sleeps(before, now, is_over) {
                Some(true) => {}
                Some(false) => return Some(thread),
                None => still.push((thread, before)),
            }
        }
        awake = still;
        if !awake.is_empty() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    None
}

/// Whether it sleeps, by what it did between two looks; `None` where that is not known yet.
fn sleeps(before: Done, now: Done, is_over: bool) -> Option<bool> {
    if now.is_asleep || now.sleeps > before.sleeps {
        return Some(true);
    }
    if now.ran.saturating_sub(before.ran) >= AWAKE {
        return Some(false);
    }
    if !is_over {
        return None;
    }
    if now.ran.saturating_sub(before.ran) >= AWAKE_AT_LEAST {
        return Some(false);
    }
    // It hardly ran: what it did before has to tell.
    let times = u32::try_from(now.sleeps.saturating_add(1)).unwrap_or(u32::MAX);
    Some(now.ran / times < AWAKE_AT_LEAST)
}

fn is_kernels(thread: &Thread) -> bool {
    let stat = Process::new(thread.tid.cast_signed()).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.flags & StatFlags::PF_KTHREAD.bits() != 0)
}

fn done(tid: u32) -> Option<Done> {
    let folder = format!("/proc/{}/task/{tid}", process_of(tid)?);
    let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
    let word = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.split_whitespace().next())
    };
    let state = word("State:")?;
    Some(Done {
        sleeps: word("voluntary_ctxt_switches:")?.parse().ok()?,
        ran: ran(&folder)?,
        is_asleep: matches!(state, "S" | "D" | "I"),
    })
}

/// The CPU time that it has had.
fn ran(folder: &str) -> Option<Duration> {
    // Without the kernel's statistics of the scheduler there are ticks.
    let statistics = std::fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let ns = statistics.split_whitespace().next().and_then(|ns| ns.parse().ok());
    if let Some(ns) = ns.filter(|ns| *ns > 0) {
        return Some(Duration::from_nanos(ns));
    }
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace().skip(11);
    let ticks: u64 =
        fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    Some(Duration::from_millis(ticks.saturating_mul(1000) / procfs::ticks_per_second().max(1)))
}

/// Waits until what it did so far tells that it spins, however often it had to wait while it began: where the machine
/// leaves it next to nothing afterwards, nothing else does.
#[cfg(test)]
pub(crate) fn await_spinning(tid: u32) {
    let has_spun =
        |done: Done| done.ran > AWAKE_AT_LEAST * 2 * u32::try_from(done.sleeps + 2).unwrap();
    while !done(tid).is_some_and(has_spun) {
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done_so(sleeps: u64, ran_ms: u64) -> Done {
        Done { sleeps, ran: Duration::from_millis(ran_ms), is_asleep: false }
    }

    #[test]
    fn who_uses_its_cpu_without_a_sleep_spins() {
        let before = done_so(5, 1_000);
        assert_eq!(sleeps(before, done_so(6, 1_300), false), Some(true));
        assert_eq!(sleeps(before, Done { is_asleep: true, ..before }, false), Some(true));
        assert_eq!(sleeps(before, done_so(5, 1_900), false), None);
        assert_eq!(sleeps(before, done_so(5, 2_000), false), Some(false));
        // A limit left it little.
        assert_eq!(sleeps(before, done_so(5, 1_100), true), Some(false));
        // Held up by others all the while: it slept before, or it did not.
        assert_eq!(sleeps(done_so(500, 1_000), done_so(500, 1_001), true), Some(true));
        assert_eq!(sleeps(done_so(1, 60_000), done_so(1, 60_001), true), Some(false));
    }

    /// It would go on as it did when it may.
    #[test]
    fn who_is_stopped_is_not_asleep() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        await_spinning(child.id());
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            std::thread::sleep(LOOK_EVERY);
        }
        let threads = [Thread::of(child.id()).unwrap()];
        let is_found = spinning(&threads).is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_found);
    }

    #[test]
    fn a_thread_that_spins_is_found_beside_those_that_sleep() {
        let end = std::sync::atomic::AtomicBool::new(false);
        let tid = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let end = &end;
            let of_sleeper = tell.clone();
            scope.spawn(move || {
                of_sleeper.send((false, tid())).unwrap();
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            scope.spawn(move || {
                tell.send((true, tid())).unwrap();
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let mut both = [told.recv().unwrap(), told.recv().unwrap()];
            both.sort_unstable();
            let [sleeper, spinner] = both.map(|(_, tid)| Thread::of(tid).unwrap());
            await_spinning(spinner.tid);
            let all = [sleeper.clone(), spinner.clone()];
            let found = spinning(&all).map(|thread| thread.tid);
            let of_sleeper = spinning(&all[..1]).is_none();
            end.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(found, Some(spinner.tid));
            assert!(of_sleeper);
        });
    }
}
