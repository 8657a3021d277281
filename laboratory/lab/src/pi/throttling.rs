//! What the kernel does to real-time threads that never sleep.

use std::fs;
use std::path::Path;

/// The bounds on real-time threads, as the kernel tells them; `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Of each period they may run this long on a CPU; −1 is without a bound
    /// (`/proc/sys/kernel/sched_rt_runtime_us`).
    pub rt_runtime_us: Option<i64>,
    /// The period (`sched_rt_period_us`).
    pub rt_period_us: Option<u64>,
    /// What the CPU's fair server may take of a CPU for other threads, per period of its own: since
    /// Linux 6.12, where debugfs is mounted (`sched/fair_server/cpuN/runtime`). 0 where it is off, or
    /// the kernel is older.
    pub fair_server_ns: Option<u64>,
}

impl Throttling {
    /// What holds on a CPU now.
    pub(super) fn of(cpu: u16) -> Self {
        Self::below(Path::new("/"), cpu)
    }

    fn below(root: &Path, cpu: u16) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let server = format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime");
        Self {
            rt_runtime_us: text("proc/sys/kernel/sched_rt_runtime_us")
                .and_then(|text| text.trim().parse().ok()),
            rt_period_us: text("proc/sys/kernel/sched_rt_period_us")
                .and_then(|text| text.trim().parse().ok()),
            fair_server_ns: text(&server)
                .and_then(|text| text.trim().parse().ok())
                .or_else(|| is_before_6_12(&text("proc/sys/kernel/osrelease")?).then_some(0)),
        }
    }

    /// Whether real-time threads can be made to wait for others; `None` where that is not known: a
    /// runtime of −1 says nothing of a fair server that cannot be seen.
    pub fn is_on(self) -> Option<bool> {
        if self.fair_server_ns.is_some_and(|ns| ns > 0) {
            return Some(true);
        }
        let runtime_us = self.rt_runtime_us?;
        if runtime_us >= 0 {
            let within = self.rt_period_us.is_none_or(|period_us| (runtime_us as u64) < period_us);
            return within.then_some(true).or(self.fair_server_ns.map(|_| false));
        }
        self.fair_server_ns.map(|_| false)
    }
}

/// Whether a kernel's release is one without fair servers.
fn is_before_6_12(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (6, 12),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_off_only_where_nothing_is_left_that_throttles() {
        // (runtime, period, fair server) -> on
        for (rt_runtime_us, rt_period_us, fair_server_ns, on) in [
            (Some(950_000), Some(1_000_000), None, Some(true)),
            (Some(950_000), Some(1_000_000), Some(0), Some(true)),
            (Some(1_000_000), Some(1_000_000), None, None),
            (Some(1_000_000), Some(1_000_000), Some(0), Some(false)),
            (Some(-1), Some(1_000_000), None, None),
            (Some(-1), Some(1_000_000), Some(50_000_000), Some(true)),
            (Some(-1), Some(1_000_000), Some(0), Some(false)),
            (None, None, None, None),
        ] {
            let throttling = Throttling { rt_runtime_us, rt_period_us, fair_server_ns };
            assert_eq!(throttling.is_on(), on, "{throttling:?}");
        }
    }

    #[test]
    fn it_is_read_from_the_kernels_files() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(Throttling::below(root.path(), 1), Throttling::default());
        write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
        write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
        write("proc/sys/kernel/osrelease", "6.12.1-rt4\n");
        assert_eq!(Throttling::below(root.path(), 1).is_on(), None);
        write("proc/sys/kernel/osrelease", "6.1.0-40-rt-amd64\n");
        assert_eq!(Throttling::below(root.path(), 1).is_on(), Some(false));
        write("sys/kernel/debug/sched/fair_server/cpu1/runtime", "50000000\n");
        let told = Throttling {
            rt_runtime_us: Some(-1),
            rt_period_us: Some(1_000_000),
            fair_server_ns: Some(50_000_000),
        };
        assert_eq!(Throttling::below(root.path(), 1), told);
    }
}
