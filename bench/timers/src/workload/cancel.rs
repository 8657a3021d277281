//! Timeouts of what nearly always succeeds: a request's, cancelled when the answer comes.

use super::rearm::{fill, time, timeout};
use super::writer::Writer;

/// So that one of ten fires: with cancels at random and timeouts uniform from half to one and a half,
/// `(exp(-k/2) - exp(-3k/2)) / k` is 0.1 at k = 2.55.
const CANCELS_PER_TIMEOUT_TENTHS: u64 = 25;

pub(super) fn make(writer: &mut Writer) {
    fill(writer, CANCELS_PER_TIMEOUT_TENTHS);
    for step in 1.. {
        if !writer.wants_more() {
            return;
        }
        let now = time(step, writer.size, CANCELS_PER_TIMEOUT_TENTHS);
        writer.turn(now, |random, _| now + timeout(random));
        let slot = writer.random.u32(0..writer.size);
        writer.cancel(slot);
        let expiry = now + timeout(&mut writer.random);
        writer.insert(slot, expiry);
    }
}
