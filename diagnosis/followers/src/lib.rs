//! Followers: each keeps one thing through a stream of events, and is written once for all who need it.
//!
//! | follower | what it keeps |
//! |---|---|
//! | [`Cpu`] | the contexts of one CPU, nested and preempted at any depth, and what it did lately |
//! | [`Timers`] | each timer's life: armed, moved, cancelled, handed on, fired; by whom, in which call |
//! | [`Prios`] | the priority at which each task was last seen |
//! | [`Skew`] | how far the clocks of CPUs are apart, by wakings that come after what they wake |
//! | [`Visible`] | which kinds of events the stream records |
//! | [`Names`] | which tasks run softirqs in a thread, and which are there for timers |
//!
//! [`Followers`] holds one of each and hands every event to all of them. It says nothing about lateness and
//! knows no thread that waits: that is who uses it. No clock, no I/O; memory is bounded by constants beside
//! what they bound. Start reading at `cpu/mod.rs`.
#![forbid(unsafe_code)]

mod activity;
mod cancels;
mod cpu;
mod names;
mod prios;
mod skew;
mod timers;
mod visible;

pub use activity::{Activity, RunBy};
pub use cancels::HeldUp;
pub use cpu::{Callback, Cpu, Deferral, Expiry, PutOff, RunIn, SPANS_MAX, StolenTime, Walk};
pub use names::Names;
pub use prios::Prios;
pub use skew::Skew;
pub use timers::{Ended, Life, MOVE_NS_MAX, Purpose, TICKS, Timers};
pub use visible::Visible;

use cancels::{CALLBACK_NS_MIN, Cancel, Cancels};
use cpu::Sent;
use tardy_model::event::{
    ExpireBegin, IpiSend, Migrate, Priority, Stolen, Switch, TaskState, Waking,
};
use tardy_model::{CpuId, Event, Kind, Prio, Tables, TaskId, TimerClass, TimerId};

/// CPUs that can be told apart; what is above is read as the last one (the format allows 65,536).
pub const CPUS_MAX: usize = 8192;

/// All followers of one stream.
#[derive(Debug)]
pub struct Followers {
    /// By [`place_of`].
    pub cpus: Vec<Cpu>,
    /// Timers.
    pub timers: Timers,
    /// Priorities.
    pub prios: Prios,
    /// Clocks of CPUs.
    pub skew: Skew,
    /// What the stream records.
    pub visible: Visible,
    names: Names,
    cancels: Cancels,
    stolen: Vec<(u64, u64, bool)>,
    held_up: Vec<HeldUp>,
    /// The tick is a timer itself, as in high-resolution mode alone.
    tick_is_timer: bool,
    /// Spans that each CPU keeps.
    spans_max: usize,
    /// The last gap, see [`Followed::after_gap`].
    gap: (u64, TaskId),
}

/// What an event told beside what the followers keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed {
    /// Events are missing on this CPU: [`Followers::gap`] tells since when.
    pub after_gap: bool,
    /// The current task did it itself, in no interrupt or softirq.
    pub in_task: bool,
    /// What became of the arming before, of a timer's event.
    pub ended: Ended,
    /// Whose timer it is; [`TaskId::IDLE`] where no thread's, or not known.
    pub owner: TaskId,
}

impl Followers {
    /// Nothing seen yet. CPUs remember their last `spans_max` changes of activity; 0 for who asks for the
    /// present alone.
    pub fn new(spans_max: usize) -> Self {
        Self {
            cpus: Vec::new(),
            timers: Timers::default(),
            prios: Prios::default(),
            skew: Skew::default(),
            visible: Visible::default(),
            names: Names::default(),
            cancels: Cancels::default(),
            stolen: Vec::new(),
            held_up: Vec::new(),
            tick_is_timer: false,
            spans_max,
            gap: (0, TaskId::IDLE),
        }
    }

    /// The last stretch of a CPU in which events are missing without a loss told of: since when, and the task that
    /// was current then.
    pub fn gap(&self) -> (u64, TaskId) {
        self.gap
    }

    /// The CPU of an event.
    pub fn cpu(&self, cpu: CpuId) -> Option<&Cpu> {
        self.cpus.get(place_of(cpu))
    }

    /// Takes an event; `tables` has the definitions so far. Who knows the kind has it compiled for that alone.
    #[expect(clippy::inline_always, reason = "it is compiled for each frequent kind")]
    #[inline(always)]
    pub fn event(&mut self, event: &Event, kind: &Kind, tables: &Tables) -> Followed {
        let at = place_of(event.cpu);
        if at >= self.cpus.len() {
            let spans_max = self.spans_max;
            self.cpus.resize_with(at + 1, || Cpu::new(spans_max));
        }
        let mut followed = Followed::default();
        if let Kind::Stack(_) = kind {
            // Evidence beside the rest: with or without it, all else is the same.
            return followed;
        }
        let time_ns = event.time_ns;
        self.visible.saw(event.tag());
        self.cpus[at].outlives(time_ns, &self.visible);
        if Kind::speaks_of_current(event.tag())
            && !self.cpus[at].goes_on(time_ns, event.task)
            && let Some(gap) = self.look_closer(event, at, kind)
        {
            (self.gap, followed.after_gap) = (gap, true);
        }
        let cpu = &mut self.cpus[at];
        match *kind {
            Kind::TimerArm(arm) => {
                followed.in_task = cpu.in_task_context() && event.task != TaskId::IDLE;
                let place = cpu.place(at);
                let by = if followed.in_task { event.task } else { TaskId::IDLE };
                followed.ended = self.timers.arm(event, &arm, by, place, tables);
                followed.owner = self.timers.owner(arm.timer, tables);
                if !self.tick_is_timer {
                    self.tick_is_timer = self.timers.purpose(arm.timer, tables) == Purpose::Tick;
                }
            }
            Kind::TimerCancel(cancel) => {
                followed.in_task = cpu.in_task_context();
                let place = cpu.place(at);
                self.timers.cancel(event, cancel.timer, place);
            }
            Kind::ExpireBegin(begin) => {
                followed.ended = self.timers.expire(event, begin.timer, tables);
                followed.owner = self.timers.owner(begin.timer, tables);
                self.expire_begin(event, at, begin, followed.owner, tables);
            }
            Kind::ExpireEnd(end) => {
                let begin_ns = cpu.expire_end(time_ns, end.timer).unwrap_or(time_ns);
                if time_ns.saturating_sub(begin_ns) >= CALLBACK_NS_MIN && self.visible.stolen() {
                    self.ended_late(at, end.timer, (begin_ns, time_ns), tables);
                }
            }
            Kind::TimerPending(pending) => {
                self.names.is_for_timers(pending.thread);
                self.prios.set(pending.thread, pending.prio);
                cpu.timer_pending(time_ns, pending);
            }
            Kind::IrqBegin(begin) => {
                self.visible.saw_irq(begin.irq);
                cpu.irq_begin(time_ns, begin.irq, self.visible.is_timer(begin.irq, tables));
            }
            Kind::IrqEnd(end) => cpu.irq_end(time_ns, end.irq),
            Kind::Nmi(nmi) => cpu.nmi(time_ns, nmi),
            Kind::Stolen(stolen) => self.stolen(at, stolen.ns),
            Kind::IpiSend(send) => self.ipi_sent(event, &send, tables),
            Kind::SoftirqRaise(raise) => cpu.softirq_raise(time_ns, raise.vector),
            Kind::SoftirqBegin(begin) => {
                let in_thread = self.names.runs_softirqs(event.task, cpu.has_left_irq());
                cpu.softirq_begin(time_ns, begin.vector, in_thread, &self.prios);
            }
            Kind::SoftirqEnd(end) => cpu.softirq_end(time_ns, end.vector),
            Kind::IdleEnter(mut enter) => {
                // Of x86 state 0 is the one that polls (`cpuidle_poll_state_init`), where a source cannot
                // ask the driver.
                enter.polls |= enter.state == 0 && !enter.only && self.visible.is_x86_trace();
                cpu.idle_enter(time_ns, enter);
            }
            Kind::IdleExit(_) => cpu.idle_exit(time_ns),
            Kind::SectionBegin(begin) => cpu.section_begin(time_ns, begin),
            Kind::SectionEnd(end) => cpu.section_end(time_ns, end),
            Kind::Current(_) => self.prios.tells(event.task, kind),
            Kind::Waking(waking) => {
                self.prios.set(waking.target, waking.prio);
                if self.visible.stolen() {
                    self.wakes(event, waking);
                }
            }
            Kind::Migrate(migrate) if self.visible.stolen() => self.migrates(time_ns, migrate),
            Kind::WokenNew(new) => self.prios.set(new.target, new.prio),
            Kind::Woken(woken) => self.prios.set(woken.target, woken.prio),
            Kind::Switch(switch) => self.switch(event, at, &switch),
            Kind::Priority(priority) => self.priority(event, &priority),
            Kind::TaskName(name) => self.names.see(event.task, name.comm),
            Kind::TaskExit(_) => {
                self.names.gone(event.task);
                self.timers.gone(event.task);
            }
            Kind::Recorded(recorded) => self.visible.told(recorded),
            Kind::Loss(loss) => {
                cpu.forget(loss.since_ns);
                self.cancels.told(at, u64::MAX);
                self.timers.lost();
            }
            _ => {}
        }
        followed
    }

    /// An event comes after a silence, or has another task as the current one than the last. Yields since when events
    /// are missing, if so, and the task that was current then.
    #[inline(never)]
    fn look_closer(&mut self, event: &Event, at: usize, kind: &Kind) -> Option<(u64, TaskId)> {
        self.prios.tells(event.task, kind);
        let cpu = &mut self.cpus[at];
        if self.visible.stolen() {
            cpu.falls_silent(event.time_ns, event.tag() == Stolen::TAG);
        }
        cpu.check_current(event.time_ns, event.task, &self.prios)
    }

    fn expire_begin(
        &mut self,
        event: &Event,
        at: usize,
        begin: ExpireBegin,
        owner: TaskId,
        tables: &Tables,
    ) {
        let class = tables.timer(begin.timer).class;
        let is_tick = self.timers.purpose(begin.timer, tables) == Purpose::Tick;
        self.tick_is_timer |= is_tick;
        let of_low_resolution = class == TimerClass::Hrtimer && !self.tick_is_timer;
        let life = self.timers.get(begin.timer).filter(|_| of_low_resolution);
        let armed_ns = life.map(|life| life.armed_ns);
        let cpu = &mut self.cpus[at];
        // What interrupts such a thread is none of its work, unless the thread was woken for this very timer.
        let mut is_for_timers = self.names.runs_timers(event.task) && cpu.runs_itself();
        if !is_for_timers
            && self.names.runs_timers(event.task)
            && cpu.is_pending(event.task, begin.timer, begin.soft_ns)
        {
            cpu.leaves_interrupts();
            is_for_timers = true;
        }
        let run_in = if begin.mode.is_in_thread() || is_for_timers {
            RunIn::TimerThread
        } else if cpu.in_task_context() && self.names.runs_softirqs(event.task, false) {
            RunIn::SoftirqThread
        } else {
            RunIn::Itself
        };
        cpu.expire_begin(event.time_ns, begin, owner, class, run_in, armed_ns);
        if cpu.may_have_hung()
            && let Some(life) = self.timers.get(begin.timer)
        {
            cpu.had_expired(begin.soft_ns.saturating_add(begin.slack_ns.into()), life.armed_ns);
        }
        if is_tick {
            cpu.ticks(begin.soft_ns);
        }
    }

    /// A timer that is due wakes its thread, and its begin was not recorded: it begins here.
    pub fn expires_unseen(&mut self, event: &Event, timer: TimerId, tables: &Tables) {
        let Some(begin) = self.timers.begin_of(timer) else { return };
        self.timers.expire(event, timer, tables);
        let owner = self.timers.owner(timer, tables);
        let class = tables.timer(timer).class;
        self.cpus[place_of(event.cpu)].expire_begin(
            event.time_ns,
            begin,
            owner,
            class,
            RunIn::Itself,
            None,
        );
    }

    fn switch(&mut self, event: &Event, at: usize, switch: &Switch) {
        self.visible.saw_switch(switch.preempted);
        let cpu = &mut self.cpus[at];
        // The task may have changed its policy while it ran: what was taken for its priority is corrected
        // as far back as no event said another.
        let prev_prio = self.names.prio(event.task, switch.prev_prio);
        let next_prio = self.names.prio(switch.next, switch.next_prio);
        // But not where the kernel changes it at will: what was told of it is right, for as long as it mattered.
        if !self.names.runs_timers(event.task) || self.prios.of(event.task).is_none() {
            cpu.had_prio(event.task, prev_prio);
        }
        self.prios.set(event.task, prev_prio);
        self.prios.set(switch.next, next_prio);
        let runnable = (switch.prev_state == TaskState::Running).then_some(prev_prio);
        if runnable.is_none() {
            cpu.sleeps(event.time_ns, event.task);
        }
        cpu.chooses(event.time_ns, runnable, next_prio);
        if self.visible.stolen() {
            // Whom a waking has it switch to at once: one of a higher class or priority than a task that ran.
            let preempts =
                event.task != TaskId::IDLE && next_prio.is_realtime() && next_prio < prev_prio;
            let known_ns = cpu.tells_stolen(preempts);
            self.cancels.told(at, known_ns);
        }
        if cpu.switch(event.time_ns, event.task, switch.next, next_prio) {
            // Only PREEMPT_RT leaves a softirq by a switch.
            self.names.softirqs_are_preempted();
        }
    }

    /// A task is woken, and a CPU's queue is to have it.
    fn wakes(&mut self, event: &Event, waking: Waking) {
        let on = place_of(waking.target_cpu);
        let Some(cpu) = self.cpus.get_mut(on) else { return };
        cpu.has_woken(event.time_ns, waking.target);
        if on != place_of(event.cpu) {
            cpu.is_woken_for(event.time_ns);
        }
    }

    /// A task goes to another CPU's queue, perhaps right when it is woken.
    fn migrates(&mut self, time_ns: u64, migrate: Migrate) {
        let from = self.cpus.get_mut(place_of(migrate.from));
        if from.is_some_and(|cpu| cpu.was_not_woken(time_ns, migrate.target))
            && let Some(cpu) = self.cpus.get_mut(place_of(migrate.to))
        {
            cpu.has_woken(time_ns, migrate.target);
        }
    }

    /// A callback took long. Whose timer it is may have waited for that on another CPU.
    #[inline(never)]
    fn ended_late(
        &mut self,
        at: usize,
        timer: TimerId,
        (begin_ns, end_ns): (u64, u64),
        tables: &Tables,
    ) {
        let task = self.timers.owner(timer, tables);
        if task == TaskId::IDLE || !self.timers.purpose(timer, tables).is_sleep() {
            return;
        }
        let others = self.cpus.iter().enumerate().filter(|(on, _)| *on != at);
        for (on, since_ns) in others.filter_map(|(on, cpu)| Some((on, cpu.runs_since(task)?))) {
            let from_ns = since_ns.max(begin_ns);
            self.cancels.add(Cancel { task, on, of: at, from_ns, to_ns: end_ns });
        }
    }

    /// So much was stolen from a CPU lately, and from who waited for it.
    fn stolen(&mut self, at: usize, ns: u64) {
        let Self { cpus, cancels, stolen, held_up, .. } = self;
        stolen.clear();
        cpus[at].stolen(ns, |from_ns, to_ns, sure| stolen.push((from_ns, to_ns, sure)));
        held_up.clear();
        for Cancel { task, on, from_ns, to_ns, .. } in cancels.of(at).copied() {
            for &(stolen_ns, until_ns, sure) in &*stolen {
                let (from_ns, to_ns) = (from_ns.max(stolen_ns), to_ns.min(until_ns));
                cpus[on].was_held_up(task, (from_ns, to_ns), sure, |from_ns, to_ns| {
                    held_up.push(HeldUp { task, cpu: CpuId(on as u16), from_ns, to_ns });
                });
            }
        }
    }

    /// From when to when the time was that was told last to have been stolen, as far as that is known.
    pub fn stolen_lately(&self) -> impl Iterator<Item = (u64, u64)> {
        self.stolen.iter().map(|(from_ns, to_ns, _)| (*from_ns, *to_ns))
    }

    /// Whom the time that was told last to have been stolen has held up on other CPUs.
    pub fn held_up(&self) -> &[HeldUp] {
        &self.held_up
    }

    /// Whether what a CPU did in a time may turn out to have been a hypervisor's, by what it or another CPU tells next.
    #[inline]
    pub fn awaits_stolen(&self, cpu: CpuId, from_ns: u64, to_ns: u64) -> bool {
        let on = place_of(cpu);
        self.cancels.awaits(on, from_ns, to_ns)
            || self.cpus.get(on).is_some_and(|cpu| cpu.awaits_stolen(from_ns, to_ns))
    }

    /// A boost, or its end.
    fn priority(&mut self, event: &Event, priority: &Priority) {
        let Priority { target, old, new, released } = *priority;
        // Of a release a source may not know the new priority; the next switch tells it.
        let prio = if released && new == old { Prio::UNKNOWN } else { new };
        self.prios.set(target, prio);
        for cpu in &mut self.cpus {
            cpu.reprioritise(event.time_ns, target, prio);
        }
    }

    fn ipi_sent(&mut self, event: &Event, send: &IpiSend, tables: &Tables) {
        // ARM tells the reason in words; x86 a function, but for what makes a CPU schedule.
        let calls = !matches!(
            tables.name(send.function),
            "" | "Rescheduling interrupts" | "IRQ work interrupts"
        );
        let ipi = Sent { time_ns: event.time_ns, by: event.task, function: send.function };
        let first = usize::from(send.first.0);
        for (at, cpu) in self.cpus.iter_mut().enumerate().skip(first).take(64) {
            if send.reaches(CpuId(at as u16)) {
                cpu.is_sent(ipi, calls);
            }
        }
    }

    /// What has been stolen from all CPUs; `None` where the stream does not tell.
    pub fn stolen_time(&self) -> Option<StolenTime> {
        let add = |sum: StolenTime, cpu: &Cpu| {
            let one = cpu.stolen_time();
            StolenTime {
                ns: sum.ns.saturating_add(one.ns),
                unsure_ns: sum.unsure_ns.saturating_add(one.unsure_ns),
                unplaced_ns: sum.unplaced_ns.saturating_add(one.unplaced_ns),
            }
        };
        self.visible.stolen().then(|| self.cpus.iter().fold(StolenTime::default(), add))
    }

    /// The priority at which a task runs, for who asks of the present.
    pub fn prio(&self, task: TaskId) -> Prio {
        self.prios.of(task).unwrap_or(Prio::UNKNOWN)
    }
}

/// Where a CPU is kept.
#[inline]
pub fn place_of(cpu: CpuId) -> usize {
    usize::from(cpu.0).min(CPUS_MAX - 1)
}
