//! From events to stories: who is woken by what, runs where, and is back when.

use crate::cause::UNEXPLAINED_AT;
use crate::cpu::Cpu;
use crate::findings::Explanation;
use crate::finished::{Blame, Finished, Named};
use crate::label::Labels;
use crate::pattern::Recogniser;
use crate::piece::{Activity, Phase};
use crate::prios::Prios;
use crate::step::Teller;
use crate::story::{Story, WokenBy};
use crate::summary::Summary;
use crate::threads::Threads;
use crate::victim::Victim;
use crate::watch::Watch;
use crate::worst::Worst;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use tardy_model::event::{Mark, Migrate, Switch, TaskInfo, TaskState, Waking};
use tardy_model::{
    Batch, Cause, CpuId, Culprit, Event, Kind, Link, NameId, Prio, Segment, Tables, TaskId,
    TimerId, Wakeup, WakeupKind,
};

/// A loss is told of by the first event that its CPU writes again. Finished wakeups wait this long
/// for such news before they are final.
const LOSS_NEWS_NS: u64 = 1_000_000_000;

/// Finished wakeups that wait for it at most.
const PENDING_MAX: usize = 8192;

/// CPUs that can be told apart; what is above is read as the last one (the format allows 65,536).
const CPUS_MAX: usize = 8192;

/// What to explain and how much of it to keep.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose wakeups.
    pub watch: Watch,
    /// How many of the worst to keep whole, with what all CPUs did around them. Each is some
    /// kilobytes.
    pub worst: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { watch: Watch::default(), worst: 20 }
    }
}

/// Where wakeups go as they are explained, in the order in which they end.
pub trait Sink {
    /// One wakeup, with the names of its victim and culprits as they were when it ended.
    fn wakeup(&mut self, wakeup: &Named<'_>);
}

/// For who needs only the [`Explanation`].
impl Sink for () {
    fn wakeup(&mut self, _: &Named<'_>) {}
}

/// A timer's life as far as a later wakeup needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Armed {
    time_ns: u64,
    soft_ns: u64,
    by: TaskId,
}

/// Turns events into wakeups and their explanation. Pure: time comes in as numbers.
#[derive(Debug)]
pub struct Explainer<S> {
    options: Options,
    pub(crate) labels: Labels,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) prios: Prios,
    pub(crate) threads: Threads,
    /// The task woken by the last event of each CPU.
    just_woken: Vec<TaskId>,
    pub(crate) victims: FxHashMap<TaskId, Victim>,
    /// Victims that wait for a lock's sake: those whom another's boost may concern.
    pub(crate) blocked: Vec<TaskId>,
    armed: Vec<Armed>,
    pub(crate) pending: VecDeque<Finished>,
    pub(crate) summary: Summary,
    recogniser: Recogniser,
    worst: Worst,
    sink: S,
    now_ns: u64,
    /// Room for the causes of the story that is being closed.
    causes: Vec<usize>,
    /// The first of `pending` is not final before; `u64::MAX` where there is none.
    settle_from_ns: u64,
}

impl<S: Sink> Explainer<S> {
    /// Nothing seen yet.
    pub fn new(options: Options, sink: S) -> Self {
        Self {
            worst: Worst::new(options.worst),
            options,
            labels: Labels::default(),
            cpus: Vec::new(),
            prios: Prios::default(),
            threads: Threads::default(),
            just_woken: Vec::new(),
            victims: FxHashMap::default(),
            blocked: Vec::new(),
            armed: Vec::new(),
            pending: VecDeque::new(),
            summary: Summary::default(),
            recogniser: Recogniser::default(),
            sink,
            now_ns: 0,
            causes: Vec::new(),
            settle_from_ns: u64::MAX,
        }
    }

    /// Takes a batch: its definitions, then its events.
    pub fn batch(&mut self, batch: &Batch) {
        batch.define(&mut self.labels.tables);
        for event in &batch.events {
            self.event(event);
        }
    }

    /// The names and timers defined so far, for who brings definitions and events by other ways.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.labels.tables
    }

    /// How many culprits and victims are remembered by name. Of slacks and timers there may be ever new
    /// ones: who follows a stream without an end looks at this, and begins anew.
    pub fn names_known(&self) -> usize {
        self.labels.count()
    }

    /// Where wakeups go, for who takes from it while the stream goes on.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        self.now_ns = event.time_ns;
        self.summary.event(event.time_ns);
        self.recogniser.event(event, &self.labels.tables);
        let cpu = place_of(event.cpu);
        if cpu >= self.cpus.len() {
            self.cpus.resize_with(cpu + 1, Cpu::default);
            self.just_woken.resize(cpu + 1, TaskId::IDLE);
        }
        if Kind::speaks_of_current(event.tag())
            && let Some((since_ns, task)) =
                self.cpus[cpu].witness(event.time_ns, event.task, &self.prios)
        {
            self.gap(since_ns, event.time_ns, task);
        }
        let just_woken = std::mem::replace(&mut self.just_woken[cpu], TaskId::IDLE);
        let time_ns = event.time_ns;
        match event.kind() {
            Kind::TimerArm(arm) => {
                let by = if self.cpus[cpu].in_task_context() { event.task } else { TaskId::IDLE };
                self.arm(arm.timer, Armed { time_ns, soft_ns: arm.soft_ns, by });
                if let Some(victim) = self.victims.get_mut(&by) {
                    victim.arms(arm);
                }
            }
            Kind::ExpireBegin(begin) => {
                let timer = self.labels.tables.timer(begin.timer);
                let owner = match timer.owner {
                    TaskId::IDLE => self.armed(begin.timer).by,
                    owner => owner,
                };
                if let Some(victim) = self.victims.get_mut(&owner) {
                    victim.fires(begin.timer);
                }
                self.cpus[cpu].expire_begin(time_ns, begin, owner, timer.class);
            }
            Kind::ExpireEnd(end) => self.cpus[cpu].expire_end(time_ns, end.timer),
            Kind::IrqBegin(begin) => self.cpus[cpu].irq_begin(time_ns, begin.irq),
            Kind::IrqEnd(end) => self.cpus[cpu].irq_end(time_ns, end.irq),
            Kind::SoftirqRaise(raise) => self.cpus[cpu].softirq_raise(time_ns, raise.vector),
            Kind::SoftirqBegin(begin) => self.cpus[cpu].softirq_begin(time_ns, begin.vector),
            Kind::SoftirqEnd(end) => self.cpus[cpu].softirq_end(time_ns, end.vector),
            Kind::IdleEnter(enter) => self.cpus[cpu].idle_enter(time_ns, enter),
            Kind::IdleExit(_) => self.cpus[cpu].idle_exit(time_ns),
            Kind::Waking(waking) => {
                self.just_woken[cpu] = waking.target;
                self.prios.set(waking.target, waking.prio);
                self.waking(event, waking);
            }
            Kind::WokenNew(new) => {
                let by = WokenBy { kind: WakeupKind::New, cpu: event.cpu, task: event.task };
                let story = Story::of_other(time_ns, new.target, new.prio, new.target_cpu, by);
                let link = Link {
                    time_ns,
                    by: Culprit::Task(event.task),
                    started: true,
                    work: NameId::NONE,
                };
                self.threads.woken(new.target, new.target_cpu, link, event.task);
                self.begin(new.target, story);
            }
            Kind::Switch(switch) => self.switch(event, cpu, switch),
            Kind::Migrate(migrate) => self.migrate(time_ns, migrate, just_woken),
            Kind::Priority(priority) => self.priority(event, priority),
            Kind::SyscallEnter(call) => self.enter(event, call),
            Kind::SyscallExit(_) => {
                self.threads.exit(event.task);
                self.back_in_user_space(event.task, time_ns);
            }
            Kind::PageFault(_) => {
                if let Some(story) = self.story_of(event.task) {
                    story.faults(time_ns, event.cpu);
                }
            }
            Kind::Signal(signal) => {
                if let Some(story) = self.story_of(event.task) {
                    story.signalled(time_ns, event.cpu, signal.number);
                }
            }
            Kind::WorkBegin(work) => self.threads.works_on(event.task, work.function),
            Kind::WorkEnd(_) => self.threads.works_on(event.task, NameId::NONE),
            Kind::Mark(mark) => self.mark(event, mark),
            Kind::Loss(loss) => self.loss(cpu, time_ns, loss),
            Kind::TaskName(name) => {
                self.labels.rename(event.task, name.comm);
                self.consider(event.task);
            }
            Kind::TaskInfo(info) => {
                self.labels.inform(event.task, info);
                self.consider(event.task);
            }
            Kind::TaskExit(_) => {
                self.victims.remove(&event.task);
                self.threads.gone(event.task);
            }
            // Cancels need no care: a timer's callback tells which expiry it is for.
            _ => {}
        }
        if self.now_ns >= self.settle_from_ns || self.pending.len() > PENDING_MAX {
            self.settle();
        }
    }

    /// Ends the stream. Wakeups still on their way are left out: their end is not known.
    pub fn finish(mut self) -> (Explanation, S) {
        self.now_ns = u64::MAX;
        self.settle();
        let worst = self.worst.into_told();
        let mut explanation = self.summary.into_explanation(&self.labels, worst);
        explanation.patterns = self.recogniser.into_findings(explanation.span_ns, &self.labels);
        (explanation, self.sink)
    }

    fn arm(&mut self, timer: TimerId, armed: Armed) {
        let at = timer.0 as usize;
        if timer == TimerId::UNKNOWN || timer.0 >= Tables::ENTRIES_MAX {
            return;
        }
        if at >= self.armed.len() {
            self.armed.resize(at + 1, Armed::default());
        }
        let by = match armed.by {
            // Armed again by its own callback: it stays whose it was.
            TaskId::IDLE => self.armed[at].by,
            by => by,
        };
        self.armed[at] = Armed { by, ..armed };
    }

    fn armed(&self, timer: TimerId) -> Armed {
        self.armed.get(timer.0 as usize).copied().unwrap_or_default()
    }

    /// Something new is known of a task: is it a victim?
    fn consider(&mut self, task: TaskId) {
        let info = self.labels.info(task);
        if self.options.watch.includes(task, self.labels.comm(task), info) {
            self.victims.entry(task).or_default().info = info;
        } else {
            self.victims.remove(&task);
        }
    }

    /// The story that a thread is in, if it is a victim.
    pub(crate) fn story_of(&mut self, task: TaskId) -> Option<&mut Story> {
        self.victims.get_mut(&task)?.story.as_mut()
    }

    /// A story begins, if it is a victim's.
    pub(crate) fn begin(&mut self, task: TaskId, story: Story) {
        if let Some(victim) = self.victims.get_mut(&task) {
            victim.story = Some(story);
        }
    }

    fn waking(&mut self, event: &Event, waking: Waking) {
        self.expire_unseen(event, waking.target);
        let cpu = &self.cpus[place_of(event.cpu)];
        let (expiry, activity) = (cpu.expiry(), cpu.activity());
        let kind = match (expiry, activity) {
            (Some(_), _) => WakeupKind::Timer,
            (_, Activity::Irq(_)) => WakeupKind::Irq,
            (_, Activity::Softirq(_)) => WakeupKind::Softirq,
            _ => WakeupKind::Task,
        };
        let by_task = if kind == WakeupKind::Task { event.task } else { TaskId::IDLE };
        let who = match kind {
            WakeupKind::Task => Culprit::Task(by_task),
            _ => activity.culprit(),
        };
        let link = Link { time_ns: event.time_ns, by: who, started: false, work: NameId::NONE };
        self.threads.woken(waking.target, waking.target_cpu, link, by_task);
        let Some(victim) = self.victims.get_mut(&waking.target) else { return };
        let by = WokenBy { kind, cpu: event.cpu, task: by_task };
        if victim.on_cpu && !victim.is_told_later(kind) {
            // It had not gone to sleep yet, and nothing will tell when it is back: no wait at all.
            return;
        }
        match &mut victim.story {
            // It still runs, or already may: the waking changes nothing.
            Some(story) if story.phase() == Phase::Runnable => return,
            Some(story)
                if story.phase().is_blocked()
                    && (kind != WakeupKind::Timer || story.kind() == WakeupKind::Lock) =>
            {
                if let Some((since_ns, op)) = self.threads.futex_call(by_task) {
                    story.unlocked(since_ns, by_task, op);
                }
                story.woken_again(event.time_ns, waking.target_cpu, by);
                return;
            }
            // It is on its way into the wait for a lock, or out of it.
            Some(story) if story.kind() == WakeupKind::Lock => return,
            _ => {}
        }
        // A story whose end was not told (a mark lost, a signal) ends where the victim ran.
        self.close_at_switch_in(waking.target);
        let story = match expiry {
            Some(expiry) => {
                let armed = self.armed(expiry.timer);
                let for_this = armed.soft_ns == expiry.soft_ns && armed.time_ns > 0;
                let armed = for_this.then_some((armed.time_ns, armed.by));
                Story::of_timer(
                    event.time_ns,
                    waking.target,
                    waking.prio,
                    waking.target_cpu,
                    by,
                    &expiry,
                    armed,
                )
            }
            None => {
                Story::of_other(event.time_ns, waking.target, waking.prio, waking.target_cpu, by)
            }
        };
        self.begin(waking.target, story);
    }

    fn migrate(&mut self, time_ns: u64, migrate: Migrate, just_woken: TaskId) {
        self.threads.migrate(time_ns, migrate.target, migrate.to);
        if let Some(story) = self.story_of(migrate.target) {
            story.migrate(time_ns, migrate.to, just_woken == migrate.target);
        }
    }

    fn switch(&mut self, event: &Event, cpu: usize, switch: Switch) {
        let time_ns = event.time_ns;
        self.prios.set(event.task, switch.prev_prio);
        self.prios.set(switch.next, switch.next_prio);
        self.cpus[cpu].switch(time_ns, event.task, switch.next, switch.next_prio);
        if switch.prev_state == TaskState::Dead {
            self.threads.gone(event.task);
        } else {
            self.threads.switch_out(time_ns, event.task, event.cpu, switch.prev_state);
        }
        if let Some(victim) = self.victims.get_mut(&event.task) {
            victim.on_cpu = false;
            if let Some(story) = &mut victim.story {
                story.has_prio(switch.prev_prio);
                if switch.prev_state == TaskState::Running {
                    story.preempted(time_ns, event.cpu);
                } else {
                    let holders = self.threads.boosted(event.task);
                    story.blocked(time_ns, event.cpu, switch.prev_state, holders);
                    // Others' boosts are this wait's while it lasts.
                    self.blocked.retain(|task| *task != event.task);
                    self.blocked.push(event.task);
                }
            }
        }
        self.threads.switch_in(time_ns, switch.next, event.cpu);
        if let Some(victim) = self.victims.get_mut(&switch.next) {
            victim.on_cpu = true;
            let told_later =
                victim.info.has(TaskInfo::MARKS) || victim.info.has(TaskInfo::SYSCALLS);
            if let Some(story) = &mut victim.story {
                story.switch_in(time_ns, event.cpu);
                if !told_later && story.kind() != WakeupKind::Lock {
                    self.close(switch.next, time_ns, false);
                }
            }
        }
    }

    fn back_in_user_space(&mut self, task: TaskId, time_ns: u64) {
        let Some(victim) = self.victims.get_mut(&task) else { return };
        victim.waits_for = None;
        let Some(story) = &victim.story else { return };
        match story.kind() {
            // A call that got its lock at once is no wakeup.
            WakeupKind::Lock if !story.has_waited() => victim.story = None,
            WakeupKind::Lock => self.close(task, time_ns, true),
            WakeupKind::Timer
                if victim.info.has(TaskInfo::SYSCALLS) && !victim.info.has(TaskInfo::MARKS) =>
            {
                self.close(task, time_ns, true);
            }
            WakeupKind::Timer | WakeupKind::MarkOnly => {}
            // It counts up to where it ran; what comes after the call is not its story any more.
            _ => self.close_at_switch_in(task),
        }
    }

    fn mark(&mut self, event: &Event, mark: Mark) {
        let Some(victim) = self.victims.get(&event.task) else { return };
        let own = victim.story.as_ref().is_some_and(|story| {
            story.kind() == WakeupKind::Timer && story.expiry_ns() == mark.expiry_ns
        });
        if own {
            self.bring_in(event);
            self.close(event.task, event.time_ns, true);
            return;
        }
        // The thread counted a wakeup whose events are missing: it is there, and unexplained. Whether
        // a timer was to wake it is known if its arm was seen.
        let (kind, timer) = match victim.armed {
            Some(armed) if armed.soft_ns == mark.expiry_ns => (WakeupKind::Timer, armed.timer),
            _ => (WakeupKind::MarkOnly, TimerId::UNKNOWN),
        };
        self.close_at_switch_in(event.task);
        let lateness_ns = event.time_ns.saturating_sub(mark.expiry_ns);
        let unexplained = Segment {
            cause: Cause::UNEXPLAINED,
            culprit: Culprit::Nobody,
            start_ns: mark.expiry_ns,
            ns: lateness_ns,
            stretch: 0,
        };
        let wakeup = Wakeup {
            task: event.task,
            cpu: event.cpu,
            prio: Prio::default(),
            kind,
            timer,
            expiry_ns: mark.expiry_ns,
            lateness_ns,
            to_user: true,
            touched_by_loss: self.summary.was_lost_since(mark.expiry_ns),
            segments: if lateness_ns > 0 { vec![unexplained] } else { Vec::new() },
            stretches: Vec::new(),
            boosts: Vec::new(),
            lock: None,
            chain: Vec::new(),
        };
        self.finished(wakeup, &[UNEXPLAINED_AT], None);
    }

    /// A thread that marks its return runs. Where no switch to it was seen, one is missing: what the
    /// CPU did since its last event is not known.
    fn bring_in(&mut self, mark: &Event) {
        let Some(victim) = self.victims.get(&mark.task) else { return };
        let brought_in = victim.story.as_ref().is_none_or(|story| story.phase() == Phase::Running);
        if brought_in || victim.on_cpu {
            return;
        }
        let cpu = &mut self.cpus[place_of(mark.cpu)];
        if let Some((since_ns, task)) = cpu.witness(mark.time_ns, mark.task, &self.prios) {
            self.gap(since_ns, mark.time_ns, task);
        }
    }

    /// Closes a story that was never told to be back, at the time when the victim last ran.
    fn close_at_switch_in(&mut self, task: TaskId) {
        let ran = self
            .victims
            .get(&task)
            .and_then(|victim| victim.story.as_ref())
            .and_then(|story| (story.phase() == Phase::Running).then(|| story.since_ns()));
        match ran {
            Some(time_ns) => self.close(task, time_ns, false),
            None => {
                if let Some(victim) = self.victims.get_mut(&task) {
                    victim.story = None;
                }
            }
        }
    }

    fn close(&mut self, task: TaskId, end_ns: u64, to_user: bool) {
        let Some(victim) = self.victims.get_mut(&task) else { return };
        let Some(story) = victim.story.take() else { return };
        self.blocked.retain(|blocked| *blocked != task);
        let mut causes = std::mem::take(&mut self.causes);
        causes.clear();
        let mut wakeup = story.close(end_ns, to_user, &self.cpus, &self.threads, &mut causes);
        debug_assert!(wakeup.is_balanced(), "{wakeup:?}");
        wakeup.touched_by_loss = self.summary.was_lost_since(wakeup.expiry_ns);
        self.finished(wakeup, &causes, Some(&story));
        self.causes = causes;
    }

    /// Names everybody as they are called now, and waits for late news of losses.
    fn finished(&mut self, wakeup: Wakeup, causes: &[usize], story: Option<&Story>) {
        let patterns = self.recogniser.wakeup(&wakeup, causes, &self.prios, &mut self.labels);
        let marks = |victim: &Victim| victim.info.has(TaskInfo::MARKS);
        let by_mark = self.victims.get(&wakeup.task).is_some_and(marks);
        let tables = &self.labels.tables;
        let (cpus, threads) = (&self.cpus[..], &self.threads);
        let teller = Teller { story, wakeup: &wakeup, by_mark, cpus, threads, tables };
        self.worst.offer(&teller, patterns, &self.labels);
        let victim = self.labels.id(Culprit::Task(wakeup.task));
        let both = wakeup.segments.iter().zip(causes);
        let blames = both
            .map(|(segment, cause)| Blame {
                cause: *cause,
                culprit: self.labels.id(segment.culprit),
            })
            .collect();
        if self.pending.is_empty() {
            self.settle_from_ns = final_from_ns(&wakeup);
        }
        let at_ns = self.pending.back().map_or(0, |last| last.at_ns).max(self.now_ns);
        self.pending.push_back(Finished { at_ns, wakeup, victim, blames, patterns });
    }

    /// Makes final what no late news of a loss can touch any more.
    fn settle(&mut self) {
        while let Some(Finished { wakeup, .. }) = self.pending.front() {
            self.settle_from_ns = final_from_ns(wakeup);
            if self.now_ns < self.settle_from_ns && self.pending.len() <= PENDING_MAX {
                return;
            }
            let finished = self.pending.pop_front().expect("there is a first");
            self.summary.wakeup(&finished);
            self.worst.settle(&finished.wakeup);
            self.sink.wakeup(&finished.named(&self.labels));
        }
        self.settle_from_ns = u64::MAX;
    }
}

/// When no late news of a loss can touch a wakeup any more.
fn final_from_ns(wakeup: &Wakeup) -> u64 {
    (wakeup.expiry_ns + wakeup.lateness_ns).saturating_add(LOSS_NEWS_NS + 1)
}

/// Where a CPU is kept.
pub(crate) fn place_of(cpu: CpuId) -> usize {
    usize::from(cpu.0).min(CPUS_MAX - 1)
}
