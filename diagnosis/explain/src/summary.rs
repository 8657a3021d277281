//! Sums over all wakeups.

use crate::cause::{self, UNEXPLAINED_AT};
use crate::distributions::Distributions;
use crate::findings::{
    CauseFinding, CulpritFinding, Explanation, GapFinding, StackFinding, VictimFinding, WorstGroup,
    WorstWakeup,
};
use crate::finished::Blame;
use crate::label::{LabelId, Labels};
use crate::shares::Shares;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use tardy_model::event::Loss;
use tardy_model::{Event, NameId, Segment, Wakeup};
use tardy_stats::Latencies;

/// Stacks of culprits that are told apart; beyond it new ones go without.
const PLACES_MAX: usize = 1 << 16;

const CAUSES: usize = UNEXPLAINED_AT + 1;

/// Classes of lateness, eight to a doubling.
const CLASSES: usize = 64 * 8;

/// The share of wakeups that count as the worst.
const WORST_SHARE: f64 = 0.01;

/// Sums stop at the end of `u64`, 584 years, which only a file with made-up times can reach.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    events: u64,
    lost: u64,
    lost_uncounted: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    touched: u64,
    near_loss: u64,
    distributions: Distributions,
    causes: [Sum; CAUSES],
    /// By label.
    culprits: Vec<CulpritSum>,
    classes: Classes,
    /// The end of the latest stretch of loss; 0 before the first.
    missing_until_ns: u64,
    lost_until_ns: u64,
    /// Wakeups that have ended.
    number: u64,
    gaps: Sum,
    gaps_after: FxHashMap<LabelId, u64>,
    /// Where culprits were, by their stacks.
    places: FxHashMap<(Blame, NameId), u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ns: u64,
    wakeups: u64,
}

/// Small, as there is one for each segment to be found in memory: most culprits have one cause.
#[derive(Clone, Debug, Default)]
struct CulpritSum {
    wakeups: u64,
    /// The number of the wakeup in which it appeared last.
    seen: u64,
    /// The cause in which it appeared first, and what it took in that.
    cause: usize,
    cause_ns: u64,
    /// What it took in others.
    others: Option<Box<[u64; CAUSES]>>,
}

impl CulpritSum {
    #[inline]
    fn add(&mut self, cause: usize, ns: u64, number: u64) {
        if self.seen != number {
            if self.wakeups == 0 {
                self.cause = cause;
            }
            self.wakeups += 1;
            self.seen = number;
        }
        if self.cause == cause {
            self.cause_ns = self.cause_ns.saturating_add(ns);
        } else {
            self.add_to_another(cause, ns);
        }
    }

    #[inline(never)]
    fn add_to_another(&mut self, cause: usize, ns: u64) {
        let others = self.others.get_or_insert_with(|| Box::new([0; CAUSES]));
        others[cause] = others[cause].saturating_add(ns);
    }

    /// What it took in all.
    fn ns(&self) -> u64 {
        let others = self.others.iter().flat_map(|others| others.iter());
        others.fold(self.cause_ns, |sum, ns| sum.saturating_add(*ns))
    }

    fn of_cause(&self, cause: usize) -> u64 {
        let other = self.others.as_ref().map_or(0, |others| others[cause]);
        if self.cause == cause { self.cause_ns } else { other }
    }

    /// Each cause with what it took in it, most first.
    fn causes(&self) -> Vec<(tardy_model::Cause, u64)> {
        let taken = (0..CAUSES).map(|at| (cause::cause_at(at), self.of_cause(at)));
        let mut causes: Vec<_> = taken.filter(|(_, ns)| *ns > 0).collect();
        causes.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        causes
    }

    fn main_cause(&self) -> usize {
        (0..CAUSES).max_by_key(|at| self.of_cause(*at)).unwrap_or(UNEXPLAINED_AT)
    }
}

/// Per class of lateness: wakeups, their sum, and what each cause took.
#[derive(Debug)]
struct Classes(Vec<Class>);

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    wakeups: u64,
    ns: u64,
    by_cause: [u64; CAUSES],
}

impl Default for Classes {
    fn default() -> Self {
        Self(vec![Class::default(); CLASSES])
    }
}

/// The class of a lateness: its highest bit and the three below.
fn class_of(ns: u64) -> usize {
    let ns = ns.max(8);
    let high = ns.ilog2();
    (high as usize) * 8 + ((ns >> (high - 3)) & 7) as usize
}

/// A culprit's stack is known.
#[cold]
fn was_in(places: &mut FxHashMap<(Blame, NameId), u64>, blame: Blame, segment: &Segment) {
    let has_room = places.len() < PLACES_MAX;
    match places.entry((blame, segment.stack)) {
        Entry::Occupied(sum) => {
            let sum = sum.into_mut();
            *sum = sum.saturating_add(segment.ns);
        }
        Entry::Vacant(place) if has_room => {
            place.insert(segment.ns);
        }
        Entry::Vacant(_) => {}
    }
}

impl Summary {
    pub(crate) fn count(&mut self, events: &[Event]) {
        let Some(first) = events.first() else { return };
        self.events += events.len() as u64;
        self.first_ns.get_or_insert(first.time_ns);
    }

    /// An event comes, of those that have been counted.
    #[inline]
    pub(crate) fn passes(&mut self, time_ns: u64) {
        self.last_ns = self.last_ns.max(time_ns);
    }

    pub(crate) fn loss(&mut self, loss: &Loss) {
        self.lost += loss.at_least();
        self.lost_uncounted += u64::from(!loss.is_counted());
    }

    /// Counts a stretch without events, which began while the labelled task ran.
    pub(crate) fn gap(&mut self, ns: u64, label: LabelId) {
        self.gaps.ns = self.gaps.ns.saturating_add(ns);
        self.gaps.wakeups += 1;
        *self.gaps_after.entry(label).or_default() += 1;
    }

    /// Remembers, for wakeups that end later, until when events are missing.
    pub(crate) fn missing_until(&mut self, to_ns: u64, is_loss: bool) {
        self.missing_until_ns = self.missing_until_ns.max(to_ns);
        if is_loss {
            self.lost_until_ns = self.lost_until_ns.max(to_ns);
        }
    }

    /// Marks a wakeup where events that are known to be missing reach past its expiry.
    pub(crate) fn mark_missing(&self, wakeup: &mut Wakeup) {
        let reaches = |until_ns: u64| until_ns > 0 && until_ns >= wakeup.expiry_ns;
        (wakeup.touched_by_loss, wakeup.near_loss) =
            (reaches(self.missing_until_ns), reaches(self.lost_until_ns));
    }

    /// Somebody is to blame for a segment of the wakeup that ends next.
    #[expect(clippy::inline_always, reason = "it is done with every segment, in one loop")]
    #[inline(always)]
    pub(crate) fn blame(&mut self, segment: &Segment, blame: Blame) {
        self.took(blame, segment.ns);
        if segment.stack != NameId::NONE {
            was_in(&mut self.places, blame, segment);
        }
    }

    /// Somebody took so much of the wakeup that ends next.
    #[expect(clippy::inline_always, reason = "it is done with every piece, in two loops")]
    #[inline(always)]
    pub(crate) fn took(&mut self, blame: Blame, ns: u64) {
        let number = self.number + 1;
        let sum = match self.culprits.get_mut(blame.culprit.0 as usize) {
            Some(sum) => sum,
            None => self.one_more_culprit(blame.culprit),
        };
        sum.add(usize::from(blame.cause), ns, number);
    }

    #[cold]
    fn one_more_culprit(&mut self, LabelId(place): LabelId) -> &mut CulpritSum {
        let place = place as usize;
        self.culprits.resize_with(place + 1, CulpritSum::default);
        &mut self.culprits[place]
    }

    /// A wakeup has ended; `shares` is what each cause took of it. Its segments have been blamed on their culprits.
    pub(crate) fn wakeup(&mut self, wakeup: &Wakeup, victim: LabelId, shares: &Shares) {
        let lateness_ns = wakeup.lateness_ns;
        self.touched += u64::from(wakeup.touched_by_loss);
        self.near_loss += u64::from(wakeup.near_loss);
        self.distributions.record(victim, lateness_ns);
        self.number += 1;
        let class = &mut self.classes.0[class_of(lateness_ns)];
        class.wakeups += 1;
        class.ns = class.ns.saturating_add(lateness_ns);
        for (cause, ns) in shares.each() {
            let (of_cause, of_class) = (&mut self.causes[cause], &mut class.by_cause[cause]);
            of_cause.ns = of_cause.ns.saturating_add(ns);
            of_cause.wakeups += 1;
            *of_class = of_class.saturating_add(ns);
        }
    }

    /// Where a culprit was, most first.
    fn stacks(&self, labels: &Labels) -> FxHashMap<LabelId, Vec<StackFinding>> {
        let mut by_culprit: FxHashMap<LabelId, Vec<StackFinding>> = FxHashMap::default();
        for ((blame, stack), ns) in &self.places {
            let cause = cause::cause_at(blame.cause.into());
            let frames = labels.tables.name(*stack).to_owned();
            let found = StackFinding { cause, frames, ns: *ns };
            by_culprit.entry(blame.culprit).or_default().push(found);
        }
        for stacks in by_culprit.values_mut() {
            StackFinding::sort(stacks);
        }
        by_culprit
    }

    /// Events turn out to be missing around a wakeup that ended before.
    pub(crate) fn one_more_touched(&mut self, is_first: bool, is_loss: bool) {
        self.touched += u64::from(is_first);
        self.near_loss += u64::from(is_loss);
    }

    pub(crate) fn into_explanation(
        mut self,
        labels: &Labels,
        worst: Vec<WorstWakeup>,
    ) -> Explanation {
        let victims_left_out = self.distributions.others_count();
        let (all, victims) = std::mem::take(&mut self.distributions).finish();
        let (worst_group, worst_by_cause) = self.worst_group(&all);
        let total_ns = all.sum_ns().max(1) as f64;
        let mut causes: Vec<CauseFinding> = (0..CAUSES)
            .filter(|at| self.causes[*at].ns > 0)
            .map(|at| {
                let share = self.causes[at].ns as f64 / total_ns;
                let worst_share = worst_by_cause[at] as f64 / worst_group.ns.max(1) as f64;
                CauseFinding {
                    cause: cause::cause_at(at),
                    meaning: cause::meaning_at(at),
                    ns: self.causes[at].ns,
                    share,
                    wakeups: self.causes[at].wakeups,
                    worst_ns: worst_by_cause[at],
                    worst_share,
                    advice: None,
                }
            })
            .collect();
        causes.sort_by_key(|finding| std::cmp::Reverse(finding.ns));

        let mut stacks = self.stacks(labels);
        let mut culprits: Vec<CulpritFinding> = self
            .culprits()
            .map(|(label, sum)| CulpritFinding {
                label: labels.get(label).clone(),
                who: labels.culprit(label),
                process: None,
                group: 0,
                main_cause: cause::cause_at(sum.main_cause()),
                causes: sum.causes(),
                ns: sum.ns(),
                share: sum.ns() as f64 / total_ns,
                wakeups: sum.wakeups,
                stacks: stacks.remove(&label).unwrap_or_default(),
            })
            .collect();
        culprits.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.label.cmp(&b.label)));

        let mut victims: Vec<VictimFinding> = victims
            .into_iter()
            .map(|(label, latencies)| VictimFinding {
                label: labels.get(label).clone(),
                latencies,
                process: None,
                prio: None,
                measures: false,
                has_exited: false,
            })
            .collect();
        victims.sort_by(|a, b| {
            b.latencies.sum_ns().cmp(&a.latencies.sum_ns()).then_with(|| a.label.cmp(&b.label))
        });

        let gaps_after = self.gaps_after.iter().max_by_key(|(label, count)| (**count, label.0));
        Explanation {
            gaps: GapFinding {
                count: self.gaps.wakeups,
                ns: self.gaps.ns,
                mostly_after: gaps_after.map(|(label, _)| labels.get(*label).clone()),
            },
            events: self.events,
            lost: self.lost,
            lost_uncounted: self.lost_uncounted,
            start_ns: self.first_ns.unwrap_or(0),
            span_ns: self.last_ns - self.first_ns.unwrap_or(self.last_ns),
            latencies: all,
            touched_by_loss: self.touched,
            near_loss: self.near_loss,
            victims,
            victims_left_out,
            causes,
            culprits,
            worst_group,
            patterns: Vec::new(),
            worst,
            ..Explanation::default()
        }
    }

    /// Those that were ever to blame.
    fn culprits(&self) -> impl Iterator<Item = (LabelId, &CulpritSum)> {
        let labels = (0..).map(LabelId);
        labels.zip(&self.culprits).filter(|(_, sum)| sum.wakeups > 0)
    }

    /// The latest wakeups. How many they are, and how late, is told from the distribution; their causes from the classes,
    /// of which the lowest is in it in part: each of its causes with the same part.
    fn worst_group(&self, all: &Latencies) -> (WorstGroup, [u64; CAUSES]) {
        let wakeups = (all.count() as f64 * WORST_SHARE).ceil() as u64;
        let (ns, from_ns) = all.highest(wakeups);
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        let mut by_cause = [0_u64; CAUSES];
        let (mut left, mut left_ns) = (wakeups, ns);
        for class in self.classes.0.iter().rev().filter(|class| class.wakeups > 0) {
            if left == 0 {
                break;
            }
            let part_ns = if class.wakeups <= left { class.ns } else { left_ns.min(class.ns) };
            for (sum, ns) in by_cause.iter_mut().zip(class.by_cause) {
                let part = u128::from(ns) * u128::from(part_ns) / u128::from(class.ns.max(1));
                *sum = sum.saturating_add(part as u64);
            }
            (left, left_ns) = (left.saturating_sub(class.wakeups), left_ns.saturating_sub(part_ns));
        }
        (WorstGroup { wakeups, from_ns, ns }, by_cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{Cause, CpuId, Culprit, TaskId, WakeupKind};

    #[test]
    fn the_worst_are_a_hundredth_and_their_causes_take_all_of_it() {
        let mut summary = Summary::default();
        let mut wakeup = Wakeup::default();
        wakeup.clear(TaskId(7), CpuId(0));
        wakeup.kind = WakeupKind::Timer;
        // All of one class, so that it is cut.
        for number in 0..1_000_u64 {
            wakeup.lateness_ns = 40_000 + number;
            let (cause, culprit) = (Cause("slack"), Culprit::Nobody);
            let (ns, stretch, stack) = (wakeup.lateness_ns, 0, NameId::NONE);
            wakeup.segments = vec![Segment { cause, culprit, start_ns: 0, ns, stretch, stack }];
            let blame = Blame { cause: 1, culprit: LabelId(0) };
            let mut shares = Shares::default();
            shares.add(blame.cause, ns);
            summary.blame(&wakeup.segments[0], blame);
            summary.wakeup(&wakeup, LabelId(0), &shares);
        }
        let all = std::mem::take(&mut summary.distributions).finish().0;
        let (group, by_cause) = summary.worst_group(&all);
        assert_eq!(group.wakeups, 10);
        let sum_ns: u64 = (990..1_000).map(|number| 40_000 + number).sum();
        assert!(group.ns.abs_diff(sum_ns) <= sum_ns / 1000, "{group:?}");
        assert!(group.from_ns.abs_diff(40_990) <= 41, "{group:?}");
        assert!(by_cause[1].abs_diff(group.ns) <= 1, "{by_cause:?}");
    }
}
