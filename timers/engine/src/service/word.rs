//! The state of a slot, in one word that a compare-and-swap changes.

/// A slot's generation, how often its timer was moved, and the phase it is in.
///
/// The generation is what makes a handle stale. It has 45 bits: a handle kept while its slot is armed
/// 3.5·10¹³ times may be taken for a later one (at ten million a second, always of one slot: 40 days).
///
/// The number of moves lets the level's thread notice that a timer was moved while it was looked at.
/// It has 16 bits, and who fires looks again at the expiry, so that 65,536 moves within one look do
/// no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u64);

/// Who may touch the slot's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nobody's, or that of whoever takes it into use or puts it back.
    Idle,
    /// Armed: whoever changes the word decides what becomes of the timer.
    Armed,
    /// Armed, and one thread is changing its expiry.
    Moving,
    /// Cancelled while one thread was changing its expiry; that thread puts the slot back.
    Revoked,
}

const PHASE_BITS: u32 = 2;
const MOVES_BITS: u32 = 16;

impl Word {
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    pub(super) const fn phase(self) -> Phase {
        match self.0 & 3 {
            0 => Phase::Idle,
            1 => Phase::Armed,
            2 => Phase::Moving,
            _ => Phase::Revoked,
        }
    }

    pub(super) const fn generation(self) -> u64 {
        self.0 >> (PHASE_BITS + MOVES_BITS)
    }

    /// The same timer in another phase.
    pub(super) const fn in_phase(self, phase: Phase) -> Self {
        Self(self.0 & !3 | phase as u64)
    }

    /// Armed again, at another time.
    pub(super) const fn moved(self) -> Self {
        let moves = (self.0 >> PHASE_BITS).wrapping_add(1) & ((1 << MOVES_BITS) - 1);
        let generation = self.generation() << (PHASE_BITS + MOVES_BITS);
        Self(generation | moves << PHASE_BITS | Phase::Armed as u64)
    }

    /// The timer is no more.
    pub(super) const fn over(self) -> Self {
        Self(self.generation().wrapping_add(1) << (PHASE_BITS + MOVES_BITS))
    }
}
