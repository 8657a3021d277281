//! What a stream can tell.

use super::{Kind, Pack, Payload};

/// The source records these kinds, so that where none of a kind comes, none happened. `a` a bit for each
/// tag below 64. Where it is not told, what a stream can tell is learnt from what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// A bit for each tag.
    pub kinds: u64,
}

impl Recorded {
    /// Every kind there is.
    pub fn all() -> Self {
        Self { kinds: Kind::TAGS.iter().fold(0, |all, (tag, _)| all | 1 << tag) }
    }

    /// Whether this kind is recorded.
    pub const fn has(self, tag: u8) -> bool {
        tag < 64 && self.kinds >> tag & 1 == 1
    }
}

impl Pack for Recorded {
    fn pack(&self) -> Payload {
        Payload { a: self.kinds, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { kinds: p.a }
    }
}
