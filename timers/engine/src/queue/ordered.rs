//! What queues have in common.

use super::order::Order;
use super::slots::{Slot, Slots};
use super::{Fired, Full};
use crate::{Expiry, Handle, Stale};

/// Slots and an order of them.
#[derive(Debug)]
pub(super) struct Ordered<O, T> {
    pub(super) slots: Slots<T>,
    pub(super) order: O,
    sequence: u64,
    /// The longest slack there was.
    slack_max_ns: u64,
}

impl<O: Order, T> Ordered<O, T> {
    pub(super) fn with_capacity(order: O, timers: usize) -> Self {
        let mut ordered = Self { slots: Slots::new(), order, sequence: 0, slack_max_ns: 0 };
        if timers > 0 {
            ordered.reserve(timers);
        }
        ordered
    }

    pub(super) fn reserve(&mut self, timers: usize) {
        self.slots.reserve(timers);
        self.order.reserve(timers);
    }

    #[inline]
    pub(super) fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        let handle = self.slots.arm(payload)?;
        self.file(handle.slot, expiry);
        Ok(handle)
    }

    #[inline]
    pub(super) fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.slots.checked(handle)?;
        let (_, _, payload) = self.slots.disarm(handle.slot);
        self.order.forget(&mut self.slots, handle.slot);
        Ok(payload)
    }

    #[inline]
    pub(super) fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        self.slots.checked(handle)?;
        self.file(handle.slot, expiry);
        Ok(())
    }

    #[inline]
    fn file(&mut self, number: u32, expiry: Expiry) {
        let sequence = self.sequence;
        self.sequence += 1;
        let slack_ns = self.order.due_ns(expiry.hard_ns()) - self.order.due_ns(expiry.soft_ns());
        self.slack_max_ns = self.slack_max_ns.max(slack_ns);
        self.order.file(&mut self.slots, number, expiry, sequence);
    }

    /// The first timer's time, ns.
    #[inline]
    pub(super) fn first_ns(&mut self) -> Option<u64> {
        self.order.first(&mut self.slots).map(|entry| entry.hard_ns)
    }

    /// As [`first_ns`](Self::first_ns) or earlier, at no cost.
    #[inline]
    pub(super) fn earliest_ns(&self) -> Option<u64> {
        if self.slots.armed() == 0 { None } else { self.order.earliest_ns() }
    }

    #[inline]
    pub(super) fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        // What makes most calls short.
        let earliest_ns = self.order.earliest_ns()?;
        if earliest_ns > now_ns && earliest_ns - self.slack_max_ns.min(earliest_ns) > now_ns {
            return None;
        }
        let entry = self.order.first(&mut self.slots)?;
        let soft_ns = self.slots.slot(entry.slot).soft_ns();
        if self.order.due_ns(soft_ns) > now_ns {
            return None;
        }
        self.order.take_first(&mut self.slots, entry);
        let (handle, expiry, payload) = self.slots.disarm(entry.slot);
        Some(Fired { handle, expiry, payload })
    }

    pub(super) fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.slots.checked(handle).map(Slot::expiry)
    }

    pub(super) fn len(&self) -> usize {
        self.slots.armed()
    }
}

/// Implements [`Queue`](super::Queue) for a queue that is a `Ordered`, but for when to look next.
macro_rules! queue {
    ($queue:ident, |$ordered:ident| $next:expr) => {
        impl<T> $crate::queue::Queue<T> for $queue<T> {
            #[inline]
            fn insert(
                &mut self,
                expiry: $crate::Expiry,
                payload: T,
            ) -> Result<$crate::Handle, $crate::queue::Full<T>> {
                self.0.insert(expiry, payload)
            }

            #[inline]
            fn cancel(&mut self, handle: $crate::Handle) -> Result<T, $crate::Stale> {
                self.0.cancel(handle)
            }

            #[inline]
            fn rearm(
                &mut self,
                handle: $crate::Handle,
                expiry: $crate::Expiry,
            ) -> Result<(), $crate::Stale> {
                self.0.rearm(handle, expiry)
            }

            #[inline]
            fn next_expiry_ns(&mut self) -> Option<u64> {
                let $ordered = &mut self.0;
                $next
            }

            #[inline]
            fn pop_expired(&mut self, now_ns: u64) -> Option<$crate::queue::Fired<T>> {
                self.0.pop_expired(now_ns)
            }

            fn expiry(&self, handle: $crate::Handle) -> Result<$crate::Expiry, $crate::Stale> {
                self.0.expiry(handle)
            }

            fn len(&self) -> usize {
                self.0.len()
            }
        }
    };
}
pub(super) use queue;
