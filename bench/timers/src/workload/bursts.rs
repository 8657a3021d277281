//! Many timers that are due at one time, and set again for one time.

use super::writer::Writer;

/// How many; all of them where there are fewer.
const BURST: u32 = 10_000;

/// From one burst to the next.
const GAP_TICKS: u64 = 1000;

pub(super) fn make(writer: &mut Writer) {
    let bursts = u64::from(writer.size.div_ceil(BURST));
    for slot in 0..writer.size {
        writer.insert(slot, (1 + u64::from(slot / BURST)) * GAP_TICKS);
    }
    writer.filled();
    while writer.wants_more() {
        let now = writer.next();
        writer.turn(now, |_, _| now + bursts * GAP_TICKS);
    }
}
