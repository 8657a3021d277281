//! How a timer is named by who armed it.

/// Names one timer of one queue, from its insertion until it fires or is cancelled.
///
/// After that it is stale for ever: no later timer gets an equal handle. Eight bytes, which may be
/// sent anywhere as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Handle {
    /// As one number: the generation in the upper half.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }

    /// From what [`to_bits`](Self::to_bits) gave. Any other number makes a handle that is stale.
    pub const fn from_bits(bits: u64) -> Self {
        Self { slot: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// The timer has fired or was cancelled, or the handle is another queue's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the timer has fired or was cancelled")]
pub struct Stale;
