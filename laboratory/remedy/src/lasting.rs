//! What makes settings last: a file that the system reads at each boot, or when a service starts.
//!
//! It follows from the places alone. Each file says who wrote it and why.

use crate::behaviour::spinning;
use crate::place::{Place, process_of, threads_of};
use crate::remedy;
use crate::setting::Setting;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tardy_changes::{Change, Scheduling};

/// The most threads of one process.
const THREADS_MAX: usize = 16_384;

/// What can be made to last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Texts to be written.
    pub texts: Vec<Setting>,
    /// What cannot be, and what to do instead, a sentence each.
    pub not: Vec<String>,
}

/// What lets these settings, which a change made, last. `why` is one line for whoever finds the files.
pub fn lasting(change: &Change, settings: &[Setting], why: &str) -> Lasting {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut not = Vec::new();
    let name = file_name(change);
    let mut spinning = BTreeMap::new();
    for setting in settings.iter().filter(|setting| !setting.place.is_beside()) {
        let line = line(setting, &name).and_then(|line| {
            let Some(process) = real_time_process(setting) else { return Ok(line) };
            let why = spinning.entry(process).or_insert_with(|| why_not_all_of(process));
            why.clone().map_or(Ok(line), Err)
        });
        match line {
            Ok((path, line)) => {
                let lines = lines.entry(path).or_default();
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            Err(why) if not.contains(&why) => {}
            Err(why) => not.push(why),
        }
    }
    let why: String = why.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let texts = lines.into_iter().map(|(path, lines)| {
        let mut to =
            format!("# Written by tardy fix for {change}: {why}\n# tardy undo removes it.\n");
        if path.contains(".service.d/90-tardy-") {
            to.push_str("[Service]\n");
        }
        for line in lines {
            let _ = writeln!(to, "{line}");
        }
        Setting { place: Place::Text { path }, to }
    });
    Lasting { texts: texts.collect(), not }
}

/// The process of a thread that is to be real-time.
fn real_time_process(setting: &Setting) -> Option<u32> {
    let Place::Policy(thread) = &setting.place else { return None };
    Scheduling::parse(&setting.to).filter(|to| to.is_real_time())?;
    process_of(thread.tid)
}

/// Why not all threads of a process may be real-time: a service gives its policy to all of them, however few were tried.
fn why_not_all_of(process: u32) -> Option<String> {
    let threads = threads_of(process, THREADS_MAX);
    let spins = spinning(&threads)?;
    Some(format!(
        "a service's policy is for all of its threads, and {} did not sleep while it was watched: set it in the program \
         (sched_setscheduler), for the late thread alone",
        spins.words()
    ))
}

/// What does the same from the next boot on, for the kernel's command line. It is told and never written.
pub fn next_boot(change: &Change) -> Option<String> {
    remedy::of(change.name())?.kernel_parameter(change)
}

/// The file and the line in it for one setting; or why there is none.
fn line(setting: &Setting, name: &str) -> Result<(String, String), String> {
    let to = &setting.to;
    match &setting.place {
        Place::File { path, .. } => {
            if let Some(key) = path.strip_prefix("/proc/sys/") {
                let line = format!("{} = {to}", key.replace('/', "."));
                return Ok((format!("/etc/sysctl.d/90-tardy-{name}.conf"), line));
            }
            if path.starts_with("/proc/irq/") {
                return Err("interrupts have other numbers after a boot: exclude them from \
                            irqbalance (--banirq), or set irqaffinity= on the kernel's command \
                            line"
                    .to_owned());
            }
            if path.starts_with("/sys/fs/cgroup/") {
                return Err("the control group is created again at each boot: set it where it is \
                            made (CPUQuota=, CPUWeight= of the unit)"
                    .to_owned());
            }
            let file = format!("/etc/tmpfiles.d/tardy-{name}.conf");
            Ok((file, format!("w {path} - - - - {to}")))
        }
        Place::Partition { .. } | Place::Group(_) => {
            Err("partitions are made again at each boot: isolate the CPUs on the kernel's command line \
                 (isolcpus=), or give the unit its own (AllowedCPUs=)"
                .to_owned())
        }
        Place::Text { path } => Err(format!("{path} lasts by itself")),
        Place::Slack(thread) => of_unit(thread.tid, name, &format!("TimerSlackNSec={to}ns")),
        // What the unit itself says is forgotten first: systemd adds one to the other.
        Place::Affinity(thread) => {
            of_unit(thread.tid, name, &format!("CPUAffinity=\nCPUAffinity={to}"))
        }
        Place::Policy(thread) => {
            let scheduling =
                Scheduling::parse(to).ok_or_else(|| format!("{to} is not a policy"))?;
            let (policy, number) = match scheduling {
                Scheduling::Fifo(prio) => ("fifo", format!("\nCPUSchedulingPriority={prio}")),
                Scheduling::RoundRobin(prio) => ("rr", format!("\nCPUSchedulingPriority={prio}")),
                Scheduling::Other(nice) => ("other", format!("\nNice={nice}")),
                Scheduling::Batch(nice) => ("batch", format!("\nNice={nice}")),
                Scheduling::Idle => ("idle", String::new()),
            };
            of_unit(thread.tid, name, &format!("CPUSchedulingPolicy={policy}{number}"))
        }
    }
}

/// A line of the drop-in of the service that a thread is of.
fn of_unit(tid: u32, name: &str, line: &str) -> Result<(String, String), String> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/cgroup")).unwrap_or_default();
    let found = text.lines().find_map(|line| unit(group(line)?));
    drop_in(found, name, line)
}

fn drop_in(unit: Option<Unit<'_>>, name: &str, line: &str) -> Result<(String, String), String> {
    let (folder, unit) = match unit {
        Some(Unit::System(unit)) => ("system", unit),
        Some(Unit::User(unit)) => {
            if needs_rights(line) {
                return Err(format!(
                    "{unit} is a service of a user, whose manager may not give it this policy: allow it first \
                     (LimitRTPRIO= and LimitNICE= of user@.service), then set it in the unit (systemctl --user edit {unit})"
                ));
            }
            ("user", unit)
        }
        None => {
            return Err(
                "the thread belongs to no systemd service of this system: set it where it is started (chrt, taskset, \
                 prctl), or make it one"
                    .to_owned(),
            );
        }
    };
    // A file for each remedy: another one's stays as it is.
    Ok((format!("/etc/systemd/{folder}/{unit}.d/90-tardy-{name}.conf"), line.to_owned()))
}

/// Whether a user's manager, which has no more rights than the user, fails to start a service with this line.
fn needs_rights(line: &str) -> bool {
    let is_real_time = line.contains("CPUSchedulingPriority=");
    is_real_time || line.contains("Nice=-")
}

/// A service, by whose manager it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit<'a> {
    System(&'a str),
    User(&'a str),
}

/// The path in a line of `/proc/PID/cgroup`, where it is of a hierarchy of systemd's.
fn group(line: &str) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    matches!(controllers, "" | "name=systemd").then_some(path)
}

/// The service of a path of control groups. What is below a scope or a service has other managers: a container's.
fn unit(path: &str) -> Option<Unit<'_>> {
    let mut parts =
        path.split('/').filter(|part| !part.is_empty() && part.strip_suffix(".slice").is_none());
    let is_service = |name: &&str| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._@-\\:".contains(it);
        let stem = name.strip_suffix(".service");
        stem.is_some_and(|stem| !stem.is_empty() && stem.chars().all(is_plain))
    };
    let first = parts.next().filter(is_service)?;
    if !first.starts_with("user@") {
        return Some(Unit::System(first));
    }
    // The manager of a user's services is none of the system's own.
    parts.next().filter(is_service).map(Unit::User)
}

/// A change as the name of a file.
fn file_name(change: &Change) -> String {
    change.name().chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::await_spinning;
    use crate::place::{Form, Thread};

    fn file(path: &str, to: &str) -> Setting {
        let place = Place::File { path: path.to_owned(), form: Form::Word };
        Setting { place, to: to.to_owned() }
    }

    #[test]
    fn each_place_has_its_file() {
        let change: Change = "rt-runtime=off".parse().unwrap();
        let settings = [
            file("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
            file("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0"),
            file("/proc/irq/24/smp_affinity_list", "1"),
        ];
        let lasting = lasting(&change, &settings, "throttled took 40 %\nof run-1");
        let texts: Vec<_> =
            lasting.texts.iter().map(|it| (it.place.words(), it.to.as_str())).collect();
        let remark = "# Written by tardy fix for rt-runtime=off: throttled took 40 % of run-1\n# \
                      tardy undo removes it.\n";
        assert_eq!(texts[0].0, "/etc/sysctl.d/90-tardy-rt-runtime.conf");
        assert_eq!(texts[0].1, format!("{remark}kernel.sched_rt_runtime_us = -1\n"));
        assert_eq!(texts[1].0, "/etc/tmpfiles.d/tardy-rt-runtime.conf");
        assert!(
            texts[1].1.ends_with("w /sys/kernel/debug/sched/fair_server/cpu0/runtime - - - - 0\n")
        );
        assert!(lasting.not[0].contains("irqaffinity="), "{:?}", lasting.not);
    }

    #[test]
    fn threads_last_with_their_service() {
        let unit = |line| group(line).and_then(unit);
        assert_eq!(unit("0::/system.slice/audio.service"), Some(Unit::System("audio.service")));
        let line = "1:name=systemd:/system.slice/system-a.slice/a@b.service/x";
        assert_eq!(unit(line), Some(Unit::System("a@b.service")));
        for none in [
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run.scope",
            "0::/user.slice/user-1000.slice/user@1000.service/init.scope",
            "0::/user.slice/user-1000.slice/session-2.scope",
            "0::/system.slice/$(reboot).service",
            "0::/system.slice/.service",
            // Its manager is in the container.
            "0::/system.slice/docker-12.scope/system.slice/audio.service",
            "0::/machine.slice/machine-a.scope/payload/system.slice/audio.service",
            // The path says nothing of systemd's units.
            "3:cpu:/system.slice/audio.service",
        ] {
            assert_eq!(unit(none), None, "{none}");
        }
        let own = Thread::of(std::process::id()).unwrap();
        let setting = Setting { place: Place::Slack(own), to: "1".to_owned() };
        let lasting = lasting(&"slack(victim)=1ns".parse().unwrap(), &[setting], "a test");
        assert_eq!(lasting.texts.len() + lasting.not.len(), 1);
    }

    /// The system's manager knows nothing of a user's services, and a file for it changed none of them.
    #[test]
    fn a_users_service_is_its_managers() {
        let path =
            "0::/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service";
        let found = group(path).and_then(unit);
        assert_eq!(found, Some(Unit::User("pipewire.service")));
        let (file, line) = drop_in(found, "slack", "TimerSlackNSec=1ns").unwrap();
        assert_eq!(file, "/etc/systemd/user/pipewire.service.d/90-tardy-slack.conf");
        assert_eq!(line, "TimerSlackNSec=1ns");
        // It would not start any more.
        for line in [
            "CPUSchedulingPolicy=fifo\nCPUSchedulingPriority=50",
            "CPUSchedulingPolicy=other\nNice=-5",
        ] {
            let why = drop_in(found, "prio", line).unwrap_err();
            assert!(why.contains("systemctl --user edit pipewire.service"), "{why}");
        }
        drop_in(found, "prio", "CPUSchedulingPolicy=other\nNice=5").unwrap();
    }

    /// One that was kept before stays as it is.
    #[test]
    fn each_remedy_of_a_service_has_its_own_file() {
        let unit = Some(Unit::System("audio.service"));
        let [slack, prio] = ["slack", "prio"].map(|name| drop_in(unit, name, "").unwrap().0);
        assert_eq!(slack, "/etc/systemd/system/audio.service.d/90-tardy-slack.conf");
        assert_ne!(slack, prio);
    }

    /// Its policy would be that of all of its threads.
    #[test]
    fn a_service_of_which_a_thread_never_sleeps_is_not_made_real_time() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        await_spinning(child.id());
        let place = Place::Policy(Thread::of(child.id()).unwrap());
        let settings =
            ["fifo:5", "other:5"].map(|to| Setting { place: place.clone(), to: to.to_owned() });
        let processes = settings.each_ref().map(real_time_process);
        let why = why_not_all_of(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes, [Some(child.id()), None]);
        assert!(why.is_some_and(|why| why.contains("did not sleep")));
    }

    #[test]
    fn what_only_a_boot_does_is_told() {
        let told = |text: &str| next_boot(&text.parse().unwrap());
        assert_eq!(told("preempt=full").as_deref(), Some("preempt=full"));
        assert_eq!(told("affinity(irq 24)=1").as_deref(), Some("irqaffinity=1"));
        assert_eq!(told("prio(irq/24-*)=fifo:80").as_deref(), Some("threadirqs"));
        assert_eq!(told("swappiness=1"), None);
    }
}
