//! What a level's thread shares with those who arm timers.

use super::inbox::Inbox;
use super::slots::{Gone, Key, Label, Slots};
use super::sync::{AtomicBool, AtomicU64, Ordering};
use crate::Expiry;

/// A level's timers, the list of those its thread is to look at, and until when that thread sleeps.
///
/// No wakeup is lost: the thread publishes until when it will sleep and then empties the list once
/// more; who arms a timer lists it and then reads until when the thread sleeps. Whatever the order,
/// either the thread finds the timer or the other wakes the thread.
pub(super) struct Lane<P> {
    pub(super) slots: Slots<P>,
    inbox: Inbox,
    /// When the thread will look at the list again, whatever happens; [`AWAKE`] while it is about to.
    sleeps_until_ns: AtomicU64,
    stopped: AtomicBool,
}

/// No timer is earlier.
const AWAKE: u64 = 0;

/// Why a timer was not armed, with its payload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused<P> {
    /// All slots are in use.
    Full(P),
    /// The level's thread has ended or is about to.
    Stopped(P),
}

/// Whether the caller must wake the level's thread.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake(pub(super) bool);

impl<P> Lane<P> {
    /// Room for `slots` timers.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots: Slots::new(slots),
            inbox: Inbox::new(slots),
            sleeps_until_ns: AtomicU64::new(AWAKE),
            stopped: AtomicBool::new(false),
        }
    }

    /// Arms a timer; `near` is a number by which threads differ.
    ///
    /// # Errors
    /// [`Refused`] with the payload where all slots are in use, and where nothing fires any more.
    pub(super) fn arm(
        &self,
        near: usize,
        expiry: Expiry,
        label: Label,
        payload: P,
    ) -> Result<(Key, Wake), Refused<P>> {
        let (key, notice) = self.slots.arm(near, expiry, label, payload).map_err(Refused::Full)?;
        // Who stops sets the flag first and then cancels all there is: either it finds this timer, or
        // the flag is seen here. Where both happen, one of them wins.
        if self.is_stopped()
            && let Ok(Some(payload)) = self.slots.cancel(key)
        {
            return Err(Refused::Stopped(payload));
        }
        Ok((key, self.tell(key.slot, notice)))
    }

    /// Moves a timer; its payload comes back where it was cancelled meanwhile.
    ///
    /// # Errors
    /// [`Gone`] where it has fired, is being fired or was cancelled.
    pub(super) fn rearm(&self, key: Key, expiry: Expiry) -> Result<(Wake, Option<P>), Gone> {
        let (notice, revoked) = self.slots.rearm(key, expiry)?;
        Ok((self.tell(key.slot, notice), revoked))
    }

    fn tell(&self, slot: u32, notice: bool) -> Wake {
        if !notice {
            return Wake(false);
        }
        self.inbox.push(slot);
        // What is in the slot now counts, not what the caller has put there: while it was listing the
        // slot, somebody else may have found it listed, and could wake the thread only too early.
        Wake(self.slots.hard_ns(slot) < self.sleeps_until_ns.load(Ordering::SeqCst))
    }

    /// From here on nothing fires.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    // What the level's thread alone does.

    pub(super) fn take_inbox(&self, into: &mut Vec<u32>) {
        self.inbox.take(into);
    }

    pub(super) fn has_news(&self) -> bool {
        !self.inbox.is_empty()
    }

    pub(super) fn sleeps_until(&self, ns: u64) {
        self.sleeps_until_ns.store(ns, Ordering::SeqCst);
    }

    pub(super) fn awake(&self) {
        self.sleeps_until(AWAKE);
    }
}
