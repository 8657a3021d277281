//! The watched threads: each one's state, its open story, and what it sleeps for.
//!
//! Every event about a watched thread comes here once, goes through the table of `machine.rs`, and may end
//! a story: that is handed back as an [`Ended`], whose story lies with its victim until the next one ends.

use crate::machine::{Begin, End, Input, Reason, State, next};
use crate::piece::Phase;
use crate::sleep::{Sleep, WaitKind, Waited};
use crate::slots::Slots;
use crate::story::{Story, WokenBy};
use crate::threads::{Target, Threads};
use tardy_followers::{Expiry, Life};
use tardy_model::event::{Migrate, SyscallEnter, TaskInfo, TaskState, Woken};
use tardy_model::{CpuId, Culprit, Prio, TaskId, TimerId, WakeupKind};

/// Clocks of two CPUs are not further apart than this: a waking that comes later than that after its
/// thread ran is another one.
const SKEW_NS_MAX: u64 = 1_000_000;

/// A thread that is woken on its way to sleep is there within this time; what sleeps later sleeps for
/// another reason.
const EARLY_NS_MAX: u64 = 200_000;

/// Where an event tells that it was put on a queue, and no other waking was seen: it may look for work for its CPU
/// first (`newidle_balance`).
const EARLY_QUEUED_NS_MAX: u64 = 10_000_000;

/// A watched thread.
#[derive(Debug)]
pub(crate) struct Victim {
    pub(crate) task: TaskId,
    pub(crate) info: TaskInfo,
    pub(crate) state: State,
    /// The story that is open, where the state has one.
    pub(crate) story: Box<Story>,
    /// The last one that ended.
    pub(crate) ended: Box<Story>,
    /// The call for a lock that it is in.
    pub(crate) call: Option<Box<Story>>,
    /// The last one from which it returned.
    pub(crate) ended_call: Option<Box<Story>>,
    sleep: Option<Sleep>,
    /// When the call began in which it slept last.
    slept_in_ns: Option<u64>,
    /// The timer on which it sleeps, or is about to.
    pub(crate) timer: TimerId,
    /// How that timer's callback came to run, and where: since it was armed, and nobody was seen to wake the
    /// thread since then.
    pub(crate) fired: Option<(Expiry, CpuId)>,
    /// The timer that it armed last.
    pub(crate) armed: TimerId,
    /// The call in which it waits for a condition that goes with a lock.
    pub(crate) waits_for: Option<SyscallEnter>,
    /// When and where it came to run last.
    ran: (u64, CpuId),
    /// When it went on last, after a signal, a tracer or a debugger had stopped it.
    continued_ns: u64,
    /// It called the scheduler when it lost the CPU last, rather than being preempted, in a stream that tells the two
    /// apart.
    called_scheduler: bool,
    /// It was woken while it still ran, on its way to sleep: the kernel tells of the waking before it waits
    /// for the CPU to let go of the task.
    early: Option<Early>,
}

/// A waking that stands before its thread's switch to sleep.
#[derive(Clone, Copy, Debug)]
struct Early {
    time_ns: u64,
    target: Target,
    by: WokenBy,
    expiry: Option<(Expiry, Option<Life>)>,
}

/// A story has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) task: TaskId,
    pub(crate) end_ns: u64,
    pub(crate) to_user: bool,
    /// It is that of a call for a lock.
    pub(crate) is_call: bool,
}

/// What woke a victim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waker<'a> {
    pub(crate) by: WokenBy,
    /// The same, as a culprit to name.
    pub(crate) culprit: Culprit,
    /// It is a thread of the kernel's.
    pub(crate) is_kernel: bool,
    /// The callback that ran, and what is known of its timer.
    pub(crate) expiry: Option<(&'a Expiry, Option<&'a Life>)>,
}

/// All watched threads.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    slots: Slots,
    victims: Vec<Victim>,
    free: Vec<usize>,
    /// Those that wait for a lock's sake: whom another's boost may concern.
    pub(crate) blocked: Vec<TaskId>,
    /// Stories that ended as no wakeup, by reason.
    pub(crate) discarded: [u64; Reason::ALL.len()],
    /// A task that ran before it was woken: the waker's CPU, its own, and by how much.
    pub(crate) skewed: Option<(CpuId, CpuId, u64)>,
    /// The wait that the last event ended.
    pub(crate) waited: Option<Waited>,
}

impl Victims {
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&Victim> {
        self.slots.get(task).map(|at| &self.victims[at])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, task: TaskId) -> Option<&mut Victim> {
        self.slots.get(task).map(|at| &mut self.victims[at])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Victim> {
        self.victims.iter().filter(|victim| self.slots.get(victim.task).is_some())
    }

    /// A thread is watched from now on, or more is known of it.
    pub(crate) fn watch(&mut self, task: TaskId, info: TaskInfo) {
        if let Some(victim) = self.get_mut(task) {
            victim.info = info;
            return;
        }
        let victim = Victim {
            task,
            info,
            state: State::Unknown,
            story: Box::default(),
            ended: Box::default(),
            call: None,
            ended_call: None,
            sleep: None,
            slept_in_ns: None,
            timer: TimerId::UNKNOWN,
            fired: None,
            armed: TimerId::UNKNOWN,
            waits_for: None,
            ran: (0, CpuId::UNKNOWN),
            continued_ns: 0,
            called_scheduler: false,
            early: None,
        };
        let at = if let Some(at) = self.free.pop() {
            self.victims[at] = victim;
            at
        } else {
            self.victims.push(victim);
            self.victims.len() - 1
        };
        self.slots.set(task, at);
    }

    /// It is watched no more, or gone: a story that is open ends.
    pub(crate) fn gone(&mut self, task: TaskId) -> Option<Ended> {
        let ended = self.input(task, Input::Ends, 0).1;
        if self.get(task).is_some_and(|victim| victim.call.is_some()) {
            self.discard(Reason::TaskEnded);
        }
        ended
    }

    /// Takes it out of the table, after what its end closed has been taken care of.
    pub(crate) fn forget(&mut self, task: TaskId) {
        if let Some(at) = self.slots.remove(task) {
            self.free.push(at);
            self.blocked.retain(|blocked| *blocked != task);
        }
    }

    pub(crate) fn discard(&mut self, reason: Reason) {
        self.discarded[reason as usize] += 1;
    }

    /// Puts an input through the table. Yields what begins, and what has ended.
    fn input(&mut self, task: TaskId, input: Input, time_ns: u64) -> (Begin, Option<Ended>) {
        let Some(at) = self.slots.get(task) else { return (Begin::Nothing, None) };
        self.input_at(at, input, time_ns)
    }

    /// The same for the thread at a place.
    fn input_at(&mut self, at: usize, input: Input, time_ns: u64) -> (Begin, Option<Ended>) {
        let victim = &mut self.victims[at];
        let task = victim.task;
        let is_timer = matches!(input, Input::TimerWakes | Input::TimerComes);
        let of_timer = || victim.state.has_story() && victim.story.case.kind == WakeupKind::Timer;
        let marks = victim.marks() && (is_timer || of_timer());
        let (state, end, begin) = next(victim.state, input, marks);
        victim.state = state;
        let mut ended = |end_ns, to_user| {
            std::mem::swap(&mut victim.story, &mut victim.ended);
            Some(Ended { task, end_ns, to_user, is_call: false })
        };
        let ended = match end {
            End::Keep => None,
            End::Close => ended(time_ns, false),
            End::CloseToUser => ended(time_ns, true),
            End::CloseAtFirstRun => {
                let ran_ns = victim.story.first_ran_ns();
                if let Some(ran_ns) = ran_ns {
                    victim.story.cut_at(ran_ns);
                    std::mem::swap(&mut victim.story, &mut victim.ended);
                } else {
                    self.discarded[Reason::SwitchInMissing as usize] += 1;
                }
                let (to_user, is_call) = (false, false);
                ran_ns.map(|end_ns| Ended { task, end_ns, to_user, is_call })
            }
            End::Discard(reason) => {
                self.discarded[reason as usize] += 1;
                None
            }
        };
        (begin, ended)
    }

    /// Somebody wakes it.
    pub(crate) fn woken(
        &mut self,
        time_ns: u64,
        target: Target,
        waker: &Waker<'_>,
        threads: &Threads,
    ) -> Option<Ended> {
        let task = target.task;
        let at = self.slots.get(task)?;
        let victim = &mut self.victims[at];
        let by = waker.by;
        let of_timer = by.kind == WakeupKind::Timer;
        if victim.state == State::Preempted && victim.called_scheduler {
            // Nobody wakes who can run: it slept, though its switch says otherwise.
            let since_ns = victim.story.expiry_ns;
            let boosts = !threads.boosted(task).is_empty();
            victim.sleep = Some(Sleep::shown_runnable(since_ns, boosts));
            victim.state = State::Asleep;
            self.discarded[Reason::Slept as usize] += 1;
        }
        let victim = &mut self.victims[at];
        let sleep = victim.sleep.take();
        let unlock = || threads.futex_call(by.task);
        if let Some(call) = &mut victim.call
            && call.phase().is_blocked()
        {
            call.woken_again(time_ns, target.cpu, by, unlock(), threads.chain(task));
        }
        if let Some(sleep) = sleep {
            if sleep.state == TaskState::Stopped {
                victim.continued_ns = time_ns;
            }
            let own = waker.expiry.is_some_and(|(expiry, life)| {
                let by = life.map_or(TaskId::IDLE, |life| life.by);
                expiry.timer == victim.timer || by == task
            });
            let kind = sleep.kind(by.kind, own, waker.is_kernel);
            self.waited = Some(Waited::of(task, &sleep, kind, time_ns, waker.culprit));
        }
        victim.fired = None;
        let (ran_ns, ran_cpu) = victim.ran;
        let comes = of_timer && ran_cpu == by.cpu && victim.sleeps_on(waker.expiry);
        if of_timer {
            victim.timer = TimerId::UNKNOWN;
        }
        let no_skew = time_ns.saturating_sub(ran_ns) > SKEW_NS_MAX || ran_cpu == by.cpu;
        if victim.state == State::RanUnwoken && no_skew {
            // It ran long before, or by the same clock: this waking is not the one that is missing.
            victim.state = State::Running;
            self.discarded[Reason::WakingMissing as usize] += 1;
        }
        let input = if comes {
            Input::TimerComes
        } else if of_timer {
            Input::TimerWakes
        } else {
            Input::OtherWakes
        };
        let was_running = victim.state == State::Running;
        let (begin, ended) = self.input_at(at, input, time_ns);
        let victim = &mut self.victims[at];
        victim.early = None;
        match begin {
            Begin::Nothing if was_running => {
                let expiry = waker.expiry;
                let expiry = expiry.map(|(expiry, life)| victim.restarted(*expiry, life.copied()));
                victim.early = Some(Early { time_ns, target, by, expiry });
            }
            Begin::Story | Begin::Skewed | Begin::AtOnce => match waker.expiry {
                Some((expiry, life)) if victim.is_restarted(expiry, life) => {
                    let (expiry, life) = victim.restarted(*expiry, life.copied());
                    victim.story.begin_timer(time_ns, target, by, &expiry, life.as_ref());
                }
                Some((expiry, life)) => {
                    victim.story.begin_timer(time_ns, target, by, expiry, life);
                }
                None => victim.story.begin_other(time_ns, target, by),
            },
            Begin::Phase => {
                let chain = threads.chain(task);
                victim.story.woken_again(time_ns, target.cpu, by, unlock(), chain);
            }
            _ => {}
        }
        if !matches!(begin, Begin::Skewed | Begin::AtOnce) {
            return ended;
        }
        victim.story.switch_in(time_ns, ran_cpu);
        victim.story.goes_on = begin == Begin::AtOnce;
        std::mem::swap(&mut victim.story, &mut victim.ended);
        if begin == Begin::Skewed {
            // It ran before it was woken: the clocks of two CPUs. It was not late by anything that is known.
            self.skewed = Some((by.cpu, ran_cpu, time_ns.saturating_sub(ran_ns)));
        }
        Some(Ended { task, end_ns: time_ns, to_user: false, is_call: false })
    }

    /// It is on a CPU's queue, the source says.
    pub(crate) fn queued(&mut self, time_ns: u64, woken: Woken, by: CpuId) {
        if let Some(victim) = self.get_mut(woken.target) {
            match victim.state {
                // It never went to sleep: the waking took that back.
                State::Running => victim.early = None,
                // Nothing else can have put it there.
                State::Asleep => self.takes_early(woken.target, EARLY_QUEUED_NS_MAX),
                _ => {}
            }
        }
        if let Some(victim) = self.get_mut(woken.target) {
            if victim.state == State::Woken {
                victim.story.queued(time_ns, woken.target_cpu, by);
            }
            if let Some(call) = &mut victim.call {
                call.queued(time_ns, woken.target_cpu, by);
            }
        }
    }

    /// A thread that sleeps has been woken already, on its way there.
    fn takes_early(&mut self, task: TaskId, ns_max: u64) {
        let Some(victim) = self.get_mut(task) else { return };
        let since_ns = victim.sleep.map_or(u64::MAX, |sleep| sleep.since_ns);
        let fits = |early: &Early| since_ns.saturating_sub(early.time_ns) <= ns_max;
        let Some(Early { time_ns, target, by, expiry }) = victim.early.take().filter(fits) else {
            return;
        };
        victim.sleep = None;
        let of_timer = by.kind == WakeupKind::Timer;
        self.input(task, if of_timer { Input::TimerWakes } else { Input::OtherWakes }, time_ns);
        let Some(victim) = self.get_mut(task) else { return };
        match &expiry {
            Some((expiry, life)) => {
                victim.story.begin_timer(time_ns, target, by, expiry, life.as_ref());
            }
            None => victim.story.begin_other(time_ns, target, by),
        }
    }

    /// It is moved to another CPU's queue.
    pub(crate) fn moved(&mut self, time_ns: u64, migrate: Migrate, by_waker: bool) {
        if let Some(victim) = self.get_mut(migrate.target) {
            if victim.state.has_story() {
                victim.story.migrate(time_ns, migrate.to, by_waker);
            }
            if let Some(call) = &mut victim.call {
                call.migrate(time_ns, migrate.to, by_waker);
            }
        }
    }

    /// A CPU begins to run it, after `before`, who had left by itself or not.
    pub(crate) fn switch_in(
        &mut self,
        time_ns: u64,
        Target { task, prio, cpu }: Target,
        (before, left_by_itself): (TaskId, bool),
    ) -> Option<Ended> {
        let at = self.slots.get(task)?;
        if self.victims[at].state == State::Asleep {
            self.takes_early(task, EARLY_NS_MAX);
        }
        let victim = &mut self.victims[at];
        if victim.state.has_story() {
            victim.story.ran_elsewhere(cpu);
            victim.story.runs_at(prio);
            victim.story.came = (time_ns, left_by_itself);
            victim.story.switch_in(time_ns, cpu);
        }
        if let Some(call) = &mut victim.call {
            call.ran_elsewhere(cpu);
            call.runs_at(prio);
            call.switch_in(time_ns, cpu);
        }
        victim.ran = (time_ns, cpu);
        victim.fired = None;
        if let Some(yielded) = victim.sleep.take()
            && victim.state == State::Yielded
        {
            let ended_by = Culprit::Task(before);
            self.waited = Some(Waited::of(task, &yielded, WaitKind::Yielded, time_ns, ended_by));
        }
        if !matches!(victim.state, State::Preempted | State::Running | State::Yielded) {
            // The sleep is over, and the timer on its stack with it.
            victim.timer = TimerId::UNKNOWN;
        }
        self.input_at(at, Input::SwitchIn, time_ns).1
    }

    /// Whether it has been woken on its way to sleep, from which nothing has taken it back: it leaves the CPU to
    /// sleep, whatever its switch says.
    pub(crate) fn is_woken_early(&self, time_ns: u64, task: TaskId) -> bool {
        let early = self.get(task).and_then(|victim| victim.early);
        early.is_some_and(|early| time_ns.saturating_sub(early.time_ns) <= EARLY_NS_MAX)
    }

    /// It leaves the CPU and could run on.
    pub(crate) fn loses_cpu(
        &mut self,
        time_ns: u64,
        Target { task, prio, cpu }: Target,
        called_scheduler: bool,
    ) -> Option<Ended> {
        self.get_mut(task)?.called_scheduler = called_scheduler;
        let (begin, ended) = self.input(task, Input::LosesCpu, time_ns);
        let victim = self.get_mut(task)?;
        if let Some(call) = &mut victim.call {
            call.has_prio(prio);
            call.preempted(time_ns, cpu);
        }
        match begin {
            Begin::Preemption => {
                let by = WokenBy { kind: WakeupKind::Preempted, cpu, task: TaskId::IDLE };
                victim.story.begin_other(time_ns, Target { task, prio, cpu }, by);
            }
            Begin::Phase => {
                victim.story.has_prio(prio);
                victim.story.preempted(time_ns, cpu);
            }
            _ => {}
        }
        ended
    }

    /// It gives the CPU away and could run on: it waits for nobody but those whom it lets go first.
    pub(crate) fn yields(
        &mut self,
        time_ns: u64,
        task: TaskId,
        cpu: CpuId,
        prio: Prio,
    ) -> Option<Ended> {
        self.get(task)?;
        let (begin, ended) = self.input(task, Input::Yields, time_ns);
        let victim = self.get_mut(task)?;
        match begin {
            Begin::Wait => victim.sleep = Some(Sleep::yielding(time_ns)),
            // On the way back from a wakeup it loses time all the same.
            Begin::Phase => {
                victim.story.has_prio(prio);
                victim.story.preempted(time_ns, cpu);
            }
            _ => {}
        }
        ended
    }

    /// It leaves the CPU and sleeps.
    pub(crate) fn sleeps(
        &mut self,
        time_ns: u64,
        target: Target,
        state: TaskState,
        threads: &Threads,
    ) -> Option<Ended> {
        let Target { task, prio, cpu } = target;
        let at = self.slots.get(task)?;
        let (begin, ended) = self.input_at(at, Input::Sleeps, time_ns);
        let holders = threads.boosted(task);
        let in_call = threads.call(task);
        let victim = &mut self.victims[at];
        let call_ns = in_call.map(|(since_ns, _)| since_ns);
        let again = call_ns.is_some() && victim.slept_in_ns == call_ns;
        victim.slept_in_ns = call_ns;
        let (call, boosts) = (in_call.map(|(_, call)| call), !holders.is_empty());
        victim.sleep = Some(Sleep::shown(time_ns, state, call, again, boosts));
        let mut waits = false;
        if let Some(call) = &mut victim.call {
            call.has_prio(prio);
            call.blocked(time_ns, cpu, state, holders);
            waits = true;
        }
        if begin == Begin::Phase {
            victim.story.has_prio(prio);
            victim.story.blocked(time_ns, cpu, state, holders);
            waits = true;
        }
        if waits {
            // Others' boosts are this wait's while it lasts.
            self.is_blocked(task);
        }
        ended
    }

    pub(crate) fn is_blocked(&mut self, task: TaskId) {
        self.blocked.retain(|blocked| *blocked != task);
        self.blocked.push(task);
    }

    /// It tells that it is back from what it had asked to be woken for at `expiry_ns`. Says, beside what
    /// has ended, whether the wakeup of this mark is missing.
    pub(crate) fn marks(
        &mut self,
        time_ns: u64,
        task: TaskId,
        expiry_ns: u64,
    ) -> (bool, Option<Ended>) {
        let own = self.get(task).is_some_and(|victim| {
            let story = &victim.story;
            victim.state.has_story()
                && story.case.kind == WakeupKind::Timer
                && story.expiry_ns == expiry_ns
        });
        let input = if own { Input::Marks } else { Input::MarksAnother };
        let (begin, ended) = self.input(task, input, time_ns);
        (begin == Begin::MarkAlone, ended)
    }

    /// It touches a page that is not there.
    pub(crate) fn faults(&mut self, time_ns: u64, task: TaskId, cpu: CpuId) {
        self.each_story(task, |story| story.faults(time_ns, cpu));
    }

    /// It is about to handle a signal.
    pub(crate) fn signalled(&mut self, time_ns: u64, task: TaskId, cpu: CpuId, number: u32) {
        self.each_story(task, |story| story.signalled(time_ns, cpu, number));
    }

    /// Calls `with` for the stories that are open: of a wakeup, and of a call for a lock.
    pub(crate) fn each_story(&mut self, task: TaskId, mut with: impl FnMut(&mut Story)) {
        let Some(victim) = self.get_mut(task) else { return };
        if victim.state.has_story() {
            with(&mut victim.story);
        }
        if let Some(call) = &mut victim.call {
            with(call);
        }
    }

    /// The stream ends: so do all stories.
    pub(crate) fn end_stream(&mut self) {
        let open = |victim: &Victim| {
            u64::from(victim.state.has_story())
                + u64::from(victim.call.as_ref().is_some_and(|call| call.has_waited()))
        };
        let open: u64 = self.iter().map(open).sum();
        self.discarded[Reason::StreamEnded as usize] += open;
    }
}

impl Victim {
    /// Whether it marks its return to user space.
    pub(crate) fn marks(&self) -> bool {
        self.info.has(TaskInfo::MARKS)
    }

    /// The story that has ended, and whether its thread marks its return.
    pub(crate) fn told(&self, ended: &Ended) -> (&Story, bool) {
        let story = match &self.ended_call {
            Some(call) if ended.is_call => call,
            _ => &self.ended,
        };
        (story, self.marks())
    }

    /// An expiry as it counts for this thread. A sleep that a stop broke into is restarted with the time that
    /// was asked for at first (`hrtimer_nanosleep_restart`), which may be over by then: the stop was a wait, and
    /// the thread asks from there on.
    fn restarted(&self, mut expiry: Expiry, mut life: Option<Life>) -> (Expiry, Option<Life>) {
        if self.is_restarted(&expiry, life.as_ref())
            && let Some(life) = &mut life
        {
            (expiry.soft_ns, expiry.slack_ns, life.soft_ns) = (life.armed_ns, 0, life.armed_ns);
        }
        (expiry, life)
    }

    /// Whether a stop broke into the sleep that an expiry ends.
    fn is_restarted(&self, expiry: &Expiry, life: Option<&Life>) -> bool {
        let own = life.filter(|life| life.by == self.task);
        own.is_some_and(|life| (expiry.soft_ns..life.armed_ns).contains(&self.continued_ns))
    }

    /// Whether an expiry is that of a sleep which it asked for itself, and is in or about to be.
    fn sleeps_on(&self, expiry: Option<(&Expiry, Option<&Life>)>) -> bool {
        let Some((expiry, Some(life))) = expiry else { return false };
        let is_asked = expiry.timer == self.timer && life.by == self.task;
        is_asked && expiry.owner == self.task && life.soft_ns == expiry.soft_ns
    }

    /// The callback of the timer on which it sleeps, and where that ran, if nothing was seen to wake it since.
    pub(crate) fn fired_in_sleep(&self) -> Option<(Expiry, CpuId)> {
        let since_ns = self.sleep?.since_ns;
        self.fired.filter(|(expiry, _)| expiry.begin_ns >= since_ns)
    }

    /// Whether it has been switched in since its story began.
    pub(crate) fn is_on_cpu(&self) -> bool {
        match self.state {
            State::Running | State::RanUnwoken | State::Returning => true,
            _ => self.state.has_story() && self.story.phase() == Phase::Running,
        }
    }
}
