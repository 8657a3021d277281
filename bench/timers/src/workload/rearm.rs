//! Timeouts that keep being put off: a connection's idle timer, moved with every packet.

use super::{TIMEOUT_TICKS, writer::Writer};

/// How many times a timer is moved per timeout on average, in tenths, so that one of a hundred fires.
/// Found by trying, as moves only go later; the test holds the script to it.
const MOVES_PER_TIMEOUT_TENTHS: u64 = 46;

pub(super) fn make(writer: &mut Writer) {
    fill(writer, MOVES_PER_TIMEOUT_TENTHS);
    for step in 1.. {
        if !writer.wants_more() {
            return;
        }
        let now = time(step, writer.size, MOVES_PER_TIMEOUT_TENTHS);
        writer.turn(now, |random, _| now + timeout(random));
        let slot = writer.random.u32(0..writer.size);
        let expiry = (now + timeout(&mut writer.random)).max(writer.expiry(slot) + 1);
        writer.rearm(slot, expiry);
    }
}

/// Inserts all timers as if this had been going on for long: each was set a random while ago, and has
/// not fired yet.
pub(super) fn fill(writer: &mut Writer, turns_per_timeout_tenths: u64) {
    let age_mean = TIMEOUT_TICKS as f64 * 10.0 / turns_per_timeout_tenths as f64;
    for slot in 0..writer.size {
        let expiry = loop {
            let age = -(1.0 - writer.random.f64()).ln() * age_mean;
            let left = timeout(&mut writer.random) as f64 - age;
            if left >= 1.0 {
                break left as u64;
            }
        };
        writer.insert(slot, expiry);
    }
    writer.filled();
}

/// When the `step`th turn is, so that each of `size` timers has its share of them.
pub(super) fn time(step: u64, size: u32, turns_per_timeout_tenths: u64) -> u64 {
    let turns = u128::from(turns_per_timeout_tenths) * u128::from(size);
    (u128::from(step) * u128::from(TIMEOUT_TICKS) * 10 / turns) as u64
}

pub(super) fn timeout(random: &mut fastrand::Rng) -> u64 {
    random.u64(TIMEOUT_TICKS / 2..=TIMEOUT_TICKS * 3 / 2)
}
