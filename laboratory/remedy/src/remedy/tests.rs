//! What remedies set on systems that are described. What they do in a kernel is tried in `tests/kernel.rs`.

use super::*;
use crate::place::Place;
use std::io::Write as _;
use tardy_changes::{Change, KNOWN};
use tardy_host::Root;

fn change(text: &str) -> Change {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_remedy_has_the_name_of_a_change_and_says_its_price() {
    for remedy in REGISTRY {
        assert!(KNOWN.iter().any(|about| about.name == remedy.name()), "{}", remedy.name());
        assert!(remedy.price().ends_with('.') && !remedy.needs().is_empty(), "{}", remedy.name());
    }
}

/// A folder that looks like a system.
fn system_of(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }
    let system = System::at(Root::at(folder.path()), Vec::new());
    (folder, system)
}

/// What is set, as commands; or why nothing is.
fn told(text: &str, system: &System) -> Vec<String> {
    let change = change(text);
    match of(change.name()).unwrap().settings(&change, system) {
        Ok(settings) => crate::setting::commands(&settings),
        Err(lacking) => vec![lacking.to_string()],
    }
}

#[test]
fn limits_of_all_groups_above_are_lifted_from_outside_in() {
    let (_folder, system) = system_of(&[
        ("sys/fs/cgroup/cgroup.controllers", "cpu"),
        ("sys/fs/cgroup/a/cpu.max", "90000 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/c/cpu.max", "10000 50000\n"),
    ]);
    assert_eq!(
        told("cpu-max(/a/b/c)=off", &system),
        [
            "echo 'max 100000' > /sys/fs/cgroup/a/cpu.max",
            "echo 'max 50000' > /sys/fs/cgroup/a/b/c/cpu.max"
        ]
    );
    assert_eq!(
        told("cpu-max(/a/b)=50ms/100ms", &system),
        ["echo '50000 100000' > /sys/fs/cgroup/a/b/cpu.max"]
    );
    assert_eq!(
        told("cpu-weight(/a/b)=1000", &system),
        ["echo 1000 > /sys/fs/cgroup/a/b/cpu.weight"]
    );
    assert!(told("cpu-max(/x)=off", &system)[0].contains("not a control group"));
}

#[test]
fn old_hierarchies_have_their_own_files() {
    let (_folder, system) = system_of(&[("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "5000\n")]);
    assert_eq!(
        told("cpu-max(/a)=off", &system),
        ["echo -1 > /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"]
    );
    assert_eq!(
        told("cpu-weight(/a)=100", &system),
        ["echo 1024 > /sys/fs/cgroup/cpu/a/cpu.shares"]
    );
}

#[test]
fn what_is_not_there_is_said() {
    let (_folder, system) = system_of(&[
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "none\n"),
        ("sys/kernel/debug/sched/preempt", "none voluntary (full)\n"),
        ("sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0\n"),
    ]);
    for (text, part) in [
        ("idle-latency=0us", "no cpuidle driver"),
        ("preempt=lazy", "cannot become lazy: it has none voluntary (full)"),
        ("governor=performance", "policyN/scaling_governor"),
        ("affinity(irq 24)=7", "only 0-1 are online"),
        ("slack(victim)=1ns", "is not running any more"),
        ("prio(no-such-thread-of-tardy)=fifo:5", "no thread no-such-thread-of-tardy is running"),
    ] {
        let told = told(text, &system).join("\n");
        assert!(told.contains(part), "{text}: {told}");
    }
}

#[test]
fn the_idle_states_of_each_cpu_are_limited() {
    let (_folder, system) = system_of(&[
        ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
        ("sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0\n"),
        ("sys/devices/system/cpu/cpu11/power/pm_qos_resume_latency_us", "0\n"),
        ("sys/devices/system/cpu/cpufreq/power/pm_qos_resume_latency_us", "0\n"),
    ]);
    let change = change("idle-latency=0us");
    let settings = of("idle-latency").unwrap().settings(&change, &system).unwrap();
    let is_cpu = |setting: &Setting| matches!(&setting.place, Place::File { path, .. } if path.contains("/cpu/cpu"));
    assert_eq!(settings.len(), 2);
    assert!(settings.iter().all(|setting| is_cpu(setting) && setting.to == "n/a"));
}

/// Where the server cannot be reached, to set the rest would change nothing.
#[test]
fn bandwidth_is_not_said_to_be_off_while_a_server_takes_cpus() {
    let bandwidth = ("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> = [bandwidth].iter().chain(files).copied().collect();
        let (_folder, system) = system_of(&files);
        told("rt-runtime=off", &system)
    };
    let off = "echo -1 > /proc/sys/kernel/sched_rt_runtime_us";
    assert_eq!(of(&[("proc/sys/kernel/osrelease", "6.11.9\n")]), [off]);
    let release = ("proc/sys/kernel/osrelease", "6.12.1-rt\n");
    let without = of(&[release]).join("\n");
    assert!(without.contains("mount -t debugfs none /sys/kernel/debug"), "{without}");
    let old = of(&[release, ("sys/kernel/debug/sched/preempt", "full\n")]).join("\n");
    assert!(old.contains("there is no /sys/kernel/debug/sched/fair_server"), "{old}");
    let server = "sys/kernel/debug/sched/fair_server/cpu0/runtime";
    let expected = [off.to_owned(), format!("echo 0 > /{server}")];
    assert_eq!(of(&[release, (server, "50000000\n")]), expected);
}

/// What real-time threads may not take is the server's, in the same period; in between neither exceeds its own.
#[test]
fn bandwidth_is_that_of_the_server_too() {
    let server = "sys/kernel/debug/sched/fair_server/cpu0";
    let [runtime, period] = ["runtime", "period"].map(|name| format!("{server}/{name}"));
    let (_folder, system) = system_of(&[
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("proc/sys/kernel/osrelease", "6.12.1-rt\n"),
        (&runtime, "50000000\n"),
        (&period, "1000000000\n"),
    ]);
    let sysctl = |name: &str, to: u32| format!("echo {to} > /proc/sys/kernel/sched_rt_{name}_us");
    let of_server = |name: &str, to: u32| format!("echo {to} > /{server}/{name}");
    assert_eq!(
        told("rt-runtime=900ms/1s", &system),
        [sysctl("runtime", 900_000), of_server("runtime", 100_000_000)]
    );
    assert_eq!(
        told("rt-runtime=450ms/500ms", &system),
        [
            "echo -1 > /proc/sys/kernel/sched_rt_runtime_us".to_owned(),
            sysctl("period", 500_000),
            sysctl("runtime", 450_000),
            of_server("runtime", 0),
            of_server("period", 500_000_000),
            of_server("runtime", 50_000_000),
        ]
    );
}

#[test]
fn a_partition_is_made_before_anybody_moves_into_it() {
    let (folder, _) = system_of(&[
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("proc/sys/kernel/osrelease", "6.12.1-rt\n"),
        ("sys/devices/virtual/workqueue/cpumask", "f\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "cpu\n"),
    ]);
    let own = std::process::id();
    let system = System::at(Root::at(folder.path()), vec![own]);
    let commands = told("isolate=2-3", &system);
    let partition = "/sys/fs/cgroup/tardy-isolated";
    assert_eq!(
        commands[..3],
        [
            "echo 0-1 > /sys/devices/virtual/workqueue/cpumask".to_owned(),
            "echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control".to_owned(),
            format!(
                "mkdir -p {partition} && echo 2-3 > {partition}/cpuset.cpus && echo isolated > \
                 {partition}/cpuset.cpus.partition"
            ),
        ]
    );
    assert_eq!(commands[3..], [format!("echo {own} > {partition}/cgroup.procs")]);
    assert!(told("isolate=0-3", &system)[0].contains("no CPU would be left"));
    std::fs::write(folder.path().join("proc/sys/kernel/osrelease"), "6.1.0-50-rt-amd64").unwrap();
    assert!(told("isolate=2-3", &system)[0].contains("before Linux 6.2"));
    let parameter = of("isolate").unwrap().kernel_parameter(&change("isolate=2-3"));
    assert_eq!(
        parameter.as_deref(),
        Some("isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2-3")
    );
}

#[test]
fn a_partition_that_was_not_finished_is_known_again() {
    let (folder, _) = system_of(&[("sys/fs/cgroup/cgroup.procs", "")]);
    let root = Root::at(folder.path());
    let place = Place::Partition { path: "/sys/fs/cgroup/tardy-isolated".to_owned() };
    assert_eq!(place.read(&root).unwrap(), None);
    // As it is where it was killed after the folder was made.
    std::fs::create_dir(folder.path().join("sys/fs/cgroup/tardy-isolated")).unwrap();
    let now = place.read(&root).unwrap();
    assert!(place.holds(now.as_deref(), Some("1")), "it is tardy's: {now:?}");
    assert!(!place.holds(None, Some("1")));
}

/// What machines have that tests seldom run on. The kernel's answer is not tried: only that the right files get the right
/// words, and theirs back.
#[test]
fn files_of_other_machines_are_changed_and_taken_back() {
    let policy = "sys/devices/system/cpu/cpufreq/policy";
    let files = [
        (format!("{policy}0/scaling_governor"), "powersave\n"),
        (format!("{policy}4/scaling_governor"), "powersave\n"),
        (format!("{policy}0/energy_performance_preference"), "balance_performance\n"),
        ("sys/kernel/debug/sched/preempt".to_owned(), "none voluntary (full) lazy \n"),
        ("sys/module/haltpoll/parameters/guest_halt_poll_ns".to_owned(), "200000\n"),
        ("sys/module/haltpoll/parameters/guest_halt_poll_grow_start".to_owned(), "50000\n"),
    ];
    let described: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let (folder, system) = system_of(&described);
    let journal = crate::Journal::at(Root::at(folder.path()));
    for (text, count) in [
        // With the preference, which the driver may change with it.
        ("governor=performance", 3),
        ("epp=performance", 1),
        ("preempt=lazy", 1),
        ("halt-poll=10us", 2),
    ] {
        let change = change(text);
        let settings = of(change.name()).unwrap().settings(&change, &system).unwrap();
        assert_eq!(settings.len(), count, "{text}");
        let values = || -> Vec<_> {
            let read = |one: &Setting| one.place.read(system.root()).unwrap();
            settings.iter().map(read).collect()
        };
        let before = values();
        let changed = journal.change(&settings, text).unwrap();
        for (setting, now) in settings.iter().zip(values()) {
            assert!(setting.place.holds(now.as_deref(), Some(&setting.to)), "{text}: {now:?}");
        }
        changed.undo();
        assert_eq!(values(), before, "{text}");
    }
}
