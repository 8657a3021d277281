//! Policies of kernel threads that a condition asks for: `ktimers = "fifo:70"` is every thread
//! `ktimers/N`.
//!
//! What they were is written down before they are changed, and put back after the block; where the
//! process is killed meanwhile, at the next start of tardy (`tardy_remedy`'s journal).

use procfs::process::{StatFlags, all_processes};
use std::collections::BTreeMap;
use tardy_remedy::{Place, Setting, Thread};
use tardy_thread_policy::Policy;

/// The most names in one condition.
const NAMES_MAX: usize = 16;

/// The most threads that are changed at once: sixteen names on 1,024 CPUs.
const THREADS_MAX: usize = 16_384;

/// Policies by the name of the thread, up to the slash.
pub(crate) type Wanted = BTreeMap<String, Policy>;

/// What is written down, understood.
pub(crate) fn wanted(written: &BTreeMap<String, String>) -> Result<Wanted, String> {
    if written.len() > NAMES_MAX {
        return Err(format!("{} names; there may be {NAMES_MAX}", written.len()));
    }
    let one = |(name, policy): (&String, &String)| {
        if name.is_empty() || name.contains('/') {
            return Err(format!("{name:?}: write the name up to its slash, as in ktimers"));
        }
        let policy = policy.parse::<Policy>().map_err(|error| format!("{name}: {error}"))?;
        Ok((name.clone(), policy))
    };
    written.iter().map(one).collect()
}

/// Why they cannot be had here; `None` where all of them are there.
pub(crate) fn lacking(wanted: &Wanted) -> Option<String> {
    if wanted.is_empty() {
        return None;
    }
    let threads = match threads(wanted) {
        Ok(threads) => threads,
        Err(why) => return Some(why),
    };
    let missing =
        wanted.keys().find(|name| threads.iter().all(|one| up_to_slash(&one.name) != *name))?;
    let hint = match missing.as_str() {
        "ktimers" => {
            "; PREEMPT_RT has it since Linux 6.13, its patches since 6.1; without it ksoftirqd does its work"
        }
        _ => "",
    };
    Some(format!("this kernel has no thread {missing}{hint}"))
}

/// What gives them their policies.
pub(crate) fn settings(wanted: &Wanted) -> Result<Vec<Setting>, String> {
    let threads = if wanted.is_empty() { Vec::new() } else { threads(wanted)? };
    let setting = |thread: Thread| Setting {
        to: wanted[up_to_slash(&thread.name)].to_string(),
        place: Place::Policy(thread),
    };
    Ok(threads.into_iter().map(setting).collect())
}

/// The kernel threads of those names.
fn threads(wanted: &Wanted) -> Result<Vec<Thread>, String> {
    let all = all_processes().map_err(|error| format!("/proc could not be read: {error}"))?;
    let stats = all.filter_map(|process| process.ok()?.stat().ok());
    let is_one = |stat: &procfs::process::Stat| {
        stat.flags & StatFlags::PF_KTHREAD.bits() != 0
            && wanted.contains_key(up_to_slash(&stat.comm))
    };
    let thread = |stat: procfs::process::Stat| Thread {
        tid: stat.pid.cast_unsigned(),
        start: stat.starttime,
        name: stat.comm,
    };
    Ok(stats.filter(is_one).map(thread).take(THREADS_MAX).collect())
}

fn up_to_slash(name: &str) -> &str {
    name.split_once('/').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, policy: &str) -> Result<Wanted, String> {
        wanted(&BTreeMap::from([(name.to_owned(), policy.to_owned())]))
    }

    #[test]
    fn names_and_policies_that_are_none_are_refused() {
        assert_eq!(of("ktimers", "fifo:70").unwrap()["ktimers"], Policy::Fifo { prio: 70 });
        for (name, policy, said) in [
            ("ktimers/0", "fifo:70", "up to its slash"),
            ("", "other", "up to its slash"),
            ("ktimers", "fifo:700", "ktimers: \"fifo:700\" is not a policy"),
        ] {
            let error = of(name, policy).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn every_kernel_has_ksoftirqd_and_none_has_this_process() {
        let there = of("ksoftirqd", "other").unwrap();
        assert_eq!(lacking(&there), None);
        assert!(threads(&there).unwrap().iter().all(|one| one.name.starts_with("ksoftirqd/")));
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let own = of(up_to_slash(own.trim()), "other").unwrap();
        assert!(threads(&own).unwrap().is_empty(), "a process of that name is no kernel thread");
        assert!(lacking(&own).unwrap().contains("has no thread"));
    }
}
