//! The policy of a thread with all that changing it takes along, as one value: `other:5 slack=50000 slice=3000000`.
//!
//! The kernel sets it all at once and forgets what it was not told: the nice value of threads that are not ordinary, the
//! slice of those that are, whether children begin as ordinary ones. Timer slack is forgotten while a thread is real-time.

use super::thread::Thread;
use super::{not_understood, set_slack, slack};
use procfs::process::{LimitValue, Process};
use rustix::process::{getpriority_process, setpriority_process};
use std::fmt::Write as _;
use std::io;
use tardy_host::Root;
use tardy_thread_policy::{self as policy, Attributes, Policy};

/// How a value says that children begin as ordinary threads.
const RESET_ON_FORK: &str = "reset-on-fork";

/// The capability to give any policy: `CAP_SYS_NICE` of `<linux/capability.h>`.
const CAP_SYS_NICE: u64 = 1 << 23;

/// It as a value.
pub(super) fn read(thread: &Thread) -> io::Result<String> {
    let told = policy::attributes(thread.tid)?;
    let mut text = told.policy.to_string();
    let is_real_time = is_real_time(told.policy);
    if is_real_time || told.policy == Policy::Idle {
        let nice = getpriority_process(Some(thread.pid()?))?;
        let _ = write!(text, " nice={nice}");
    }
    if !is_real_time && let Some(ns) = slack(thread.tid) {
        let _ = write!(text, " slack={ns}");
    }
    if told.slice_ns > 0 {
        let _ = write!(text, " slice={}", told.slice_ns);
    }
    if told.resets_on_fork {
        text.extend([" ", RESET_ON_FORK]);
    }
    Ok(text)
}

/// Whether all that a value says is so. What was asked for says no more than the policy: the rest is the kernel's.
/// Whether children begin as ordinary threads is no part of what somebody chose between.
pub(super) fn holds(now: &str, value: &str) -> bool {
    let now: Vec<&str> = now.split_whitespace().collect();
    let mut wanted = value.split_whitespace();
    wanted.next() == now.first().copied()
        && wanted.all(|word| word == RESET_ON_FORK || now.contains(&word))
}

/// A policy that is only tried: no child inherits a real-time one, since a child may be gone to where nobody finds it
/// before the policy is taken back.
pub(super) fn only_tried(value: &str) -> String {
    let is_real_time = policy_of(value).is_some_and(is_real_time);
    // Without this capability nobody takes that away from a thread again.
    let own = || Process::myself().and_then(|own| own.status());
    let can = || own().is_ok_and(|own| own.capeff & CAP_SYS_NICE != 0);
    if is_real_time && !resets_on_fork(value) && can() {
        format!("{value} {RESET_ON_FORK}")
    } else {
        value.to_owned()
    }
}

/// Whether children begin as ordinary threads.
pub(super) fn resets_on_fork(value: &str) -> bool {
    value.split_whitespace().any(|word| word == RESET_ON_FORK)
}

/// The timer slack that a value tells.
pub(super) fn slack_in(value: &str) -> Option<&str> {
    value.split_whitespace().find_map(|word| word.strip_prefix("slack="))
}

/// Whether a thread has more than it had and no more than it was given, and could not have got that by itself: it made
/// another policy of the one that it was given.
pub(super) fn is_made_of(thread: &Thread, now: &str, old: &str, new: &str) -> bool {
    let all = policy_of(now).zip(policy_of(old)).zip(policy_of(new));
    all.is_some_and(|((now, old), new)| {
        (strength(old) + 1..=strength(new)).contains(&strength(now)) && !is_free_to(thread, now)
    })
}

fn policy_of(value: &str) -> Option<Policy> {
    value.split_whitespace().next()?.parse().ok()
}

fn is_real_time(policy: Policy) -> bool {
    matches!(policy, Policy::Fifo { .. } | Policy::Rr { .. })
}

/// How much a policy lets a thread have of a CPU, against others.
fn strength(policy: Policy) -> i32 {
    match policy {
        Policy::Fifo { prio } | Policy::Rr { prio } => 100 + i32::from(prio),
        Policy::Other { nice } | Policy::Batch { nice } => -i32::from(nice),
        Policy::Idle => -100,
    }
}

/// Whether a thread may give itself a policy (`user_check_sched_setscheduler` in the kernel's
/// `kernel/sched/syscalls.c`). Where it is not known, it may.
fn is_free_to(thread: &Thread, policy: Policy) -> bool {
    let Ok(process) = Process::new(thread.tid.cast_signed()) else { return true };
    let (Ok(status), Ok(limits)) = (process.status(), process.limits()) else { return true };
    // In a user namespace of its own anybody has all capabilities, and none that counts here.
    let user = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).ok();
    let is_of_here = user(&thread.tid.to_string()) == user("self");
    if is_of_here && (status.euid == 0 || status.capprm & CAP_SYS_NICE != 0) {
        return true;
    }
    let (limit, wanted) = match policy {
        Policy::Fifo { prio } | Policy::Rr { prio } => {
            (limits.max_realtime_priority.hard_limit, u64::from(prio))
        }
        Policy::Other { nice } | Policy::Batch { nice } => {
            (limits.max_nice_priority.hard_limit, u64::from((20 - i32::from(nice)).unsigned_abs()))
        }
        Policy::Idle => return true,
    };
    match limit {
        LimitValue::Unlimited => true,
        LimitValue::Value(limit) => limit >= wanted,
    }
}

/// The policy alone, for people.
pub(super) fn shown(value: &str) -> &str {
    value.split(' ').next().unwrap_or_default()
}

/// Why the kernel refuses it, where that is known.
pub(super) fn why_not(
    root: &Root,
    thread: &Thread,
    value: &str,
    error: &io::Error,
) -> Option<String> {
    let is_real_time = value.starts_with("fifo:") || value.starts_with("rr:");
    let is_refused = error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error());
    if is_real_time && is_refused { without_time(root, thread) } else { None }
}

/// Why a thread cannot be real-time where its control group has no time for such threads.
pub(crate) fn without_time(root: &Root, thread: &Thread) -> Option<String> {
    let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", thread.tid)).ok()?;
    groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').find(|name| *name == "cpu")?;
        let file = format!("/sys/fs/cgroup/{controllers}{group}/cpu.rt_runtime_us");
        (root.word(&file)? == "0").then(|| {
            format!(
                "the control group that it is in has no time for real-time threads: give it some in {file}, or move the \
                 thread to another group"
            )
        })
    })
}

/// Sets all that a value says.
pub(super) fn set(thread: &Thread, value: &str) -> io::Result<()> {
    let mut words = value.split_whitespace();
    let wanted = words.next().unwrap_or_default().parse().map_err(|_| not_understood(value))?;
    let mut attributes = Attributes::of(wanted);
    let (mut nice, mut slack, mut slice_ns) = (None, None, 0);
    for word in words {
        let number = || -> io::Result<u64> {
            let number = word.split_once('=').and_then(|(_, number)| number.parse().ok());
            number.ok_or_else(|| not_understood(value))
        };
        match word.split_once('=').map_or(word, |(key, _)| key) {
            RESET_ON_FORK => attributes.resets_on_fork = true,
            "slack" => slack = Some(number()?),
            "slice" => slice_ns = number()?,
            "nice" => {
                let number = word.strip_prefix("nice=").and_then(|nice| nice.parse().ok());
                nice = Some(number.ok_or_else(|| not_understood(value))?);
            }
            _ => return Err(not_understood(value)),
        }
    }
    let tid = thread.tid;
    if wanted == Policy::Idle && slice_ns > 0 && policy::attributes(tid)?.slice_ns != slice_ns {
        // It keeps the slice that it had before, and is given none.
        let ordinary = Policy::Other { nice: 0 };
        policy::set_attributes(tid, &Attributes { slice_ns, ..Attributes::of(ordinary) })?;
    }
    policy::set_attributes(tid, &attributes)?;
    // The kernel's own slice is one that nobody chose, and stays so.
    if slice_ns > 0 && policy::attributes(tid)?.slice_ns != slice_ns {
        policy::set_attributes(tid, &Attributes { slice_ns, ..attributes })?;
    }
    if let Some(nice) = nice {
        setpriority_process(Some(thread.pid()?), nice)?;
    }
    slack.map_or(Ok(()), |ns| set_slack(tid, &ns.to_string()))
}
