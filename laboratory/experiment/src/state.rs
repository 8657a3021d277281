//! What the machine is like before and after a block.

use crate::SystemState;
use procfs::process::{Stat, all_processes_with_root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The process that is the parent of all kernel threads.
const KTHREADD: i32 = 2;

/// Where the state is read from.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    root: PathBuf,
    tick_ns: u64,
}

impl Machine {
    /// This one.
    pub(crate) fn this() -> Self {
        let ticks_a_second = rustix::param::clock_ticks_per_second().max(1);
        Self { root: PathBuf::from("/"), tick_ns: 1_000_000_000 / ticks_a_second }
    }

    #[cfg(test)]
    fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), tick_ns: 10_000_000 }
    }

    /// What it is like now. What it does not tell is 0 or `None`.
    pub(crate) fn state(&self) -> SystemState {
        let times = self.cpu_times().unwrap_or_default();
        SystemState {
            cpu_ns: times.all_ns,
            steal_ns: times.steal_ns,
            others_ns: self.others_ns().unwrap_or_default(),
            frequency_share: self.frequency_share(),
            throttled: self.throttled(),
            load_average: self.load_average().unwrap_or_default(),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// `/proc/stat`, `proc_stat(5)`: user, nice, system, idle, iowait, irq, softirq, steal in ticks.
    fn cpu_times(&self) -> Option<Times> {
        let text = self.text("proc/stat")?;
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let ns = |ticks: u64| ticks.saturating_mul(self.tick_ns);
        let all: u64 = ticks.iter().fold(0, |sum, ticks| sum.saturating_add(*ticks));
        Some(Times { all_ns: ns(all), steal_ns: ns(ticks.get(7).copied().unwrap_or(0)) })
    }

    /// CPU time of processes that are neither this one nor beneath it, with that of the children that
    /// they have waited for. Each process's own time is exact but for a tick; that of `/proc/stat` is
    /// sampled by the tick, and wrong for whoever wakes by timers. Kernel threads do not count: they
    /// also work for the loads.
    fn others_ns(&self) -> Option<u64> {
        let processes = all_processes_with_root(self.root.join("proc")).ok()?;
        let all: Vec<Stat> = processes.filter_map(|process| process.ok()?.stat().ok()).collect();
        let mut own = BTreeSet::from([std::process::id().cast_signed()]);
        // A child may stand before its parent.
        loop {
            let beneath = all.iter().filter(|stat| own.contains(&stat.ppid)).map(|stat| stat.pid);
            let more: Vec<i32> = beneath.filter(|pid| !own.contains(pid)).collect();
            if more.is_empty() {
                break;
            }
            own.extend(more);
        }
        let is_kernels = |stat: &&Stat| stat.pid == KTHREADD || stat.ppid == KTHREADD;
        let others = all.iter().filter(|stat| !own.contains(&stat.pid) && !is_kernels(stat));
        let ticks = others.map(|stat| {
            let children = [stat.cutime, stat.cstime].map(|ticks| ticks.max(0).cast_unsigned());
            stat.utime + stat.stime + children[0] + children[1]
        });
        Some(ticks.sum::<u64>().saturating_mul(self.tick_ns))
    }

    fn load_average(&self) -> Option<f64> {
        self.text("proc/loadavg")?.split_whitespace().next()?.parse().ok()
    }

    /// The numbers in the files that `below` of each CPU's folder leads to.
    fn of_cpus(&self, below: &str) -> Vec<Option<f64>> {
        let Ok(folders) = fs::read_dir(self.root.join("sys/devices/system/cpu")) else {
            return vec![];
        };
        let is_cpu = |name: &str| {
            name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
        };
        folders
            .filter_map(Result::ok)
            .filter(|folder| folder.file_name().to_str().is_some_and(is_cpu))
            .map(|folder| number(&folder.path().join(below)))
            .collect()
    }

    /// `scaling_cur_freq` and `cpuinfo_max_freq`, in kHz: the kernel's "CPU Performance Scaling".
    fn frequency_share(&self) -> Option<f64> {
        let now = self.of_cpus("cpufreq/scaling_cur_freq");
        let most = self.of_cpus("cpufreq/cpuinfo_max_freq");
        let shares = now.iter().zip(&most).filter_map(|(now, most)| match (now, most) {
            (Some(now), Some(most)) if *most > 0.0 => Some(now / most),
            _ => None,
        });
        shares.min_by(f64::total_cmp)
    }

    fn throttled(&self) -> Option<u64> {
        let counts = self.of_cpus("thermal_throttle/core_throttle_count");
        let told: Vec<u64> = counts.into_iter().flatten().map(|count| count as u64).collect();
        (!told.is_empty()).then(|| told.iter().sum())
    }
}

fn number(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    all_ns: u64,
    steal_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_tells_is_read_and_the_rest_left_open() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/stat", "cpu  1000 20 300 4000 5 6 7 8 0 0\ncpu0 1 2 3\n");
        write("proc/loadavg", "277.11 2 3 4/5 6\n");
        let machine = Machine::at(root.path());
        let state = machine.state();
        assert_eq!(state.cpu_ns, 5_346 * 10_000_000);
        assert_eq!(state.steal_ns, 80_000_000);
        assert_eq!(state.others_ns, 0);
        assert!((state.load_average - 277.11).abs() < 1e-9);
        assert_eq!((state.frequency_share, state.throttled), (None, None));
        for (cpu, (now, times)) in [(900, 2), (450, 3)].into_iter().enumerate() {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            write(&format!("{folder}/cpufreq/scaling_cur_freq"), &now.to_string());
            write(&format!("{folder}/cpufreq/cpuinfo_max_freq"), "900");
            write(&format!("{folder}/thermal_throttle/core_throttle_count"), &times.to_string());
        }
        write("sys/devices/system/cpu/cpufreq/boost", "1");
        let state = machine.state();
        assert_eq!((state.frequency_share, state.throttled), (Some(0.5), Some(5)));
    }

    #[test]
    fn others_are_neither_this_process_nor_beneath_it_nor_the_kernels() {
        let root = tempfile::tempdir().unwrap();
        let own = std::process::id();
        for (pid, ppid, times) in [
            (1, 0, [1, 2, 3, 4]),
            (2, 0, [50, 0, 0, 0]),
            (3, 2, [60, 0, 0, 0]),
            (own, 1, [70, 0, 0, 0]),
            // Before and after its parent in the order of names.
            (10, own + 1, [80, 0, 0, 0]),
            (own + 1, own, [90, 0, 0, 0]),
            (999_999, 1, [100, 0, 0, 0]),
        ] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            let [user, system, children, in_kernel] = times;
            // Fields of `proc_pid_stat(5)`; the rest does not matter here.
            let rest = "20 0 1 0 100 ".to_owned() + &"0 ".repeat(30);
            let text = format!(
                "{pid} (a b) S {ppid} 1 1 0 -1 0 0 0 0 0 {user} {system} {children} {in_kernel} {rest}"
            );
            fs::write(folder.join("stat"), text).unwrap();
        }
        let others = Machine::at(root.path()).others_ns();
        assert_eq!(others, Some((1 + 2 + 3 + 4 + 100) * 10_000_000));
    }

    #[test]
    fn here_cpu_time_passes() {
        let machine = Machine::this();
        let before = machine.state();
        assert!(before.cpu_ns > 0);
        assert!(machine.state().cpu_ns >= before.cpu_ns);
    }
}
