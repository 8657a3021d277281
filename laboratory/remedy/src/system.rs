//! Whom a change is for, on this system.

use crate::place::{Form, Place, Thread, process_of};
use crate::remedy::Lacking;
use crate::setting::Setting;
use procfs::process::{Process, StatFlags, all_processes};
use std::collections::BTreeSet;
use tardy_changes::{CpuList, Whom, is_unit};
use tardy_host::Root;

/// The most threads that one change is for.
const THREADS_MAX: usize = 16_384;

/// The most control groups above one another.
const GROUPS_MAX: usize = 64;

/// The first process, on which everything hangs.
const INIT: u32 = 1;

/// Whether a task's flags, as `/proc/PID/stat` shows them, have this one. Newer kernels have flags that the crate does
/// not know, so the word is kept as it is.
fn has(flags: u32, flag: StatFlags) -> bool {
    flags & flag.bits() != 0
}

/// This system, and whose lateness it is about.
#[derive(Clone, Debug)]
pub struct System {
    root: Root,
    victims: Vec<u32>,
    /// The processes that names and numbers are for; `None`: all.
    among: Option<BTreeSet<u32>>,
}

impl System {
    /// This system, where these threads are the victims.
    pub fn new(victims: Vec<u32>) -> Self {
        Self::at(Root::system(), victims)
    }

    /// A folder that looks like one. Threads are those of this system all the same.
    pub fn at(root: Root, victims: Vec<u32>) -> Self {
        Self { root, victims, among: None }
    }

    /// Where names and numbers are for threads of these processes, and of the kernel, alone: others that are called the
    /// same, or have the number by now, have no part in it.
    #[must_use]
    pub fn among(self, processes: BTreeSet<u32>) -> Self {
        Self { among: Some(processes), ..self }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// The threads that are meant; not this process's own, unless it is a victim.
    pub(crate) fn threads(&self, whom: Option<&Whom>) -> Result<Vec<Thread>, Lacking> {
        let found: Vec<Thread> = match whom {
            Some(Whom::Victim) => {
                self.victims.iter().filter_map(|tid| Thread::of(*tid)).take(THREADS_MAX).collect()
            }
            Some(Whom::Id(id)) => match process_of(*id) {
                Some(process) if !self.is_meant(process) => {
                    return Err(Lacking::new(format!(
                        "no process with the number {id} had a part in it, or another one has that number by now"
                    )));
                }
                // The kernel shows all threads of its process under the number of any of them.
                Some(process) if process == *id => threads_of(*id),
                _ => Thread::of(*id).into_iter().collect(),
            },
            Some(Whom::Name(unit)) if is_unit(unit) => {
                let of_it = others().filter(|process| unit_has(unit, *process));
                let meant = of_it.filter(|process| self.is_meant(*process));
                meant.flat_map(threads_of).take(THREADS_MAX).collect()
            }
            Some(whom @ Whom::Name(_)) => {
                let of_name = others().map(|process| (process, self.named(whom, process)));
                let of_name = of_name.filter(|(_, threads)| !threads.is_empty());
                let meant = of_name.filter(|(process, _)| self.is_meant(*process));
                meant.flat_map(|(_, threads)| threads).take(THREADS_MAX).collect()
            }
            Some(Whom::Irq(_)) | None => Vec::new(),
        };
        match whom {
            _ if !found.is_empty() => Ok(found),
            Some(Whom::Victim) => Err(Lacking::new("the late thread is not running any more")),
            Some(Whom::Name(unit)) if is_unit(unit) => {
                Err(Lacking::new(format!("no process of the unit {unit} is running")))
            }
            Some(whom) => Err(Lacking::new(format!("no thread {whom} is running"))),
            None => Err(Lacking::new("it does not say for whom")),
        }
    }

    /// The threads of a process that a name means: by their own names, or all by that of the first; the late threads'
    /// process stands for its threads by their own names alone.
    fn named(&self, whom: &Whom, process: u32) -> Vec<Thread> {
        let mut threads = threads_of(process);
        let has_victim = threads.iter().any(|thread| self.victims.contains(&thread.tid));
        let first = threads.iter().find(|thread| thread.tid == process && !has_victim);
        let program = first.map(|thread| thread.name.clone());
        threads.retain(|thread| whom.means(&thread.name, program.as_deref()));
        threads
    }

    fn is_meant(&self, process: u32) -> bool {
        let is_kernel = || {
            let stat = Process::new(process.cast_signed()).and_then(|process| process.stat());
            stat.is_ok_and(|stat| has(stat.flags, StatFlags::PF_KTHREAD))
        };
        self.among.as_ref().is_none_or(|among| among.contains(&process) || is_kernel())
    }

    /// The processes of the threads that are meant.
    pub(crate) fn processes(&self, whom: &Whom) -> Result<Vec<Thread>, Lacking> {
        let threads = self.threads(Some(whom))?;
        let processes: BTreeSet<u32> =
            threads.iter().filter_map(|thread| process_of(thread.tid)).collect();
        Ok(processes.into_iter().filter_map(Thread::of).collect())
    }

    /// Threads of the kernel that may run on any CPU and can be bound.
    pub(crate) fn unbound_kernel_threads(&self) -> Vec<Thread> {
        let online = self.online();
        let all = all_processes().into_iter().flatten();
        let stats = all.filter_map(|process| process.ok()?.stat().ok());
        let free = stats.filter(|stat| {
            has(stat.flags, StatFlags::PF_KTHREAD) && !has(stat.flags, StatFlags::PF_NO_SETAFFINITY)
        });
        let threads = free.filter_map(|stat| Thread::of(stat.pid.cast_unsigned()));
        let anywhere = |thread: &Thread| {
            let cpus = Place::Affinity(thread.clone()).read(&self.root).ok().flatten();
            let cpus = cpus.and_then(|cpus| CpuList::parse(&cpus));
            // Those that are offline may be among them, or not.
            cpus.zip(online.as_ref()).is_some_and(|(cpus, online)| online.without(&cpus).is_empty())
        };
        threads.filter(anywhere).take(THREADS_MAX).collect()
    }

    /// One file that is set to one word.
    pub(crate) fn file(&self, path: &str, form: Form, to: &str) -> Result<Vec<Setting>, Lacking> {
        if !self.root.exists(path) {
            return Err(Lacking::new(format!("there is no {path} here")));
        }
        let place = Place::File { path: path.to_owned(), form };
        Ok(vec![Setting { place, to: to.to_owned() }])
    }

    /// A file that the kernel changes when another is set: what it holds now is put back with that. None where there is
    /// no such file.
    pub(crate) fn beside(&self, path: &str) -> Vec<Setting> {
        let place = Place::File { path: path.to_owned(), form: Form::Beside };
        let now = place.read(&self.root).ok().flatten();
        now.map(|to| Setting { place, to }).into_iter().collect()
    }

    /// The same file of every CPU, or of every folder whose name begins so, that is set to one word.
    pub(crate) fn each(
        &self,
        (folder, prefix, file): (&str, &str, &str),
        to: &str,
    ) -> Result<Vec<Setting>, Lacking> {
        let is_one = |name: &str| {
            let number = name.strip_prefix(prefix).unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let names = self.root.names(folder);
        let paths =
            names.iter().filter(|name| is_one(name)).map(|name| format!("{folder}/{name}/{file}"));
        let there: Vec<Setting> = paths
            .filter(|path| self.root.exists(path))
            .map(|path| Setting {
                place: Place::File { path, form: Form::Word },
                to: to.to_owned(),
            })
            .collect();
        if there.is_empty() {
            return Err(Lacking::new(format!("there is no {folder}/{prefix}N/{file} here")));
        }
        Ok(there)
    }

    /// The folders of a control group and of those above it, itself first, in the hierarchy of a controller.
    pub(crate) fn groups(&self, whom: Option<&Whom>, controller: &str) -> Result<Groups, Lacking> {
        let is_v2 = self.root.exists("sys/fs/cgroup/cgroup.controllers");
        let group = match whom {
            Some(Whom::Name(path)) if path.starts_with('/') && !path.contains("..") => path.clone(),
            whom => {
                let threads = self.threads(whom)?;
                let groups: Vec<String> = threads
                    .iter()
                    .filter_map(|thread| group_of(thread.tid, is_v2, controller))
                    .collect();
                match groups.split_first() {
                    Some((first, rest)) if rest.iter().all(|other| other == first) => first.clone(),
                    Some(_) => {
                        return Err(Lacking::new("the threads are in several control groups"));
                    }
                    None => return Err(Lacking::new("the thread's control group is not known")),
                }
            }
        };
        let base = if is_v2 {
            "/sys/fs/cgroup".to_owned()
        } else {
            format!("/sys/fs/cgroup/{controller}")
        };
        let mut folders = Vec::new();
        let mut path = group.trim_matches('/');
        while !path.is_empty() && folders.len() < GROUPS_MAX {
            folders.push(format!("{base}/{path}"));
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
        if folders.first().is_none_or(|folder| !self.root.exists(folder)) {
            return Err(Lacking::new(format!(
                "{group} is not a control group with its own settings of the controller {controller}"
            )));
        }
        Ok(Groups { folders, is_v2 })
    }

    /// The CPUs that are online.
    pub(crate) fn online(&self) -> Option<CpuList> {
        CpuList::parse(&self.root.word("sys/devices/system/cpu/online")?)
    }
}

/// Control groups, one in the other.
pub(crate) struct Groups {
    /// The innermost first.
    pub(crate) folders: Vec<String>,
    /// Of the unified hierarchy.
    pub(crate) is_v2: bool,
}

/// The threads of a process; none where it is not one.
fn threads_of(process: u32) -> Vec<Thread> {
    crate::place::threads_of(process, THREADS_MAX)
}

/// Every process.
fn processes() -> impl Iterator<Item = u32> {
    let processes = all_processes().into_iter().flatten().filter_map(Result::ok);
    processes.map(|process| process.pid.cast_unsigned())
}

/// Every process that may be meant by a name: not this one, and not the first of all.
fn others() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    processes().filter(move |process| *process != own && *process != INIT)
}

/// Whether a process is in the control group of a unit, or in one below.
fn unit_has(unit: &str, process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    has_group(&text, unit)
}

/// Whether `/proc/PID/cgroup` names a control group, of any hierarchy.
fn has_group(text: &str, name: &str) -> bool {
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.flat_map(|path| path.split('/')).any(|part| part == name)
}

/// The path of a thread's group in the hierarchy that has a controller.
fn group_of(tid: u32, is_v2: bool, controller: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = if is_v2 {
            number == "0" && controllers.is_empty()
        } else {
            controllers.split(',').any(|name| name == controller)
        };
        is_it.then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_group_and_all_below_it() {
        let text =
            "3:cpu,cpuacct:/system.slice/audio.service\n0::/system.slice/audio.service/worker\n";
        assert!(has_group(text, "audio.service") && has_group(text, "system.slice"));
        assert!(!has_group(text, "udio.service") && !has_group(text, "cpu"));
        assert!(is_unit("audio.service") && is_unit("user@1000.service"));
        assert!(
            !is_unit("audio") && !is_unit("/system.slice/audio.service") && !is_unit(".service")
        );
    }

    #[test]
    fn a_name_is_not_for_strangers() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let name = Thread::of(parent).expect("it started this").name;
        let whom = Whom::Name(name);
        let of = |system: System| -> Vec<u32> {
            let found = system.threads(Some(&whom));
            found.map_or(Vec::new(), |threads| threads.iter().map(|it| it.tid).collect())
        };
        assert!(of(System::new(Vec::new())).contains(&parent));
        assert!(of(System::new(vec![parent])).contains(&parent), "by its own name");
        assert!(of(System::new(Vec::new()).among([parent].into())).contains(&parent));
        assert!(!of(System::new(Vec::new()).among([own].into())).contains(&parent));
    }

    #[test]
    fn a_number_is_not_for_strangers() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let of = |system: System| system.threads(Some(&Whom::Id(parent))).is_ok();
        assert!(of(System::new(Vec::new())));
        assert!(of(System::new(Vec::new()).among([parent].into())));
        assert!(!of(System::new(Vec::new()).among([own].into())));
    }
}
