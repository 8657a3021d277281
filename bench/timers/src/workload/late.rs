//! Everything at once, looked at so rarely that timers of many times are due: for checks, not to be
//! timed.

use super::{TIMEOUT_TICKS, writer::Writer};

/// Between two looks, in which about a tenth of the timers come due.
const LOOK_TICKS: u64 = TIMEOUT_TICKS / 10;

pub(super) fn make(writer: &mut Writer) {
    for slot in 0..writer.size {
        let expiry = expiry(&mut writer.random);
        writer.insert(slot, expiry);
    }
    writer.filled();
    for look in 1.. {
        if !writer.wants_more() {
            return;
        }
        let now = look * LOOK_TICKS;
        writer.turn(now, |random, _| now + expiry(random));
        for _ in 0..writer.size.div_ceil(4) {
            let slot = writer.random.u32(0..writer.size);
            let expiry = now + expiry(&mut writer.random);
            if writer.random.bool() {
                // Earlier as well as later.
                writer.rearm(slot, expiry);
            } else {
                writer.cancel(slot);
                writer.insert(slot, expiry);
            }
        }
    }
}

fn expiry(random: &mut fastrand::Rng) -> u64 {
    random.u64(1..=2 * TIMEOUT_TICKS)
}
