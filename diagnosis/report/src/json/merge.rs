//! Neighbouring segments of one cause as one.

use std::collections::BTreeMap;
use tardy_model::{Cause, Segment};

/// Waits whose culprits come one after the other.
const LOCK: Cause = Cause("lock");

/// A stretch of a lateness with one cause and all who had a part in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedSegment<K> {
    /// Why the victim did not run.
    pub cause: Cause,
    /// When it began.
    pub start_ns: u64,
    /// How long it took: the sum of its culprits.
    pub ns: u64,
    /// Each culprit once with its nanoseconds, most first.
    pub culprits: Vec<(K, u64)>,
    /// Which of the wakeup's stretches it is part of.
    pub stretch: u16,
}

/// Joins segments that touch, are part of one stretch and have the same cause; culprits whose segments `key`
/// calls the same become one. Segments that do not touch stay apart, so nothing is invented and
/// nothing is lost. Who held a lock up is told in order: segments of that cause stay as they are.
pub fn merge_segments<K: Clone + Ord>(
    segments: &[Segment],
    key: impl Fn(&Segment) -> K,
) -> Vec<MergedSegment<K>> {
    segments
        .chunk_by(|a, b| {
            let touch = a.start_ns.checked_add(a.ns) == Some(b.start_ns);
            a.cause == b.cause && a.stretch == b.stretch && touch && a.cause != LOCK
        })
        .map(|run| {
            let mut culprits = BTreeMap::<K, u64>::new();
            for segment in run {
                *culprits.entry(key(segment)).or_default() += segment.ns;
            }
            let mut culprits: Vec<_> = culprits.into_iter().collect();
            culprits.sort_by_key(|&(_, ns)| std::cmp::Reverse(ns));
            MergedSegment {
                cause: run[0].cause,
                start_ns: run[0].start_ns,
                ns: run.iter().map(|segment| segment.ns).sum(),
                culprits,
                stretch: run[0].stretch,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tardy_model::{Culprit, NameId, TaskId};

    fn segments() -> impl Strategy<Value = Vec<Segment>> {
        let piece =
            (0..3usize, 0..4u32, 1..1_000_000u64, prop_oneof![9 => Just(0u64), 1 => 1..50u64]);
        (0..1u64 << 60, proptest::collection::vec(piece, 0..60)).prop_map(|(start_ns, pieces)| {
            let mut at_ns = start_ns;
            let mut segments = Vec::new();
            for (cause, who, ns, gap_ns) in pieces {
                at_ns += gap_ns;
                segments.push(Segment {
                    cause: Cause(["irq_delay", "stacked_timers", "lock"][cause]),
                    culprit: Culprit::Task(TaskId(who)),
                    start_ns: at_ns,
                    ns,
                    stretch: 0,
                    stack: NameId::NONE,
                });
                at_ns += ns;
            }
            segments
        })
    }

    fn sums(parts: impl Iterator<Item = (Cause, Culprit, u64)>) -> BTreeMap<(Cause, Culprit), u64> {
        let mut sums = BTreeMap::new();
        for (cause, culprit, ns) in parts {
            *sums.entry((cause, culprit)).or_default() += ns;
        }
        sums
    }

    proptest! {
        #[test]
        fn every_nanosecond_stays_where_it_was(segments in segments()) {
            let merged = merge_segments(&segments, |segment| segment.culprit);
            let before = sums(segments.iter().map(|s| (s.cause, s.culprit, s.ns)));
            let after = sums(merged.iter().flat_map(|m| {
                m.culprits.iter().map(|&(culprit, ns)| (m.cause, culprit, ns))
            }));
            prop_assert_eq!(before, after);
            for m in &merged {
                prop_assert_eq!(m.culprits.iter().map(|c| c.1).sum::<u64>(), m.ns);
                prop_assert!(m.culprits.is_sorted_by_key(|c| std::cmp::Reverse(c.1)));
            }
            for pair in merged.windows(2) {
                let end_ns = pair[0].start_ns + pair[0].ns;
                prop_assert!(end_ns <= pair[1].start_ns, "they overlap");
                prop_assert!(
                    end_ns < pair[1].start_ns
                        || pair[0].cause != pair[1].cause
                        || pair[0].cause == LOCK,
                    "neighbours of one cause were left apart"
                );
            }
            // The time covered is the same, instant by instant: each segment lies in one merged one.
            for s in &segments {
                prop_assert!(merged.iter().any(|m| m.cause == s.cause
                    && m.start_ns <= s.start_ns && s.start_ns + s.ns <= m.start_ns + m.ns));
            }
        }
    }
}
