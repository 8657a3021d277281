//! The timeout of an event loop in nanoseconds; `epoll_wait` counts in milliseconds.

use super::{Kind, Slack, Sleep};
use crate::clock::timespec;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

pub(super) const KIND: Kind = Kind {
    name: "epoll_pwait2",
    summary: "epoll_pwait2(2) with a timeout, on no files",
    slacks: &[Slack::Thread],
    make: || {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut epoll = Epoll { epoll, events: Vec::with_capacity(1) };
        // Kernels before 5.11 do not have the call.
        epoll.sleep(0, 1)?;
        Ok(Box::new(epoll))
    },
};

struct Epoll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Sleep for Epoll {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        let timeout = timespec(request_ns);
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout))?;
        Ok(())
    }
}
