//! The queue that chooses by itself.

use super::near::Entry;
use super::order::Order;
use super::ordered::{Ordered, queue};
use super::precise::PreciseOrder;
use super::slots::{Place, Slots};
use super::wheel::{Wheel, WheelOrder};
use crate::Expiry;

/// After so many calls the choice is considered again.
const CALLS: u32 = 4096;

/// A queue that looks at what it is used for, and keeps its timers as [`Precise`](super::Precise) or as
/// [`Wheel`] does, whichever is the quicker for that.
///
/// What fires, when and in what order does not depend on the choice. Changing it costs as much as arming
/// all timers once more, and is done only after as many calls as there are timers (and no fewer than
/// 4096), so it is paid for by what it saves. Handles stay valid.
///
/// [`next_expiry_ns`](super::Queue::next_expiry_ns) may be earlier than the first timer.
#[derive(Debug)]
pub struct Auto<T>(Ordered<AutoOrder, T>);

impl<T> Auto<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty queue that allocates nothing until there are more than `timers`, or more than a
    /// thousand due in the same microsecond.
    pub fn with_capacity(timers: usize) -> Self {
        Self(Ordered::with_capacity(AutoOrder::new(), timers))
    }

    /// Which kind it is at the moment.
    pub fn chosen(&self) -> Chosen {
        self.0.order.chosen
    }
}

impl<T> Default for Auto<T> {
    fn default() -> Self {
        Self::new()
    }
}

queue!(Auto, |ordered| ordered.earliest_ns());

/// What an [`Auto`] queue has chosen to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// As [`Precise`](super::Precise).
    Precise,
    /// As [`Wheel`].
    Wheel,
}

#[derive(Debug)]
struct AutoOrder {
    chosen: Chosen,
    precise: PreciseOrder,
    wheel: WheelOrder,
    /// Calls since the choice was last considered.
    calls: u32,
    /// And before that, since it was made.
    calls_before: u64,
    /// Timers that fired since it was last considered, from when to when.
    fired: u32,
    fired_from_ns: u64,
    fired_to_ns: u64,
}

/// Calls one of the two.
macro_rules! chosen {
    ($self:ident, $order:ident => $call:expr) => {
        match $self.chosen {
            Chosen::Precise => {
                let $order = &mut $self.precise;
                $call
            }
            Chosen::Wheel => {
                let $order = &mut $self.wheel;
                $call
            }
        }
    };
}

impl AutoOrder {
    fn new() -> Self {
        Self {
            chosen: Chosen::Precise,
            precise: PreciseOrder::new(),
            wheel: WheelOrder::new(Wheel::<()>::GRANULARITY_DEFAULT_NS, false),
            calls: 0,
            calls_before: 0,
            fired: 0,
            fired_from_ns: 0,
            fired_to_ns: 0,
        }
    }

    #[cold]
    fn consider<T>(&mut self, slots: &mut Slots<T>) {
        self.calls_before += u64::from(self.calls);
        let gap_ns =
            self.fired_to_ns.saturating_sub(self.fired_from_ns) / u64::from(self.fired.max(1));
        let fired_share = f64::from(self.fired) / f64::from(self.calls);
        let better = better(slots.armed(), fired_share, gap_ns);
        self.calls = 0;
        self.fired = 0;
        self.fired_from_ns = self.fired_to_ns;
        if better == self.chosen || self.calls_before < slots.armed() as u64 {
            return;
        }
        self.calls_before = 0;
        chosen!(self, order => order.clear());
        self.chosen = better;
        for (_, slot) in slots.iter_mut() {
            slot.links.place = Place::NOWHERE;
        }
        for number in 0..slots.count() as u32 {
            if slots.slot(number).is_armed() {
                chosen!(self, order => order.adopt(slots, number));
            }
        }
    }
}

/// Which kind is the quicker for so many timers, where such a share of calls fires one, so long after the
/// one before. Measured by `bench/timers` and `examples/queue_grid.rs`.
fn better(timers: usize, fired_share: f64, gap_ns: u64) -> Chosen {
    // More need more memory than a cache has, and the wheel touches it more often. Fewer are sorted
    // more quickly than they are linked.
    const TIMERS: core::ops::RangeInclusive<usize> = 32..=30_000;
    // There the wheel's granules hold a few timers each: they come sorted, and none is opened in vain.
    const GAP_NS: core::ops::RangeInclusive<u64> = 16..=512;
    const FIRED_SHARE: f64 = 0.25;
    if TIMERS.contains(&timers) && GAP_NS.contains(&gap_ns) && fired_share > FIRED_SHARE {
        Chosen::Wheel
    } else {
        Chosen::Precise
    }
}

impl Order for AutoOrder {
    #[inline]
    fn file<T>(&mut self, slots: &mut Slots<T>, number: u32, expiry: Expiry, sequence: u64) {
        chosen!(self, order => order.file(slots, number, expiry, sequence));
        self.calls += 1;
        if self.calls >= CALLS {
            self.consider(slots);
        }
    }

    fn adopt<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        chosen!(self, order => order.adopt(slots, number));
    }

    #[inline]
    fn forget<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        chosen!(self, order => order.forget(slots, number));
    }

    #[inline]
    fn earliest_ns(&self) -> Option<u64> {
        match self.chosen {
            Chosen::Precise => self.precise.earliest_ns(),
            Chosen::Wheel => self.wheel.earliest_ns(),
        }
    }

    #[inline]
    fn first<T>(&mut self, slots: &mut Slots<T>) -> Option<Entry> {
        chosen!(self, order => order.first(slots))
    }

    #[inline]
    fn take_first<T>(&mut self, slots: &mut Slots<T>, entry: Entry) {
        self.fired += 1;
        self.fired_to_ns = entry.hard_ns;
        chosen!(self, order => order.take_first(slots, entry));
    }

    #[inline]
    fn due_ns(&self, time_ns: u64) -> u64 {
        time_ns
    }

    fn reserve(&mut self, timers: usize) {
        self.precise.reserve(timers);
        self.wheel.reserve(timers);
    }

    fn clear(&mut self) {
        chosen!(self, order => order.clear());
    }
}
