//! Settings of threads that run now.

use crate::root::Root;
use std::collections::BTreeMap;

/// Threads of different names that are told at most; of more, those that come first by name.
const NAMES_MAX: usize = 32;

/// Threads and processes that are looked at at most.
const LOOKS_MAX: usize = 4096;

/// Which threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// All threads of these processes.
    pub processes: Vec<u32>,
    /// Those of the processes that these started, and so on, too.
    pub with_children: bool,
    /// Of them, only those whose names are among these, or begin with what stands before a final `*`; none for all.
    pub names: Vec<String>,
}

/// Policy, priority, slack and CPUs of threads: `thread.cyclic-0.policy` and so on. Where several have one name, each
/// value that one of them has. Threads that end meanwhile are left out.
pub fn of_threads(root: &Root, threads: &Threads) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<String, Vec<[(&str, String); 4]>> = BTreeMap::new();
    for task in tasks(root, threads) {
        let Some(thread) = Thread::read(root, task) else { continue };
        if threads.wants(&thread.name) {
            by_name.entry(thread.name).or_default().push(thread.settings);
        }
    }
    let mut told = BTreeMap::new();
    for (name, settings) in by_name.iter().take(NAMES_MAX) {
        for at in 0..settings[0].len() {
            let mut values: Vec<&str> = settings.iter().map(|one| one[at].1.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            let value = super::bounded(values.join(" or "));
            told.insert(format!("thread.{name}.{}", settings[0][at].0), value);
        }
    }
    told
}

/// The numbers of threads, whatever they are called.
pub fn ids_of_threads(root: &Root, threads: &Threads) -> Vec<u32> {
    tasks(root, threads).into_iter().map(|task| task.thread).collect()
}

/// A thread's number, and its process's.
#[derive(Clone, Copy)]
struct Task {
    process: u32,
    thread: u32,
}

fn tasks(root: &Root, threads: &Threads) -> Vec<Task> {
    let mut processes = threads.processes.clone();
    let mut tasks = Vec::new();
    let mut at = 0;
    while let Some(&process) = processes.get(at) {
        at += 1;
        for name in root.names(&format!("proc/{process}/task")) {
            let Ok(thread) = name.parse() else { continue };
            tasks.push(Task { process, thread });
            if threads.with_children {
                let children = root.text(&format!("proc/{process}/task/{name}/children"));
                let children = children.unwrap_or_default();
                processes
                    .extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
        }
        if processes.len() > LOOKS_MAX || tasks.len() > LOOKS_MAX {
            break;
        }
    }
    tasks.truncate(LOOKS_MAX);
    tasks
}

impl Threads {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty()
            || self.names.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == wanted,
            })
    }
}

struct Thread {
    name: String,
    settings: [(&'static str, String); 4],
}

impl Thread {
    fn read(root: &Root, task: Task) -> Option<Self> {
        let folder = format!("proc/{}/task/{}", task.process, task.thread);
        let stat = root.text(&format!("{folder}/stat"))?;
        let stat = Stat::parse(&stat)?;
        let status = root.text(&format!("{folder}/status")).unwrap_or_default();
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        // Every thread has a folder of its own there too, though it is not listed.
        let slack = root.word(&format!("proc/{}/timerslack_ns", task.thread));
        let unknown = || "unknown".to_owned();
        Some(Self {
            name: stat.name.to_owned(),
            settings: [
                ("policy", stat.policy_in_words()),
                ("nice", stat.nice.to_string()),
                ("slack_ns", slack.unwrap_or_else(unknown)),
                ("cpus", cpus.map_or_else(unknown, |cpus| cpus.trim().to_owned())),
            ],
        })
    }
}

/// Of `/proc/PID/stat`, what says how a thread is scheduled (`proc_pid_stat(5)`).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    pub(super) name: &'a str,
    pub(super) parent: u32,
    nice: i32,
    rt_priority: u32,
    policy: u32,
}

impl<'a> Stat<'a> {
    /// `None` where it is not as expected.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        // A name may hold blanks and parentheses itself.
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1;
        let fields: Vec<&str> = after.split_whitespace().collect();
        // The first after the name is field 3.
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            name,
            parent: field(4)?.parse().ok()?,
            nice: field(19)?.parse().ok()?,
            rt_priority: field(40)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }

    /// `SCHED_FIFO 80`, `SCHED_OTHER` (include/uapi/linux/sched.h).
    pub(super) fn policy_in_words(&self) -> String {
        let name = match self.policy {
            0 => "SCHED_OTHER",
            1 => "SCHED_FIFO",
            2 => "SCHED_RR",
            3 => "SCHED_BATCH",
            5 => "SCHED_IDLE",
            6 => "SCHED_DEADLINE",
            7 => "SCHED_EXT",
            other => return format!("policy {other}"),
        };
        if matches!(self.policy, 1 | 2) {
            format!("{name} {}", self.rt_priority)
        } else {
            name.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, policy: &str) -> String {
        let before = "S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 -81 -5 2 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 -1 1";
        format!("7 ({name}) {before} {policy} 0 0 0")
    }

    #[test]
    fn a_name_may_hold_anything() {
        let text = stat("a) (b", "80 1");
        let stat = Stat::parse(&text).unwrap();
        assert_eq!((stat.name, stat.parent, stat.nice), ("a) (b", 1, -5));
        assert_eq!(stat.policy_in_words(), "SCHED_FIFO 80");
        for garbled in ["", "7", "7 (a", "7 (a) S 1", "7 (a) S x 7"] {
            assert_eq!(Stat::parse(garbled), None, "{garbled:?}");
        }
    }

    #[test]
    fn threads_of_children_are_told_where_they_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for (process, thread, name, policy, children) in
            [(7, 7, "main", "0 0", "9"), (7, 8, "worker", "80 1", ""), (9, 9, "worker", "70 2", "")]
        {
            let at = format!("proc/{process}/task/{thread}");
            write(&format!("{at}/stat"), &stat(name, policy));
            write(&format!("{at}/status"), "Name:\tx\nCpus_allowed_list:\t0-3\n");
            write(&format!("{at}/children"), children);
            write(&format!("proc/{thread}/timerslack_ns"), "50000\n");
        }
        let root = Root::at(folder.path());
        let told = |with_children, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            of_threads(&root, &Threads { processes: vec![7], with_children, names })
        };
        let all = told(true, &[]);
        assert_eq!(all["thread.main.policy"], "SCHED_OTHER");
        assert_eq!(all["thread.worker.policy"], "SCHED_FIFO 80 or SCHED_RR 70");
        assert_eq!(
            (&all["thread.worker.slack_ns"][..], &all["thread.main.cpus"][..]),
            ("50000", "0-3")
        );
        assert_eq!(told(false, &["work*"]).len(), 4);
        assert_eq!(told(false, &["work*"])["thread.worker.policy"], "SCHED_FIFO 80");
    }
}
