//! The hold model, by which event queues are compared since (Jones, "An empirical comparison of
//! priority-queue and event-set implementations", CACM 29(4), 1986): take the first, insert one that
//! is due an increment later.

use super::{TIMEOUT_TICKS, writer::Writer};

pub(super) fn make(writer: &mut Writer, increment: fn(&mut fastrand::Rng) -> u64) {
    for slot in 0..writer.size {
        // Any part of an increment is left: equal ones keep what order they find, so it is not one.
        let whole = increment(&mut writer.random);
        let left = writer.random.u64(1..=whole);
        writer.insert(slot, left);
    }
    writer.filled();
    while writer.wants_more() {
        let now = writer.next();
        writer.turn(now, |random, _| now + increment(random));
    }
}

pub(super) fn exponential(random: &mut fastrand::Rng) -> u64 {
    let mean = TIMEOUT_TICKS as f64;
    // 1 - [0, 1) is never 0.
    (-(1.0 - random.f64()).ln() * mean).ceil().max(1.0) as u64
}

pub(super) fn uniform(random: &mut fastrand::Rng) -> u64 {
    random.u64(1..=2 * TIMEOUT_TICKS)
}

pub(super) fn bimodal(random: &mut fastrand::Rng) -> u64 {
    if random.u32(0..10) > 0 {
        random.u64(1..=TIMEOUT_TICKS / 5)
    } else {
        random.u64(TIMEOUT_TICKS * 82 / 10..=TIMEOUT_TICKS * 10)
    }
}

pub(super) fn equal(_: &mut fastrand::Rng) -> u64 {
    TIMEOUT_TICKS
}
