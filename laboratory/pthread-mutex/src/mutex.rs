//! The mutex, and the guard that unlocks it.

use crate::attributes::{Attributes, Kind};
use crate::error::{MutexError, checked};
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A mutex of the C library.
pub struct Mutex {
    /// From a `Box`, and so at one address for as long as it is a mutex, which the C library needs: the
    /// kernel and the lists of threads know it by its address. Not a `Box` here, because a `Box` may be
    /// taken for the only way to its content, and other threads' lists have others.
    raw: NonNull<UnsafeCell<libc::pthread_mutex_t>>,
    kind: Kind,
}

// SAFETY: a pthread mutex may be used by any thread, whichever made it. That only its owner unlocks it
// is kept by `Guard`, which is not `Send`.
unsafe impl Send for Mutex {}
// SAFETY: to be used by several threads at once is what it is for; all that happens through a shared
// reference are calls that POSIX allows concurrently.
unsafe impl Sync for Mutex {}

impl Mutex {
    /// Makes one.
    ///
    /// # Errors
    /// What the C library or the kernel does not offer.
    pub fn new(kind: Kind) -> Result<Self, MutexError> {
        let attributes = Attributes::new(kind)?;
        // PTHREAD_MUTEX_INITIALIZER first: initialised memory, whatever init writes to.
        let cell = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the memory is ours, nobody has locked what the initialiser made of it, and it stays
        // where it is: nothing but `drop` frees it.
        let made = unsafe { attributes.init(cell.get()) };
        made.map_err(|source| match source.raw_os_error() {
            // glibc asks the kernel for PI futexes only here.
            Some(libc::ENOTSUP | libc::EINVAL) => {
                MutexError::Unsupported { what: "such mutexes", source }
            }
            _ => MutexError::Init(source),
        })?;
        Ok(Self { raw: NonNull::from(Box::leak(cell)), kind })
    }

    /// What it was made to be.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn pointer(&self) -> *mut libc::pthread_mutex_t {
        // SAFETY: `raw` came from a `Box` that only `drop` gives back.
        unsafe { self.raw.as_ref() }.get()
    }

    /// Waits until it is free, and locks it. A robust one whose owner died is made usable again at
    /// once, as there is no data that could be half written; [`Guard::previous_owner_died`] tells.
    ///
    /// # Errors
    /// See [`MutexError::Lock`]. A thread that holds it already waits for ever.
    #[inline]
    pub fn lock(&self) -> Result<Guard<'_>, MutexError> {
        // SAFETY: the pointer is to a mutex that was initialised and lives as long as `self`.
        let status = unsafe { libc::pthread_mutex_lock(self.pointer()) };
        self.locked(status).map_err(MutexError::Lock)
    }

    /// Locks it if it is free; `None` where somebody holds it.
    ///
    /// # Errors
    /// See [`MutexError::Lock`].
    pub fn try_lock(&self) -> Result<Option<Guard<'_>>, MutexError> {
        // SAFETY: as in `lock`.
        let status = unsafe { libc::pthread_mutex_trylock(self.pointer()) };
        if status == libc::EBUSY {
            return Ok(None);
        }
        self.locked(status).map(Some).map_err(MutexError::Lock)
    }

    /// What a status of a call that locks means.
    #[inline]
    fn locked(&self, status: libc::c_int) -> io::Result<Guard<'_>> {
        let guard = |previous_owner_died| Guard {
            mutex: self,
            previous_owner_died,
            _of_thread: PhantomData,
        };
        if status == 0 {
            return Ok(guard(false));
        }
        if status != libc::EOWNERDEAD {
            return Err(io::Error::from_raw_os_error(status));
        }
        // From here on it is ours, and the guard gives it back where what follows fails.
        let guard = guard(true);
        // SAFETY: as in `lock`; the status says that it is robust, inconsistent, and locked by us.
        checked(unsafe { libc::pthread_mutex_consistent(self.pointer()) })?;
        Ok(guard)
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Drop for Mutex {
    /// Destroys it where nobody holds it. A guard that was forgotten (`mem::forget`) holds it for ever:
    /// to destroy a locked mutex is undefined, and its owner's list of robust mutexes and the kernel
    /// may still come to its memory. So that is left where it is, as it is where this thread may not
    /// find out: one with a ceiling, dropped by a thread that could not lock it.
    fn drop(&mut self) {
        let raw = self.pointer();
        // SAFETY: as in `lock`.
        match unsafe { libc::pthread_mutex_trylock(raw) } {
            0 => {}
            libc::EOWNERDEAD => {
                // SAFETY: locked by us just now, robust and inconsistent. A failure leaves it to be
                // not recoverable, in which state it may be unlocked and destroyed too.
                let _ = unsafe { libc::pthread_mutex_consistent(raw) };
            }
            libc::ENOTRECOVERABLE => {
                self.free();
                return;
            }
            _ => return,
        }
        // SAFETY: locked by us just now.
        let _ = unsafe { libc::pthread_mutex_unlock(raw) };
        self.free();
    }
}

impl Mutex {
    /// Only for the end of `drop`, where it is not locked.
    fn free(&mut self) {
        // SAFETY: nobody holds it, and as `drop` has it for itself, nobody will.
        if unsafe { libc::pthread_mutex_destroy(self.pointer()) } == 0 {
            // SAFETY: the memory is from a `Box` of this type, and nothing points to it any more.
            drop(unsafe { Box::from_raw(self.raw.as_ptr()) });
        }
    }
}

/// A mutex that this thread holds. Dropped, it is unlocked.
///
/// It stays in its thread, as only the owner may unlock:
///
/// ```compile_fail,E0277
/// use tardy_pthread_mutex::{Kind, Mutex};
///
/// let mutex = Mutex::new(Kind::default()).unwrap();
/// let guard = mutex.lock().unwrap();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join().unwrap());
/// ```
#[derive(Debug)]
#[must_use = "it is unlocked at once where the guard is not kept"]
pub struct Guard<'a> {
    mutex: &'a Mutex,
    previous_owner_died: bool,
    /// Makes it neither `Send` nor `Sync`.
    _of_thread: PhantomData<*mut ()>,
}

impl Guard<'_> {
    /// Whether the owner before ended without unlocking it. Only ever of a robust mutex.
    pub fn previous_owner_died(&self) -> bool {
        self.previous_owner_died
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the mutex lives as long as the guard's lifetime, and this thread locked it: a guard
        // is made by nothing but a call that locked, and cannot leave its thread.
        let status = unsafe { libc::pthread_mutex_unlock(self.mutex.pointer()) };
        debug_assert_eq!(status, 0, "a mutex that is held can be unlocked");
    }
}
