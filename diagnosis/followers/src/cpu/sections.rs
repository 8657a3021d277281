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

    /// A stream that is out of order may end one before it began: then it took no time.
    pub(super) fn end(&mut self, time_ns: u64) {
        if let Some(since_ns) = self.since_ns.take().filter(|since_ns| *since_ns < time_ns) {
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

#[cfg(test)]
mod tests {
    use super::Sections;

    /// What lies inside and outside between two times.
    fn pieces(sections: &Sections, from_ns: u64, to_ns: u64) -> Vec<(u64, u64, bool)> {
        let mut pieces = Vec::new();
        sections.between(from_ns, to_ns, |from_ns, to_ns, inside| {
            pieces.push((from_ns, to_ns, inside));
        });
        pieces
    }

    fn with(stretches: &[(u64, u64)]) -> Sections {
        let mut sections = Sections::default();
        for (begin_ns, end_ns) in stretches {
            sections.begin(*begin_ns);
            sections.end(*end_ns);
        }
        sections
    }

    #[test]
    fn no_time_is_in_two_pieces() {
        let whole = [(0, 5, false), (5, 8, true), (8, 20, false)];
        assert_eq!(pieces(&with(&[(5, 8)]), 0, 20), whole);
        // Out of order: one that ends before it begins, and one that lies before the last.
        assert_eq!(pieces(&with(&[(10, 9)]), 0, 20), [(0, 20, false)]);
        let late = [(0, 10, false), (10, 12, true), (12, 20, false)];
        assert_eq!(pieces(&with(&[(10, 12), (3, 4)]), 0, 20), late);
    }

    #[test]
    fn one_that_lasts_goes_to_the_end() {
        let mut sections = with(&[(5, 8)]);
        sections.begin(10);
        let pieces = pieces(&sections, 6, 12);
        assert_eq!(pieces, [(6, 8, true), (8, 10, false), (10, 12, true)]);
    }
}
