//! What happened on a wakeup's way, in order: made only of the few wakeups that are kept whole.

use crate::piece::Phase;
use crate::story::{Fired, Stage, Story};
use crate::threads::{Change, RunState, Threads};
use crate::wait::Wait;
use rustc_hash::FxHashMap;
use tardy_followers::{Activity, Cpu, Deferral, Expiry, Purpose};
use tardy_model::event::{Irq, TaskState, softirq};
use tardy_model::{
    BlockedOn, Boost, Cause, CpuId, Culprit, Link, NameId, StretchKind, Tables, TaskId, Wakeup,
    WakeupKind,
};

/// Steps of one wakeup that are kept; of more, those in the middle are left out, and counted.
const STEPS_MAX: usize = 2000;

/// Parts of a lateness below this share are told by the sum alone.
const SPENT_SHARE_MIN: f64 = 0.05;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub time_ns: u64,
    /// Where, as far as it is known.
    pub cpu: Option<CpuId>,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// Somebody was woken who later woke the victim, or the next one on the way to it.
    Led {
        /// Who woke.
        link: Link,
        /// Who was woken.
        woken: Culprit,
    },
    /// The victim's timer was armed.
    Armed {
        /// By whom.
        by: TaskId,
        /// The function of the timer.
        function: NameId,
        /// It is one of the timer wheel.
        of_wheel: bool,
    },
    /// The time that the victim had asked for.
    Expiry {
        /// How much later the timer may fire.
        slack_ns: u32,
        /// It fires with a tick alone.
        in_tick: bool,
        /// Where it is not the victim's: its function.
        function: Option<NameId>,
    },
    /// The interrupt begins that fires the timer.
    Interrupt(Irq),
    /// The softirq is raised that runs the timer.
    Raised(u32),
    /// It begins.
    SoftirqBegins(u32),
    /// A thread that the kernel has for timers is woken to run the timer.
    Pending(TaskId),
    /// It begins.
    TimerThreadBegins(TaskId),
    /// The timer's own callback begins.
    Callback {
        /// Its function.
        function: NameId,
        /// The timer is one of the timer wheel.
        of_wheel: bool,
        /// The timer is the victim's.
        is_own: bool,
    },
    /// The victim enters the call for a lock.
    Asks,
    /// The victim is made runnable for the first time.
    Woken {
        /// By whom.
        by: Culprit,
        /// The function that a kworker worked on.
        work: NameId,
        /// It is its first run.
        started: bool,
        /// Where it is to run.
        on: CpuId,
        /// Where in the kernel it had slept, where a stack tells.
        slept_in: NameId,
    },
    /// Its wait is ended.
    WokenAgain {
        /// By whom; [`TaskId::IDLE`] where no task did.
        by: TaskId,
        /// Where it is to run.
        on: CpuId,
    },
    /// It is moved to another CPU's queue.
    Moved(CpuId),
    /// It runs.
    Runs {
        /// Who ran before.
        instead_of: Option<TaskId>,
        /// For how long it had not run although it could have.
        waited_ns: u64,
        /// It had lost the CPU, rather than been woken.
        preempted: bool,
    },
    /// It had not gone to sleep, and goes on.
    GoesOn,
    /// It loses the CPU.
    Preempted(Culprit),
    /// It touches a page that is not there.
    Faults,
    /// It is about to handle a signal.
    Signalled(u32),
    /// It waits.
    Blocks {
        /// In which state.
        state: TaskState,
        /// For what.
        on: BlockedOn,
        /// Who has that, where it is known.
        holder: TaskId,
        /// Who runs then.
        next: Culprit,
        /// Where in the kernel it waits, where a stack tells.
        place: NameId,
        /// The same of who has what it waits for, where that one sleeps itself.
        holder_in: NameId,
    },
    /// A priority is lent or given back.
    Boosted {
        /// How.
        boost: Boost,
        /// How many times this task has been lent one in this wakeup.
        count: usize,
        /// The wait that follows, where one does.
        on: Option<BlockedOn>,
    },
    /// Who has what the victim waits for comes to run.
    HolderRuns {
        /// Who.
        holder: TaskId,
        /// Who ran before.
        instead_of: Option<TaskId>,
    },
    /// It loses the CPU.
    HolderPreempted {
        /// Who.
        holder: TaskId,
        /// Who runs then.
        by: Culprit,
        /// It has not finished its unlock.
        in_unlock: bool,
    },
    /// It sleeps.
    HolderSleeps {
        /// Who.
        holder: TaskId,
        /// In which state.
        state: TaskState,
        /// Where in the kernel, where a stack tells.
        place: NameId,
    },
    /// It begins to give up what the victim waits for.
    Unlocks {
        /// Who.
        holder: TaskId,
        /// By which futex operation.
        op: u16,
    },
    /// A good part of the lateness, from here on.
    Spent {
        /// The cause.
        cause: Cause,
        /// The culprits, in order of time.
        parts: Vec<(Culprit, u64)>,
        /// How long.
        ns: u64,
    },
    /// The victim is back in user space.
    Back {
        /// It told so itself.
        by_mark: bool,
    },
    /// So many steps are left out here.
    LeftOut(usize),
}

impl Step {
    /// Everybody who is named.
    pub fn participants(&self) -> Vec<Culprit> {
        match &self.what {
            Happened::Led { link, woken } => vec![link.by, *woken, Culprit::Function(link.work)],
            Happened::Armed { by, function, .. } => {
                vec![Culprit::Task(*by), Culprit::Function(*function)]
            }
            Happened::Callback { function, .. }
            | Happened::Expiry { function: Some(function), .. } => {
                vec![Culprit::Function(*function)]
            }
            Happened::Interrupt(irq) => vec![Culprit::Irq(*irq)],
            Happened::Pending(thread) | Happened::TimerThreadBegins(thread) => {
                vec![Culprit::Task(*thread)]
            }
            Happened::Woken { by, work, slept_in, .. } => {
                vec![*by, Culprit::Function(*work), Culprit::Function(*slept_in)]
            }
            Happened::WokenAgain { by, .. } => vec![Culprit::Task(*by)],
            Happened::Runs { instead_of, .. } => {
                instead_of.iter().copied().map(Culprit::Task).collect()
            }
            Happened::Preempted(by) => vec![*by],
            Happened::Blocks { holder, next, place, holder_in, .. } => {
                let places = [*place, *holder_in].map(Culprit::Function);
                [[Culprit::Task(*holder), *next], places].concat()
            }
            Happened::HolderRuns { holder, instead_of } => {
                let both = [Some(*holder), *instead_of];
                both.into_iter().flatten().map(Culprit::Task).collect()
            }
            Happened::HolderPreempted { holder, by, .. } => vec![Culprit::Task(*holder), *by],
            Happened::HolderSleeps { holder, place, .. } => {
                vec![Culprit::Task(*holder), Culprit::Function(*place)]
            }
            Happened::Unlocks { holder, .. } => vec![Culprit::Task(*holder)],
            // Boosts and parts have the wakeup's own participants; the rest names nobody.
            _ => Vec::new(),
        }
    }
}

/// What is needed to tell a wakeup's steps.
pub(crate) struct StepMaker<'a> {
    pub(crate) story: Option<&'a Story>,
    pub(crate) wakeup: &'a Wakeup,
    pub(crate) by_mark: bool,
    pub(crate) cpus: &'a [Cpu],
    pub(crate) threads: &'a Threads,
    pub(crate) tables: &'a Tables,
}

impl StepMaker<'_> {
    /// All steps, in order.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.chain(&mut steps);
        self.timer(&mut steps);
        self.locks(&mut steps);
        self.stages(&mut steps);
        self.spent(&mut steps);
        let wakeup = self.wakeup;
        if wakeup.to_user {
            let time_ns = wakeup.expiry_ns + wakeup.lateness_ns;
            let what = Happened::Back { by_mark: self.by_mark };
            steps.push(Step { time_ns, cpu: Some(wakeup.cpu), what });
        }
        // What happens at the same time stays in the order above.
        steps.sort_by_key(|step| step.time_ns);
        leave_out(&mut steps);
        steps
    }

    /// Who woke whom before somebody woke the victim.
    fn chain(&self, steps: &mut Vec<Step>) {
        let chain = &self.wakeup.chain;
        for pair in chain.windows(2).rev() {
            let (link, woken) = (pair[1], pair[0].by);
            let what = Happened::Led { link, woken };
            steps.push(Step { time_ns: link.time_ns, cpu: None, what });
        }
    }

    fn timer(&self, steps: &mut Vec<Step>) {
        let wakeup = self.wakeup;
        let fired = self.story.and_then(|story| story.fired);
        if !matches!(wakeup.kind, WakeupKind::Timer | WakeupKind::MarkOnly) {
            return;
        }
        let Some(Fired { expiry, armed, cpu }) = fired else {
            let what = Happened::Expiry { slack_ns: 0, in_tick: false, function: None };
            steps.push(Step { time_ns: wakeup.expiry_ns, cpu: None, what });
            return;
        };
        let Expiry { of_wheel, slack_ns, .. } = expiry;
        let function = self.tables.timer(wakeup.timer).function;
        let is_own = self.is_own(&expiry, armed.map(|(_, by)| by));
        let mut step = |time_ns, cpu, what| steps.push(Step { time_ns, cpu, what });
        if let Some((time_ns, by)) = armed {
            step(time_ns, None, Happened::Armed { by, function, of_wheel });
        }
        let cpu = Some(cpu);
        let (in_tick, others) = (of_wheel || expiry.in_tick, (!is_own).then_some(function));
        step(wakeup.expiry_ns, cpu, Happened::Expiry { slack_ns, in_tick, function: others });
        if let Some(time_ns) = expiry.interrupt_ns
            && let Some(Activity::Irq(irq)) = self.activity_at(cpu, time_ns)
        {
            step(time_ns, cpu, Happened::Interrupt(irq));
        }
        if let Some(Deferral { asked_ns, begin_ns, thread, .. }) = expiry.deferred {
            let vector = if of_wheel { softirq::TIMER } else { softirq::HRTIMER };
            let (asked, begins) = match thread {
                TaskId::IDLE => (Happened::Raised(vector), Happened::SoftirqBegins(vector)),
                thread => (Happened::Pending(thread), Happened::TimerThreadBegins(thread)),
            };
            if let Some(asked_ns) = asked_ns {
                step(asked_ns, cpu, asked);
            }
            step(begin_ns, cpu, begins);
        }
        step(expiry.begin_ns, cpu, Happened::Callback { function, of_wheel, is_own });
    }

    /// Whether the victim asked for the timer that wakes it, as far as that is known.
    fn is_own(&self, expiry: &Expiry, armed_by: Option<TaskId>) -> bool {
        let purpose = Purpose::of(self.tables.function(self.wakeup.timer));
        let by = armed_by.unwrap_or(expiry.owner);
        purpose.is_sleep() || !purpose.is_a_tick() && (by == self.wakeup.task || by == TaskId::IDLE)
    }

    /// The victim's own phases.
    fn stages(&self, steps: &mut Vec<Step>) {
        let Some(story) = self.story else { return };
        let mut waits = story.waits.iter();
        let mut before: Option<&Stage> = None;
        let mut could_run_ns = self.wakeup.expiry_ns;
        let mut preempted = false;
        let mut ended_by = TaskId::IDLE;
        for stage in &story.stages {
            let Stage { start_ns: time_ns, phase, cpu, waker_cpu, .. } = *stage;
            let mut step = |cpu, what| steps.push(Step { time_ns, cpu: Some(cpu), what });
            let was = before.map(|before| before.phase);
            match (phase, was) {
                (Phase::Running, None) => step(cpu, Happened::Asks),
                (Phase::Running, _) if story.goes_on => step(cpu, Happened::GoesOn),
                (Phase::Running, _) => {
                    let instead_of = self.base_before(cpu, time_ns);
                    let waited_ns = time_ns - could_run_ns;
                    step(cpu, Happened::Runs { instead_of, waited_ns, preempted });
                }
                (Phase::Faulting, _) => step(cpu, Happened::Faults),
                (phase, _) if phase.is_blocked() => {
                    let next = self.activity_at(Some(cpu), time_ns);
                    let next = next.map_or(Culprit::Nobody, Activity::culprit);
                    if let Some(wait) = waits.next() {
                        ended_by = wait.ended_by_whom();
                        let StretchKind::Blocked { state, on, holder } = wait.kind() else {
                            return;
                        };
                        let place = self.threads.sleeps_in(self.wakeup.task, time_ns);
                        let holder_in = self.threads.sleeps_in(holder, time_ns);
                        step(cpu, Happened::Blocks { state, on, holder, next, place, holder_in });
                    }
                }
                (Phase::Runnable, was) if self.lost_the_cpu(was) => {
                    let by = self.activity_at(Some(cpu), time_ns);
                    step(cpu, Happened::Preempted(by.map_or(Culprit::Nobody, Activity::culprit)));
                    (could_run_ns, preempted) = (time_ns, true);
                }
                (Phase::Runnable, Some(was)) if was.is_blocked() => {
                    step(waker_cpu, Happened::WokenAgain { by: ended_by, on: cpu });
                    (could_run_ns, preempted) = (time_ns, false);
                }
                (Phase::Runnable, Some(Phase::Runnable | Phase::Placing)) => {
                    let was_on = before.map_or(cpu, |before| before.cpu);
                    match cpu {
                        CpuId::UNKNOWN => {}
                        cpu if cpu == was_on => {}
                        cpu => step(cpu, Happened::Moved(cpu)),
                    }
                }
                (Phase::Runnable | Phase::Placing, _) => {
                    step(waker_cpu, self.woken(cpu, waker_cpu, time_ns));
                    (could_run_ns, preempted) = (time_ns, false);
                }
                // The timer's own way is told by its expiry.
                _ => {}
            }
            before = Some(stage);
        }
    }

    /// Whether a victim that can run lost the CPU, after a phase or at the story's beginning.
    fn lost_the_cpu(&self, was: Option<Phase>) -> bool {
        was.map_or(self.wakeup.kind == WakeupKind::Preempted, Phase::is_on_cpu)
    }

    /// The waking with which it began.
    fn woken(&self, on: CpuId, waker_cpu: CpuId, time_ns: u64) -> Happened {
        let wakeup = self.wakeup;
        let link = wakeup.chain.first();
        let (by, work, started) = match (wakeup.kind, link) {
            (WakeupKind::Timer, _) => {
                (Culprit::Timer(wakeup.timer, TaskId::IDLE), NameId::NONE, false)
            }
            (WakeupKind::Irq | WakeupKind::Softirq, _) => {
                let by = self.activity_at(Some(waker_cpu), time_ns);
                let by = by.filter(|by| by.is_interrupt() || by.thread().is_some());
                (by.map_or(Culprit::Nobody, Activity::culprit), NameId::NONE, false)
            }
            (_, Some(link)) => (link.by, link.work, link.started),
            (_, None) => (Culprit::Nobody, NameId::NONE, wakeup.kind == WakeupKind::New),
        };
        Happened::Woken { by, work, started, on, slept_in: wakeup.slept_in }
    }

    /// Signals, priorities lent, and what who has the lock did meanwhile.
    fn locks(&self, steps: &mut Vec<Step>) {
        let (wakeup, Some(story)) = (self.wakeup, self.story) else { return };
        for &(time_ns, cpu, number) in &story.signals {
            steps.push(Step { time_ns, cpu: Some(cpu), what: Happened::Signalled(number) });
        }
        for (at, boost) in wakeup.boosts.iter().enumerate() {
            let same = |other: &&Boost| !other.released && other.target == boost.target;
            let count = wakeup.boosts[..=at].iter().filter(same).count();
            let waits = wakeup.stretches.iter().filter(|stretch| stretch.start_ns >= boost.time_ns);
            let on = waits.into_iter().find_map(|stretch| match stretch.kind {
                StretchKind::Blocked { on, .. } => Some(on),
                _ => None,
            });
            let what = Happened::Boosted { boost: *boost, count, on };
            steps.push(Step { time_ns: boost.time_ns, cpu: None, what });
        }
        for &(time_ns, holder, op) in &story.unlocks {
            if time_ns > wakeup.expiry_ns {
                steps.push(Step { time_ns, cpu: None, what: Happened::Unlocks { holder, op } });
            }
        }
        let mut holders: Vec<TaskId> = story.waits.iter().flat_map(Wait::everybody).collect();
        holders.sort_unstable();
        holders.dedup();
        let blocked = |stage: &&Stage| stage.phase.is_blocked();
        let first_wait = story.stages.iter().find(blocked).map(|stage| stage.start_ns);
        let first_boost = wakeup.boosts.first().map(|boost| boost.time_ns);
        let Some(from_ns) = first_wait.into_iter().chain(first_boost).min() else { return };
        let ended = |pair: &[Stage]| pair[0].phase.is_blocked().then_some(pair[1].start_ns);
        let to_ns = story.stages.windows(2).filter_map(ended).max().unwrap_or(from_ns);
        for holder in holders {
            if holder != wakeup.task && holder != TaskId::IDLE {
                self.holder(holder, from_ns, to_ns, steps);
            }
        }
    }

    fn holder(&self, holder: TaskId, from_ns: u64, to_ns: u64, steps: &mut Vec<Step>) {
        let mut was: Option<RunState> = None;
        self.threads.between(holder, from_ns, to_ns, |time_ns, _, change| {
            let Some(change) = change else { return };
            let Change { doing, cpu, .. } = change;
            let before = was.replace(doing);
            if time_ns == from_ns || before == Some(doing) {
                return;
            }
            let what = match doing {
                RunState::Runs => {
                    let instead_of = self.base_before(cpu, time_ns);
                    Happened::HolderRuns { holder, instead_of }
                }
                RunState::Waits if before == Some(RunState::Runs) => {
                    let by = self.activity_at(Some(cpu), time_ns);
                    let by = by.map_or(Culprit::Nobody, Activity::culprit);
                    let later = |boost: &&Boost| boost.time_ns >= time_ns && boost.target == holder;
                    let next = self.wakeup.boosts.iter().find(later);
                    let in_unlock = next.is_some_and(|boost| boost.in_unlock);
                    Happened::HolderPreempted { holder, by, in_unlock }
                }
                RunState::Waits => return,
                RunState::Sleeps(state) => {
                    Happened::HolderSleeps { holder, state, place: change.stack }
                }
            };
            steps.push(Step { time_ns, cpu: Some(cpu), what });
        });
    }

    /// The parts of the lateness that weigh, where no other step tells them.
    fn spent(&self, steps: &mut Vec<Step>) {
        let wakeup = self.wakeup;
        let least_ns = (wakeup.lateness_ns as f64 * SPENT_SHARE_MIN) as u64;
        let alike = |a: &tardy_model::Segment, b: &tardy_model::Segment| {
            a.cause == b.cause && a.stretch == b.stretch
        };
        for run in wakeup.segments.chunk_by(alike) {
            let ns: u64 = run.iter().map(|segment| segment.ns).sum();
            let (first, cause) = (run[0].start_ns, run[0].cause);
            let told_elsewhere = matches!(
                cause.0,
                "callback"
                    | "own_kernel_work"
                    | "lock"
                    | "page_fault"
                    | "stopped"
                    | "slack"
                    | "armed_late"
                    | "coarse_clock"
            );
            if ns < least_ns.max(1) || told_elsewhere {
                continue;
            }
            let mut parts: Vec<(Culprit, u64)> = Vec::new();
            // Thousands may have had their turns.
            let mut places: FxHashMap<Culprit, usize> = FxHashMap::default();
            for segment in run {
                let at = *places.entry(segment.culprit).or_insert(parts.len());
                match parts.get_mut(at) {
                    Some((_, sum)) => *sum += segment.ns,
                    None => parts.push((segment.culprit, segment.ns)),
                }
            }
            let what = Happened::Spent { cause, parts, ns };
            steps.push(Step { time_ns: first, cpu: self.cpu_at(first), what });
        }
    }

    /// The CPU that mattered at a time.
    fn cpu_at(&self, time_ns: u64) -> Option<CpuId> {
        let stages = &self.story?.stages;
        stages.iter().rfind(|stage| stage.start_ns <= time_ns).map(|stage| stage.cpu)
    }

    fn activity_at(&self, cpu: Option<CpuId>, time_ns: u64) -> Option<Activity> {
        let mut found = None;
        let cpu = self.cpus.get(usize::from(cpu?.0))?;
        cpu.between(time_ns, time_ns.saturating_add(1), |_, _, activity| found = Some(activity));
        found.filter(|activity| *activity != Activity::Unknown)
    }

    /// The task that ran before a switch.
    fn base_before(&self, cpu: CpuId, time_ns: u64) -> Option<TaskId> {
        match self.cpus.get(usize::from(cpu.0))?.base_before(time_ns) {
            Activity::Task(task, _) | Activity::InjectedIdle(_, _, task, _) => Some(task),
            _ => None,
        }
    }
}

/// Takes steps out of the middle where they are too many.
fn leave_out(steps: &mut Vec<Step>) {
    if steps.len() > STEPS_MAX {
        let out = steps.len() - STEPS_MAX;
        let (time_ns, cpu) = (steps[STEPS_MAX / 2].time_ns, None);
        let middle = STEPS_MAX / 2..STEPS_MAX / 2 + out;
        steps.splice(middle, [Step { time_ns, cpu, what: Happened::LeftOut(out) }]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_steps_lose_their_middle() {
        let step = |time_ns| Step { time_ns, cpu: None, what: Happened::Faults };
        let mut steps: Vec<Step> = (0..STEPS_MAX as u64 + 10).map(step).collect();
        leave_out(&mut steps);
        assert_eq!(steps.len(), STEPS_MAX + 1);
        let at = STEPS_MAX / 2;
        assert_eq!(steps[at].what, Happened::LeftOut(10));
        assert_eq!(steps[at - 1].time_ns + 1, steps[at].time_ns);
        assert_eq!(steps[at].time_ns + 10, steps[at + 1].time_ns);
        assert_eq!(steps[STEPS_MAX].time_ns, STEPS_MAX as u64 + 9, "the end is kept");
    }
}
