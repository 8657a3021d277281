//! Stories that are known: told in two sentences, with their evidence and where to read on.
//!
//! A cause says where one nanosecond went; a pattern recognises what is behind many of them. Each is
//! shown every wakeup, says how much of its lateness is this story's and who took part, and tells in
//! the end what it found. Patterns overlap: their shares need not sum to anything.
//!
//! A new pattern is one file here and one line in the registry, which also declares the file.

mod evidence;

pub use evidence::Evidence;

use crate::balance::PassedOver;
use crate::bits::bits;
use crate::cause::{UNEXPLAINED_AT, causes};
use crate::finished::Blame;
use crate::group::{Gather, Group, Who};
use crate::label::{Label, LabelId, Labels};
use crate::seen::Seen;
use std::ops::Deref;
use tardy_followers::{Ended, Prios};
use tardy_model::event::{Comm, TaskInfo, TimerArm};
use tardy_model::{Culprit, Prio, Segment, Tables, TaskId, Wakeup};

/// A story that is known.
pub trait Pattern: Sync {
    /// Its name in JSON.
    fn name(&self) -> &'static str;

    /// Its name in reports.
    fn title(&self) -> &'static str;

    /// Where to read on: a mailing-list thread by author, subject and date, a commit, a manual page.
    fn reference(&self) -> &'static str;

    /// Causes, one of which an instance must have: other wakeups are not shown to it. This is asked
    /// of millions, and most have none of them.
    fn causes(&self) -> &'static [&'static str];

    /// Whether a wakeup is an instance; what of it is goes to `evidence`.
    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool;

    /// A follower of all events, for a story that no single wakeup tells.
    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        None
    }

    /// Whether what was found is worth a word.
    fn is_worth_telling(&self, found: &Found) -> bool {
        found.share >= SHARE_MIN || found.worst_share >= WORST_SHARE_MIN
    }

    /// Two sentences: what happens, in figures, and what to do about it.
    fn words(&self, found: &Found) -> String;
}

/// Below both of these shares, of all lateness and of the latest instance's own, nothing is said.
const SHARE_MIN: f64 = 0.02;
const WORST_SHARE_MIN: f64 = 0.25;

/// Culprits of a pattern that are told by name.
const NAMED_MAX: usize = 5;

/// Culprits that are told apart; what others took is in the sums only.
const CULPRITS_MAX: usize = 1 << 16;

/// Follows all events for a pattern.
pub trait Watcher: std::fmt::Debug + Send {
    /// Which kinds of events it has to see from here on: the bits of their tags.
    fn kinds(&self) -> u64;

    /// Whether it has to see none that arm a timer but those that move it. Sleeps are armed all the time.
    fn sees_moves_alone(&self) -> bool {
        false
    }

    /// The next event of these kinds.
    fn event(&mut self, seen: &Seen<'_>);

    /// What it found, for [`Found::watched`]: figures whose meaning is the pattern's own, over the
    /// stream's `span_ns`. Empty for nothing.
    fn watched(&self, span_ns: u64) -> Vec<(&'static str, f64)>;

    /// Who took part in it, most first. They are named among [`Found::culprits`] without any of a
    /// lateness.
    fn culprits(&self) -> Vec<Culprit> {
        Vec::new()
    }
}

/// A wakeup, and what is needed to understand it.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The wakeup.
    pub wakeup: &'a Wakeup,
    /// Names and timers.
    pub tables: &'a Tables,
    prios: &'a Prios,
    labels: &'a Labels,
    /// One for each segment.
    blames: &'a [Blame],
    /// The pattern's causes, as bits in the order of their registry.
    own: u32,
}

impl Scene<'_> {
    /// A thread's name now, and whether it is the kernel's.
    pub fn comm(&self, task: TaskId) -> (Comm, bool) {
        (self.labels.comm(task), self.labels.info(task).has(TaskInfo::KERNEL))
    }

    /// Whether it is an idle state that somebody chose.
    pub fn is_idle_state(&self, culprit: Culprit) -> bool {
        self.labels.is_idle_state(culprit)
    }

    /// The priority at which a task was last seen.
    pub fn prio(&self, task: TaskId) -> Option<Prio> {
        self.prios.of(task).filter(|prio| prio.is_known())
    }

    /// The parts of the causes that the pattern asks for, all of them.
    pub fn own(&self) -> impl Iterator<Item = Part<'_>> {
        let is_own = |cause: u8| self.own >> cause & 1 != 0;
        let own = self.wakeup.segments.iter().zip(self.blames);
        own.filter(move |(_, blame)| is_own(blame.cause)).map(Part::of)
    }

    /// All parts; of wakeups that are no calls for a lock only those of causes that any pattern asks for, and all in
    /// which no task ran.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.wakeup.segments.iter().zip(self.blames).map(Part::of)
    }
}

/// A segment of a wakeup's lateness, and the number of who is to blame for it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    segment: &'a Segment,
    label: LabelId,
}

impl<'a> Part<'a> {
    fn of((segment, blame): (&'a Segment, &Blame)) -> Self {
        Self { segment, label: blame.culprit }
    }
}

impl Deref for Part<'_> {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        self.segment
    }
}

/// All that was found of a pattern.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Wakeups that are instances.
    pub wakeups: u64,
    /// All wakeups.
    pub of_wakeups: u64,
    /// Nanoseconds of their lateness that are this story's.
    pub ns: u64,
    /// Share of all lateness, 0–1.
    pub share: f64,
    /// The instance that it took most of.
    pub worst: Option<Instance>,
    /// Share of that one's lateness, 0–1.
    pub worst_share: f64,
    /// The most that was counted in one wakeup, and the mean.
    pub count_max: u64,
    /// The mean count of an instance.
    pub count_mean: f64,
    /// Who took part, most first, at most [`NAMED_MAX`].
    pub culprits: Vec<(Label, u64)>,
    /// How many they are.
    pub culprits_count: usize,
    /// All of them as a person would name them, most first.
    pub groups: Vec<(Group, u64)>,
    /// What the pattern's own watcher found.
    pub watched: Vec<(&'static str, f64)>,
}

/// One instance of a pattern.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The victim.
    pub victim: Label,
    /// The wakeup's expiry.
    pub expiry_ns: u64,
    /// Its lateness.
    pub lateness_ns: u64,
    /// What of it is this story's.
    pub ns: u64,
    /// When the event happened that tells it.
    pub at_ns: u64,
    /// The priority that matters in it, where one does.
    pub prio: Option<Prio>,
}

impl Found {
    /// A figure of the watcher's.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.watched.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    /// The culprits by their groups: "a (40 threads), b and 3 others".
    pub fn names(&self) -> String {
        let named: Vec<String> =
            self.groups.iter().take(3).map(|(group, _)| group.words()).collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let others = self.groups.len().saturating_sub(named.len());
        match (named.as_slice(), others) {
            ([], _) => "nobody with a known name".to_owned(),
            ([one], 0) => (*one).to_owned(),
            ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
            (all, 1) => format!("{} and 1 other", all.join(", ")),
            (all, others) => format!("{} and {others} others", all.join(", ")),
        }
    }
}

/// A pattern that was found, ready to be shown.
#[derive(Clone, Debug)]
pub struct PatternFinding {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name in reports.
    pub title: &'static str,
    /// Two sentences.
    pub words: String,
    /// Where to read on.
    pub reference: &'static str,
    /// The figures behind the words.
    pub found: Found,
}

macro_rules! registry {
    ($($file:ident::$pattern:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every pattern.
        pub const REGISTRY: &[&dyn Pattern] = &[$(&$file::$pattern),*];
    };
}

registry![
    double_boost::DoubleBoost,
    inversion::Inversion,
    stacking::Stacking,
    default_slack::DefaultSlack,
    rt_throttling::RtThrottling,
    softirq_below::SoftirqBelow,
    jiffy_timers::JiffyTimers,
    deep_idle::DeepIdle,
    irq_affinity::IrqAffinity,
    spinner_above::SpinnerAbove,
    device_storm::DeviceStorm,
];

/// The patterns found in one wakeup, by their places in the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patterns(u32);

impl Patterns {
    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_in = move |at: &usize| self.0 >> at & 1 != 0;
        (0..REGISTRY.len()).filter(is_in).map(|at| REGISTRY[at].name())
    }
}

/// Sums over all wakeups, per pattern.
#[derive(Debug)]
pub(crate) struct Recogniser {
    /// The causes that each pattern's instances have, as bits in the order of the causes' registry.
    causes: Vec<u32>,
    /// By the place of a cause there: the patterns that ask for it, as bits in their own order.
    asked_by: [u32; UNEXPLAINED_AT + 1],
    passed_over: PassedOver,
    sums: Vec<Sum>,
    watchers: Vec<Watching>,
    /// The kinds of events that any of them has to see, and whether each sees none that arm a timer but moves.
    watched: u64,
    moves_alone: bool,
    evidence: Evidence,
    wakeups: u64,
    ns: u64,
}

/// The watcher of the pattern at a place in the registry.
#[derive(Debug)]
struct Watching {
    of: usize,
    watcher: Box<dyn Watcher>,
    /// The kinds of events that it has to see from here on.
    kinds: u64,
}

#[derive(Debug, Default)]
struct Sum {
    wakeups: u64,
    ns: u64,
    count_max: u64,
    counts: u64,
    worst: Option<Instance>,
    /// By label, what each took who took part.
    culprits: Vec<Option<u64>>,
    culprits_count: usize,
}

impl Default for Recogniser {
    fn default() -> Self {
        let watchers = REGISTRY.iter().enumerate().filter_map(|(of, pattern)| {
            let watcher = pattern.watcher()?;
            Some(Watching { of, kinds: watcher.kinds(), watcher })
        });
        let watchers: Vec<_> = watchers.collect();
        let causes: Vec<u32> = REGISTRY.iter().map(|pattern| bits_of(pattern.causes())).collect();
        let asks = |cause: usize| {
            let bits = causes.iter().enumerate().map(|(at, causes)| (causes >> cause & 1) << at);
            bits.fold(0, |all, bit| all | bit)
        };
        let asked_for = causes.iter().fold(0, |all, of_one| all | of_one);
        Self {
            watched: watched(&watchers),
            moves_alone: sees_moves_alone(&watchers),
            asked_by: std::array::from_fn(asks),
            passed_over: PassedOver(!asked_for),
            causes,
            sums: REGISTRY.iter().map(|_| Sum::default()).collect(),
            watchers,
            evidence: Evidence::default(),
            wakeups: 0,
            ns: 0,
        }
    }
}

impl Recogniser {
    /// Whether any pattern has to see an event of a kind, which told what became of an arming before.
    #[inline]
    pub(crate) fn looks_at(&self, tag: u8, ended: Ended) -> bool {
        let is_asked_for = tag != TimerArm::TAG || !self.moves_alone || ended.is_move();
        self.watched & kind_of(tag) != 0 && is_asked_for
    }

    /// The causes that no pattern asks for: where a task ran, their segments are shown to none.
    pub(crate) fn asks_for_no_segments(&self) -> PassedOver {
        self.passed_over
    }

    pub(crate) fn event(&mut self, seen: &Seen<'_>) {
        let kind = kind_of(seen.event.tag());
        let mut changes = false;
        for Watching { watcher, kinds, .. } in &mut self.watchers {
            if *kinds & kind != 0 {
                watcher.event(seen);
                let before = std::mem::replace(kinds, watcher.kinds());
                changes |= *kinds != before;
            }
        }
        if changes {
            self.watched = watched(&self.watchers);
            self.moves_alone = sees_moves_alone(&self.watchers);
        }
    }

    /// Shows a wakeup to every pattern that has to do with one of its causes: `blames` has one for each of its
    /// segments, and `has` a bit for each cause among them.
    pub(crate) fn wakeup(
        &mut self,
        wakeup: &Wakeup,
        (blames, has): (&[Blame], u32),
        prios: &Prios,
        labels: &Labels,
    ) -> Patterns {
        self.wakeups += 1;
        self.ns = self.ns.saturating_add(wakeup.lateness_ns);
        let mut patterns = Patterns::default();
        let asking = bits(has).fold(0, |asking, cause| asking | self.asked_by[cause]);
        for at in bits(asking) {
            let (pattern, own) = (REGISTRY[at], self.causes[at]);
            self.evidence.clear();
            let scene = Scene { wakeup, tables: &labels.tables, prios, labels, blames, own };
            if pattern.find(&scene, &mut self.evidence) {
                patterns.0 |= 1 << at;
                self.sums[at].add(wakeup, &self.evidence, labels);
            }
        }
        patterns
    }

    pub(crate) fn into_findings(self, span_ns: u64, labels: &Labels) -> Vec<PatternFinding> {
        let Self { sums, watchers, wakeups, ns, .. } = self;
        let mut findings: Vec<PatternFinding> = REGISTRY
            .iter()
            .zip(sums)
            .enumerate()
            .filter_map(|(at, (pattern, sum))| {
                let own = watchers.iter().find(|own| own.of == at).map(|own| &own.watcher);
                let watched = own.map_or_else(Vec::new, |own| own.watched(span_ns));
                if sum.wakeups == 0 && watched.is_empty() {
                    return None;
                }
                let mut found = sum.into_found(wakeups, ns, watched, labels);
                let culprits = own.map_or_else(Vec::new, |own| own.culprits());
                found.culprits_count += culprits.len();
                found.groups.extend(grouped(culprits.iter().map(|culprit| (*culprit, 0)), labels));
                found.culprits.extend(culprits.iter().map(|culprit| (labels.label(*culprit), 0)));
                found.culprits.truncate(NAMED_MAX);
                pattern.is_worth_telling(&found).then(|| PatternFinding {
                    name: pattern.name(),
                    title: pattern.title(),
                    words: pattern.words(&found),
                    reference: pattern.reference(),
                    found,
                })
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.found.ns));
        findings
    }
}

fn sees_moves_alone(watchers: &[Watching]) -> bool {
    watchers.iter().all(|own| own.watcher.sees_moves_alone())
}

/// A kind of events as a bit.
#[inline]
fn kind_of(tag: u8) -> u64 {
    1u64.checked_shl(tag.into()).unwrap_or(0)
}

fn watched(watchers: &[Watching]) -> u64 {
    watchers.iter().fold(0, |kinds, own| kinds | own.kinds)
}

/// Causes as bits in the order of their registry.
fn bits_of(names: &[&str]) -> u32 {
    const { assert!(UNEXPLAINED_AT < 32, "a cause has a bit") };
    let is_in = |cause: &(usize, (tardy_model::Cause, _))| names.contains(&cause.1.0.0);
    causes().enumerate().filter(is_in).fold(0, |bits, (at, _)| bits | 1 << at)
}

impl Sum {
    fn add(&mut self, wakeup: &Wakeup, evidence: &Evidence, labels: &Labels) {
        self.wakeups += 1;
        self.ns = self.ns.saturating_add(evidence.ns);
        self.count_max = self.count_max.max(evidence.count);
        // Counts of periods between times that may be centuries apart in a stream that is not sane.
        self.counts = self.counts.saturating_add(evidence.count);
        for (culprit, ns) in &evidence.culprits {
            let at = culprit.0 as usize;
            if let Some(Some(sum)) = self.culprits.get_mut(at) {
                *sum = sum.saturating_add(*ns);
            } else if self.culprits_count < CULPRITS_MAX {
                self.culprits.resize(self.culprits.len().max(at + 1), None);
                self.culprits[at] = Some(*ns);
                self.culprits_count += 1;
            }
        }
        if self.worst.as_ref().is_none_or(|worst| evidence.ns > worst.ns) {
            self.worst = Some(Instance {
                victim: labels.label(Culprit::Task(wakeup.task)),
                expiry_ns: wakeup.expiry_ns,
                lateness_ns: wakeup.lateness_ns,
                ns: evidence.ns,
                at_ns: evidence.at_ns.unwrap_or(wakeup.expiry_ns),
                prio: evidence.prio,
            });
        }
    }

    fn into_found(
        self,
        of_wakeups: u64,
        of_ns: u64,
        watched: Vec<(&'static str, f64)>,
        labels: &Labels,
    ) -> Found {
        let by_id =
            || (0..).map(LabelId).zip(&self.culprits).filter_map(|(id, ns)| Some((id, (*ns)?)));
        let groups = grouped(by_id().map(|(id, ns)| (labels.culprit(id), ns)), labels);
        let mut culprits: Vec<(Label, u64)> =
            by_id().map(|(id, ns)| (labels.get(id).clone(), ns)).collect();
        culprits.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let culprits_count = self.culprits_count;
        culprits.truncate(NAMED_MAX);
        let share = |ns: u64, of: u64| ns as f64 / of.max(1) as f64;
        Found {
            wakeups: self.wakeups,
            of_wakeups,
            ns: self.ns,
            share: share(self.ns, of_ns),
            worst_share: self
                .worst
                .as_ref()
                .map_or(0.0, |worst| share(worst.ns, worst.lateness_ns)),
            worst: self.worst,
            count_max: self.count_max,
            count_mean: share(self.counts, self.wakeups),
            culprits,
            culprits_count,
            groups,
            watched,
        }
    }
}

/// Culprits with what each took, as groups, most first.
fn grouped(culprits: impl Iterator<Item = (Culprit, u64)>, labels: &Labels) -> Vec<(Group, u64)> {
    let mut gather = Gather::default();
    let mut sums: Vec<u64> = Vec::new();
    for (culprit, ns) in culprits {
        let label = labels.label(culprit);
        let at = gather.add(&Who { culprit, label: &label, labels });
        sums.resize(sums.len().max(at + 1), 0);
        sums[at] = sums[at].saturating_add(ns);
    }
    let mut groups: Vec<_> = gather.into_groups().into_iter().zip(sums).collect();
    groups.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.name.cmp(&b.0.name)));
    groups
}

/// A priority as users set it.
pub(crate) fn prio_words(prio: Prio) -> String {
    match prio.0 {
        -2 => "the stop class".to_owned(),
        ..0 => "SCHED_DEADLINE".to_owned(),
        realtime @ 0..100 => format!("real-time priority {}", 99 - realtime),
        fair => format!("nice {}", fair - 120),
    }
}

/// A share as per cent for words.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.1 {
        format!("{:.1} %", share * 100.0)
    } else {
        format!("{:.0} %", share * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit() {
        let mut names: Vec<&str> = REGISTRY.iter().map(|pattern| pattern.name()).collect();
        assert!(names.len() <= 32, "a wakeup has a bit for each");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
    }

    #[test]
    fn every_cause_that_is_asked_for_is_one() {
        for pattern in REGISTRY {
            let bits = bits_of(pattern.causes());
            assert_eq!(bits.count_ones() as usize, pattern.causes().len(), "{}", pattern.name());
        }
    }

    #[test]
    fn names_as_words() {
        let found = |names: &[&str]| {
            let group = |name: &&str| (Group { name: (*name).to_owned(), ..Group::default() }, 1);
            Found { groups: names.iter().map(group).collect(), ..Found::default() }
        };
        assert_eq!(found(&["a"]).names(), "a");
        assert_eq!(found(&["a", "b"]).names(), "a and b");
        assert_eq!(found(&["a", "b", "c", "d", "e"]).names(), "a, b, c and 2 others");
    }
}
