//! A wakeup while it happens: its phases, from the expiry to where it ends.

use crate::piece::{Case, Phase};
use crate::sleep::blocked_on;
use crate::threads::{Target, Threads};
use crate::wait::Wait;
use tardy_followers::{Expiry, Life};
use tardy_model::event::{Call, SyscallEnter, TaskState};
use tardy_model::{
    BlockedOn, Boost, CpuId, Culprit, Link, LockCall, Prio, TaskId, TimerId, WakeupKind,
};

/// Phases of one wakeup that are kept: a thread that is preempted and blocked more often than that
/// before it is back has the rest in one.
/// The report says how many wakeups had more.
const STAGES_MAX: usize = 4096;

/// From the waking until the victim is in a queue, where nothing holds the waker up.
const QUEUED_NS_MAX: u64 = 50_000;

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
    /// The victim's priority.
    pub(crate) prio: Prio,
    /// The one it turned out to have in the end, where no event tells of a change.
    pub(crate) prio_after: Prio,
}

/// A wakeup on its way. Its vectors are used again for the next one.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) case: Case,
    pub(crate) expiry_ns: u64,
    pub(crate) stages: Vec<Stage>,
    /// What it waited for in each of its blocked stages, in order.
    pub(crate) waits: Vec<Wait>,
    pub(crate) boosts: Vec<Boost>,
    pub(crate) lock: Option<LockCall>,
    /// How its timer came to fire.
    pub(crate) fired: Option<Fired>,
    /// When others entered the calls in which they ended its waits, and by which futex operation.
    pub(crate) unlocks: Vec<(u64, TaskId, u16)>,
    /// Signals that it handles on its way: when, where, and which.
    pub(crate) signals: Vec<(u64, CpuId, u32)>,
    /// When it came to run last, and whether the task before it had left the CPU by itself.
    pub(crate) came: (u64, bool),
    /// It had more phases than are kept.
    pub(crate) is_cut: bool,
    /// It had not gone to sleep when its timer came, and goes on at once.
    pub(crate) goes_on: bool,
    /// When an event told last in which CPU's queue it is.
    pub(crate) queued: Option<(u64, CpuId)>,
    /// The victim's priority now.
    prio: Prio,
}

/// How a timer came to wake a victim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub(crate) expiry: Expiry,
    /// When it was armed, and by whom, where that was seen.
    pub(crate) armed: Option<(u64, TaskId)>,
    pub(crate) cpu: CpuId,
}

/// Who woke whom, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenBy {
    pub(crate) kind: WakeupKind,
    pub(crate) cpu: CpuId,
    pub(crate) task: TaskId,
}

impl Default for Story {
    fn default() -> Self {
        let case = Case {
            task: TaskId::IDLE,
            prio: Prio::UNKNOWN,
            kind: WakeupKind::New,
            timer: TimerId::UNKNOWN,
            callback: None,
            armed_by: TaskId::IDLE,
            slack_ns: 0,
            is_poll_slack: false,
            in_tick: false,
            timer_thread: TaskId::IDLE,
            softirq_thread: (TaskId::IDLE, Prio::UNKNOWN),
        };
        Self {
            case,
            expiry_ns: 0,
            stages: Vec::new(),
            waits: Vec::new(),
            boosts: Vec::new(),
            lock: None,
            fired: None,
            unlocks: Vec::new(),
            signals: Vec::new(),
            came: (0, false),
            is_cut: false,
            goes_on: false,
            queued: None,
            prio: Prio::UNKNOWN,
        }
    }
}

impl Story {
    fn begin(&mut self, target: Target, kind: WakeupKind, expiry_ns: u64) {
        self.case = Case {
            task: target.task,
            prio: target.prio,
            kind,
            timer: TimerId::UNKNOWN,
            callback: None,
            armed_by: TaskId::IDLE,
            slack_ns: 0,
            is_poll_slack: false,
            in_tick: false,
            timer_thread: TaskId::IDLE,
            softirq_thread: (TaskId::IDLE, Prio::UNKNOWN),
        };
        self.expiry_ns = expiry_ns;
        self.prio = target.prio;
        self.stages.clear();
        self.waits.clear();
        self.boosts.clear();
        self.unlocks.clear();
        self.signals.clear();
        (self.lock, self.fired, self.is_cut, self.came) = (None, None, false, (0, false));
        (self.goes_on, self.queued) = (false, None);
    }

    /// A thread enters a call for a lock; it is a story if it waits there.
    pub(crate) fn begin_lock(&mut self, time_ns: u64, target: Target, call: SyscallEnter) {
        self.begin(target, WakeupKind::Lock, time_ns);
        self.lock = Some(LockCall { op: call.op, address: call.argument });
        let by = WokenBy { kind: WakeupKind::Lock, cpu: target.cpu, task: TaskId::IDLE };
        self.stage(time_ns, Phase::Running, target.cpu, by);
    }

    /// A thread is woken by a timer's callback; `life` is that timer's.
    pub(crate) fn begin_timer(
        &mut self,
        time_ns: u64,
        target: Target,
        by: WokenBy,
        expiry: &Expiry,
        life: Option<&Life>,
    ) {
        // An expiry after the waking is an estimate's error (jiffies), never a negative lateness.
        let soft_ns = expiry.soft_ns.min(time_ns);
        self.begin(target, WakeupKind::Timer, soft_ns);
        let life = life.filter(|life| life.armed_ns > 0 && life.soft_ns == expiry.soft_ns);
        let armed = life.map(|life| (life.armed_ns, life.by));
        self.case.timer = expiry.timer;
        self.case.callback = Some((by.cpu, expiry.callback));
        self.case.armed_by = armed.map_or(TaskId::IDLE, |(_, by)| by);
        self.case.slack_ns = expiry.slack_ns;
        self.case.in_tick = expiry.in_tick;
        self.case.is_poll_slack = life.is_some_and(is_poll_slack);
        self.fired = Some(Fired { expiry: *expiry, armed, cpu: by.cpu });
        let hard_ns = soft_ns.saturating_add(expiry.slack_ns.into());
        let interrupt_ns = expiry.interrupt_ns;
        let deferred = expiry.deferred;
        self.case.timer_thread = deferred.map_or(TaskId::IDLE, |deferred| deferred.thread);
        if let Some(deferred) = deferred {
            self.case.softirq_thread = deferred.softirq_in;
        }
        let asked_ns = deferred.map(|deferred| deferred.asked_ns.unwrap_or(deferred.begin_ns));
        // The first sign that the timer fires.
        let fires_ns = interrupt_ns.or(asked_ns).unwrap_or(expiry.begin_ns);

        let mut stage = |start_ns: u64, phase: Phase| self.stage(start_ns, phase, by.cpu, by);
        stage(soft_ns, Phase::Unarmed);
        let armed_ns = armed.map_or(soft_ns, |(armed_ns, _)| armed_ns.max(soft_ns));
        if expiry.of_wheel || expiry.in_tick {
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
        if let (Some(deferred), Some(asked_ns)) = (deferred, asked_ns) {
            stage(asked_ns, Phase::DeferredWait);
            stage(deferred.begin_ns, Phase::DeferredRun);
        }
        stage(expiry.begin_ns, Phase::Callback);
        self.stage(time_ns, Phase::Runnable, target.cpu, by);
    }

    /// A thread is woken by anything else, or loses its CPU: its latency counts from now.
    pub(crate) fn begin_other(&mut self, time_ns: u64, target: Target, by: WokenBy) {
        self.begin(target, by.kind, time_ns);
        self.stage(time_ns, Phase::Runnable, target.cpu, by);
    }

    /// The phase it is in.
    pub(crate) fn phase(&self) -> Phase {
        self.last().phase
    }

    /// When it first ran.
    pub(crate) fn first_ran_ns(&self) -> Option<u64> {
        let ran = self.stages.iter().find(|stage| stage.phase.is_on_cpu());
        ran.map(|stage| stage.start_ns)
    }

    /// When it was woken from the sleep that was before it.
    pub(crate) fn woken_ns(&self) -> Option<u64> {
        let wakes = matches!(
            self.case.kind,
            WakeupKind::Timer | WakeupKind::Task | WakeupKind::Irq | WakeupKind::Softirq
        );
        let is_awake = |stage: &&Stage| matches!(stage.phase, Phase::Placing | Phase::Runnable);
        self.stages.iter().find(is_awake).filter(|_| wakes).map(|stage| stage.start_ns)
    }

    /// It ends at a time: what was later is not its any more.
    pub(crate) fn cut_at(&mut self, ns: u64) {
        self.stages.retain(|stage| stage.start_ns <= ns);
        let blocked = self.stages.iter().filter(|stage| stage.phase.is_blocked()).count();
        self.waits.truncate(blocked);
    }

    pub(crate) fn last(&self) -> Stage {
        *self.stages.last().expect("a story begins with a stage")
    }

    /// When it ended, by an event of a time: not before its last stage began.
    pub(crate) fn ended(&self, end_ns: u64) -> u64 {
        end_ns.max(self.last().start_ns)
    }

    /// Begins a phase. A begin before the one of the phase before (clocks of two CPUs, estimates)
    /// is moved there; a phase of no length is written over.
    fn stage(&mut self, start_ns: u64, phase: Phase, cpu: CpuId, by: WokenBy) {
        let (prio, waker_cpu) = (self.prio, by.cpu);
        let mut stage = Stage { start_ns, phase, cpu, waker_cpu, prio, prio_after: prio };
        let Some(last) = self.stages.last_mut() else {
            stage.start_ns = start_ns.max(self.expiry_ns);
            return self.stages.push(stage);
        };
        if start_ns <= last.start_ns {
            stage.start_ns = last.start_ns;
            *last = stage;
        } else if self.stages.len() == STAGES_MAX {
            self.is_cut = true;
        } else {
            self.stages.push(stage);
        }
    }

    fn step(&mut self, time_ns: u64, phase: Phase, cpu: CpuId) {
        let last = self.last();
        let by = WokenBy { kind: self.case.kind, cpu: last.waker_cpu, task: TaskId::IDLE };
        self.stage(time_ns, phase, cpu, by);
    }

    /// The victim is moved to another CPU's queue; `by_waker` where the waker does it as part of
    /// waking it, so that what counts up to here is what the waker's CPU did.
    pub(crate) fn migrate(&mut self, time_ns: u64, to: CpuId, by_waker: bool) {
        let last = self.last();
        if last.phase != Phase::Runnable {
            return;
        }
        // Later, or once it was in a queue, it is a balance, though the waker's CPU has told of nothing since.
        let by_waker = by_waker && self.queued.is_none_or(|(_, on)| on != last.cpu);
        if by_waker && time_ns.saturating_sub(last.start_ns) <= QUEUED_NS_MAX {
            let last = self.stages.last_mut().expect("a story begins with a stage");
            last.phase = Phase::Placing;
            last.cpu = last.waker_cpu;
        }
        self.step(time_ns, Phase::Runnable, to);
    }

    /// The victim is on a CPU's queue, the source says: the truth, whatever the waking said. `by` is the CPU
    /// that put it there.
    pub(crate) fn queued(&mut self, time_ns: u64, on: CpuId, by: CpuId) {
        let last = self.last();
        // What it takes to put it into its own CPU's queue is part of waking it. That CPU does it itself, as soon
        // as it heeds an interrupt: what it does until then is what counts; or the waker does, if that is held up.
        self.queued = Some((time_ns, on));
        let at_once = time_ns.saturating_sub(last.start_ns) <= QUEUED_NS_MAX || by == on;
        if last.phase != Phase::Runnable || last.cpu == on && at_once {
            return;
        }
        let last = self.stages.last_mut().expect("a story begins with a stage");
        last.phase = Phase::Placing;
        last.cpu = if by == on { on } else { last.waker_cpu };
        self.step(time_ns, Phase::Runnable, on);
    }

    /// When an event told that it was in the queue of a stage's CPU, where that was before the stage's end: of several waits the
    /// last alone is known.
    pub(crate) fn queued_in(&self, stage: &Stage, until_ns: u64) -> Option<u64> {
        let (ns, on) = self.queued?;
        (on == stage.cpu && ns <= until_ns).then_some(ns)
    }

    /// The victim turns out to run on a CPU on whose queue no event had put it: since when it was there
    /// is not known.
    pub(crate) fn ran_elsewhere(&mut self, cpu: CpuId) {
        if let Some(last) = self.stages.last_mut()
            && last.phase == Phase::Runnable
            && last.cpu != cpu
        {
            last.cpu = CpuId::UNKNOWN;
        }
    }

    /// The victim runs.
    pub(crate) fn switch_in(&mut self, time_ns: u64, cpu: CpuId) {
        self.step(time_ns, Phase::Running, cpu);
    }

    /// An event tells the victim's priority, as it runs or leaves the CPU.
    pub(crate) fn has_prio(&mut self, prio: Prio) {
        if !self.case.prio.is_known() {
            self.case.prio = prio;
            // It was not known; nothing says that it was another.
            for stage in self.stages.iter_mut().filter(|stage| !stage.prio.is_known()) {
                (stage.prio, stage.prio_after) = (prio, prio);
            }
        }
        self.prio = prio;
    }

    /// It runs at a priority: where that is another than the last event told, since when is not known.
    pub(crate) fn runs_at(&mut self, prio: Prio) {
        self.has_prio(prio);
        if let Some(last) = self.stages.last_mut()
            && matches!(last.phase, Phase::Runnable | Phase::Placing)
        {
            last.prio_after = prio;
        }
    }

    /// The victim is given another priority while it waits.
    pub(crate) fn reprioritised(&mut self, time_ns: u64, prio: Prio) {
        self.prio = prio;
        let last = self.last();
        if matches!(last.phase, Phase::Runnable | Phase::Placing) {
            self.step(time_ns, last.phase, last.cpu);
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
        let lock = self.lock.map(|lock| lock.address);
        let faults = self.phase() == Phase::Faulting;
        let on = blocked_on(state, faults, lock, !holders.is_empty());
        self.block(time_ns, cpu, Wait::new(state, on, holders));
    }

    /// The victim, which waits for a condition, is made to wait for the lock that goes with it.
    pub(crate) fn requeued(&mut self, time_ns: u64, cpu: CpuId, state: TaskState) {
        let on = self.lock.map_or(BlockedOn::Unknown, |lock| BlockedOn::Futex(lock.address));
        self.block(time_ns, cpu, Wait::new(state, on, &[]));
    }

    fn block(&mut self, time_ns: u64, cpu: CpuId, wait: Wait) {
        let phase = match wait.on {
            _ if wait.is_stop() => Phase::Stopped,
            BlockedOn::Page => Phase::BlockedOnPage,
            _ => Phase::Blocked,
        };
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

    /// Somebody ends the victim's wait; `call` is the futex call in which it does, and since when.
    pub(crate) fn woken_again(
        &mut self,
        time_ns: u64,
        target_cpu: CpuId,
        by: WokenBy,
        call: Option<(u64, u16)>,
        chain: &[Link],
    ) {
        if let Some((since_ns, op)) = call {
            let unlock = (since_ns, by.task, op);
            if self.unlocks.len() < BOOSTS_MAX && !self.unlocks.contains(&unlock) {
                self.unlocks.push(unlock);
            }
        }
        // That was of the wakeup before.
        self.queued = None;
        let since_ns = self.last().start_ns;
        if let Some(wait) = self.waits.last_mut() {
            wait.ends(since_ns, if by.task == TaskId::IDLE { &[] } else { chain });
        }
        self.stage(time_ns, Phase::Runnable, target_cpu, by);
    }

    /// Who led to it; of a timer's or an interrupt's wakeup there is nothing to tell.
    pub(crate) fn chain<'a>(&self, threads: &'a Threads) -> &'a [Link] {
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
}

/// Whether a timer's slack is that of select, poll or epoll: a thousandth of the timeout, five for who is
/// nice, at most 100 ms. Where no event tells the call, the figure alone does.
fn is_poll_slack(life: &Life) -> bool {
    let polls = match life.call {
        Call::Poll | Call::Select | Call::Epoll => true,
        Call::Unknown | Call::Other => false,
        _ => return false,
    };
    let slack_ns = u64::from(life.slack_ns);
    let timeout_ns = life.soft_ns.saturating_sub(life.armed_ns);
    // From the call's entry, where the kernel works it out, to the arming it may take a while.
    let is_share = |of: u64| {
        let (share, margin) = (timeout_ns / of, timeout_ns / of / 50 + 1_000);
        slack_ns.abs_diff(share) <= margin
    };
    let proportional = is_share(1000) || is_share(200) || slack_ns == POLL_SLACK_NS_MAX;
    // Below this the thread's own slack is the larger, and it is that.
    let above_default = slack_ns > DEFAULT_SLACK_NS;
    above_default && proportional && (polls || timeout_ns >= 1000 * DEFAULT_SLACK_NS)
}

/// What select and poll allow themselves at most (`MAX_SLACK` in `fs/select.c`).
const POLL_SLACK_NS_MAX: u64 = 100_000_000;

/// The timer slack of a thread that nobody changed (`init_task`'s).
const DEFAULT_SLACK_NS: u64 = 50_000;
