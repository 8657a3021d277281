//! A long lateness in few parts: two who take turns are told once, with how often.

use crate::clean::clean;
use crate::json::MergedSegment;
use crate::names::full_name;
use std::collections::BTreeMap;
use tardy_explain::{Explanation, Label};
use tardy_model::Cause;

/// So many parts in a row of the same two are turns.
const TURNS_MIN: usize = 4;

/// What each culprit's label is part of, by its name alone: how many threads that are stands elsewhere.
#[derive(Debug, Default)]
pub(crate) struct GroupNames<'a>(BTreeMap<&'a Label, String>);

impl<'a> GroupNames<'a> {
    pub(crate) fn new(explanation: &'a Explanation) -> Self {
        let groups: Vec<String> =
            explanation.groups.iter().map(|found| clean(&found.group.name)).collect();
        let culprits = explanation.culprits.iter();
        let named =
            culprits.filter_map(|found| Some((&found.label, groups.get(found.group)?.clone())));
        Self(named.collect())
    }

    /// The group's name, else the culprit's own.
    pub(crate) fn of(&self, label: &Label) -> String {
        let named = self.0.get(label).filter(|name| !name.is_empty());
        named.cloned().unwrap_or_else(|| full_name(label))
    }
}

/// One cause by one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) cause: Cause,
    pub(crate) who: String,
    /// A culprit is known that is not the victim itself, and that the cause does not name already.
    pub(crate) is_other: bool,
    pub(crate) ns: u64,
    /// How many parts of the lateness it is.
    pub(crate) times: u64,
}

/// All of a victim's lateness by cause and group, most first.
pub(crate) fn sums(
    victim: &Label,
    segments: &[MergedSegment<Label>],
    names: &GroupNames<'_>,
) -> Vec<Part> {
    let mut sums: Vec<Part> = Vec::new();
    for segment in segments {
        let cause = segment.cause;
        for (label, ns) in &segment.culprits {
            let who = names.of(label);
            if let Some(part) = sums.iter_mut().find(|part| part.cause == cause && part.who == who)
            {
                (part.ns, part.times) = (part.ns + ns, part.times + 1);
                continue;
            }
            let is_nobody = label.name.is_empty() && label.pid.is_none();
            let is_named = cause.0 == label.name.trim_start_matches("the ");
            let is_other = label != victim && !is_nobody && !is_named;
            sums.push(Part { cause, who, is_other, ns: *ns, times: 1 });
        }
    }
    sums.sort_by_key(|part| std::cmp::Reverse(part.ns));
    sums
}

/// Places of segments that belong together, in order of time: one alone, or many in which the same two take turns.
pub(crate) fn turns(
    segments: &[MergedSegment<Label>],
    names: &GroupNames<'_>,
) -> Vec<std::ops::Range<usize>> {
    let key = |segment: &MergedSegment<Label>| {
        let first = segment.culprits.first();
        (segment.cause, first.map(|(label, _)| names.of(label)).unwrap_or_default())
    };
    let keys: Vec<_> = segments.iter().map(key).collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < keys.len() {
        let one = &keys[at];
        let other = keys.get(at + 1);
        let more = keys[at..].iter().take_while(|key| *key == one || Some(*key) == other).count();
        let count = if more >= TURNS_MIN { more } else { 1 };
        ranges.push(at..at + count);
        at += count;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(cause: &'static str, who: &str, ns: u64) -> MergedSegment<Label> {
        let label = Label { kind: "task", name: who.to_owned(), pid: None };
        MergedSegment {
            cause: Cause(cause),
            start_ns: 0,
            ns,
            culprits: vec![(label, ns)],
            stretch: 0,
        }
    }

    fn ranges(story: &[(&'static str, &str)]) -> Vec<std::ops::Range<usize>> {
        let segments: Vec<_> = story.iter().map(|(cause, who)| segment(cause, who, 5)).collect();
        let ranges = turns(&segments, &GroupNames::default());
        assert_eq!(ranges.iter().map(ExactSizeIterator::len).sum::<usize>(), segments.len());
        ranges
    }

    #[test]
    fn two_who_take_turns_are_one() {
        let (contends, breaks_in) = (("cpu_contention", "rustc"), ("interrupts", "eth0"));
        let story = [
            ("callback", "own"),
            contends,
            breaks_in,
            contends,
            breaks_in,
            contends,
            ("lock", "low"),
        ];
        assert_eq!(ranges(&story), [0..1, 1..6, 6..7]);
        assert_eq!(ranges(&story[..4]), [0..1, 1..2, 2..3, 3..4], "too few to be turns");
        assert_eq!(ranges(&[]), []);
    }

    #[test]
    fn sums_keep_every_nanosecond() {
        let story =
            [segment("lock", "low", 3), segment("callback", "own", 9), segment("lock", "low", 8)];
        let told = sums(&Label::default(), &story, &GroupNames::default());
        let told: Vec<_> = told.iter().map(|part| (part.cause.0, part.ns, part.times)).collect();
        assert_eq!(told, [("lock", 11, 2), ("callback", 9, 1)]);
    }
}
