//! A wakeup while it happens: its phases, from the expiry to the return to user space.

use crate::cause;
use crate::cpu::{Cpu, Expiry};
use crate::passed_over::{Waiting, gaps};
use crate::piece::{Activity, Case, Phase, Piece};
use crate::step::Fired;
use crate::threads::Threads;
use crate::wait::{Held, Wait};
use tardy_model::event::{SyscallEnter, TaskState};
use tardy_model::{
    BlockedOn, Boost, CpuId, Culprit, Link, LockCall, Prio, Segment, Stretch, StretchKind, TaskId,
    TimerId, Wakeup, WakeupKind,
};

/// Phases of one wakeup that are kept: a thread that is preempted and blocked more often than that
/// before it is back has the rest in one.
const STAGES_MAX: usize = 4096;

/// Signals of one wakeup that are kept.
const SIGNALS_MAX: usize = 64;

/// Boosts of one wakeup that are kept.
const BOOSTS_MAX: usize = 256;

/// A phase with its begin; it ends where the next one begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) start_ns: u64,
    pub(crate) phase: Phase,
    /// Whose activity matters.
    pub(crate) cpu: CpuId,
    pub(crate) waker_cpu: CpuId,
}

/// A wakeup on its way.
#[derive(Debug)]
pub(crate) struct Story {
    case: Case,
    expiry_ns: u64,
    pub(crate) stages: Vec<Stage>,
    /// What it waited for in each of its blocked stages, in order.
    pub(crate) waits: Vec<Wait>,
    boosts: Vec<Boost>,
    lock: Option<LockCall>,
    /// How its timer came to fire.
    pub(crate) fired: Option<Fired>,
    /// When others entered the calls in which they ended its waits, and by which futex operation.
    pub(crate) unlocks: Vec<(u64, TaskId, u16)>,
    /// Signals that it handles on its way: when, where, and which.
    pub(crate) signals: Vec<(u64, CpuId, u32)>,
}

/// Who woke whom, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenBy {
    pub(crate) kind: WakeupKind,
    pub(crate) cpu: CpuId,
    pub(crate) task: TaskId,
}

impl Story {
    fn begun(case: Case, expiry_ns: u64, stages: usize) -> Self {
        Self {
            case,
            expiry_ns,
            stages: Vec::with_capacity(stages),
            waits: Vec::new(),
            boosts: Vec::new(),
            lock: None,
            fired: None,
            unlocks: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// A thread enters a call for a lock; it is a story if it waits there.
    pub(crate) fn of_lock(
        time_ns: u64,
        task: TaskId,
        prio: Prio,
        cpu: CpuId,
        call: SyscallEnter,
    ) -> Self {
        let case =
            Case { task, prio, kind: WakeupKind::Lock, timer: TimerId::UNKNOWN, slack_ns: 0 };
        let mut story = Self::begun(case, time_ns, 8);
        story.lock = Some(LockCall { op: call.op, address: call.argument });
        let by = WokenBy { kind: WakeupKind::Lock, cpu, task: TaskId::IDLE };
        story.stage(time_ns, Phase::Running, cpu, by);
        story
    }

    /// A thread is woken by a timer's callback. `armed` is when the timer was armed for this
    /// expiry, and by whom, where that was seen.
    pub(crate) fn of_timer(
        time_ns: u64,
        task: TaskId,
        prio: Prio,
        target_cpu: CpuId,
        by: WokenBy,
        expiry: &Expiry,
        armed: Option<(u64, TaskId)>,
    ) -> Self {
        // An expiry after the waking is an estimate's error (jiffies), never a negative lateness.
        let soft_ns = expiry.soft_ns.min(time_ns);
        let case = Case {
            task,
            prio,
            kind: WakeupKind::Timer,
            timer: expiry.timer,
            slack_ns: expiry.slack_ns,
        };
        let mut story = Self::begun(case, soft_ns, 10);
        story.fired = Some(Fired { expiry: *expiry, armed, cpu: by.cpu });
        let hard_ns = soft_ns + u64::from(expiry.slack_ns);
        let interrupt_ns = expiry.interrupt_ns;
        let softirq = expiry.softirq;
        let raised_ns = softirq.map(|(raised_ns, begin_ns)| raised_ns.unwrap_or(begin_ns));
        // The first sign that the timer fires.
        let fires_ns = interrupt_ns.or(raised_ns).unwrap_or(expiry.begin_ns);

        let mut stage = |start_ns: u64, phase: Phase| story.stage(start_ns, phase, by.cpu, by);
        stage(soft_ns, Phase::Unarmed);
        let armed_ns = armed.map_or(soft_ns, |(armed_ns, _)| armed_ns.max(soft_ns));
        if expiry.of_wheel {
            stage(armed_ns, Phase::Coarse);
            stage(expiry.tick_ns.unwrap_or(fires_ns).min(fires_ns), Phase::Pending);
        } else if expiry.slack_ns > 0 {
            stage(armed_ns, Phase::Slack);
            stage(hard_ns.min(fires_ns).max(armed_ns), Phase::Pending);
        } else {
            stage(armed_ns, Phase::Pending);
        }
        if let Some(interrupt_ns) = interrupt_ns {
            stage(interrupt_ns, Phase::Interrupt);
        }
        if let Some((raised_ns, begin_ns)) = softirq {
            stage(raised_ns.unwrap_or(begin_ns), Phase::SoftirqWait);
            stage(begin_ns, Phase::SoftirqRun);
        }
        stage(expiry.begin_ns, Phase::Callback);
        story.stage(time_ns, Phase::Runnable, target_cpu, by);
        story
    }

    /// A thread is woken by anything else: its latency counts from now.
    pub(crate) fn of_other(
        time_ns: u64,
        task: TaskId,
        prio: Prio,
        target_cpu: CpuId,
        by: WokenBy,
    ) -> Self {
        let case = Case { task, prio, kind: by.kind, timer: TimerId::UNKNOWN, slack_ns: 0 };
        let mut story = Self::begun(case, time_ns, 4);
        story.stage(time_ns, Phase::Runnable, target_cpu, by);
        story
    }

    /// The time that a timed wakeup was asked for.
    pub(crate) fn expiry_ns(&self) -> u64 {
        self.expiry_ns
    }

    pub(crate) fn kind(&self) -> WakeupKind {
        self.case.kind
    }

    /// The phase it is in.
    pub(crate) fn phase(&self) -> Phase {
        self.last().phase
    }

    /// When the phase it is in began.
    pub(crate) fn since_ns(&self) -> u64 {
        self.last().start_ns
    }

    fn last(&self) -> Stage {
        *self.stages.last().expect("a story begins with a stage")
    }

    /// Begins a phase. A begin before the one of the phase before (clocks of two CPUs, estimates)
    /// is moved there; a phase of no length is written over.
    fn stage(&mut self, start_ns: u64, phase: Phase, cpu: CpuId, by: WokenBy) {
        let start_ns =
            start_ns.max(self.stages.last().map_or(self.expiry_ns, |last| last.start_ns));
        if self.stages.last().is_some_and(|last| last.start_ns == start_ns) {
            self.stages.pop();
        } else if self.stages.len() == STAGES_MAX {
            return;
        }
        self.stages.push(Stage { start_ns, phase, cpu, waker_cpu: by.cpu });
    }

    fn step(&mut self, time_ns: u64, phase: Phase, cpu: CpuId) {
        let last = self.last();
        let by = WokenBy { kind: self.case.kind, cpu: last.waker_cpu, task: TaskId::IDLE };
        self.stage(time_ns, phase, cpu, by);
    }

    /// The victim is moved to another CPU's queue; `by_waker` where the waker does it as part of
    /// waking it, so that what counts up to here is what the waker's CPU did.
    pub(crate) fn migrate(&mut self, time_ns: u64, to: CpuId, by_waker: bool) {
        if self.phase() != Phase::Runnable {
            return;
        }
        if by_waker {
            let last = self.stages.last_mut().expect("a story begins with a stage");
            last.phase = Phase::Placing;
            last.cpu = last.waker_cpu;
        }
        self.step(time_ns, Phase::Runnable, to);
    }

    /// The victim runs.
    pub(crate) fn switch_in(&mut self, time_ns: u64, cpu: CpuId) {
        self.step(time_ns, Phase::Running, cpu);
    }

    /// An event tells the victim's priority, which may not have been known.
    pub(crate) fn has_prio(&mut self, prio: Prio) {
        if !self.case.prio.is_known() {
            self.case.prio = prio;
        }
    }

    /// The victim is preempted before it is back in user space.
    pub(crate) fn preempted(&mut self, time_ns: u64, cpu: CpuId) {
        self.step(time_ns, Phase::Runnable, cpu);
    }

    /// The victim waits again before it is back in user space; `holders` has what it waits for, the
    /// next ones what the one before them waits for.
    pub(crate) fn blocked(
        &mut self,
        time_ns: u64,
        cpu: CpuId,
        state: TaskState,
        holders: &[TaskId],
    ) {
        let on = match (self.phase(), state, self.lock) {
            (Phase::Faulting, ..) => BlockedOn::Page,
            // A sleeping spinlock, or a mutex of the kernel's: user space waits in state S.
            (_, TaskState::RtLock, _) => BlockedOn::KernelLock,
            (_, TaskState::Uninterruptible, lock) if lock.is_some() || !holders.is_empty() => {
                BlockedOn::KernelLock
            }
            (_, TaskState::Interruptible, Some(lock)) => BlockedOn::Futex(lock.address),
            _ => BlockedOn::Unknown,
        };
        self.block(time_ns, cpu, Wait::new(state, on, holders));
    }

    /// The victim, which waits for a condition, is made to wait for the lock that goes with it.
    pub(crate) fn requeued(&mut self, time_ns: u64, cpu: CpuId, state: TaskState) {
        let on = self.lock.map_or(BlockedOn::Unknown, |lock| BlockedOn::Futex(lock.address));
        self.block(time_ns, cpu, Wait::new(state, on, &[]));
    }

    fn block(&mut self, time_ns: u64, cpu: CpuId, wait: Wait) {
        let phase = if wait.on == BlockedOn::Page { Phase::BlockedOnPage } else { Phase::Blocked };
        let before = self.stages.len();
        let over = self.last().start_ns == time_ns && self.last().phase.is_blocked();
        self.step(time_ns, phase, cpu);
        if over {
            self.waits.pop();
        }
        // A stage beyond the bound is none, and its wait then belongs to nothing.
        if self.stages.len() > before || self.last().start_ns == time_ns {
            self.waits.push(wait);
        }
    }

    /// The victim touches a page that is not there.
    pub(crate) fn faults(&mut self, time_ns: u64, cpu: CpuId) {
        if self.phase() == Phase::Running {
            self.step(time_ns, Phase::Faulting, cpu);
        }
    }

    /// The victim is about to handle a signal before it is back where it was.
    pub(crate) fn signalled(&mut self, time_ns: u64, cpu: CpuId, number: u32) {
        if self.signals.len() < SIGNALS_MAX {
            self.signals.push((time_ns, cpu, number));
        }
    }

    /// A boost, or its end, that has to do with this wakeup.
    pub(crate) fn boost(&mut self, boost: Boost) {
        if self.boosts.len() < BOOSTS_MAX {
            self.boosts.push(boost);
        }
        if !boost.released
            && self.phase().is_blocked()
            && let Some(wait) = self.waits.last_mut()
        {
            wait.boosted(boost.by, boost.target);
        }
    }

    /// Whether a boost of `target`, or its end, has to do with this wakeup.
    pub(crate) fn concerns(&self, by: TaskId, target: TaskId) -> bool {
        let boosted = self.boosts.iter().any(|boost| boost.target == target);
        boosted || self.waits.last().is_some_and(|wait| wait.holders().contains(&by))
    }

    /// Whether the victim waited again.
    pub(crate) fn has_waited(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Whoever ends the victim's wait does so in a call that began at a time.
    pub(crate) fn unlocked(&mut self, time_ns: u64, by: TaskId, op: u16) {
        let unlock = (time_ns, by, op);
        if self.unlocks.len() < BOOSTS_MAX && !self.unlocks.contains(&unlock) {
            self.unlocks.push(unlock);
        }
    }

    /// Somebody ends the victim's wait.
    pub(crate) fn woken_again(&mut self, time_ns: u64, target_cpu: CpuId, by: WokenBy) {
        if let Some(wait) = self.waits.last_mut() {
            wait.ended_by(by.task);
        }
        self.stage(time_ns, Phase::Runnable, target_cpu, by);
    }

    /// Who led to it; of a timer's or an interrupt's wakeup there is nothing to tell.
    fn chain<'a>(&self, threads: &'a Threads) -> &'a [Link] {
        match self.case.kind {
            WakeupKind::Task | WakeupKind::New => threads.chain(self.case.task),
            // Where a task ended the wait.
            WakeupKind::Lock => match threads.chain(self.case.task) {
                chain @ [Link { by: Culprit::Task(_), .. }, ..] => chain,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// The whole wakeup, ended at `end_ns`, with its balance. The place of each segment's cause in
    /// the registry goes to `causes`.
    pub(crate) fn close(
        &self,
        end_ns: u64,
        to_user: bool,
        cpus: &[Cpu],
        threads: &Threads,
        causes: &mut Vec<usize>,
    ) -> Wakeup {
        let last = self.last();
        let end_ns = end_ns.max(last.start_ns);
        let mut balance = Balance {
            case: &self.case,
            cpus,
            stretch: 0,
            passed_over: false,
            segments: Vec::with_capacity(16),
            causes,
        };
        let mut stretches = Stretches::new(self, end_ns);
        let mut waits = self.waits.iter();
        for (at, stage) in self.stages.iter().enumerate() {
            let until_ns = self.stages.get(at + 1).map_or(end_ns, |next| next.start_ns);
            let wait = if stage.phase.is_blocked() { waits.next() } else { None };
            balance.stretch = stretches.stage(stage, wait);
            match wait {
                Some(wait) => {
                    wait.between(
                        stage.start_ns,
                        until_ns,
                        threads,
                        cpus,
                        |start_ns, stop_ns, held| {
                            balance.piece(stage, start_ns, stop_ns, held);
                        },
                    );
                }
                None => balance.stage(stage, until_ns),
            }
        }
        let segments = balance.segments;
        Wakeup {
            task: self.case.task,
            cpu: last.cpu,
            prio: self.case.prio,
            kind: self.case.kind,
            timer: self.case.timer,
            expiry_ns: self.expiry_ns,
            lateness_ns: end_ns - self.expiry_ns,
            to_user,
            touched_by_loss: false,
            segments,
            stretches: stretches.found,
            boosts: self.boosts.clone(),
            lock: self.lock,
            chain: self.chain(threads).to_vec(),
        }
    }
}

/// Segments as they are found.
struct Balance<'a> {
    case: &'a Case,
    cpus: &'a [Cpu],
    stretch: u16,
    /// Of the piece that is made now, see [`Piece::passed_over`].
    passed_over: bool,
    segments: Vec<Segment>,
    causes: &'a mut Vec<usize>,
}

impl Balance<'_> {
    fn stage(&mut self, stage: &Stage, until_ns: u64) {
        match self.cpus.get(usize::from(stage.cpu.0)) {
            Some(cpu) => {
                let mut passed_over = Vec::new();
                if stage.phase == Phase::Runnable {
                    let Case { task, prio, .. } = *self.case;
                    let woken_here = stage.waker_cpu == stage.cpu;
                    let waiting = Waiting { task, prio, woken_here };
                    passed_over = gaps(cpu, stage.start_ns, until_ns, waiting);
                }
                cpu.between(stage.start_ns, until_ns, |start_ns, stop_ns, activity| {
                    let held = Held { activity, cpu: stage.cpu, by: Culprit::Nobody };
                    let in_gap = |gap: &(u64, u64)| (gap.0..gap.1).contains(&start_ns);
                    self.passed_over = passed_over.iter().any(in_gap);
                    self.piece(stage, start_ns, stop_ns, held);
                });
                self.passed_over = false;
            }
            // A CPU that no event has come from.
            None if until_ns > stage.start_ns => {
                let activity = Activity::Unknown;
                let held = Held { activity, cpu: stage.cpu, by: Culprit::Nobody };
                self.piece(stage, stage.start_ns, until_ns, held);
            }
            None => {}
        }
    }

    fn piece(&mut self, stage: &Stage, start_ns: u64, stop_ns: u64, held: Held) {
        let piece = Piece {
            case: self.case,
            phase: stage.phase,
            activity: held.activity,
            cpu: held.cpu,
            waker_cpu: stage.waker_cpu,
            passed_over: self.passed_over,
            held_by: held.by,
        };
        let (at, culprit) = cause::judge(&piece);
        let (ns, stretch) = (stop_ns - start_ns, self.stretch);
        match self.segments.last_mut() {
            Some(last)
                if self.causes.last() == Some(&at)
                    && last.culprit == culprit
                    && last.stretch == stretch =>
            {
                last.ns += ns;
            }
            _ => {
                let cause = cause::cause_at(at);
                self.segments.push(Segment { cause, culprit, start_ns, ns, stretch });
                self.causes.push(at);
            }
        }
    }
}

/// Stretches as they are found; none where the victim never waited again.
struct Stretches {
    found: Vec<Stretch>,
    wanted: bool,
    end_ns: u64,
}

impl Stretches {
    fn new(story: &Story, end_ns: u64) -> Self {
        Self { found: Vec::new(), wanted: story.has_waited(), end_ns }
    }

    /// The place of the stretch that a stage is part of. A wait lasts until the victim runs.
    fn stage(&mut self, stage: &Stage, wait: Option<&Wait>) -> u16 {
        if !self.wanted {
            return 0;
        }
        let last = self.found.last().map(|stretch| stretch.kind);
        let kind = match (wait, last) {
            (Some(wait), _) => Some(wait.kind()),
            (None, None) if stage.phase.is_on_cpu() => Some(StretchKind::Kernel),
            (None, None) => Some(StretchKind::Wakeup),
            (None, Some(StretchKind::Kernel)) => None,
            (None, Some(_)) => stage.phase.is_on_cpu().then_some(StretchKind::Kernel),
        };
        if let Some(kind) = kind {
            if let Some(last) = self.found.last_mut() {
                last.ns = stage.start_ns - last.start_ns;
            }
            let (start_ns, ns) = (stage.start_ns, self.end_ns - stage.start_ns);
            self.found.push(Stretch { kind, start_ns, ns });
        }
        (self.found.len() - 1) as u16
    }
}
