//! What the calls of the kernel `policies` share: whether they are there.

use super::Sleep;
use rustix::io::Errno;
use std::io;
use tardy_thread_policy::SleepCall;

/// A sleep by one of those calls.
pub(super) struct Called(SleepCall);

impl Called {
    /// Sleeps once, which tells whether the kernel has the call, and its switch is on.
    pub(super) fn make(call: SleepCall) -> io::Result<Box<dyn Sleep>> {
        let help = |error: io::Error| match Errno::from_io_error(&error) {
            Some(Errno::NOSYS) => {
                io::Error::new(error.kind(), "only `tardy vm run --kernel policies` has it")
            }
            Some(Errno::OPNOTSUPP) => io::Error::new(
                error.kind(),
                "as root: echo 1 > /sys/kernel/timer_policy/sleep_calls",
            ),
            _ => error,
        };
        call.sleep(1).map_err(help)?;
        Ok(Box::new(Self(call)))
    }
}

impl Sleep for Called {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        self.0.sleep(request_ns).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}
