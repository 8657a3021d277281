//! What timer is wanted of a service, and how it is named.

use crate::error::Error;
use std::mem::{MaybeUninit, size_of};
use tardy_timers::service::{self, Timer as Inner};
use tardy_timers::{Expiry, Kind, Level, Priority};

/// The level of the calling thread's own priority.
pub const LEVEL_INHERIT: i32 = -1;

/// A timer that is there to fire, to the nanosecond.
pub const TIMER_PRECISE: u32 = 0;
/// A timeout, nearly always moved or cancelled before it fires; it may fire a granule late.
pub const TIMER_COARSE: u32 = 1;

/// A timer that is wanted. tardy_request_at makes one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The earliest time it may fire, ns on the service's clock.
    pub soft_ns: u64,
    /// How much later it may fire, ns.
    pub slack_ns: u64,
    /// A number that reports name the timer by.
    pub tag: u64,
    /// 0 to 3, the most urgent, or `TARDY_LEVEL_INHERIT`.
    pub level: i32,
    /// `TARDY_TIMER_PRECISE` or `TARDY_TIMER_COARSE`.
    pub kind: u32,
}

/// A precise timer of level 0 at `time_ns`, without slack, tag 0: to be changed as needed.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_request_at(time_ns: u64) -> Request {
    Request { soft_ns: time_ns, slack_ns: 0, tag: 0, level: 0, kind: TIMER_PRECISE }
}

impl Request {
    pub(crate) fn checked(&self) -> Result<service::Request, Error> {
        let priority = match self.level {
            LEVEL_INHERIT => Priority::Inherit,
            level => {
                let level = u8::try_from(level).ok().and_then(Level::new);
                Priority::Level(level.ok_or(Error::Argument)?)
            }
        };
        let kind = match self.kind {
            TIMER_PRECISE => Kind::Precise,
            TIMER_COARSE => Kind::Coarse,
            _ => return Err(Error::Argument),
        };
        let expiry = Expiry::with_slack(self.soft_ns, self.slack_ns);
        Ok(service::Request::new(expiry).priority(priority).kind(kind).tag(self.tag))
    }
}

/// Names one timer of one service; may be copied. One that is all zeros names no timer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timer {
    /// The library's.
    mark: u64,
    /// The library's.
    name: MaybeUninit<[u64; 3]>,
}

/// Tells a name from memory that was only cleared.
const MARK: u64 = u64::from_be_bytes(*b"tardytim");

const _: () = assert!(size_of::<Inner>() <= size_of::<[u64; 3]>());
const _: () = assert!(align_of::<Inner>() <= align_of::<[u64; 3]>());

impl From<Inner> for Timer {
    fn from(inner: Inner) -> Self {
        let mut name = MaybeUninit::<[u64; 3]>::uninit();
        // SAFETY: it is large enough and aligned, as asserted above.
        unsafe { name.as_mut_ptr().cast::<Inner>().write(inner) };
        Self { mark: MARK, name }
    }
}

impl Timer {
    /// # Safety
    /// All zeros, or a copy of one that this library made.
    pub(crate) unsafe fn inner(&self) -> Result<Inner, Error> {
        if self.mark != MARK {
            return Err(Error::Stale);
        }
        // SAFETY: who bears the mark was made by `from`, so there is one in it; it is `Copy`.
        Ok(unsafe { self.name.as_ptr().cast::<Inner>().read() })
    }
}
