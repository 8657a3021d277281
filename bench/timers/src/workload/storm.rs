//! One timer that is moved and moved among sleepers that keep firing: a network driver's, due 300 µs
//! after the last packet, with a packet every 20 µs; and 40 threads that sleep for up to a millisecond.

use super::writer::Writer;

pub(super) const TIMERS: u32 = 1 + 40;
const DUE_TICKS: u64 = 300;
const MOVE_TICKS: u64 = 20;
const SLEEP_TICKS_MAX: u64 = 1000;

pub(super) fn make(writer: &mut Writer) {
    writer.insert(0, DUE_TICKS);
    for slot in 1..writer.size {
        let expiry = sleep(&mut writer.random);
        writer.insert(slot, expiry);
    }
    writer.filled();
    let mut packet = MOVE_TICKS;
    while writer.wants_more() {
        let now = writer.next();
        if now <= packet {
            writer.turn(now, |random, _| now + sleep(random));
        } else {
            writer.rearm(0, packet + DUE_TICKS);
            packet += MOVE_TICKS;
        }
    }
}

/// A sleep of 0 ends when the clock has moved on.
fn sleep(random: &mut fastrand::Rng) -> u64 {
    random.u64(0..=SLEEP_TICKS_MAX).max(1)
}
