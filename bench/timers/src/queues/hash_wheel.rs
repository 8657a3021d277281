//! The `hierarchical_hash_wheel_timer` crate: four wheels of 256 slots, a hash map of what is armed. It
//! cannot move a timer, so that it is cancelled and inserted anew.

use crate::queue::TimerQueue;
use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{
    CancellableTimerEntry, QuadWheelWithOverflow,
};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

pub(crate) struct HashWheel {
    wheel: QuadWheelWithOverflow<Timer>,
    due: VecDeque<u32>,
    sequence: u64,
    now: u64,
}

#[derive(Debug)]
struct Timer {
    id: u64,
    payload: u32,
}

impl CancellableTimerEntry for Timer {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }
}

impl HashWheel {
    /// Room cannot be asked for.
    pub(crate) fn new() -> Self {
        Self { wheel: QuadWheelWithOverflow::new(), due: VecDeque::new(), sequence: 0, now: 0 }
    }

    /// Turns the wheels, past empty slots where they know of them, and collects what is due.
    fn reach(&mut self, now: u64) {
        while self.now < now {
            let left = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            let ticks = match self.wheel.can_skip() {
                Skip::None => 0,
                Skip::Millis(ticks) => ticks.min(left),
                Skip::Empty => left,
            };
            if ticks > 0 {
                self.wheel.skip(ticks);
                self.now += u64::from(ticks);
            } else {
                self.due.extend(self.wheel.tick().into_iter().map(|timer| timer.payload));
                self.now += 1;
            }
        }
    }
}

impl TimerQueue for HashWheel {
    /// A timer that is moved is made anew, so that its user keeps what it carries.
    type Id = (u64, u32);

    fn insert(&mut self, expiry: u64, payload: u32) -> (u64, u32) {
        let id = self.sequence;
        self.sequence += 1;
        let delay = Duration::from_millis(expiry.saturating_sub(self.now));
        // A timer that was refused is missed when it is named, or when it is due.
        let _ = self.wheel.insert_ref_with_delay(Rc::new(Timer { id, payload }), delay);
        (id, payload)
    }

    fn cancel(&mut self, id: (u64, u32)) -> bool {
        self.wheel.cancel(&id.0).is_ok()
    }

    fn rearm(&mut self, id: &mut (u64, u32), expiry: u64) -> bool {
        let was_armed = self.cancel(*id);
        if was_armed {
            *id = self.insert(expiry, id.1);
        }
        was_armed
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.reach(now);
        self.due.pop_front()
    }
}
