//! Stretches in which interrupts were off, or preemption, where the stream tells.

use std::collections::VecDeque;

/// Stretches that are remembered; of more, the last.
const SECTIONS_MAX: usize = 256;

/// The stretches of one kind.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// Since when one lasts.
    since_ns: Option<u64>,
    /// Those that have ended, oldest first.
    ended: VecDeque<(u64, u64)>,
}

impl Sections {
    pub(super) fn begin(&mut self, time_ns: u64) {
        self.since_ns.get_or_insert(time_ns);
    }

    pub(super) fn end(&mut self, time_ns: u64) {
        if let Some(since_ns) = self.since_ns.take() {
            if self.ended.len() == SECTIONS_MAX {
                self.ended.pop_front();
            }
            self.ended.push_back((since_ns, time_ns));
        }
    }

    /// What was open when events were lost ends at a time that nobody knows.
    pub(super) fn forget(&mut self) {
        self.since_ns = None;
    }

    /// Calls `piece` for what lies inside such stretches and what does not, in order, without a gap.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64, mut piece: impl FnMut(u64, u64, bool)) {
        let mut at_ns = from_ns;
        let lasts = self.since_ns.map(|since_ns| (since_ns, u64::MAX));
        if !self.ended.is_empty() || lasts.is_some() {
            let ended = self.ended.iter().copied().skip_while(|(_, end_ns)| *end_ns <= from_ns);
            for (start_ns, end_ns) in ended.chain(lasts) {
                let (start_ns, end_ns) = (start_ns.clamp(at_ns, to_ns), end_ns.clamp(at_ns, to_ns));
                if start_ns > at_ns {
                    piece(at_ns, start_ns, false);
                }
                if end_ns > start_ns {
                    piece(start_ns, end_ns, true);
                }
                at_ns = end_ns.max(at_ns);
            }
        }
        if to_ns > at_ns {
            piece(at_ns, to_ns, false);
        }
    }
}
