//! What a mutex is asked to be.

use crate::MutexError;
use crate::error::checked;
use libc::c_int;
use std::io;
use std::mem::MaybeUninit;

/// What a mutex does to its holder's priority (`pthread_mutexattr_setprotocol`, POSIX.1-2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Nothing: `PTHREAD_PRIO_NONE`.
    #[default]
    None,
    /// While a thread of higher priority waits, the holder has that priority: `PTHREAD_PRIO_INHERIT`.
    Inherit,
    /// Who holds it has at least this priority, whoever waits: `PTHREAD_PRIO_PROTECT`. A thread above
    /// the ceiling may not lock it; with glibc neither may one without a real-time policy. musl does
    /// not offer it.
    Protect {
        /// The priority, within those of `SCHED_FIFO`: 1–99 on Linux.
        ceiling: u8,
    },
}

/// What a mutex is to be. It is of the type `PTHREAD_MUTEX_NORMAL`: a thread that locks it twice waits
/// for itself for ever, which is a deadlock but nothing undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Kind {
    /// What it does to its holder's priority.
    pub protocol: Protocol,
    /// Whether it survives a thread that ends with it held (`PTHREAD_MUTEX_ROBUST`).
    pub robust: bool,
}

/// Attributes, initialised for as long as they live.
pub(crate) struct Attributes(libc::pthread_mutexattr_t);

impl Attributes {
    pub(crate) fn new(kind: Kind) -> Result<Self, MutexError> {
        let mut raw = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: the pointer is to writable memory of the type's size; init reads nothing of it.
        checked(unsafe { libc::pthread_mutexattr_init(raw.as_mut_ptr()) })
            .map_err(MutexError::Init)?;
        // SAFETY: init returned 0, so it has initialised all that there is to it. Attributes may be
        // moved: nothing but the functions called here ever has their address.
        let mut attributes = Self(unsafe { raw.assume_init() });
        attributes.set("mutexes of type normal", libc::PTHREAD_MUTEX_NORMAL, |raw, value| {
            // SAFETY: `raw` is to initialised attributes that nobody else uses.
            unsafe { libc::pthread_mutexattr_settype(raw, value) }
        })?;
        let (what, protocol) = match kind.protocol {
            Protocol::None => ("mutexes without a protocol", libc::PTHREAD_PRIO_NONE),
            Protocol::Inherit => {
                ("mutexes that inherit priority (PTHREAD_PRIO_INHERIT)", libc::PTHREAD_PRIO_INHERIT)
            }
            Protocol::Protect { .. } => (
                "mutexes with a priority ceiling (PTHREAD_PRIO_PROTECT)",
                libc::PTHREAD_PRIO_PROTECT,
            ),
        };
        attributes.set(what, protocol, |raw, value| {
            // SAFETY: as above.
            unsafe { libc::pthread_mutexattr_setprotocol(raw, value) }
        })?;
        if let Protocol::Protect { ceiling } = kind.protocol {
            attributes.set("this priority ceiling", c_int::from(ceiling), set_ceiling)?;
        }
        if kind.robust {
            attributes.set("robust mutexes", libc::PTHREAD_MUTEX_ROBUST, |raw, value| {
                // SAFETY: as above.
                unsafe { libc::pthread_mutexattr_setrobust(raw, value) }
            })?;
        }
        Ok(attributes)
    }

    fn set(
        &mut self,
        what: &'static str,
        value: c_int,
        set: impl FnOnce(&mut libc::pthread_mutexattr_t, c_int) -> c_int,
    ) -> Result<(), MutexError> {
        checked(set(&mut self.0, value)).map_err(|source| MutexError::Unsupported { what, source })
    }

    /// Makes a mutex of them where `mutex` points.
    ///
    /// # Safety
    /// `mutex` must be valid for writes, hold no mutex that is in use, and not move as long as the
    /// mutex is one.
    pub(crate) unsafe fn init(&self, mutex: *mut libc::pthread_mutex_t) -> io::Result<()> {
        // SAFETY: the attributes are initialised; for `mutex` the caller answers.
        checked(unsafe { libc::pthread_mutex_init(mutex, &raw const self.0) })
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they are initialised, and nobody uses them after this. It frees what init allocated,
        // where a library does; mutexes made of them do not need them any more.
        let _ = unsafe { libc::pthread_mutexattr_destroy(&raw mut self.0) };
    }
}

/// The `libc` crate does not declare it for Linux; glibc has it, musl has not.
#[cfg(target_env = "gnu")]
fn set_ceiling(attributes: &mut libc::pthread_mutexattr_t, ceiling: c_int) -> c_int {
    unsafe extern "C" {
        fn pthread_mutexattr_setprioceiling(
            attributes: *mut libc::pthread_mutexattr_t,
            ceiling: c_int,
        ) -> c_int;
    }
    // SAFETY: the declaration is POSIX' own, and the attributes are initialised and ours alone.
    unsafe { pthread_mutexattr_setprioceiling(attributes, ceiling) }
}

#[cfg(not(target_env = "gnu"))]
fn set_ceiling(_: &mut libc::pthread_mutexattr_t, _: c_int) -> c_int {
    libc::ENOTSUP
}
