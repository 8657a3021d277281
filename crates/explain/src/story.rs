//! A wakeup while it happens: its phases, from the expiry to the return to user space.

use crate::cause;
use crate::cpu::{Cpu, Expiry};
use crate::piece::{Activity, Case, Phase, Piece};
use tardy_model::{CpuId, Prio, Segment, TaskId, TimerId, Wakeup, WakeupKind};

/// Phases of one wakeup that are kept: a thread that is preempted and blocked more often than that
/// before it is back has the rest in one.
const STAGES_MAX: usize = 4096;

/// A phase with its begin; it ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Stage {
    start_ns: u64,
    phase: Phase,
    /// Whose activity matters.
    cpu: CpuId,
    waker_cpu: CpuId,
    waker: TaskId,
}

/// A wakeup on its way.
#[derive(Debug)]
pub(crate) struct Story {
    case: Case,
    expiry_ns: u64,
    stages: Vec<Stage>,
}

/// Who woke whom, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenBy {
    pub(crate) kind: WakeupKind,
    pub(crate) cpu: CpuId,
    pub(crate) task: TaskId,
}

impl Story {
    /// A thread is woken by a timer's callback. `armed_ns` is when the timer was armed for this
    /// expiry, where that was seen.
    pub(crate) fn of_timer(
        time_ns: u64,
        task: TaskId,
        prio: Prio,
        target_cpu: CpuId,
        by: WokenBy,
        expiry: &Expiry,
        armed_ns: Option<u64>,
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
        let mut story = Self { case, expiry_ns: soft_ns, stages: Vec::with_capacity(10) };
        let hard_ns = soft_ns + u64::from(expiry.slack_ns);
        let interrupt_ns = expiry.interrupt_ns;
        let softirq = expiry.softirq;
        let raised_ns = softirq.map(|(raised_ns, begin_ns)| raised_ns.unwrap_or(begin_ns));
        // The first sign that the timer fires.
        let fires_ns = interrupt_ns.or(raised_ns).unwrap_or(expiry.begin_ns);

        let mut stage = |start_ns: u64, phase: Phase| story.stage(start_ns, phase, by.cpu, by);
        stage(soft_ns, Phase::Unarmed);
        let armed_ns = armed_ns.filter(|armed_ns| *armed_ns > soft_ns).unwrap_or(soft_ns);
        if expiry.slack_ns > 0 {
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
        let mut story = Self { case, expiry_ns: time_ns, stages: Vec::with_capacity(4) };
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
        self.stages.push(Stage { start_ns, phase, cpu, waker_cpu: by.cpu, waker: by.task });
    }

    fn step(&mut self, time_ns: u64, phase: Phase, cpu: CpuId) {
        let last = self.last();
        let by = WokenBy { kind: self.case.kind, cpu: last.waker_cpu, task: last.waker };
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

    /// The victim leaves the CPU before it is back in user space.
    pub(crate) fn switch_out(&mut self, time_ns: u64, cpu: CpuId, still_runnable: bool) {
        let phase = if still_runnable { Phase::Runnable } else { Phase::Blocked };
        self.step(time_ns, phase, cpu);
        if !still_runnable {
            self.stages.last_mut().expect("just pushed").waker = TaskId::IDLE;
        }
    }

    /// Somebody ends the victim's wait.
    pub(crate) fn woken_again(&mut self, time_ns: u64, target_cpu: CpuId, by: WokenBy) {
        self.stages.last_mut().expect("a story begins with a stage").waker = by.task;
        self.stage(time_ns, Phase::Runnable, target_cpu, by);
    }

    /// The whole wakeup, ended at `end_ns`, with its balance. The place of each segment's cause in
    /// the registry goes to `causes`.
    pub(crate) fn close(
        &self,
        end_ns: u64,
        to_user: bool,
        cpus: &[Cpu],
        causes: &mut Vec<usize>,
    ) -> Wakeup {
        let last = self.last();
        let end_ns = end_ns.max(last.start_ns);
        let mut segments: Vec<Segment> = Vec::with_capacity(16);
        for (at, stage) in self.stages.iter().enumerate() {
            let until_ns = self.stages.get(at + 1).map_or(end_ns, |next| next.start_ns);
            let mut piece = |start_ns: u64, stop_ns: u64, activity: Activity| {
                let piece = Piece {
                    case: &self.case,
                    phase: stage.phase,
                    activity,
                    cpu: stage.cpu,
                    waker_cpu: stage.waker_cpu,
                    waker: stage.waker,
                };
                let (at, culprit) = cause::judge(&piece);
                let ns = stop_ns - start_ns;
                match segments.last_mut() {
                    Some(last) if causes.last() == Some(&at) && last.culprit == culprit => {
                        last.ns += ns;
                    }
                    _ => {
                        segments.push(Segment {
                            cause: cause::cause_at(at),
                            culprit,
                            start_ns,
                            ns,
                        });
                        causes.push(at);
                    }
                }
            };
            match cpus.get(usize::from(stage.cpu.0)) {
                Some(cpu) => cpu.between(stage.start_ns, until_ns, piece),
                // A CPU that no event has come from.
                None if until_ns > stage.start_ns => {
                    piece(stage.start_ns, until_ns, Activity::Unknown);
                }
                None => {}
            }
        }
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
        }
    }
}
