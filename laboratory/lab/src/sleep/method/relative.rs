//! The call with a clock, for a time from now.

use super::{Kind, Slack, Sleep};
use crate::clock::timespec;
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, clock_nanosleep_relative};
use rustix::time::ClockId;

pub(super) const KIND: Kind = Kind {
    name: "clock_nanosleep relative",
    summary: "clock_nanosleep(2) on CLOCK_MONOTONIC, relative",
    slacks: &[Slack::Thread, Slack::OneNs],
    make: || Ok(Box::new(Relative)),
};

struct Relative;

impl Sleep for Relative {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        match clock_nanosleep_relative(ClockId::Monotonic, &timespec(request_ns)) {
            NanosleepRelativeResult::Ok => Ok(()),
            NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
            NanosleepRelativeResult::Err(error) => Err(error),
        }
    }
}
