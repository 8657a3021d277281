//! What has ended: a story becomes a balance, is shown to the patterns, is kept if it is among the worst,
//! waits for a late report of a loss, and goes into the sums and to the sink.

use crate::balance::{Balancer, Blaming, PassedOver, Past};
use crate::cause::UNEXPLAINED_AT;
use crate::findings::{Bound, ClockFinding, Explanation};
use crate::finished::{Blame, Finished, Sink};
use crate::held::Held;
use crate::label::Labels;
use crate::machine::Reason;
use crate::pattern::Recogniser;
use crate::seen::Seen;
use crate::sleep::{Waited, Waits};
use crate::step::StepMaker;
use crate::story::Story;
use crate::summary::Summary;
use crate::threads::{THREADS_MAX, Threads};
use crate::victims::Ended;
use crate::worst::{self, Worst};
use std::collections::VecDeque;
use tardy_followers::{Followed, Followers, SPANS_MAX, Skew, StolenTime};
use tardy_model::event::{ClockSet, Loss, Stack};
use tardy_model::{
    Cause, Culprit, Event, Kind, NameId, Segment, Tables, TaskId, TimerId, WakeupKind,
};

/// A loss is told of by the first event that its CPU writes again. Finished wakeups wait this long
/// for such a report before they are final.
const LOSS_REPORT_NS: u64 = 1_000_000_000;

/// Finished wakeups that wait for it at most.
const PENDING_MAX: usize = 8192;

/// Wakeups of which a late report of a loss may tell, the last ones.
pub const REVISED_MAX: usize = PENDING_MAX + 1;

/// Settings of the clock that are told one by one.
const CLOCKS_SET_MAX: usize = 64;

/// A wakeup that a loss told of later may still touch.
#[derive(Debug)]
struct Pending {
    task: TaskId,
    expiry_ns: u64,
    lateness_ns: u64,
    /// When it ended, by the stream; never before the one that ended before it.
    at_ns: u64,
    touched: bool,
    near_loss: bool,
}

impl Pending {
    fn end_ns(&self) -> u64 {
        self.expiry_ns + self.lateness_ns
    }

    /// When no a late report of a loss can touch it any more.
    fn final_from_ns(&self) -> u64 {
        self.end_ns().saturating_add(LOSS_REPORT_NS + 1)
    }
}

/// What followers and victims know in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    pub(crate) skew: Skew,
    pub(crate) stolen: Option<StolenTime>,
    pub(crate) discarded: [u64; Reason::ALL.len()],
    pub(crate) threads_left_out: u64,
    pub(crate) tables_full: bool,
}

/// Everything that comes after a story.
#[derive(Debug)]
pub(crate) struct Endings {
    balancer: Balancer,
    recogniser: Recogniser,
    worst: Worst,
    summary: Summary,
    waits: Waits,
    clocks_set: Vec<ClockFinding>,
    pending: VecDeque<Pending>,
    /// The same ones whole, if the sink takes wakeups.
    held: Held,
    keeps: bool,
    /// The one that has just ended; its room is used again.
    finished: Finished,
    /// The one that is final, the same.
    last: Finished,
    now_ns: u64,
    /// The first of `pending` is not final before, or need not wait as there are too many; `u64::MAX` where there is
    /// none.
    settle_from_ns: u64,
    /// Wakeups that reach back further than what is remembered, or had more phases than are kept.
    cut: u64,
}

impl Endings {
    pub(crate) fn new(worst: usize, keeps: bool) -> Self {
        Self {
            balancer: Balancer::default(),
            recogniser: Recogniser::default(),
            worst: Worst::new(worst),
            summary: Summary::default(),
            waits: Waits::default(),
            clocks_set: Vec::new(),
            pending: VecDeque::new(),
            held: Held::default(),
            keeps,
            finished: Finished::default(),
            last: Finished::default(),
            now_ns: 0,
            settle_from_ns: u64::MAX,
            cut: 0,
        }
    }

    /// Some events come, one after the other.
    pub(crate) fn count(&mut self, events: &[Event]) {
        self.summary.count(events);
    }

    /// An event comes.
    #[inline]
    pub(crate) fn sees(
        &mut self,
        event: &Event,
        kind: Kind,
        followed: Followed,
        after: (&Followers, &Tables),
    ) {
        self.passes(event.time_ns);
        if self.recogniser.looks_at(event.tag(), followed.ended) {
            self.shows(event, kind, followed, after);
        }
    }

    #[inline(never)]
    fn shows(
        &mut self,
        event: &Event,
        kind: Kind,
        followed: Followed,
        (followers, tables): (&Followers, &Tables),
    ) {
        self.recogniser.event(&Seen { event, kind: &kind, followed: &followed, followers, tables });
    }

    /// An event passes.
    #[inline]
    pub(crate) fn passes(&mut self, time_ns: u64) {
        self.now_ns = time_ns;
        self.summary.passes(time_ns);
    }

    pub(crate) fn waited(&mut self, waited: &Waited, labels: &Labels) {
        self.waits.add(waited, |culprit| labels.label(culprit));
    }

    /// A stack comes of a sleep that began at a time, of which the wait may have been told already.
    pub(crate) fn slept(&mut self, stack: Stack, since_ns: u64, labels: &Labels) {
        self.waits.slept(stack.of, since_ns, || labels.label(Culprit::Function(stack.frames)).name);
    }

    pub(crate) fn clock_set(&mut self, set: &ClockSet) {
        if self.clocks_set.len() < CLOCKS_SET_MAX {
            let (since_ns, until_ns) = (set.since_ns, self.now_ns);
            self.clocks_set.push(ClockFinding { by_ns: set.by_ns, since_ns, until_ns });
        }
    }

    /// A story has ended, of a thread that marks its return or does not. Yields a thread of which more should have been
    /// remembered for its balance.
    pub(crate) fn ends<S: Sink>(
        &mut self,
        ended: &Ended,
        (story, by_mark): (&Story, bool),
        past: &Past<'_>,
        labels: &mut Labels,
        sink: &mut S,
    ) -> Option<TaskId> {
        let lateness_ns = story.ended(ended.end_ns) - story.expiry_ns;
        let is_looked_at = ended.is_call
            || past.stacks.any()
            || sink.looks_at_segments()
            || self.worst.wants(lateness_ns);
        let passed_over =
            if is_looked_at { PassedOver::NONE } else { self.recogniser.asks_for_no_segments() };
        // Names are given in this order, the victim's first.
        self.finished.victim = labels.id(Culprit::Task(ended.task));
        let blaming = Blaming { labels, summary: &mut self.summary };
        let making = (passed_over, blaming);
        self.balancer.close(story, ended.end_ns, ended.to_user, past, &mut self.finished, making);
        let Finished { wakeup, blames, .. } = &mut self.finished;
        debug_assert_eq!(self.balancer.shares.sum_ns(), wakeup.lateness_ns, "{wakeup:?}");
        debug_assert!(!is_looked_at || wakeup.is_balanced(), "{wakeup:?}");
        let fired_on = story.fired.map_or(wakeup.cpu, |fired| fired.cpu);
        let cpus = [wakeup.cpu, fired_on];
        past.stacks.attach(&mut wakeup.segments, blames, cpus, past.threads, labels);
        self.cut += u64::from(self.balancer.is_cut);
        self.summary.mark_missing(wakeup);
        let recent = (past.followers, past.threads);
        self.finished(Some(story), by_mark, recent, labels, sink);
        self.balancer.forgotten
    }

    /// A thread counted a wakeup whose events are missing: it is there, and unexplained.
    pub(crate) fn mark_alone<S: Sink>(
        &mut self,
        event: &Event,
        expiry_ns: u64,
        timer: TimerId,
        recent: (&Followers, &Threads),
        (labels, sink): (&mut Labels, &mut S),
    ) {
        let known = timer != TimerId::UNKNOWN;
        let lateness_ns = event.time_ns.saturating_sub(expiry_ns);
        let Finished { wakeup, victim, blames, .. } = &mut self.finished;
        wakeup.clear(event.task, event.cpu);
        blames.clear();
        *victim = labels.id(Culprit::Task(event.task));
        wakeup.kind = if known { WakeupKind::Timer } else { WakeupKind::MarkOnly };
        (wakeup.timer, wakeup.expiry_ns, wakeup.lateness_ns) = (timer, expiry_ns, lateness_ns);
        wakeup.to_user = true;
        self.summary.mark_missing(wakeup);
        self.balancer.shares.clear();
        if lateness_ns > 0 {
            let (cause, culprit) = (Cause::UNEXPLAINED, Culprit::Nobody);
            let (start_ns, ns, stretch, stack) = (expiry_ns, lateness_ns, 0, NameId::NONE);
            wakeup.segments.push(Segment { cause, culprit, start_ns, ns, stretch, stack });
            let cause = UNEXPLAINED_AT as u8;
            blames.push(Blame { cause, culprit: labels.id(culprit) });
            self.balancer.shares.add(cause, lateness_ns);
        }
        self.finished(None, true, recent, labels, sink);
    }

    /// Adds it up, and waits for a late report of losses.
    fn finished<S: Sink>(
        &mut self,
        story: Option<&Story>,
        by_mark: bool,
        (followers, threads): (&Followers, &Threads),
        labels: &mut Labels,
        sink: &mut S,
    ) {
        let Self { balancer, finished, .. } = self;
        let Finished { wakeup, victim, blames, patterns } = finished;
        for (segment, blame) in wakeup.segments.iter().zip(&*blames) {
            self.summary.blame(segment, *blame);
        }
        self.summary.wakeup(wakeup, *victim, &balancer.shares);
        let found = (&blames[..], balancer.shares.has);
        *patterns = self.recogniser.wakeup(wakeup, found, &followers.prios, labels);
        let wants_whole = sink.wants_whole(wakeup);
        if wants_whole || self.worst.wants(wakeup.lateness_ns) {
            let (tables, cpus) = (&labels.tables, &followers.cpus[..]);
            let maker = StepMaker { story, wakeup, by_mark, cpus, threads, tables };
            if wants_whole {
                sink.whole(worst::whole(&maker, *patterns, labels));
            }
            if self.worst.wants(wakeup.lateness_ns) {
                self.worst.keep(&maker, *patterns, labels);
            }
        }
        let pending = Pending {
            task: wakeup.task,
            expiry_ns: wakeup.expiry_ns,
            lateness_ns: wakeup.lateness_ns,
            at_ns: self.pending.back().map_or(0, |last| last.at_ns).max(self.now_ns),
            touched: wakeup.touched_by_loss,
            near_loss: wakeup.near_loss,
        };
        if self.pending.is_empty() {
            self.settle_from_ns = pending.final_from_ns();
        }
        self.pending.push_back(pending);
        if self.pending.len() > PENDING_MAX {
            self.settle_from_ns = 0;
        }
        sink.ended(&finished.named(labels));
        if self.keeps {
            self.held.push(finished);
        }
    }

    /// Makes final what no a late report of a loss can touch any more.
    #[inline]
    pub(crate) fn settle<S: Sink>(&mut self, labels: &Labels, sink: &mut S) {
        if self.now_ns >= self.settle_from_ns {
            self.settle_all(labels, sink);
        }
    }

    fn settle_all<S: Sink>(&mut self, labels: &Labels, sink: &mut S) {
        while let Some(first) = self.pending.front() {
            self.settle_from_ns = first.final_from_ns();
            if self.now_ns < self.settle_from_ns && self.pending.len() <= PENDING_MAX {
                return;
            }
            self.pending.pop_front();
            if self.held.pop(&mut self.last) {
                sink.wakeup(&self.last.named(labels));
            }
        }
        self.settle_from_ns = u64::MAX;
    }

    pub(crate) fn loss<S: Sink>(&mut self, loss: &Loss, time_ns: u64, sink: &mut S) {
        self.summary.loss(loss);
        self.touch(loss.since_ns, time_ns, true, sink);
    }

    /// Events are missing on a CPU without a loss told of: `task` was current when that began.
    pub(crate) fn gap<S: Sink>(
        &mut self,
        since_ns: u64,
        time_ns: u64,
        task: TaskId,
        (labels, sink): (&mut Labels, &mut S),
    ) {
        let label = labels.id(Culprit::Task(task));
        self.summary.gap(time_ns.saturating_sub(since_ns), label);
        self.touch(since_ns, time_ns, false, sink);
    }

    /// Events are missing between these times: a loss that the kernel counted, or a CPU that was silent.
    fn touch<S: Sink>(&mut self, since_ns: u64, time_ns: u64, is_loss: bool, sink: &mut S) {
        let last = self.pending.len().saturating_sub(1);
        // Those that wait are many and a gap is short: only they matter that were still on their way.
        let lately = self.pending.iter_mut().enumerate().rev();
        for (at, pending) in lately.take_while(|(_, last)| last.at_ns >= since_ns) {
            // A wakeup begins with its arm, which may be long before the expiry and be lost; that
            // changes nothing of its balance, which begins at the expiry.
            let overlaps = pending.expiry_ns <= time_ns && pending.end_ns() >= since_ns;
            if !overlaps || (pending.touched && (pending.near_loss || !is_loss)) {
                continue;
            }
            let is_first = !std::mem::replace(&mut pending.touched, true);
            pending.near_loss |= is_loss;
            self.summary.one_more_touched(is_first, is_loss);
            self.worst.touched(pending.task, pending.expiry_ns, pending.lateness_ns, is_loss);
            self.held.touched(at, is_loss);
            sink.touched(last - at, is_loss);
        }
        self.summary.missing_until(time_ns, is_loss);
    }

    /// The stream is over.
    pub(crate) fn finish<S: Sink>(
        mut self,
        recent: Recent,
        labels: &mut Labels,
        sink: &mut S,
    ) -> Explanation {
        self.now_ns = u64::MAX;
        self.settle_all(labels, sink);
        let worst = self.worst.into_kept();
        let mut explanation = self.summary.into_explanation(labels, worst);
        explanation.patterns = self.recogniser.into_findings(explanation.span_ns, labels);
        explanation.waits = self.waits.into_findings();
        explanation.clocks_set = self.clocks_set;
        explanation.stolen = recent.stolen;
        explanation.skew = recent.skew;
        let reasons = Reason::ALL.into_iter().zip(recent.discarded);
        explanation.discarded = reasons.filter(|(_, count)| *count > 0).collect();
        let mut bound = |of: &'static str, count: u64, limit: usize, what: &'static str| {
            if count > 0 {
                explanation.bounds.push(Bound { of, what, limit: limit as u64, count });
            }
        };
        bound(
            Bound::WAKEUP,
            self.cut,
            SPANS_MAX,
            "tardy remembers no more changes of a CPU, fewer of a thread, and no more phases of a wakeup, so what came \
             before them is unexplained",
        );
        bound(
            "event",
            recent.threads_left_out,
            THREADS_MAX,
            "tardy follows no more threads, so who owns a lock that another one waits for is known only from its wakeup",
        );
        bound(
            "",
            u64::from(recent.tables_full),
            Tables::ENTRIES_MAX as usize,
            "tardy does not distinguish more timers and names of one stream",
        );
        explanation
    }
}
