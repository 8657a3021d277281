//! What this process may do.

use crate::calls::Calls;
use crate::root::Root;

/// Capabilities that matter here, by their number in `linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cap {
    IpcLock = 14,
    SysAdmin = 21,
    SysNice = 23,
    Perfmon = 38,
    Bpf = 39,
}

impl Cap {
    pub(crate) const ALL: [Self; 5] =
        [Self::SysNice, Self::IpcLock, Self::Bpf, Self::Perfmon, Self::SysAdmin];

    /// Its name without the `CAP_`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::IpcLock => "IPC_LOCK",
            Self::SysAdmin => "SYS_ADMIN",
            Self::SysNice => "SYS_NICE",
            Self::Perfmon => "PERFMON",
            Self::Bpf => "BPF",
        }
    }
}

/// Permissions of this process.
#[derive(Clone, Debug)]
pub(crate) struct Privileges {
    effective: u64,
    /// Whether this is a user namespace of its own, whose root is nobody outside.
    pub(crate) in_user_namespace: bool,
    /// Whether it is in a PID namespace of its own, where threads have other ids than the kernel's events tell.
    pub(crate) in_pid_namespace: bool,
}

/// The kernel's first PID namespace (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`), as its link reads.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

impl Privileges {
    pub(crate) fn read(root: &Root, calls: &Calls) -> Self {
        let status = root.text("proc/self/status").unwrap_or_default();
        let told = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
        // Without procfs there is only the old rule: root may, others may not.
        let effective = told.unwrap_or(if calls.uid == 0 { u64::MAX } else { 0 });
        // The initial namespace maps all ids onto themselves.
        let in_user_namespace = root.word("proc/self/uid_map").is_some_and(|map| {
            let ids: Vec<&str> = map.split_whitespace().collect();
            ids.len() == 3 && ids != ["0", "0", "4294967295"]
        });
        let own = std::fs::read_link(root.path("proc/self/ns/pid"));
        let in_pid_namespace = own.is_ok_and(|link| link.as_os_str() != FIRST_PID_NAMESPACE);
        Self { effective, in_user_namespace, in_pid_namespace }
    }

    /// Whether a capability holds where the kernel asks for it: in the initial user namespace.
    pub(crate) fn has(&self, cap: Cap) -> bool {
        !self.in_user_namespace && self.is_effective(cap)
    }

    /// Whether a capability is in the effective set, whatever it is worth.
    pub(crate) fn is_effective(&self, cap: Cap) -> bool {
        self.effective & 1 << (cap as u32) != 0
    }

    /// Whether eBPF programs of the tracing kind may be loaded. `CAP_BPF` and `CAP_PERFMON` came
    /// with 5.8; `CAP_SYS_ADMIN` includes both.
    pub(crate) fn may_trace_by_bpf(&self) -> bool {
        self.has(Cap::SysAdmin) || (self.has(Cap::Bpf) && self.has(Cap::Perfmon))
    }
}

/// Real-time runtime in microseconds per period of this process's CPU control group, where the
/// kernel has real-time group scheduling and the group says so (cgroup v1). 0 forbids real-time
/// priorities in the group, whatever the privileges.
pub(crate) fn group_rt_runtime_us(root: &Root) -> Option<i64> {
    let groups = root.text("proc/self/cgroup")?;
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == "cpu").then_some(path)
    })?;
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    ["cpu", "cpu,cpuacct"].iter().find_map(|mount| {
        let folder = format!("sys/fs/cgroup/{mount}/{}", path.trim_matches('/'));
        root.number(&format!("{}/cpu.rt_runtime_us", folder.trim_end_matches('/')))
    })
}
