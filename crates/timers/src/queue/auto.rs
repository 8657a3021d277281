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
/// From so many timers on their memory is in no cache, and what counts is how often it is touched.
const CACHED_MAX: usize = 200_000;
/// So few timers are sorted more quickly than they are put into buckets.
const SORTED_MAX: usize = 24;

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
        }
    }

    #[cold]
    fn consider<T>(&mut self, slots: &mut Slots<T>) {
        self.calls_before += u64::from(self.calls);
        self.calls = 0;
        let better = better(slots.armed());
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

/// Which kind is the quicker for so many timers, as measured by `bench/timers`.
fn better(timers: usize) -> Chosen {
    if timers <= SORTED_MAX || timers > CACHED_MAX { Chosen::Precise } else { Chosen::Wheel }
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
