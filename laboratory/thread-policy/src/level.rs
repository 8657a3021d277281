//! The level at which a thread's sleeps expire, in the kernel `policies`.

use std::io;

/// The highest level; 0 is what there is without levels.
pub const TIMER_LEVEL_MAX: u8 = 3;

/// Of this project's patches alone; no kernel gives these numbers to anything else.
const PR_SET_TIMER_LEVEL: libc::c_int = 0x544d_4c01;
const PR_GET_TIMER_LEVEL: libc::c_int = 0x544d_4c02;

/// Lets the calling thread's sleeps expire at a level from now on, and those of threads that it starts. They do
/// as long as the kernel's switch `levels` is on.
///
/// # Errors
/// `EINVAL` where the kernel has no levels, or not this one; `EPERM` to raise it without `CAP_SYS_NICE`.
pub fn set_timer_level(level: u8) -> io::Result<()> {
    let (level, none): (libc::c_ulong, libc::c_ulong) = (level.into(), 0);
    // SAFETY: the call takes numbers and touches no memory of the process; a kernel that has not the option does
    // nothing.
    let result = unsafe { libc::prctl(PR_SET_TIMER_LEVEL, level, none, none, none) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The level of the calling thread's sleeps.
///
/// # Errors
/// `EINVAL` where the kernel has no levels.
pub fn timer_level() -> io::Result<u8> {
    let none: libc::c_ulong = 0;
    // SAFETY: as above.
    let result = unsafe { libc::prctl(PR_GET_TIMER_LEVEL, none, none, none, none) };
    u8::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_taken_or_the_kernel_has_none() {
        match timer_level() {
            Ok(before) => {
                set_timer_level(0).unwrap();
                assert_eq!(timer_level().unwrap(), 0);
                let error = set_timer_level(TIMER_LEVEL_MAX + 1).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
                let _ = set_timer_level(before);
            }
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
                assert_eq!(set_timer_level(0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
                println!("skipped: this kernel has no timer levels");
            }
        }
    }
}
