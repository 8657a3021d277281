//! What happens when a timer fires.

use super::eventfd::EventFd;
use super::request::Timer;
use crate::{Expiry, Level};
use std::fmt;
use std::sync::Arc;

/// What a timer does. It runs in its level's thread, at that one's priority: the other timers of the
/// level wait for it, those of other levels do not.
pub enum Delivery {
    /// Calls a function. Boxing a closure that captures something allocates, and so does each arm.
    Call(Box<dyn FnOnce(&Firing) + Send>),
    /// Calls an object that is there already: no arm allocates.
    Target(Arc<dyn Target>),
    /// Adds one to an eventfd.
    Event(EventFd),
}

/// Something that timers fire at, again and again.
pub trait Target: Send + Sync {
    /// A timer fires. A panic is caught and counted.
    fn fire(&self, firing: &Firing);

    /// A timer will not fire because its service ended. It is not called for those that were
    /// cancelled before.
    fn abandoned(&self) {}
}

/// A timer that is firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Which one; it cannot be cancelled or moved any more.
    pub timer: Timer,
    /// The tag it was given.
    pub tag: u64,
    /// When it was to fire.
    pub expiry: Expiry,
    /// At which level it fires.
    pub level: Level,
    /// When it fired, ns, just before this was called.
    pub now_ns: u64,
}

impl Firing {
    /// How long after its soft expiry, ns.
    pub fn lateness_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.expiry.soft_ns())
    }
}

impl Delivery {
    /// Calls `function`.
    pub fn call(function: impl FnOnce(&Firing) + Send + 'static) -> Self {
        Self::Call(Box::new(function))
    }

    pub(super) fn fire(self, firing: &Firing) -> std::io::Result<()> {
        match self {
            Self::Call(function) => function(firing),
            Self::Target(target) => target.fire(firing),
            Self::Event(event) => event.add_one()?,
        }
        Ok(())
    }

    pub(super) fn abandon(self) {
        if let Self::Target(target) = self {
            target.abandoned();
        }
    }
}

impl<T: Target + 'static> From<Arc<T>> for Delivery {
    fn from(target: Arc<T>) -> Self {
        Self::Target(target)
    }
}

impl From<EventFd> for Delivery {
    fn from(event: EventFd) -> Self {
        Self::Event(event)
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call(_) => "Call",
            Self::Target(_) => "Target",
            Self::Event(_) => "Event",
        })
    }
}
