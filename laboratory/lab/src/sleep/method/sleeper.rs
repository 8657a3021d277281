//! `tardy_timers::sleep`: the kernel sleeps most of it, the rest is spun.

use super::{Kind, Slack, Sleep};
use rustix::io::Errno;
use tardy_timers::sleep::{Precision, Sleeper};

pub(super) const CPU: Kind = Kind {
    name: "tardy sleeper, cpu",
    summary: "Sleeper of tardy-timers with Precision::Cpu: spins nothing",
    slacks: &[Slack::Own],
    make: || Ok(Box::new(Ours(Sleeper::new(Precision::Cpu)))),
};

pub(super) const BALANCED: Kind = Kind {
    name: "tardy sleeper, balanced",
    summary: "Sleeper of tardy-timers with Precision::Balanced: three sleeps of four end on time",
    slacks: &[Slack::Own],
    make: || Ok(Box::new(Ours(Sleeper::new(Precision::Balanced)))),
};

pub(super) const EXACT: Kind = Kind {
    name: "tardy sleeper, exact",
    summary: "Sleeper of tardy-timers with Precision::Exact: spins for all but the latest 0.5 %",
    slacks: &[Slack::Own],
    make: || Ok(Box::new(Ours(Sleeper::new(Precision::Exact)))),
};

struct Ours(Sleeper);

impl Sleep for Ours {
    #[inline]
    fn sleep(&mut self, from_ns: u64, request_ns: u64) -> Result<(), Errno> {
        // A signal does not shorten it.
        self.0.sleep_until(from_ns.saturating_add(request_ns));
        Ok(())
    }
}
