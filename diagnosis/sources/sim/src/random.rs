//! Random numbers by counting: the n-th draw of a stream depends on the stream's key and n, and on nothing
//! that happened elsewhere.
//!
//! A key is made of the seed, of who draws, and what for. So another policy or one more thread leaves all
//! other draws as they were, and two systems can be compared on the same randomness.

/// Steps of the counter: the golden ratio's, as in `SplitMix64` (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Who draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// A CPU, by number.
    Cpu(u16),
    /// A thread of the workload, by its place there.
    Thread(u32),
    /// A source of interrupts, by its place.
    Source(u32),
    /// Whoever makes up a system at random.
    Maker,
}

/// A stream of random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
    drawn: u64,
}

impl Stream {
    /// The stream of `entity` for `purpose`, which each entity numbers for itself.
    pub const fn new(seed: u64, entity: Entity, purpose: u32) -> Self {
        let (kind, number) = match entity {
            Entity::Cpu(number) => (1, number as u64),
            Entity::Thread(number) => (2, number as u64),
            Entity::Source(number) => (3, number as u64),
            Entity::Maker => (4, 0),
        };
        let who = mix(seed ^ mix(kind << 56 | number));
        Self { key: mix(who.wrapping_add(mix(purpose as u64 ^ 0xa5a5_5a5a))), drawn: 0 }
    }

    /// The next number, any `u64`.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        mix(self.key.wrapping_add(self.drawn.wrapping_mul(GAMMA)))
    }

    /// The next number in `0..below`; 0 where `below` is 0. Uneven by less than `below` in 2^64.
    #[inline]
    pub const fn below(&mut self, below: u64) -> u64 {
        ((self.next() as u128 * below as u128) >> 64) as u64
    }

    /// The next number in `0.0..1.0`, never 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// `SplitMix64`'s output function.
const fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_entity_and_purpose() {
        let keys = [
            Stream::new(1, Entity::Cpu(0), 0),
            Stream::new(2, Entity::Cpu(0), 0),
            Stream::new(1, Entity::Cpu(1), 0),
            Stream::new(1, Entity::Thread(0), 0),
            Stream::new(1, Entity::Cpu(0), 1),
        ];
        let mut drawn: Vec<u64> = keys.into_iter().map(|mut stream| stream.next()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), keys.len());
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut stream = Stream::new(7, Entity::Maker, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!(stream.below(0), 0);
    }
}
