//! The timers of a level, as all threads see them.

use super::free::Free;
use super::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use super::word::{Phase, Word};
use crate::Expiry;
use std::sync::PoisonError;

/// A table of slots, a timer in each.
///
/// One compare-and-swap on the slot's [`Word`] decides whether a timer is fired, moved or cancelled;
/// whoever wins it owns what the slot holds. Nobody ever waits: who meets a thread that is changing
/// an expiry leaves the rest to it.
///
/// The level's thread keeps at most one entry for a slot in its queue and says in the slot when it
/// will look at it next. Who arms or moves a timer tells that thread only where this is too late.
/// Cancelled timers leave their entry behind, and the next one in the same slot, or the same one moved
/// to later, makes use of it: the thread finds out when it looks.
pub(super) struct Slots<P> {
    slots: Box<[Slot<P>]>,
    free: Free,
}

/// 128 bytes: processors fetch cache lines in pairs, and neighbours are others' timers.
#[repr(align(128))]
struct Slot<P> {
    word: AtomicU64,
    // Written only in phases that make the slot the writer's.
    soft_ns: AtomicU64,
    slack_ns: AtomicU64,
    tag: AtomicU64,
    coarse: AtomicBool,
    /// When the level's thread looks at it next, see [`look`].
    look: AtomicU64,
    /// Locked only by the slot's owner: nobody waits for it.
    payload: Mutex<Option<P>>,
}

/// One timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) slot: u32,
    pub(super) generation: u64,
}

/// What is to be known of a timer beside its time and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) tag: u64,
    pub(super) coarse: bool,
}

/// What the level's thread sees in a slot. Where it is not armed, the rest is of the past.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    word: Word,
    pub(super) expiry: Expiry,
    pub(super) coarse: bool,
}

impl Seen {
    pub(super) fn is_armed(&self) -> bool {
        self.word.phase() == Phase::Armed
    }
}

/// The timer has fired, is being fired or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// Whether the level's thread must be told.
pub(super) type Notice = bool;

/// Nobody looks: there is no entry in the queue.
const NEVER: u64 = u64::MAX;

/// A time to look and from which queue in one number. A coarse queue may look late, which only a
/// coarse timer puts up with. Times beyond 292 years are 292 years.
const fn look(hard_ns: u64, coarse: bool) -> u64 {
    time(hard_ns) << 1 | coarse as u64
}

const fn time(ns: u64) -> u64 {
    if ns < NEVER >> 1 { ns } else { (NEVER >> 1) - 1 }
}

// What any thread may do.
impl<P> Slots<P> {
    pub(super) fn new(slots: usize) -> Self {
        let slot = |_| Slot {
            word: AtomicU64::new(0),
            soft_ns: AtomicU64::new(0),
            slack_ns: AtomicU64::new(0),
            tag: AtomicU64::new(0),
            coarse: AtomicBool::new(false),
            look: AtomicU64::new(NEVER),
            payload: Mutex::new(None),
        };
        Self { slots: (0..slots).map(slot).collect(), free: Free::new(slots) }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Arms a timer in a free slot.
    ///
    /// # Errors
    /// The payload where there is none.
    pub(super) fn arm(
        &self,
        near: usize,
        expiry: Expiry,
        label: Label,
        payload: P,
    ) -> Result<(Key, Notice), P> {
        let Some(number) = self.free.take(near) else { return Err(payload) };
        let slot = &self.slots[number as usize];
        *slot.payload() = Some(payload);
        slot.set(expiry);
        slot.tag.store(label.tag, Ordering::Relaxed);
        slot.coarse.store(label.coarse, Ordering::Relaxed);
        let word = slot.word(Ordering::Relaxed);
        // The thread writes when it will look and then reads the word; here it is the other way
        // round. So one of the two sees the other, if both are sequentially consistent.
        slot.word.store(word.in_phase(Phase::Armed).bits(), Ordering::SeqCst);
        let key = Key { slot: number, generation: word.generation() };
        Ok((key, slot.needs_notice(expiry, label.coarse)))
    }

    /// Moves a timer. Where another thread is moving it, that one counts as the later; where another
    /// cancels it meanwhile, the payload comes back.
    ///
    /// # Errors
    /// [`Gone`].
    pub(super) fn rearm(&self, key: Key, expiry: Expiry) -> Result<(Notice, Option<P>), Gone> {
        let slot = &self.slots[key.slot as usize];
        let mut word = slot.word(Ordering::Relaxed);
        loop {
            match word.phase() {
                _ if word.generation() != key.generation => return Err(Gone),
                Phase::Idle | Phase::Revoked => return Err(Gone),
                Phase::Moving => return Ok((false, None)),
                Phase::Armed => match slot.turn(word, word.in_phase(Phase::Moving)) {
                    Ok(()) => break,
                    Err(now) => word = now,
                },
            }
        }
        slot.set(expiry);
        let coarse = slot.coarse.load(Ordering::Relaxed);
        match slot.turn(word.in_phase(Phase::Moving), word.moved()) {
            Ok(()) => Ok((slot.needs_notice(expiry, coarse), None)),
            Err(_revoked) => Ok((false, self.put_back(key.slot, word))),
        }
    }

    /// Disarms a timer: it will surely not fire. The payload comes back, unless a thread that is
    /// moving the timer has yet to give it up.
    ///
    /// # Errors
    /// [`Gone`].
    pub(super) fn cancel(&self, key: Key) -> Result<Option<P>, Gone> {
        let slot = &self.slots[key.slot as usize];
        let mut word = slot.word(Ordering::Relaxed);
        loop {
            let turned = match word.phase() {
                _ if word.generation() != key.generation => return Err(Gone),
                Phase::Idle | Phase::Revoked => return Err(Gone),
                Phase::Moving => slot.turn(word, word.in_phase(Phase::Revoked)).map(|()| None),
                Phase::Armed => slot.turn(word, word.over()).map(|()| Some(slot.payload().take())),
            };
            match turned {
                Ok(None) => return Ok(None),
                Ok(Some(payload)) => {
                    self.free.put(key.slot);
                    return Ok(payload);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Disarms all timers; for when nobody fires them any more.
    pub(super) fn cancel_all(&self, mut abandoned: impl FnMut(P)) {
        for number in 0..self.slots.len() as u32 {
            let generation = self.slots[number as usize].word(Ordering::SeqCst).generation();
            if let Ok(Some(payload)) = self.cancel(Key { slot: number, generation }) {
                abandoned(payload);
            }
        }
    }

    /// The hard expiry that is in a slot now, ns.
    pub(super) fn hard_ns(&self, number: u32) -> u64 {
        let slot = &self.slots[number as usize];
        slot.word(Ordering::SeqCst);
        slot.expiry().hard_ns()
    }
}

// What the level's thread alone does.
impl<P> Slots<P> {
    /// What is in a slot. From here to [`promise`](Self::promise) whoever changes it gives notice.
    pub(super) fn look(&self, number: u32) -> Seen {
        let slot = &self.slots[number as usize];
        slot.look.store(NEVER, Ordering::SeqCst);
        let word = slot.word(Ordering::SeqCst);
        Seen { word, expiry: slot.expiry(), coarse: slot.coarse.load(Ordering::Relaxed) }
    }

    /// Says that the thread will look at the slot at the time that was seen.
    pub(super) fn promise(&self, number: u32, seen: &Seen) {
        let look = look(seen.expiry.hard_ns(), seen.coarse);
        self.slots[number as usize].look.store(look, Ordering::SeqCst);
    }

    /// Takes a timer that is due, as it was seen. `None` where it has been changed since; there will
    /// be notice of that.
    pub(super) fn claim(&self, number: u32, seen: &Seen, now_ns: u64) -> Option<(Key, Label, P)> {
        let slot = &self.slots[number as usize];
        slot.turn(seen.word, seen.word.over()).ok()?;
        if slot.expiry().soft_ns() > now_ns {
            // Moved so often since it was seen that the count of moves came round.
            slot.word.store(seen.word.moved().bits(), Ordering::SeqCst);
            return None;
        }
        let key = Key { slot: number, generation: seen.word.generation() };
        let tag = slot.tag.load(Ordering::Relaxed);
        let payload = slot.payload().take();
        self.free.put(number);
        payload.map(|payload| (key, Label { tag, coarse: seen.coarse }, payload))
    }

    fn put_back(&self, number: u32, word: Word) -> Option<P> {
        let slot = &self.slots[number as usize];
        let payload = slot.payload().take();
        slot.word.store(word.over().bits(), Ordering::Release);
        self.free.put(number);
        payload
    }
}

impl<P> Slot<P> {
    fn word(&self, ordering: Ordering) -> Word {
        Word::from_bits(self.word.load(ordering))
    }

    fn turn(&self, from: Word, to: Word) -> Result<(), Word> {
        self.word
            .compare_exchange(from.bits(), to.bits(), Ordering::SeqCst, Ordering::Relaxed)
            .map(drop)
            .map_err(Word::from_bits)
    }

    fn set(&self, expiry: Expiry) {
        self.soft_ns.store(expiry.soft_ns(), Ordering::Relaxed);
        self.slack_ns.store(expiry.slack_ns(), Ordering::Relaxed);
    }

    /// Half old and half new where somebody is changing it: who acts on it must win the word first.
    fn expiry(&self) -> Expiry {
        let soft_ns = self.soft_ns.load(Ordering::Relaxed);
        Expiry::with_slack(soft_ns, self.slack_ns.load(Ordering::Relaxed))
    }

    fn needs_notice(&self, expiry: Expiry, coarse: bool) -> Notice {
        let promised = self.look.load(Ordering::SeqCst);
        let in_time = promised >> 1 <= time(expiry.hard_ns());
        let fine_enough = coarse || promised & 1 == 0;
        !(in_time && fine_enough)
    }

    fn payload(&self) -> MutexGuard<'_, Option<P>> {
        debug_assert!(self.payload.try_lock().is_ok(), "only its owner touches a slot");
        self.payload.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
