//! What an explanation yields: numbers and names, ready to be shown, with nothing of how they are
//! shown.

use crate::advice::Advice;
use crate::group::GroupFinding;
use crate::label::Label;
use crate::machine::Reason;
use crate::pattern::{PatternFinding, Patterns};
use crate::sleep::WaitFinding;
use crate::step::Step;
use std::collections::BTreeMap;
use tardy_followers::{Skew, StolenTime};
use tardy_model::event::{FRAME_SEPARATOR, IN_USER_SPACE, innermost};
use tardy_model::{Cause, CpuId, Culprit, NameId, Prio, Segment, Wakeup};
use tardy_stats::Latencies;

/// Everything that an explanation found.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Events read.
    pub events: u64,
    /// Events that the source lost, at least.
    pub lost: u64,
    /// Losses of which the source could not say how many events they were; each counts as one in
    /// `lost`.
    pub lost_uncounted: u64,
    /// Stretches in which events are missing that no loss tells of.
    pub gaps: GapFinding,
    /// The time of the first event.
    pub start_ns: u64,
    /// From the first event to the last.
    pub span_ns: u64,
    /// All wakeups of all victims.
    pub latencies: Latencies,
    /// Wakeups for which events are missing: the kernel lost them, or a CPU was silent.
    pub touched_by_loss: u64,
    /// Those of them for which the kernel lost events.
    pub near_loss: u64,
    /// Each watched thread by itself, most total lateness first.
    pub victims: Vec<VictimFinding>,
    /// Watched threads that are in the sums, and for want of room not in `victims`.
    pub victims_left_out: u64,
    /// Causes with any time at all, most first. Their `ns` sum to all lateness.
    pub causes: Vec<CauseFinding>,
    /// Culprits, most first. Their `ns` sum to all lateness.
    pub culprits: Vec<CulpritFinding>,
    /// The same as a person would name them, most first. Their `ns` sum to all lateness.
    pub groups: Vec<GroupFinding>,
    /// What to do, the most gain first.
    pub advice: Vec<Advice>,
    /// Which wakeups count as the worst ones in [`CauseFinding::worst_ns`].
    pub worst_group: WorstGroup,
    /// Stories that are known, most lateness first.
    pub patterns: Vec<PatternFinding>,
    /// The worst wakeups, latest first.
    pub worst: Vec<WorstWakeup>,
    /// What watched threads waited for, by kind: none of it is lateness.
    pub waits: Vec<WaitFinding>,
    /// Stories that ended as no wakeup, by reason; those with any.
    pub discarded: Vec<(Reason, u64)>,
    /// How far the clocks of CPUs are apart, as far as it shows.
    pub skew: Skew,
    /// When `CLOCK_REALTIME` was set, as far as expiries show it.
    pub clocks_set: Vec<ClockFinding>,
    /// What a hypervisor stole from all CPUs, in wakeups or not; `None` where the stream does not tell.
    pub stolen: Option<StolenTime>,
    /// Limits that were reached.
    pub bounds: Vec<Bound>,
}

/// `CLOCK_REALTIME` was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFinding {
    /// By how much; forward is positive.
    pub by_ns: i64,
    /// Not before.
    pub since_ns: u64,
    /// Not later.
    pub until_ns: u64,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What it was reached in, as one of them is called; empty where it is the whole stream.
    pub of: &'static str,
    /// What that means for the explanation, a clause.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
    /// How often it was reached.
    pub count: u64,
}

impl Bound {
    /// What [`Self::of`] is of limits that leave a part of a wakeup unexplained.
    pub const WAKEUP: &'static str = "wakeup";
}

/// Stretches in which a CPU recorded nothing although it worked: the event after one has another
/// task current than the event before had left. What happened in them is unexplained.
#[derive(Clone, Debug, Default)]
pub struct GapFinding {
    /// How many.
    pub count: u64,
    /// How long, together.
    pub ns: u64,
    /// The task that was current when most of them began.
    pub mostly_after: Option<Label>,
}

/// One watched thread.
#[derive(Clone, Debug)]
pub struct VictimFinding {
    /// Who.
    pub label: Label,
    /// Its wakeups.
    pub latencies: Latencies,
    /// Its process, where that is known.
    pub process: Option<u32>,
    /// Its priority, as it was known last.
    pub prio: Option<Prio>,
    /// It is one of tardy's own, which measures.
    pub measures: bool,
    /// It had ended before the stream did.
    pub has_exited: bool,
}

/// What one cause took.
#[derive(Clone, Debug)]
pub struct CauseFinding {
    /// Which cause.
    pub cause: Cause,
    /// One clause that says what it is: "other timers' callbacks ran first in the same interrupt".
    pub meaning: &'static str,
    /// Nanoseconds, over all wakeups.
    pub ns: u64,
    /// Share of all lateness, 0–1.
    pub share: f64,
    /// Wakeups in which it appears.
    pub wakeups: u64,
    /// Nanoseconds in the worst wakeups.
    pub worst_ns: u64,
    /// Share of the worst wakeups' lateness, 0–1.
    pub worst_share: f64,
    /// Its advice in one line, where there is any in [`Explanation::advice`].
    pub advice: Option<String>,
}

/// The worst wakeups as a group: the latest 1 %, rounded up to whole classes of a histogram.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorstGroup {
    /// How many they are.
    pub wakeups: u64,
    /// Each of them was at least this late.
    pub from_ns: u64,
    /// The sum of their lateness.
    pub ns: u64,
}

/// What one culprit took.
#[derive(Clone, Debug)]
pub struct CulpritFinding {
    /// Who.
    pub label: Label,
    /// The same, by its ids in the stream.
    pub who: Culprit,
    /// The process of the thread that it is or belongs to, where that is known.
    pub process: Option<u32>,
    /// Its place in [`Explanation::groups`].
    pub group: usize,
    /// The cause in which it took most.
    pub main_cause: Cause,
    /// What it took in each cause, most first.
    pub causes: Vec<(Cause, u64)>,
    /// Nanoseconds, over all wakeups.
    pub ns: u64,
    /// Share of all lateness, 0–1.
    pub share: f64,
    /// Wakeups in which it appears.
    pub wakeups: u64,
    /// Where in the kernel it was, most first, where stacks were taken.
    pub stacks: Vec<StackFinding>,
}

/// What a culprit took of one cause in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFinding {
    /// The cause.
    pub cause: Cause,
    /// The functions, the innermost first, with [`FRAME_SEPARATOR`](tardy_model::event::FRAME_SEPARATOR) between
    /// them. Names come from traces: they are data, whatever they hold.
    pub frames: String,
    /// Nanoseconds, over all wakeups.
    pub ns: u64,
}

impl StackFinding {
    /// The function.
    pub fn function(&self) -> &str {
        innermost(&self.frames)
    }

    /// Its last callers, as a person reads them: `zap_pte_range <- unmap_page_range <- unmap_vmas`.
    pub fn words(&self) -> String {
        place_in_words(&self.frames)
    }

    /// Most first.
    pub(crate) fn sort(stacks: &mut [Self]) {
        stacks.sort_by(|a, b| {
            let by_name = || (&a.frames, a.cause).cmp(&(&b.frames, b.cause));
            b.ns.cmp(&a.ns).then_with(by_name)
        });
    }
}

/// Functions of a stack that are named where there is little room.
const FUNCTIONS_NAMED: usize = 3;

/// The innermost functions of a folded stack, as a person reads them. Names come from traces: they are data.
pub fn place_in_words(frames: &str) -> String {
    let named = |frames: &str| {
        let named: Vec<&str> = frames.split(FRAME_SEPARATOR).take(FUNCTIONS_NAMED).collect();
        named.join(" <- ")
    };
    match frames.strip_prefix(IN_USER_SPACE) {
        Some("") => "user space".to_owned(),
        Some(program) => match program.strip_prefix(FRAME_SEPARATOR) {
            Some(program) => format!("user space ({})", named(program)),
            None => named(frames),
        },
        None => named(frames),
    }
}

/// A wakeup with everything needed to tell its story.
#[derive(Clone, Debug)]
pub struct WorstWakeup {
    /// The wakeup.
    pub wakeup: Wakeup,
    /// The victim's name.
    pub victim: Label,
    /// The stories that are known which it is an instance of.
    pub patterns: Patterns,
    /// What happened on its way, in order.
    pub steps: Vec<Step>,
    /// The names of all who have a part in it.
    pub labels: BTreeMap<Culprit, Label>,
    /// What every CPU that is known did, from a little before the expiry to the end.
    pub lanes: Vec<Lane>,
}

/// What one CPU did for a while.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Which CPU.
    pub cpu: CpuId,
    /// In time order, not overlapping; a gap is time of which nothing is known.
    pub spans: Vec<LaneSpan>,
}

/// One thing that a CPU did.
#[derive(Clone, Debug)]
pub struct LaneSpan {
    /// From.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
    /// What it was: kinds as in [`Label::kind`].
    pub label: Label,
}

impl WorstWakeup {
    /// A culprit's name.
    pub fn label(&self, culprit: Culprit) -> Label {
        self.labels.get(&culprit).cloned().unwrap_or_default()
    }

    /// The frames of a segment's stack; empty where none was taken.
    pub fn frames(&self, segment: &Segment) -> String {
        match segment.stack {
            NameId::NONE => String::new(),
            stack => self.label(Culprit::Function(stack)).name,
        }
    }

    /// The stack of culprits of one cause, where one was taken and stands for most of their time.
    pub fn stack(&self, cause: Cause, is_meant: impl Fn(Culprit) -> bool) -> Option<StackFinding> {
        let mut stacks: Vec<StackFinding> = Vec::new();
        // A wakeup may have thousands of segments, and this is asked of each culprit: what costs little comes first.
        let with_stack = self.wakeup.segments.iter().filter(|one| one.stack != NameId::NONE);
        for segment in with_stack {
            if !is_meant(segment.culprit) || segment.cause != cause {
                continue;
            }
            let frames = self.frames(segment);
            if frames.is_empty() {
                continue;
            }
            match stacks.iter_mut().find(|stack| stack.frames == frames) {
                Some(stack) => stack.ns = stack.ns.saturating_add(segment.ns),
                None => stacks.push(StackFinding { cause, frames, ns: segment.ns }),
            }
        }
        StackFinding::sort(&mut stacks);
        let first = stacks.into_iter().next()?;
        let meant =
            self.wakeup.segments.iter().filter(|one| one.cause == cause && is_meant(one.culprit));
        let all_ns = meant.fold(0u64, |sum, one| sum.saturating_add(one.ns));
        (first.ns.saturating_mul(2) > all_ns).then_some(first)
    }
}
