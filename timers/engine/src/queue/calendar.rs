//! Which bucket a time belongs in, and which bucket is the next.

/// A level has a bucket for each value of a digit of this many bits.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
/// So many digits make 64 bits.
const LEVELS: usize = (u64::BITS / DIGIT_BITS) as usize;

/// How many buckets there are.
pub(super) const BUCKETS: usize = LEVELS * DIGITS;

/// A tree of times by their digits in base 256, of which only what differs from the base is kept: a
/// time's level is the highest digit in which it differs, its bucket there that digit's value. All of
/// a level is earlier than all of the next one, and buckets are numbered in order of time.
///
/// Knows of times above the base only. What is in the buckets is its user's.
#[derive(Debug)]
pub(super) struct Calendar {
    base: u64,
    /// A bit for each bucket that is not empty.
    occupied: [[u64; DIGITS / 64]; LEVELS],
}

/// A bucket, and what times it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) bucket: usize,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Calendar {
    pub(super) const fn new() -> Self {
        Self { base: 0, occupied: [[0; DIGITS / 64]; LEVELS] }
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Moves the base. Where buckets are occupied, no digit may change at their levels or above: the
    /// base moves within the bucket that was the next.
    pub(super) fn set_base(&mut self, base: u64) {
        self.base = base;
    }

    /// The bucket of a time above the base.
    #[inline]
    pub(super) fn bucket(&self, time: u64) -> usize {
        debug_assert!(time > self.base);
        let level = level_of(time ^ self.base);
        level * DIGITS + (time >> (level as u32 * DIGIT_BITS)) as usize % DIGITS
    }

    #[inline]
    pub(super) fn set_occupied(&mut self, bucket: usize) {
        self.occupied[bucket / DIGITS][bucket % DIGITS / 64] |= 1 << (bucket % 64);
    }

    #[inline]
    pub(super) fn set_empty(&mut self, bucket: usize) {
        self.occupied[bucket / DIGITS][bucket % DIGITS / 64] &= !(1 << (bucket % 64));
    }

    /// The occupied bucket with the earliest times.
    pub(super) fn next(&self) -> Option<Span> {
        let (level, digit) = self.occupied.iter().enumerate().find_map(|(level, words)| {
            let word = words.iter().position(|&bits| bits != 0)?;
            Some((level, word * 64 + words[word].trailing_zeros() as usize))
        })?;
        let shift = level as u32 * DIGIT_BITS;
        let below = (1 << shift) - 1;
        let digits_above = !(below | (DIGITS as u64 - 1) << shift);
        let first = self.base & digits_above | (digit as u64) << shift;
        Some(Span { bucket: level * DIGITS + digit, first, last: first | below })
    }
}

fn level_of(difference: u64) -> usize {
    (difference.ilog2() / DIGIT_BITS) as usize
}

/// The last time before `limit` up to which times differ from `base` in lower digits than `limit` does.
pub(super) fn last_before(base: u64, limit: u64) -> u64 {
    debug_assert!(limit > base);
    let below = (1 << (level_of(base ^ limit) as u32 * DIGIT_BITS)) - 1;
    base | below
}

/// The earliest time with all the digits that times have in common of which one is `time` and which
/// differ from it in the bits `differ`.
#[inline]
pub(super) fn prefix(time: u64, differ: u64) -> u64 {
    let different_bits = u64::BITS - differ.leading_zeros();
    let below = different_bits.next_multiple_of(DIGIT_BITS);
    if below == u64::BITS { 0 } else { time >> below << below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_of_time() {
        let mut calendar = Calendar::new();
        calendar.set_base(0x1234);
        let times =
            [0x1235, 0x12ff, 0x1300, 0x13ff, 0x1400, 0x01_0000, 0xff_ffff, 1 << 24, u64::MAX];
        let buckets = times.map(|time| calendar.bucket(time));
        assert!(buckets.is_sorted());
        for (time, bucket) in times.into_iter().zip(buckets).rev() {
            calendar.set_occupied(bucket);
            let span = calendar.next().unwrap();
            assert_eq!(span.bucket, bucket);
            assert!(span.first <= time && time <= span.last, "{span:?} {time:#x}");
        }
        for bucket in buckets {
            calendar.set_empty(bucket);
        }
        assert_eq!(calendar.next(), None);
    }

    #[test]
    fn what_many_times_have_in_common() {
        assert_eq!(prefix(0x12_3456, 0), 0x12_3456);
        assert_eq!(prefix(0x12_3456, 1), 0x12_3400);
        assert_eq!(prefix(0x12_3456, 0x100), 0x12_0000);
        assert_eq!(prefix(u64::MAX, 1 << 63), 0);
    }

    #[test]
    fn the_last_time_before_another() {
        assert_eq!(last_before(0x12_3456, 0x12_5678), 0x12_34ff);
        assert_eq!(last_before(7, 9), 7);
        assert_eq!(last_before(0, u64::MAX), u64::MAX >> 8);
    }
}
