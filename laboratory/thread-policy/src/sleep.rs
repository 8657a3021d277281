//! Sleeps that take a number: two system calls that the kernel `policies` has for measurements, on x86-64.

use std::io;

/// A system call that sleeps for so many nanoseconds, without timer slack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepCall {
    /// `nanosleep(2)` that takes a number.
    NanosleepU64,
    /// What was proposed as `hr_sleep` in 2021.
    HrSleep,
}

impl SleepCall {
    /// Of this project's patches alone; no kernel gives these numbers to anything else.
    const fn number(self) -> libc::c_long {
        match self {
            Self::NanosleepU64 => 548,
            Self::HrSleep => 549,
        }
    }

    /// Sleeps.
    ///
    /// # Errors
    /// `ENOSYS` where the kernel has not the call, `EOPNOTSUPP` where its switch is off, `EINTR` where
    /// a signal's handler came first.
    #[inline]
    pub fn sleep(self, ns: u64) -> io::Result<()> {
        if !cfg!(target_arch = "x86_64") {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        // SAFETY: the calls take one number and touch no memory of the process; where the kernel has
        // none of that number it does nothing.
        let result = unsafe { libc::syscall(self.number(), ns) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_sleeps_as_long_as_asked_or_says_that_it_is_not_there() {
        for call in [SleepCall::NanosleepU64, SleepCall::HrSleep] {
            let begun = Instant::now();
            match call.sleep(2_000_000) {
                Ok(()) => assert!(begun.elapsed() >= Duration::from_millis(2), "{call:?}"),
                Err(error) => {
                    let number = error.raw_os_error();
                    let absent = [Some(libc::ENOSYS), Some(libc::EOPNOTSUPP)];
                    assert!(absent.contains(&number), "{call:?}: {error}");
                    println!("skipped: {call:?}: {error}");
                }
            }
        }
    }
}
