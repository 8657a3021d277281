//! The policy of a thread with all that changing it takes along, as one value: `other:5 slack=50000 slice=3000000`.
//!
//! The kernel sets it all at once and forgets what it was not told: the nice value of threads that are not ordinary, the
//! slice of those that are, whether children begin as ordinary ones. Timer slack is forgotten while a thread is real-time.

use super::thread::Thread;
use super::{not_understood, set_slack, slack};
use rustix::process::{getpriority_process, setpriority_process};
use std::fmt::Write as _;
use std::io;
use tardy_host::Root;
use tardy_thread_policy::{self as policy, Attributes, Policy};

/// It as a value.
pub(super) fn read(thread: &Thread) -> io::Result<String> {
    let told = policy::attributes(thread.tid)?;
    let mut text = told.policy.to_string();
    let is_real_time = matches!(told.policy, Policy::Fifo { .. } | Policy::Rr { .. });
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
        text.push_str(" reset-on-fork");
    }
    Ok(text)
}

/// Whether all that a value says is so. What was asked for says no more than the policy: the rest is the kernel's.
pub(super) fn holds(now: &str, value: &str) -> bool {
    let now: Vec<&str> = now.split_whitespace().collect();
    let mut wanted = value.split_whitespace();
    wanted.next() == now.first().copied() && wanted.all(|word| now.contains(&word))
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
    if !is_real_time || error.raw_os_error() != Some(rustix::io::Errno::PERM.raw_os_error()) {
        return None;
    }
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
            "reset-on-fork" => attributes.resets_on_fork = true,
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
