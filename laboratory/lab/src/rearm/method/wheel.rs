//! A thread owns a wheel, which moves timers later by writing their time.

use super::{Kind, Make};
use crate::rearm::queued::Queued;
use tardy_timers::queue::Wheel;

pub(super) const KIND: Kind = Kind {
    name: "Wheel queue",
    summary: "a thread waits in futex(2) until the next bucket of a tardy_timers Wheel, exact, of 1 µs; \
              a move locks the wheel, and wakes the thread where that time has changed",
    make: Make::Waits(|| Ok(Box::new(Queued::new(Wheel::with_capacity(1))))),
};
