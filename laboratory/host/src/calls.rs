//! What is asked by system call rather than read from a file.

use rustix::process::{Resource, getrlimit, getuid};
use rustix::system::uname;
use rustix::time::{ClockId, clock_getres};

/// Answers of the system calls that checks rest on. Tests fill it by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Kernel release, as `uname -r`.
    pub release: String,
    /// Kernel version, as `uname -v`.
    pub version: String,
    /// Machine, as `uname -m`.
    pub arch: String,
    /// Host name.
    pub hostname: String,
    /// Real user id.
    pub uid: u32,
    /// Resolution of `CLOCK_MONOTONIC` in nanoseconds: 1 in high-resolution mode, else a tick.
    pub clock_resolution_ns: u64,
    /// `RLIMIT_RTPRIO`: the highest real-time priority without privilege; `None` is unlimited.
    pub rtprio_limit: Option<u64>,
    /// `RLIMIT_MEMLOCK` in bytes; `None` is unlimited.
    pub memlock_limit_bytes: Option<u64>,
    /// CPUs that this process may use.
    pub cpus_usable: u32,
}

impl Calls {
    /// Asks this system.
    pub fn ask() -> Self {
        let names = uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let resolution = clock_getres(ClockId::Monotonic);
        Self {
            release: text(names.release()),
            version: text(names.version()),
            arch: text(names.machine()),
            hostname: text(names.nodename()),
            uid: getuid().as_raw(),
            clock_resolution_ns: resolution.tv_sec as u64 * 1_000_000_000
                + resolution.tv_nsec as u64,
            rtprio_limit: getrlimit(Resource::Rtprio).current,
            memlock_limit_bytes: getrlimit(Resource::Memlock).current,
            cpus_usable: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        }
    }
}
