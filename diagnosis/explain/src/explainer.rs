//! Events to wakeups, one way: followers, the state machine of each watched thread, and what has ended goes
//! on to balances, patterns and sums (`ending.rs`).

use crate::balance::Past;
use crate::deferred::{Deferred, DeferredStories, awaits_stolen};
use crate::ending::{Endings, Recent};
use crate::findings::Explanation;
use crate::finished::Sink;
use crate::label::Labels;
use crate::machine::State;
use crate::refusal::Firings;
use crate::seen::Seen;
use crate::sleep::Waited;
use crate::stacks::Stacks;
use crate::story::WokenBy;
use crate::threads::{Target, Threads};
use crate::victims::{Ended, Victims, Waker};
use crate::watch::Watch;
use tardy_followers::{Activity, Expiry, Followed, Followers, SPANS_MAX, place_of};
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleEnter, IdleExit, IdleState, IrqBegin, IrqEnd, Loss, Mark, Migrate,
    Pack as _, Priority, SoftirqBegin, SoftirqEnd, SoftirqRaise, Stack, Switch, SyscallEnter,
    SyscallExit, TaskState, TimerArm, TimerCancel, Vector, Waking, Woken,
};
use tardy_model::{
    Batch, CpuId, Culprit, Event, Kind, Link, NameId, Tables, TaskId, TimerId, WakeupKind,
};

/// Idle states of which the exit latency is kept; the kernel has at most ten (`CPUIDLE_STATE_MAX`).
const IDLE_STATES_MAX: usize = 64;

/// What to explain and how much of it to keep.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose wakeups.
    pub watch: Watch,
    /// How many of the worst to keep whole, with what all CPUs did around them. Each is some
    /// kilobytes; one that has as many segments as changes of a CPU are remembered ([`SPANS_MAX`]), two
    /// megabytes.
    pub worst: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { watch: Watch::default(), worst: 20 }
    }
}

/// Turns events into wakeups and their explanation. Pure: time comes in as numbers.
#[derive(Debug)]
pub struct Explainer<S> {
    watch: Watch,
    labels: Labels,
    followers: Followers,
    threads: Threads,
    firings: Firings,
    stacks: Stacks,
    exit_latencies_ns: Vec<u64>,
    /// The task that was last woken on each CPU, and the number of the event there that told it.
    just_woken: Vec<(TaskId, u64)>,
    victims: Victims,
    deferred: DeferredStories,
    endings: Endings,
    sink: S,
}

impl<S: Sink> Explainer<S> {
    /// Nothing seen yet.
    pub fn new(options: Options, sink: S) -> Self {
        Self {
            watch: options.watch,
            labels: Labels::default(),
            followers: Followers::new(SPANS_MAX),
            threads: Threads::default(),
            firings: Firings::default(),
            stacks: Stacks::default(),
            exit_latencies_ns: Vec::new(),
            just_woken: Vec::new(),
            victims: Victims::default(),
            deferred: DeferredStories::default(),
            endings: Endings::new(options.worst, sink.takes_wakeups()),
            sink,
        }
    }

    /// Takes a batch: its definitions, then its events.
    pub fn batch(&mut self, batch: &Batch) {
        if !batch.timers.is_empty() || !batch.names.is_empty() {
            batch.define(self.labels.tables_mut());
        }
        self.followers.timers.define(&batch.timers);
        self.sink.define(&batch.timers);
        self.events(&batch.events);
    }

    #[inline(never)]
    fn events(&mut self, events: &[Event]) {
        self.endings.count(events);
        for event in events {
            self.next(event);
        }
    }

    /// The names and timers defined so far, for who brings definitions and events by other ways.
    pub fn tables_mut(&mut self) -> &mut Tables {
        self.labels.tables_mut()
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
        self.events(std::slice::from_ref(event));
    }

    /// An event goes its way. The way is written once, and compiled for each kind of event that is frequent: what others
    /// do on it is left out there, and no kind is told apart twice.
    #[inline(always)]
    fn next(&mut self, event: &Event) {
        macro_rules! by_kind {
            ($($kind:ident),* $(,)?) => {
                match event.tag() {
                    $($kind::TAG => self.goes(event, $kind::unpack(event.payload()).into()),)*
                    _ => self.goes_rarely(event),
                }
            };
        }
        by_kind!(
            TimerArm,
            TimerCancel,
            ExpireBegin,
            ExpireEnd,
            IrqBegin,
            IrqEnd,
            SoftirqRaise,
            SoftirqBegin,
            SoftirqEnd,
            Waking,
            Woken,
            Switch,
            Migrate,
            SyscallEnter,
            SyscallExit,
            IdleEnter,
            IdleExit,
        );
    }

    #[inline(never)]
    fn goes_rarely(&mut self, event: &Event) {
        self.goes(event, event.kind());
    }

    #[expect(clippy::inline_always, reason = "it is compiled for each frequent kind")]
    #[inline(always)]
    fn goes(&mut self, event: &Event, kind: Kind) {
        let time_ns = event.time_ns;
        if let Kind::Stack(stack) = kind {
            return self.stack(event, stack);
        }
        let followed = self.followers.event(event, &kind, &self.labels.tables);
        if !self.deferred.is_empty()
            && (matches!(kind, Kind::Switch(_)) || self.deferred.waits_too_long(time_ns))
        {
            self.go_on(time_ns, None);
        }
        let (followers, tables) = (&self.followers, &self.labels.tables);
        self.endings.sees(event, kind, followed, (followers, tables));
        // Copies are shown, so that what nobody looks at lies in registers.
        let (kind_shown, told) = (kind, followed);
        self.sink.event(&Seen { event, kind: &kind_shown, followed: &told, followers, tables });
        if followed.after_gap {
            self.gap(time_ns, self.followers.gap());
        }
        match kind {
            Kind::TimerArm(arm) => self.arm(event, arm, followed),
            Kind::TimerCancel(cancel) => self.cancel(event.task, cancel.timer),
            Kind::ExpireBegin(begin) => {
                let purpose = self.followers.timers.purpose(begin.timer, &self.labels.tables);
                if purpose.replenishes() {
                    let life = self.followers.timers.get(begin.timer);
                    let seen = life.is_some_and(|life| life.armed_ns > 0);
                    let owner = seen.then_some(followed.owner);
                    self.firings.saw(time_ns, purpose, owner, event.cpu);
                }
                if purpose.is_sleep()
                    && let Some(victim) = self.victims.get_mut(followed.owner)
                    && victim.timer == begin.timer
                {
                    let expiry = self.followers.cpus[place_of(event.cpu)].expiry();
                    victim.fired = expiry.map(|expiry| (expiry, event.cpu));
                }
            }
            Kind::Waking(waking) => {
                self.wakes(event.cpu, waking.target);
                self.waking(event, waking);
            }
            Kind::Woken(woken) => self.woken(event, woken),
            Kind::WokenNew(new) => {
                // Its number may be that of one that is gone, whose name it has.
                self.consider(new.target);
                self.woken_new(event, new.target, new.target_cpu);
            }
            Kind::Switch(switch) => {
                self.firings.leaves(time_ns, event.task);
                self.switch(event, switch);
            }
            Kind::Migrate(migrate) => {
                self.threads.migrate(time_ns, migrate.target, migrate.to);
                self.victims.moved(
                    time_ns,
                    migrate,
                    self.has_just_woken(event.cpu, migrate.target),
                );
            }
            Kind::Priority(priority) => self.priority(event, priority),
            Kind::SyscallEnter(call) => {
                self.threads.enter(time_ns, event.task, call);
                self.victims.enters(event, call, &self.followers, &self.threads);
            }
            Kind::SyscallExit(exit) => {
                self.threads.exit(event.task);
                let ended = self.victims.returns(event, exit.result);
                self.ends(ended);
            }
            Kind::PageFault(_) => self.victims.faults(time_ns, event.task, event.cpu),
            Kind::Signal(signal) => {
                self.victims.signalled(time_ns, event.task, event.cpu, signal.number);
            }
            Kind::WorkBegin(work) => self.threads.works_on(event.task, work.function),
            Kind::WorkEnd(_) => self.threads.works_on(event.task, NameId::NONE),
            Kind::Mark(mark) => self.mark(event, mark),
            Kind::Loss(loss) => self.loss(&loss, time_ns),
            Kind::ClockSet(set) => self.endings.clock_set(&set),
            Kind::IdleState(state) => self.idle_state(state),
            Kind::Recorded(recorded) => self.labels.recorded(recorded),
            Kind::TaskGroup(group) => {
                self.labels.groups_as(event.task, group.path);
                if group.throttled {
                    self.firings.throttles(event.task);
                }
            }
            Kind::TaskName(name) => {
                self.labels.rename(event.task, name.comm);
                self.consider(event.task);
            }
            Kind::TaskInfo(info) => {
                self.labels.inform(event.task, info);
                self.consider(event.task);
            }
            Kind::TaskExit(_) => self.exits(event.task),
            _ => {}
        }
        self.endings.settle(&self.labels, &mut self.sink);
    }

    #[inline]
    fn wakes(&mut self, cpu: CpuId, task: TaskId) {
        let at = place_of(cpu);
        if at >= self.just_woken.len() {
            self.just_woken.resize(at + 1, (TaskId::IDLE, 0));
        }
        self.just_woken[at] = (task, self.followers.cpus[at].events());
    }

    /// Whether the event of a CPU before this one told that a task was woken.
    fn has_just_woken(&self, cpu: CpuId, task: TaskId) -> bool {
        let at = place_of(cpu);
        let this = self.followers.cpus[at].events();
        let woken = self.just_woken.get(at);
        woken.is_some_and(|(woken, number)| *woken == task && number + 1 == this)
    }

    /// A stack is evidence, and passes by everything that follows events one after the other.
    fn stack(&mut self, event: &Event, stack: Stack) {
        self.stacks.saw(event, stack);
        if let Some(since_ns) = self.threads.stack(event.time_ns, stack) {
            self.endings.slept(stack, since_ns, &self.labels);
        }
        self.endings.passes(event.time_ns);
        self.endings.settle(&self.labels, &mut self.sink);
    }

    /// Ends the stream. Wakeups still on their way are left out: their end is not known.
    pub fn finish(self) -> (Explanation, S) {
        self.finish_about(None)
    }

    /// The same of a stream that is about one wakeup, by its thread and expiry: advice names who made that one late,
    /// where it is among the worst.
    pub fn finish_about(mut self, wakeup: Option<(TaskId, u64)>) -> (Explanation, S) {
        self.all_go_on();
        self.victims.end_stream();
        let recent = Recent {
            skew: self.followers.skew,
            stolen: self.followers.stolen_time(),
            discarded: self.victims.discarded,
            threads_left_out: self.threads.left_out,
            tables_full: self.labels.tables.is_full(),
        };
        let mut explanation = self.endings.finish(recent, &mut self.labels, &mut self.sink);
        let prio = |task| self.followers.prio(task);
        crate::closing::close(&mut explanation, &self.labels, &prio, wakeup);
        (explanation, self.sink)
    }

    /// Something new is known of a task: is it a victim?
    fn consider(&mut self, task: TaskId) {
        let info = self.labels.info(task);
        if self.watch.includes(task, self.labels.comm(task), info) {
            self.victims.watch(task, info);
            // Where everybody is, nobody was chosen.
            if !self.watch.all {
                self.labels.is_chosen(task);
            }
        } else {
            self.unwatch(task);
        }
    }

    fn exits(&mut self, task: TaskId) {
        self.threads.gone(task);
        self.labels.exits(task);
    }

    fn unwatch(&mut self, task: TaskId) {
        if self.victims.get(task).is_some() {
            let ended = self.victims.gone(task);
            self.ends(ended);
            self.victims.forget(task);
        }
    }

    fn arm(&mut self, event: &Event, arm: TimerArm, followed: Followed) {
        let task = event.task;
        if followed.in_task
            && followed.owner == task
            && let Some(victim) = self.victims.get_mut(task)
        {
            (victim.timer, victim.armed) = (arm.timer, arm.timer);
        }
    }

    fn cancel(&mut self, task: TaskId, timer: TimerId) {
        if let Some(victim) = self.victims.get_mut(task)
            && victim.timer == timer
        {
            victim.timer = TimerId::UNKNOWN;
        }
    }

    /// Events are missing without a loss told of: since when, and the task that was current then.
    fn gap(&mut self, time_ns: u64, (since_ns, task): (u64, TaskId)) {
        self.all_go_on();
        let naming = (&mut self.labels, &mut self.sink);
        self.endings.gap(since_ns, time_ns, task, naming);
    }

    fn loss(&mut self, loss: &Loss, time_ns: u64) {
        self.all_go_on();
        self.endings.loss(loss, time_ns, &mut self.sink);
    }

    fn idle_state(&mut self, state: IdleState) {
        let at = state.state as usize;
        if at < IDLE_STATES_MAX {
            if at >= self.exit_latencies_ns.len() {
                self.exit_latencies_ns.resize(at + 1, 0);
            }
            self.exit_latencies_ns[at] = state.exit_latency_ns;
        }
    }

    fn waking(&mut self, event: &Event, waking: Waking) {
        let task = waking.target;
        if let Some(victim) = self.victims.get(task) {
            // Where a stream tells only who was put into a queue, that may be told by the queue's CPU.
            let place = place_of(event.cpu);
            if let Some((expiry, cpu)) = victim.fired_in_sleep()
                && self.followers.cpus[place].activity().queues_for_others()
            {
                let by = WokenBy { kind: WakeupKind::Timer, cpu, task: TaskId::IDLE };
                let culprit = Culprit::Timer(expiry.timer, expiry.owner);
                self.woken_by(expiry.begin_ns, waking, by, culprit, Some(&expiry));
                return;
            }
            self.expires_unseen(event, task);
        }
        let cpu = &self.followers.cpus[place_of(event.cpu)];
        let (expiry, activity) = (cpu.expiry(), cpu.activity());
        let kind = match activity {
            _ if expiry.is_some() => WakeupKind::Timer,
            Activity::Irq(_) | Activity::Ipi(..) => WakeupKind::Irq,
            Activity::Softirq(_) | Activity::ThreadedSoftirq(..) => WakeupKind::Softirq,
            // The idle task wakes nobody: it is an interrupt that is not recorded.
            _ if event.task == TaskId::IDLE => WakeupKind::Irq,
            _ => WakeupKind::Task,
        };
        let unseen = kind == WakeupKind::Irq && activity.is_idle();
        let by_task = if kind == WakeupKind::Task { event.task } else { TaskId::IDLE };
        let culprit = match (kind, &expiry) {
            (WakeupKind::Task, _) => Culprit::Task(by_task),
            (_, Some(expiry)) => Culprit::Timer(expiry.timer, expiry.owner),
            _ if unseen => Culprit::Nobody,
            _ => activity.culprit(),
        };
        let by = WokenBy { kind, cpu: event.cpu, task: by_task };
        self.woken_by(event.time_ns, waking, by, culprit, expiry.as_ref());
    }

    fn woken_by(
        &mut self,
        time_ns: u64,
        Waking { target: task, target_cpu, prio }: Waking,
        by: WokenBy,
        culprit: Culprit,
        expiry: Option<&Expiry>,
    ) {
        let link = Link { time_ns, by: culprit, started: false, work: NameId::NONE };
        let target = Target { task, prio, cpu: target_cpu };
        self.threads.woken(target, link, by.task);
        if self.victims.get(task).is_none() {
            return;
        }
        let waker = Waker {
            by,
            culprit,
            is_kernel: by.kind == WakeupKind::Task && self.labels.is_kernel(by.task),
            expiry: expiry.map(|expiry| (expiry, self.followers.timers.get(expiry.timer))),
        };
        let ended = self.victims.woken(time_ns, target, &waker, &self.threads);
        self.waited();
        if let Some((waker, target, ns)) = self.victims.skewed.take() {
            self.followers.skew.saw(waker, target, ns);
        }
        self.ends(ended);
    }

    /// A thread that sleeps on a timer which is due is woken in the timer's interrupt, and no callback was
    /// seen to begin there: it is that timer's all the same. The kernel runs no eBPF program inside itself,
    /// so where the interrupt came while another timer's begin was being recorded, this one's is
    /// missing. What the interrupt did before the waking stays the interrupt's.
    fn expires_unseen(&mut self, event: &Event, target: TaskId) {
        let cpu = &self.followers.cpus[place_of(event.cpu)];
        let timers_irq = matches!(
            cpu.activity(),
            Activity::Irq(tardy_model::event::Irq::Vector(Vector::LOCAL_TIMER))
        );
        if cpu.expiry().is_some() || !timers_irq {
            return;
        }
        let Some(victim) = self.victims.get(target).filter(|victim| !victim.is_on_cpu()) else {
            return;
        };
        let timer = victim.timer;
        // A timer of its that wakes nobody by itself (timerfd, POSIX) has no owner.
        let is_sleeper = self.labels.tables.timer(timer).owner == target;
        let due = self.followers.timers.get(timer);
        if is_sleeper && due.is_some_and(|life| life.is_armed() && life.soft_ns <= event.time_ns) {
            self.followers.expires_unseen(event, timer, &self.labels.tables);
        }
    }

    fn woken(&mut self, event: &Event, woken: Woken) {
        let Woken { target, target_cpu, prio } = woken;
        self.threads.migrate(event.time_ns, target, target_cpu);
        self.victims.queued(event.time_ns, woken, event.cpu);
        if self.victims.get(target).is_some_and(|victim| victim.state == State::Asleep) {
            // Its waking is missing, or is of a kind that this stream has of others only.
            self.waking(event, Waking { target, target_cpu, prio });
        }
    }

    fn priority(&mut self, event: &Event, priority: Priority) {
        if !priority.released {
            self.threads.boosts(event.task, priority.target);
        }
        let (time_ns, prio) = (event.time_ns, self.followers.prio(priority.target));
        self.threads.reprioritised(time_ns, priority.target, prio);
        self.victims.each_story(priority.target, |story| story.reprioritised(time_ns, prio));
        self.victims.boosted(event, priority, &self.followers, &self.threads);
    }

    fn woken_new(&mut self, event: &Event, task: TaskId, on: CpuId) {
        let (time_ns, by) = (event.time_ns, Culprit::Task(event.task));
        let link = Link { time_ns, by, started: true, work: NameId::NONE };
        self.labels.begins(task);
        self.threads.begins(task);
        let target = Target { task, prio: self.followers.prio(task), cpu: on };
        self.threads.woken(target, link, event.task);
        // A command is launched, which is not yet what was to be recorded.
        if self.labels.is_recorder(event.task) {
            return;
        }
        let waker = Waker {
            by: WokenBy { kind: WakeupKind::New, cpu: event.cpu, task: event.task },
            culprit: by,
            is_kernel: false,
            expiry: None,
        };
        let ended = self.victims.woken(time_ns, target, &waker, &self.threads);
        self.ends(ended);
    }

    fn switch(&mut self, event: &Event, switch: Switch) {
        let (time_ns, prev, cpu) = (event.time_ns, event.task, event.cpu);
        let dead = switch.prev_state == TaskState::Dead;
        let ended = if dead {
            self.threads.gone(prev);
            self.victims.gone(prev)
        } else {
            let target = Target { task: prev, prio: switch.prev_prio, cpu };
            self.threads.switch_out(time_ns, target, switch.prev_state);
            if switch.prev_state == TaskState::Running {
                // Nobody who is preempted within the call has given anything away.
                if !switch.preempted && self.threads.yields(time_ns, prev) {
                    self.victims.yields(time_ns, prev, cpu, switch.prev_prio)
                } else if !switch.preempted
                    && (switch.next == TaskId::IDLE || self.followers.visible.wakeups())
                    && self.victims.is_woken_early(time_ns, prev)
                {
                    // Kernels before 5.18 show the state that the waker has written meanwhile.
                    let state = TaskState::Interruptible;
                    self.victims.sleeps(time_ns, target, state, &self.threads)
                } else {
                    // Where no switch says who was preempted: nobody is by nothing.
                    let tells = self.followers.visible.preemptions() || switch.next == TaskId::IDLE;
                    let called_scheduler = tells && !switch.preempted;
                    self.victims.loses_cpu(time_ns, target, called_scheduler)
                }
            } else {
                self.victims.sleeps(time_ns, target, switch.prev_state, &self.threads)
            }
        };
        self.ends(ended);
        if dead && self.labels.has_exited(prev) {
            self.victims.forget(prev);
        }
        let target = Target { task: switch.next, prio: switch.next_prio, cpu };
        self.threads.switch_in(time_ns, target);
        let left_by_itself = switch.prev_state != TaskState::Running;
        let ended = self.victims.switch_in(time_ns, target, (prev, left_by_itself));
        self.waited();
        self.ends(ended);
    }

    fn mark(&mut self, event: &Event, mark: Mark) {
        let task = event.task;
        let Some(victim) = self.victims.get(task) else { return };
        let timer = victim.armed;
        if victim.state.has_story() && !victim.is_on_cpu() {
            // A thread that marks its return runs. Where no switch to it was seen, one is missing: what the
            // CPU did since its last event is not known.
            let Followers { cpus, prios, .. } = &mut self.followers;
            if let Some(gap) = cpus
                .get_mut(place_of(event.cpu))
                .and_then(|cpu| cpu.check_current(event.time_ns, task, prios))
            {
                self.gap(event.time_ns, gap);
            }
        }
        let (is_missing, ended) = self.victims.marks(event.time_ns, task, mark.expiry_ns);
        self.ends(ended);
        if is_missing {
            // The thread counted a wakeup whose events are missing: it is there, and unexplained. Whether
            // a timer was to wake it is known if its arm was seen.
            let life = self.followers.timers.get(timer);
            let timer = timer_of(life.is_some_and(|life| life.soft_ns == mark.expiry_ns), timer);
            self.go_on(event.time_ns, Some(task));
            let recent = (&self.followers, &self.threads);
            let naming = (&mut self.labels, &mut self.sink);
            self.endings.mark_alone(event, mark.expiry_ns, timer, recent, naming);
        }
    }

    fn waited(&mut self) {
        if let Some(waited) = self.victims.waited.take() {
            let slept_in = self.threads.sleeps_in(waited.task, waited.since_ns);
            self.endings.waited(&Waited { slept_in, ..waited }, &self.labels);
        }
    }

    #[inline]
    fn ends(&mut self, ended: Option<Ended>) {
        if let Some(ended) = ended {
            self.has_ended(ended);
        }
    }

    #[inline(never)]
    fn has_ended(&mut self, ended: Ended) {
        if !self.deferred.is_empty() {
            // A thread's wakeups are told in the order in which they ended.
            self.go_on(ended.end_ns, Some(ended.task));
        }
        if let Some(victim) = self.victims.get(ended.task)
            && !ended.is_call
            && awaits_stolen(&self.followers, &ended, &victim.ended)
        {
            self.deferred.add(ended, &victim.ended, victim.marks());
            return;
        }
        self.balance(&ended, None);
    }

    /// Makes the balances that need not wait any longer, and those of a thread.
    #[inline(never)]
    fn go_on(&mut self, now_ns: u64, of: Option<TaskId>) {
        while let Some(deferred) = self.deferred.next(&self.followers, now_ns, of) {
            self.balance(&deferred.ended, Some(&deferred));
        }
    }

    /// Makes all balances that wait: what is told from here on is of something else.
    fn all_go_on(&mut self) {
        while let Some(deferred) = self.deferred.first() {
            self.balance(&deferred.ended, Some(&deferred));
        }
    }

    /// Makes the balance of a story that lies with its victim, or was deferred.
    fn balance(&mut self, ended: &Ended, deferred: Option<&Deferred>) {
        let told = match deferred {
            Some(deferred) => Some((&deferred.story, deferred.by_mark)),
            None => self.victims.get(ended.task).map(|victim| victim.told(ended)),
        };
        let Some(told) = told else { return };
        let past = Past {
            followers: &self.followers,
            threads: &self.threads,
            firings: &self.firings,
            stacks: &self.stacks,
            exit_latencies_ns: &self.exit_latencies_ns,
        };
        let (labels, sink) = (&mut self.labels, &mut self.sink);
        if let Some(thread) = self.endings.ends(ended, told, &past, labels, sink) {
            self.threads.remember_more(thread);
        }
    }
}

fn timer_of(known: bool, timer: TimerId) -> TimerId {
    if known { timer } else { TimerId::UNKNOWN }
}
