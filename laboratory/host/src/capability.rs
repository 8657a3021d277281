//! What tardy can do on this machine, and what is lost where it cannot.

use crate::check::tracefs::{Access, MOUNT};
use crate::check::{bpf, btf};
use crate::privileges::{Cap, group_rt_runtime_us};
use crate::probe::Probe;
use serde::Serialize;

/// Locked memory that a measurement needs at most without the right to lock any: threads' stacks,
/// histograms and buffers.
const MEMLOCK_BYTES_MIN: u64 = 256 << 20;

/// Something that tardy would like to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// Record by eBPF.
    Live,
    /// Record through tracefs.
    Tracefs,
    /// Give threads real-time priorities.
    Realtime,
    /// Keep memory from being paged out.
    LockMemory,
}

impl Ability {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Tracefs => "tracefs",
            Self::Realtime => "realtime",
            Self::LockMemory => "lock_memory",
        }
    }

    /// A few words for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Live => "record by eBPF",
            Self::Tracefs => "record by tracefs",
            Self::Realtime => "real-time priorities",
            Self::LockMemory => "lock memory",
        }
    }
}

/// Whether tardy can do something here. The three texts are there exactly where it cannot, each a
/// sentence of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// What.
    pub name: Ability,
    /// Whether it can.
    pub ok: bool,
    /// Why it cannot.
    pub why: Option<String>,
    /// What is lost by that.
    pub lost: Option<String>,
    /// What would bring it.
    pub change: Option<String>,
}

/// Why not, and what would help.
type Refusal = (String, String);

/// Judges all of them.
pub(crate) fn judge(probe: &Probe) -> Vec<Capability> {
    let tracefs = tracefs(probe);
    let live_lost = lost_without_live(tracefs.is_none());
    let tracefs_lost = "If eBPF is not available either, lateness is measured, but not explained.";
    let realtime_lost = "Measuring threads run at ordinary priority: they show how late ordinary \
                         threads are, including timer slack, not how late real-time threads would \
                         be.";
    let memory_lost = "A measuring thread may wait for a page of its own memory, which then counts \
                       as its lateness.";
    [
        (Ability::Live, live(probe), live_lost),
        (Ability::Tracefs, tracefs, tracefs_lost),
        (Ability::Realtime, realtime(probe), realtime_lost),
        (Ability::LockMemory, lock_memory(probe), memory_lost),
    ]
    .into_iter()
    .map(|(name, refusal, lost)| match refusal {
        None => Capability { name, ok: true, why: None, lost: None, change: None },
        Some((why, change)) => Capability {
            name,
            ok: false,
            why: Some(why),
            lost: Some(lost.into()),
            change: Some(change),
        },
    })
    .collect()
}

fn lost_without_live(has_tracefs: bool) -> &'static str {
    if has_tracefs {
        "Events come from tracefs, which costs a wakeup several times as much."
    } else {
        "Lateness is measured, not explained."
    }
}

/// Takes [`Ability::Live`] away, for a program that was built without it.
pub(crate) fn refuse_live(capabilities: &mut [Capability]) {
    let has_tracefs =
        capabilities.iter().any(|capability| capability.name == Ability::Tracefs && capability.ok);
    for capability in capabilities.iter_mut().filter(|it| it.name == Ability::Live) {
        *capability = Capability {
            name: Ability::Live,
            ok: false,
            why: Some("This build of tardy has no eBPF.".into()),
            lost: Some(lost_without_live(has_tracefs).into()),
            change: Some("Use a build of tardy with it.".into()),
        };
    }
}

fn live(probe: &Probe) -> Option<Refusal> {
    let since = bpf::since(&probe.calls.arch);
    if probe.is_before(since) {
        let (major, minor) = since;
        return Some((
            format!(
                "The kernel is older than Linux {major}.{minor}: its programs have no atomic operations that \
                 return a value."
            ),
            format!("A kernel of {major}.{minor} or later."),
        ));
    }
    let (why, change) = if probe.config.lacks("BPF_SYSCALL") {
        ("The kernel was built without CONFIG_BPF_SYSCALL.", "A kernel with it.")
    } else if !probe.root.exists(btf::PATH) {
        (
            "The kernel does not describe its types: /sys/kernel/btf/vmlinux does not exist.",
            "A kernel with CONFIG_DEBUG_INFO_BTF=y.",
        )
    } else if probe
        .root
        .word("sys/kernel/security/lockdown")
        .is_some_and(|modes| modes.contains("[confidentiality]"))
    {
        ("The kernel is locked down (confidentiality).", "Boot with lockdown=integrity.")
    } else if probe.privileges.in_user_namespace {
        (
            "This is a user namespace, whose root may not load programs.",
            "Run it outside the container.",
        )
    } else if probe.privileges.in_pid_namespace {
        IN_PID_NAMESPACE
    } else if !probe.privileges.may_trace_by_bpf() {
        (
            "CAP_BPF and CAP_PERFMON are missing.",
            "Run it with sudo, or setcap cap_bpf,cap_perfmon+ep on the program.",
        )
    } else {
        return None;
    };
    Some((why.into(), change.into()))
}

/// Why nothing is recorded in a container that has process ids of its own, and what would help.
const IN_PID_NAMESPACE: (&str, &str) = (
    "This is a PID namespace of its own (a container), where threads have other ids than in the \
     kernel's events.",
    "Run it on the host, or give the container the host's ids: docker run --pid=host.",
);

fn tracefs(probe: &Probe) -> Option<Refusal> {
    if probe.privileges.in_pid_namespace {
        return Some((IN_PID_NAMESPACE.0.into(), IN_PID_NAMESPACE.1.into()));
    }
    let (why, change) = match Access::read(probe) {
        Access::Mounted(_) | Access::Mountable => return None,
        Access::Closed(folder) => {
            (format!("This user may not read {folder}."), "Run it with sudo.".into())
        }
        Access::NotMounted => {
            ("tracefs is not mounted.".into(), format!("Mount it: sudo {MOUNT}."))
        }
        Access::Missing => {
            ("The kernel has no tracefs.".into(), "A kernel with CONFIG_FTRACE=y.".into())
        }
    };
    Some((why, change))
}

fn realtime(probe: &Probe) -> Option<Refusal> {
    let (why, change) = if group_rt_runtime_us(&probe.root) == Some(0) {
        (
            "The CPU control group has no real-time runtime (cpu.rt_runtime_us is 0).",
            "Start it from the root group, or give the group some.",
        )
    } else if probe.root.word("proc/sys/kernel/sched_rt_runtime_us").as_deref() == Some("0") {
        (
            "sched_rt_runtime_us is 0: the kernel refuses all real-time priorities.",
            "Run sysctl kernel.sched_rt_runtime_us=950000.",
        )
    } else if !probe.privileges.has(Cap::SysNice) && probe.calls.rtprio_limit == Some(0) {
        (
            "CAP_SYS_NICE is missing and RLIMIT_RTPRIO is 0.",
            "Run it with sudo, or put \"USER - rtprio 99\" into /etc/security/limits.d and log in \
             again.",
        )
    } else {
        return None;
    };
    Some((why.into(), change.into()))
}

fn lock_memory(probe: &Probe) -> Option<Refusal> {
    let bytes = probe.calls.memlock_limit_bytes?;
    if probe.privileges.has(Cap::IpcLock) || bytes >= MEMLOCK_BYTES_MIN {
        return None;
    }
    Some((
        format!("CAP_IPC_LOCK is missing and RLIMIT_MEMLOCK is {} KiB.", bytes / 1024),
        "Run it with sudo, or put \"USER - memlock unlimited\" into /etc/security/limits.d and log \
         in again."
            .into(),
    ))
}
