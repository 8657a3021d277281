//! Timers that make a file descriptor readable.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// An eventfd (`eventfd(2)`) whose counter goes up by one with each timer that fires into it.
///
/// It is for loops around `poll` or `epoll`: hand it out [`AsFd`], and [`take`](Self::take) what has
/// come when it is readable. It does not block. Clones are the same descriptor.
#[derive(Clone, Debug)]
pub struct EventFd(Arc<OwnedFd>);

impl EventFd {
    /// A new one.
    ///
    /// # Errors
    /// Where the process or the system has no more file descriptors.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(Arc::new(eventfd(0, flags)?)))
    }

    /// How many timers have fired into it since the last call; 0 where none has.
    ///
    /// # Errors
    /// What `read` reports.
    pub fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        match read(&self.0, &mut count) {
            Ok(_) => Ok(u64::from_ne_bytes(count)),
            Err(rustix::io::Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn add_one(&self) -> io::Result<()> {
        write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
