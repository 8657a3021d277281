//! The call with a clock, until a time: what real-time programs use.

use super::{Kind, Slack, Sleep};
use crate::clock::sleep_until;
use rustix::io::Errno;

pub(super) const KIND: Kind = Kind {
    name: "clock_nanosleep absolute",
    summary: "clock_nanosleep(2) on CLOCK_MONOTONIC with TIMER_ABSTIME",
    slacks: &[Slack::Thread, Slack::OneNs],
    make: || Ok(Box::new(Absolute)),
};

struct Absolute;

impl Sleep for Absolute {
    #[inline]
    fn sleep(&mut self, from_ns: u64, request_ns: u64) -> Result<(), Errno> {
        sleep_until(from_ns.saturating_add(request_ns))
    }
}
