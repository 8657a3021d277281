//! The tasks that are there when a recording begins, so that nobody in it is a bare number.

use crate::cpus::online_count;
use procfs::process::{Stat, StatFlags, Task};
use rustix::process::Pid;
use rustix::thread::sched_getaffinity;
use std::collections::HashMap;
use tardy_model::event::{Comm, TaskCpus, TaskInfo, TaskName};
use tardy_model::{CpuId, Event, Kind, TaskId};

/// Flags of [`TaskInfo`] that the recorder knows of threads: its own, those it watches.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// By thread id.
    pub threads: HashMap<u32, u8>,
    /// By process id, for all its threads.
    pub processes: HashMap<u32, u8>,
}

impl Roles {
    /// The flags of a thread of `process`.
    pub fn of(&self, process: u32, thread: u32) -> u8 {
        self.threads.get(&thread).copied().unwrap_or(0)
            | self.processes.get(&process).copied().unwrap_or(0)
    }
}

/// Every thread of the system, with its process. Threads that come or go meanwhile may be missing.
fn all_threads() -> impl Iterator<Item = (u32, Task)> {
    let processes = procfs::process::all_processes().into_iter().flatten().flatten();
    processes.flat_map(|process| {
        let pid = process.pid() as u32;
        process.tasks().into_iter().flatten().flatten().map(move |thread| (pid, thread))
    })
}

/// The same: its process, its number, and what the kernel tells of it.
fn threads() -> impl Iterator<Item = (u32, u32, Stat)> {
    all_threads().filter_map(|(pid, thread)| Some((pid, thread.tid as u32, thread.stat().ok()?)))
}

/// Three events for every thread of the system, stamped `time_ns`: its name, its process and flags, its affinity.
/// Threads that come or go meanwhile may be missing; their own events tell of them.
pub fn tasks_now(time_ns: u64, roles: &Roles) -> Vec<Event> {
    let (mut events, online) = (Vec::new(), online_count());
    for (pid, tid, stat) in threads() {
        let kernel =
            if stat.flags & StatFlags::PF_KTHREAD.bits() == 0 { 0 } else { TaskInfo::KERNEL };
        let flags = kernel | policy_of(&stat) | roles.of(pid, tid);
        for kind in [
            Kind::TaskName(TaskName { comm: Comm::new(kernel_name(&stat.comm)) }),
            Kind::TaskInfo(TaskInfo { process: TaskId(pid), flags }),
        ] {
            events.push(Event::new(time_ns, CpuId(0), TaskId(tid), kind));
        }
        events.extend(affinity_of(time_ns, tid, online));
    }
    events
}

/// An event for every thread of the system, stamped `time_ns`: its affinity. Told once more when a recording ends, it
/// tells of threads that began meanwhile, and of those that were bound.
pub fn affinities_now(time_ns: u64) -> Vec<Event> {
    affinities(time_ns, all_threads().map(|(_, it)| it.tid as u32))
}

/// The same of these threads, as far as they are there.
pub fn affinities(time_ns: u64, threads: impl Iterator<Item = u32>) -> Vec<Event> {
    let online = online_count();
    threads.filter_map(|thread| affinity_of(time_ns, thread, online)).collect()
}

/// On which of so many CPUs that are online a thread may run; of one that is gone nothing is known.
fn affinity_of(time_ns: u64, thread: u32, online: u32) -> Option<Event> {
    let pid = Pid::from_raw(thread.try_into().ok()?)?;
    let allowed = sched_getaffinity(Some(pid)).ok()?;
    // The kernel tells of CPUs that are online alone.
    let is_bound = allowed.count() < online;
    let bits = (0..u64::BITS as usize).filter(|cpu| allowed.is_set(*cpu));
    let cpus = if is_bound { bits.fold(0, |mask, cpu| mask | 1 << cpu) } else { TaskCpus::ANY };
    Some(Event::new(time_ns, CpuId(0), TaskId(thread), TaskCpus { cpus }.into()))
}

/// What events of its priority do not tell of a thread's policy (`include/uapi/linux/sched.h`).
fn policy_of(stat: &Stat) -> u8 {
    match stat.policy {
        Some(3) => TaskInfo::BATCH,
        Some(5) => TaskInfo::IDLE,
        _ => 0,
    }
}

/// The processes that have a thread of one of these names now.
pub fn processes_with(names: &[String]) -> Vec<u32> {
    let mut processes: Vec<u32> = named(names).into_iter().map(|(process, _)| process).collect();
    processes.dedup();
    processes
}

/// The threads that have one of these names now.
pub fn threads_with(names: &[String]) -> Vec<u32> {
    named(names).into_iter().map(|(_, thread)| thread).collect()
}

/// How many threads of user space are real-time or deadline threads now.
pub fn realtime_threads() -> usize {
    // `SCHED_FIFO`, `SCHED_RR`, `SCHED_DEADLINE` (`include/uapi/linux/sched.h`).
    const REALTIME: [u32; 3] = [1, 2, 6];
    let is_one = |stat: &Stat| {
        stat.flags & StatFlags::PF_KTHREAD.bits() == 0
            && stat.policy.is_some_and(|policy| REALTIME.contains(&policy))
    };
    threads().filter(|(.., stat)| is_one(stat)).count()
}

/// Processes with the threads of these names that they have now, process by process.
fn named(names: &[String]) -> Vec<(u32, u32)> {
    if names.is_empty() {
        return Vec::new();
    }
    let is_named = |stat: &Stat| names.iter().any(|name| name == kernel_name(&stat.comm));
    threads().filter(|(.., stat)| is_named(stat)).map(|(pid, tid, _)| (pid, tid)).collect()
}

/// The event that says what is known of a thread of this process, from `time_ns` on.
pub fn own_thread_is(time_ns: u64, thread: TaskId, flags: u8) -> Event {
    let info = TaskInfo { process: TaskId(std::process::id()), flags };
    Event::new(time_ns, CpuId(0), thread, Kind::TaskInfo(info))
}

/// The name as the kernel's events show it: procfs adds to a worker's what it works on,
/// `kworker/0:1-events`.
fn kernel_name(comm: &str) -> &str {
    match comm.strip_prefix("kworker/") {
        Some(rest) if !rest.starts_with("R-") => {
            let end = rest.find(['-', '+']).map_or(comm.len(), |at| at + "kworker/".len());
            &comm[..end]
        }
        _ => comm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn info_of(task: u32, events: &[Event]) -> Option<TaskInfo> {
        events.iter().find_map(|event| match event.kind() {
            Kind::TaskInfo(info) if event.task == TaskId(task) => Some(info),
            _ => None,
        })
    }

    fn gettid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    #[test]
    fn a_process_is_found_by_the_name_of_any_of_its_threads() {
        let (hold, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let wait = move || {
            tell.send(()).unwrap();
            let _ = released.recv();
        };
        let named =
            std::thread::Builder::new().name("found-by-name".to_owned()).spawn(wait).unwrap();
        told.recv().unwrap();
        let found = |name: &str| processes_with(&[name.to_owned()]);
        assert_eq!(found("found-by-name"), [std::process::id()]);
        assert_eq!(threads_with(&["found-by-name".to_owned()]).len(), 1);
        assert_eq!(found("found-by-nam"), [0; 0]);
        assert_eq!(processes_with(&[]), [0; 0]);
        drop(hold);
        named.join().unwrap();
    }

    /// A process's role is that of all its threads, a thread's own comes on top.
    #[test]
    fn finds_this_processs_threads_with_their_roles() {
        let (hold, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let other = std::thread::spawn(move || {
            tell.send(gettid()).unwrap();
            let _ = released.recv();
        });
        let (me, other_id, process) = (gettid(), told.recv().unwrap(), std::process::id());
        let roles = Roles {
            threads: HashMap::from([(me, TaskInfo::OWN)]),
            processes: HashMap::from([(process, TaskInfo::WATCHED)]),
        };
        let events = tasks_now(5, &roles);
        drop(hold);
        other.join().unwrap();
        let expected = |flags| Some(TaskInfo { process: TaskId(process), flags });
        assert_eq!(info_of(me, &events), expected(TaskInfo::OWN | TaskInfo::WATCHED));
        assert_eq!(info_of(other_id, &events), expected(TaskInfo::WATCHED));
        assert!(events.iter().all(|event| event.time_ns == 5));
    }

    #[test]
    fn a_bound_thread_is_told_with_its_cpus() {
        let mut all = sched_getaffinity(None).unwrap();
        let first = (0..64).find(|cpu| all.is_set(*cpu)).unwrap();
        let is_bound = all.count() < online_count();
        let of_me = |events: Vec<Event>| {
            events.into_iter().find_map(|event| match event.kind() {
                Kind::TaskCpus(told) if event.task == TaskId(gettid()) => Some(told.cpus),
                _ => None,
            })
        };
        assert_eq!(of_me(affinities_now(5)) == Some(TaskCpus::ANY), !is_bound);
        all.clear();
        all.set(first);
        rustix::thread::sched_setaffinity(None, &all).unwrap();
        let expected = if online_count() > 1 { 1 << first } else { TaskCpus::ANY };
        assert_eq!(of_me(affinities_now(5)), Some(expected));
        assert_eq!(of_me(tasks_now(5, &Roles::default())), Some(expected));
    }

    #[test]
    fn workers_are_called_as_in_events() {
        assert_eq!(kernel_name("kworker/0:1-events"), "kworker/0:1");
        assert_eq!(kernel_name("kworker/u8:2+flush-8:0"), "kworker/u8:2");
        assert_eq!(kernel_name("kworker/R-rcu_gp"), "kworker/R-rcu_gp");
        assert_eq!(kernel_name("my-program"), "my-program");
    }
}
