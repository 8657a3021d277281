//! The call that most programs reach by `sleep` and `usleep`.

use super::{Kind, Slack, Sleep};
use crate::clock::timespec;
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, nanosleep};

pub(super) const KIND: Kind = Kind {
    name: "nanosleep",
    summary: "nanosleep(2), relative",
    slacks: &[Slack::Thread, Slack::OneNs],
    make: || Ok(Box::new(Nanosleep)),
};

struct Nanosleep;

impl Sleep for Nanosleep {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        match nanosleep(&timespec(request_ns)) {
            NanosleepRelativeResult::Ok => Ok(()),
            NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
            NanosleepRelativeResult::Err(error) => Err(error),
        }
    }
}
