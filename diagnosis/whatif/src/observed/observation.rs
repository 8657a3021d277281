//! Looks on while a recording is explained, and knows which event tells what.

use super::contexts::Above;
use super::costs::Measured;
use super::cpu::{CpuSeen, Woke};
use super::pace::Paces;
use super::recent::{As, Stretch};
use super::{Costs, Observed, Recorded, SEGMENTS_MAX, WAKEUPS_MAX, WAKING};
use crate::simulate::THROTTLED;
use tardy_explain::device::{DeviceFollower, Why};
use tardy_explain::{Activity, Named, Seen, Sink};
use tardy_followers::{Cpu, Purpose};
use tardy_model::event::{Switch, TaskInfo, TaskState, Waking, softirq};
use tardy_model::{CpuId, Culprit, Kind, Prio, Segment, TaskId, TimerId, WakeupKind};
use tardy_sim::{Arrival, Bandwidth, CPUS_MAX, GROUP_WEIGHTS, NO_THREAD};

/// Looks on while a recording is explained.
#[derive(Debug, Default)]
pub struct Observation {
    pub(super) observed: Observed,
    pub(super) cpus: Vec<CpuSeen>,
    devices: DeviceFollower,
}

/// An arrival that does nothing yet.
pub(super) const NOTHING: Arrival =
    Arrival { at_ns: 0, cpu: 0, device: 0, handler_ns: 0, softirq_ns: 0, wakes: NO_THREAD };

fn purpose(seen: &Seen<'_>, timer: TimerId) -> Purpose {
    Purpose::of(seen.tables.function(timer))
}

/// Whether a CPU other than the one of an event is interrupted where a thread comes to its queue: one that polls, or runs
/// something, sees it by itself or not at once.
fn is_interrupted(seen: &Seen<'_>, cpu: CpuId) -> bool {
    let sleeps = |cpu: &Cpu| matches!(cpu.activity(), Activity::Idle(_));
    cpu != seen.event.cpu && seen.followers.cpu(cpu).is_some_and(sleeps)
}

/// Whether a thread runs on any CPU.
fn runs(cpus: &[CpuSeen], task: TaskId) -> bool {
    cpus.iter().any(|cpu| matches!(cpu.activity, Activity::Task(other, _) if other == task))
}

pub(super) fn short(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

/// Segments by what the simulator tells apart: a CPU that slept is awake when its interrupt comes, however much longer than
/// its driver's table says that takes. A host that lets a halted CPU wait is such a state's way out too.
fn as_simulated(segments: &[Segment]) -> Box<[Segment]> {
    let mut exit: Option<Segment> = None;
    let of_exit = |segment: &Segment| match exit {
        Some(before)
            if segment.cause.0 == "irq_delay"
                && segment.culprit == Culprit::Nobody
                && before.start_ns + before.ns == segment.start_ns =>
        {
            Segment { cause: before.cause, culprit: before.culprit, ..*segment }
        }
        _ => {
            exit = (segment.cause.0 == "idle_exit").then_some(*segment);
            *segment
        }
    };
    segments.iter().take(SEGMENTS_MAX).map(of_exit).collect()
}

impl Observation {
    /// Nothing seen yet. Costs are taken from what comes before a time, where one is given.
    pub fn new(fit_until_ns: Option<u64>) -> Self {
        let mut observation = Self::default();
        observation.observed.costs = Costs::until(fit_until_ns);
        observation
    }

    /// Ends it.
    pub fn finish(mut self) -> Observed {
        for at in 0..self.cpus.len() {
            self.knows(at, u64::MAX);
        }
        let mut observed = self.observed;
        let begin_ns = observed.first_ns;
        let paces = observed.seen_paces.found();
        let runs = paces.factors_of_runs(observed.threads.iter().map(|thread| &thread.draft));
        for thread in &mut observed.threads {
            thread.draft.warms(&runs);
        }
        observed.completes_turns();
        for thread in &mut observed.threads {
            thread.draft.ends(begin_ns);
        }
        observed.thefts.sort_by_key(|theft| theft.at_ns);
        observed.costs.at_usual_pace(&paces, &runs);
        observed.paces = paces.changes();
        // The simulator makes an idle CPU wake up for an interrupt, so that it has to come before.
        for (place, state, slept) in std::mem::take(&mut observed.woke_up) {
            if let Some(arrival) = observed.arrivals.get_mut(place) {
                let exit_ns = observed.costs.usual_exit_ns(state, slept);
                arrival.at_ns = arrival.at_ns.saturating_sub(exit_ns);
            }
        }
        let usual_ns = observed.costs.usual_late_ns();
        observed.stalls.retain(|stall| stall.ns > usual_ns);
        observed.stalls.sort_by_key(|stall| stall.at_ns);
        observed
    }

    /// A CPU has left an idle state. Whether it goes on idling is not known yet: who polls looks up now and then.
    fn wakes_up(&mut self, at: usize, now_ns: u64, before: Activity) {
        if let Activity::Idle(_) | Activity::Polling(_) = before {
            let cpu = &mut self.cpus[at];
            cpu.idled = cpu.idle_state.map(|state| (state, now_ns));
        }
    }

    /// It goes on to something else: how long it has idled, and in which state it was in the end.
    fn idle_ends(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        if let Some((state, until_ns)) = cpu.idled.take() {
            let since_ns = cpu.idles_since_ns;
            let when = Paces::when(at as u16, since_ns.saturating_sub(self.observed.first_ns));
            self.observed.costs.idled(when, state, until_ns.saturating_sub(since_ns));
        }
    }

    /// What has passed on a CPU since its last event belongs to what it did.
    fn accounts(&mut self, at: usize, now_ns: u64) {
        let cpu = &mut self.cpus[at];
        let from_ns = std::mem::replace(&mut cpu.since_ns, now_ns);
        let ns = now_ns.saturating_sub(from_ns);
        let thread = match cpu.activity {
            Activity::Task(task, _) | Activity::InjectedIdle(_, _, task, _)
                if cpu.contexts.is_empty() =>
            {
                task
            }
            Activity::ThreadedSoftirq(_, task, _) | Activity::ThreadedExpiry(_, _, _, task, _) => {
                let vector = match cpu.activity {
                    Activity::ThreadedSoftirq(vector, ..) => Some(vector.into()),
                    Activity::ThreadedExpiry(run_by, ..) => run_by.vector(),
                    _ => None,
                };
                // Timers that a thread serves on its way are those of the simulator's own threads.
                let place = self.observed.place(task);
                let thread = self.observed.threads.get(place as usize);
                let serves = thread.is_none_or(|thread| thread.info.has(TaskInfo::KERNEL));
                if vector == Some(softirq::HRTIMER) && !serves {
                    return;
                }
                if let Some(threaded) = cpu.threaded.as_mut().filter(|it| it.task == task) {
                    threaded.ns += ns;
                }
                task
            }
            _ => {
                if let Some(open) = cpu.contexts.last() {
                    open.ns += ns;
                }
                return;
            }
        };
        let place = self.observed.place(thread);
        if let Some(thread) = self.observed.threads.get_mut(place as usize) {
            thread.draft.ran(ns, self.cpus[at].cold_at(from_ns));
            self.takes_for(at, As::Run(place), from_ns, now_ns);
        }
    }

    /// A stretch of a CPU's time is taken for something, as long as nobody says that it was stolen.
    pub(super) fn takes_for(&mut self, at: usize, taken: As, from_ns: u64, to_ns: u64) {
        let cold = self.cpus[at].cold_at(from_ns);
        let known = self.cpus[at].recent.add(Stretch { from_ns, to_ns, taken, cold });
        for stretch in known {
            self.observed.measures(at as u16, stretch);
        }
    }

    pub(super) fn measured(&mut self, at: usize, what: Measured, from_ns: u64, to_ns: u64) {
        self.takes_for(at, As::Work(what), from_ns, to_ns);
    }

    /// All that was stolen up to a time has been told.
    fn knows(&mut self, at: usize, told_ns: u64) {
        for stretch in self.cpus[at].recent.drain(told_ns) {
            self.observed.measures(at as u16, stretch);
        }
    }

    fn waking(&mut self, seen: &Seen<'_>, at: usize, waking: Waking) {
        let Waking { target, target_cpu, prio } = waking;
        let now_ns = seen.event.time_ns;
        let first_ns = self.observed.first_ns;
        let Some(follower) = seen.followers.cpu(seen.event.cpu) else { return };
        self.cpus[at].woke = Some((now_ns, target));
        self.calls(seen, target_cpu, (now_ns, target));
        if let Some(timer) = &mut self.cpus[at].timer {
            timer.waking_ns = now_ns;
            timer.wakes_fair = prio >= Prio::FAIR_FIRST;
            timer.wakes = target;
            timer.sends = is_interrupted(seen, target_cpu);
        }
        let expiry = follower.expiry().filter(|expiry| {
            expiry.owner == target && purpose(seen, expiry.timer) == Purpose::Sleeper
        });
        if let Some(expiry) = expiry {
            if self.cpus[at].timer.is_none() {
                self.cpus[at].soft_woke = Some((now_ns, 0));
            }
            if let Some(thread) = self.observed.thread(target) {
                thread.draft.timer_wakes(expiry.soft_ns, first_ns);
            }
            return;
        }
        let woken = self.observed.place(target);
        let Some(thread) = self.observed.threads.get_mut(woken as usize) else { return };
        // Where an interrupt comes while another expiry is recorded, its own events are missing: the kernel runs no
        // program inside itself. Whose timer is due is woken by it.
        if let Some(soft_ns) = thread.draft.is_due(now_ns) {
            return thread.draft.timer_wakes(soft_ns, first_ns);
        }
        if !thread.draft.other_wakes() {
            return;
        }
        let by = match follower.activity() {
            Activity::Task(task, _)
            | Activity::InjectedIdle(_, _, task, _)
            | Activity::ThreadedSoftirq(_, task, _) => Some(task),
            _ => None,
        };
        if let Some(waker) = by.filter(|by| *by != TaskId::IDLE) {
            let by = self.observed.place(waker);
            if let Some(waker) = self.observed.threads.get_mut(by as usize) {
                waker.draft.wakes(now_ns.saturating_sub(first_ns), woken);
                self.observed.asks(by, woken);
                return;
            }
        }
        self.woken_by_the_clock(at, now_ns, woken);
    }

    /// A thread is being woken for a CPU, since a time.
    fn calls(&mut self, seen: &Seen<'_>, on: CpuId, call: (u64, TaskId)) {
        if is_interrupted(seen, on)
            && let Some(cpu) = self.cpus.get_mut(usize::from(on.0))
        {
            cpu.called.get_or_insert(call);
        }
    }

    fn woken_by_the_clock(&mut self, at: usize, now_ns: u64, woken: u32) {
        let device = self.observed.source(WAKING, None);
        self.observed.arrives(at, now_ns, Arrival { device, wakes: woken, ..NOTHING });
    }

    /// A new thread: it begins by the clock, however long its maker takes in a changed system.
    fn begins(&mut self, at: usize, now_ns: u64, target: TaskId) {
        let woken = self.observed.place(target);
        let Some(thread) = self.observed.threads.get_mut(woken as usize) else { return };
        if thread.draft.is_born() {
            self.woken_by_the_clock(at, now_ns, woken);
        }
    }

    fn switch(&mut self, seen: &Seen<'_>, at: usize, switch: Switch) {
        let now_ns = seen.event.time_ns;
        self.observed.switches += 1;
        let prev = seen.event.task;
        let cpu = &mut self.cpus[at];
        cpu.contexts.clear();
        cpu.timer = None;
        cpu.soft_woke = None;
        cpu.called = None;
        let has_idled = cpu.entered_ns.take().is_some();
        let restarts_tick = std::mem::take(&mut cpu.restarts_tick);
        let idled_ns = now_ns.saturating_sub(cpu.idles_since_ns);
        // One that polls keeps its tick whatever comes.
        let polls = |state| self.observed.costs.polls(state);
        if has_idled && cpu.left_at_ns.is_some() && !cpu.idle_state.is_none_or(polls) {
            let when = Paces::when(at as u16, now_ns.saturating_sub(self.observed.first_ns));
            self.observed.costs.idled_beside_tick(when, restarts_tick, idled_ns);
        }
        let fair =
            |task: TaskId, prio: Prio| u8::from(task != TaskId::IDLE && prio >= Prio::FAIR_FIRST);
        let fair = fair(prev, switch.prev_prio) + fair(switch.next, switch.next_prio);
        if let Some(left_ns) = cpu.left_at_ns.take()
            && (prev == TaskId::IDLE || switch.preempted)
        {
            let what = if restarts_tick { Measured::SwitchWithTick } else { Measured::Switch };
            self.measured(at, what(fair), left_ns, now_ns);
            if prev != TaskId::IDLE {
                let held = self.observed.place(prev);
                self.measured(at, Measured::Preempt(held), left_ns, now_ns);
            }
        }
        if switch.prev_state != TaskState::Running {
            let place = self.observed.place(prev);
            if let Some(thread) = self.observed.threads.get_mut(place as usize) {
                thread.draft.sleeps(switch.prev_state);
                thread.draft.gives_away(fair);
                if thread.draft.rests() {
                    self.observed.rests(now_ns, place, |task| runs(&self.cpus, task));
                }
            }
        }
        self.cpus[at].got_cpu_ns = (switch.next != TaskId::IDLE).then_some(now_ns);
        if let Some(thread) = self.observed.thread(switch.next) {
            thread.draft.comes_to_run(at as u16, switch.next_prio);
        }
    }

    fn callback_begins(&mut self, seen: &Seen<'_>, at: usize) {
        let now_ns = seen.event.time_ns;
        let Some(follower) = seen.followers.cpu(seen.event.cpu) else { return };
        let Some(expiry) = follower.expiry() else { return };
        self.observed.expiries += 1;
        let interrupted = self.cpus[at].contexts.has_interrupt();
        self.observed.expiries_in_interrupts += u64::from(interrupted);
        let purpose = purpose(seen, expiry.timer);
        if purpose == Purpose::Tick {
            self.observed.ticks += 1;
            self.observed.tick_ns = expiry.soft_ns;
        }
        if purpose == Purpose::Sleeper {
            let first_ns = self.observed.first_ns;
            if let Some(thread) = self.observed.thread(expiry.owner) {
                thread.draft.expires(expiry.soft_ns, first_ns);
            }
        }
        let prio = seen.followers.prio(expiry.owner);
        if purpose == Purpose::Sleeper && prio.is_known() && prio >= Prio::FAIR_FIRST {
            let in_interrupt = matches!(follower.activity(), Activity::Expiry(..));
            self.observed.fair_sleepers[usize::from(in_interrupt)] += 1;
        }
        let simulated = matches!(purpose, Purpose::Sleeper | Purpose::Tick);
        let what = if simulated { Above::SimulatedCallback } else { Above::Callback };
        let cpu = &mut self.cpus[at];
        cpu.contexts.begins(what, now_ns, false);
        let last_end_ns = cpu.last_end_ns;
        let soft_woke = cpu.soft_woke.take();
        let softirq_since_ns = cpu.softirq_since_ns.take();
        let Some(timer) = &mut cpu.timer else {
            if let Some(since_ns) = softirq_since_ns {
                self.measured(at, Measured::TimerSoftirqEntry, since_ns, now_ns);
            }
            if let Some((waking_ns, end_ns)) = soft_woke.filter(|woke| woke.1 > 0) {
                self.measured(at, Measured::SoftirqWakeup, waking_ns, now_ns);
                self.measured(at, Measured::QueueOperation, end_ns, now_ns);
            }
            return;
        };
        timer.callbacks += 1;
        timer.callback_begin_ns = now_ns;
        timer.waking_ns = 0;
        let woke = timer.woke.take();
        let timer = *timer;
        if timer.callbacks > 1 {
            let end_ns = timer.callback_end_ns;
            if let Some((woke, waking_ns)) = woke {
                let what = match woke {
                    Woke::Here(is_fair) => Measured::Wakeup(is_fair),
                    Woke::ForAnother => Measured::RemoteWakeup,
                };
                self.measured(at, what, waking_ns, end_ns);
            }
            if end_ns > 0 {
                self.measured(at, Measured::QueueOperation, end_ns, now_ns);
            }
            return;
        }
        self.measured(at, Measured::IrqEntry, timer.begin_ns, now_ns);
        let due_ns = expiry.soft_ns + u64::from(expiry.slack_ns);
        let armed = seen.followers.timers.get(expiry.timer);
        let was_armed = armed.is_some_and(|life| life.armed_ns > 0 && life.armed_ns < due_ns);
        // What was due while another interrupt ran came late for that.
        // Nor does the device have to do with what the kernel put off.
        let was_put_off = follower.put_off_since(due_ns).next().is_some();
        if !was_armed || was_put_off || due_ns < last_end_ns || timer.begin_ns < due_ns {
            return;
        }
        let (what, from_ns) = match (timer.was_idle, timer.was_task) {
            (Some((state, _)), _) if self.observed.costs.polls(state) => {
                (Measured::PollLate(at as u16), due_ns)
            }
            // On the way into a state no interrupt is taken.
            (Some((state, entered_ns)), _) => {
                let from_ns = due_ns.max(entered_ns);
                (Measured::IdleExit(state, self.cpus[at].slept(from_ns)), from_ns)
            }
            // What a thread does with interrupts off, as switches and timers that it arms, is simulated.
            (None, Some(task)) if timer.silent_since_ns <= due_ns => {
                (Measured::DeviceLate(self.observed.place(task)), due_ns)
            }
            (None, _) => return,
        };
        self.measured(at, what, from_ns, timer.begin_ns);
    }

    fn callback_ends(&mut self, seen: &Seen<'_>, at: usize, timer: TimerId) {
        let now_ns = seen.event.time_ns;
        let is_callback =
            |above: Above| matches!(above, Above::Callback | Above::SimulatedCallback);
        let cpu = &mut self.cpus[at];
        if let Some((_, end_ns)) = &mut cpu.soft_woke {
            *end_ns = now_ns;
        }
        let open = cpu.contexts.ends(is_callback);
        let in_softirq =
            cpu.contexts.last().is_some_and(|open| matches!(open.what, Above::Softirq(_)));
        let purpose = purpose(seen, timer);
        if let Some(irq) = &mut cpu.timer
            && irq.callback_begin_ns > 0
        {
            let (begin_ns, waking_ns) = (irq.callback_begin_ns, irq.waking_ns);
            irq.callback_end_ns = now_ns;
            if purpose == Purpose::Tick {
                self.measured(at, Measured::Tick, begin_ns, now_ns);
            } else if purpose == Purpose::Sleeper && waking_ns > 0 {
                let woke = if irq.sends { Woke::ForAnother } else { Woke::Here(irq.wakes_fair) };
                irq.woke = Some((woke, waking_ns));
                self.measured(at, Measured::Callback, begin_ns, waking_ns);
            }
        }
        let Some(open) = open.filter(|open| open.what == Above::Callback) else { return };
        if in_softirq {
            if let Some(softirq) = self.cpus[at].contexts.last() {
                softirq.ns += open.ns;
            }
            return;
        }
        let device = self.observed.source(seen.tables.function(timer), None);
        let arrival = Arrival { device, handler_ns: short(open.ns), ..NOTHING };
        self.came(at, open.since_ns, arrival, As::Interrupt, (open.since_ns, now_ns));
    }

    /// Some of what has passed was stolen, and is nobody's work.
    fn stolen(&mut self, seen: &Seen<'_>, at: usize) {
        let Self { cpus, observed, .. } = self;
        for (from_ns, to_ns) in seen.followers.stolen_lately() {
            // More of the rest may be told at the next switch.
            cpus[at].recent.retain(|stretch| {
                let ns = stretch.within_ns(from_ns, to_ns);
                ns == 0 || observed.is_robbed(stretch.taken, ns)
            });
            observed.is_stolen(at as u16, from_ns, to_ns);
        }
        // Nor did who waited for what that CPU was at.
        for held in seen.followers.held_up() {
            observed.is_stolen(held.cpu.0, held.from_ns, held.to_ns);
            if let Some(thread) = observed.thread(held.task) {
                thread.draft.was_robbed(held.to_ns - held.from_ns);
            }
        }
    }
}

impl Sink for Observation {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let at = self.observed.place(wakeup.task);
        let Some(thread) = self.observed.threads.get_mut(at as usize) else { return };
        thread.is_victim = true;
        let counts = match wakeup.kind {
            WakeupKind::Timer => true,
            WakeupKind::Task | WakeupKind::Irq | WakeupKind::Softirq => !thread.draft.marks,
            WakeupKind::Preempted => {
                let is_throttled = wakeup.segments.iter().any(|it| it.cause.0 == THROTTLED);
                is_throttled && !thread.draft.marks
            }
            _ => false,
        };
        if !counts || wakeup.touched_by_loss {
            self.observed.uncounted += 1;
            self.observed.near_missing += u64::from(counts);
            return;
        }
        if self.observed.wakeups.len() >= WAKEUPS_MAX {
            return self.observed.reached("wakeups");
        }
        self.observed.wakeups.push(Recorded {
            expiry_ns: wakeup.expiry_ns,
            lateness_ns: wakeup.lateness_ns,
            segments: as_simulated(&wakeup.segments),
        });
    }

    fn event(&mut self, seen: &Seen<'_>) {
        let event = seen.event;
        let now_ns = event.time_ns;
        let observed = &mut self.observed;
        observed.events += 1;
        if observed.first_ns == 0 {
            observed.first_ns = now_ns;
        }
        observed.last_ns = observed.last_ns.max(now_ns);
        observed.costs.passes(now_ns);
        match seen.kind {
            Kind::TaskName(name) => {
                if let Some(thread) = observed.thread(event.task) {
                    thread.comm = name.comm;
                }
                return;
            }
            Kind::TaskInfo(info) => {
                if let Some(thread) = observed.thread(event.task) {
                    thread.info = *info;
                }
                return;
            }
            Kind::TaskGroup(group) => {
                let path = seen.tables.name(group.path);
                // One that ended before anybody could look has none.
                if let Some(thread) = observed.thread(event.task)
                    && !path.is_empty()
                {
                    thread.group = Some(path.into());
                }
                return;
            }
            Kind::TaskCpus(task) => {
                if let Some(thread) = observed.thread(event.task) {
                    thread.allowed = Some(task.cpus);
                }
                return;
            }
            Kind::GroupBandwidth(group) => {
                if let Some(known) = observed.group(seen.tables.name(group.path)) {
                    let (runtime_ns, period_ns) = (group.quota_ns, group.period_ns.into());
                    let limits = runtime_ns > 0 && period_ns > 0;
                    known.bandwidth = limits.then_some(Bandwidth { runtime_ns, period_ns });
                }
                return;
            }
            Kind::GroupWeight(group) => {
                if let Some(known) = observed.group(seen.tables.name(group.path)) {
                    known.weight =
                        Some(group.weight.clamp(*GROUP_WEIGHTS.start(), *GROUP_WEIGHTS.end()));
                }
                return;
            }
            Kind::IdleState(state) => {
                let name = seen.tables.name(state.name);
                return observed.costs.knows_state(state.state, name, state.exit_latency_ns);
            }
            Kind::Loss(loss) => {
                // From here on it is not known which timers are armed.
                self.devices.event(seen, &mut |_| {});
                observed.losses += loss.at_least();
                if let Some(cpu) = self.cpus.get_mut(usize::from(event.cpu.0)) {
                    cpu.loses(loss.since_ns, now_ns);
                }
                return;
            }
            kind if !Kind::speaks_of_current(kind.tag()) && !matches!(kind, Kind::Mark(_)) => {
                return;
            }
            _ => {}
        }
        let at = usize::from(event.cpu.0);
        if event.cpu == CpuId::UNKNOWN || at >= usize::from(CPUS_MAX) {
            return observed.reached("CPUs");
        }
        observed.cpus = observed.cpus.max(event.cpu.0 + 1);
        if at >= self.cpus.len() {
            self.cpus.resize_with(at + 1, CpuSeen::default);
        }
        let since_ns = if self.cpus[at].since_ns == 0 { now_ns } else { self.cpus[at].since_ns };
        self.cpus[at].since_ns = since_ns;
        let before = self.cpus[at].activity;
        self.accounts(at, now_ns);
        self.takes(seen, at, before, since_ns);
        let follower = seen.followers.cpu(event.cpu);
        self.cpus[at].activity = follower.map_or(Activity::Unknown, Cpu::activity);
    }
}

impl Observation {
    /// Forgets what counts only until something comes, unless this comes beside it: a switch, a section, stolen time, or the
    /// tick that the idle task starts again on its way out.
    fn comes_beside(&mut self, seen: &Seen<'_>, at: usize, before: Activity) {
        let tells_more =
            matches!(seen.kind, Kind::SectionBegin(_) | Kind::SectionEnd(_) | Kind::Stolen(_));
        let is_beside = tells_more || matches!(seen.kind, Kind::Switch(_));
        let is_of_tick = |timer| before.may_idle() && purpose(seen, timer) == Purpose::Tick;
        let (ticks, restarts_tick) = match *seen.kind {
            Kind::TimerArm(arm) => (is_of_tick(arm.timer), true),
            Kind::TimerCancel(cancel) => (is_of_tick(cancel.timer), false),
            _ => (false, false),
        };
        let cpu = &mut self.cpus[at];
        if ticks {
            cpu.restarts_tick |= restarts_tick && cpu.left_at_ns.is_some();
        } else if !is_beside {
            (cpu.left_at_ns, cpu.restarts_tick) = (None, false);
        }
        if !tells_more {
            cpu.armed = None;
        }
        if !tells_more && !matches!(seen.kind, Kind::SoftirqBegin(_) | Kind::ExpireBegin(_)) {
            (cpu.got_cpu_ns, cpu.softirq_since_ns) = (None, None);
        }
        // Whom it woke, another CPU gets right then or not at all.
        if !tells_more && !matches!(seen.kind, Kind::Migrate(_) | Kind::Stack(_)) {
            cpu.woke = None;
        }
    }

    fn takes(&mut self, seen: &Seen<'_>, at: usize, before: Activity, since_ns: u64) {
        let (event, now_ns) = (seen.event, seen.event.time_ns);
        let left = self.cpus[at].left_at_ns;
        let armed = self.cpus[at].armed;
        let mut programs = false;
        self.devices.event(seen, &mut |programming| {
            programs |= matches!(programming.why, Why::Armed | Why::Moved);
        });
        self.comes_beside(seen, at, before);
        match *seen.kind {
            Kind::TimerArm(arm) => {
                let sleeps = purpose(seen, arm.timer) == Purpose::Sleeper;
                let first_ns = self.observed.first_ns;
                if seen.followed.in_task
                    && sleeps
                    && let Some(thread) = self.observed.thread(event.task)
                {
                    thread.draft.arms(now_ns, &arm, first_ns);
                    if self.devices.is_followed(event.cpu) {
                        self.cpus[at].armed = Some((now_ns, programs));
                    }
                }
            }
            Kind::TimerCancel(_) if seen.followed.in_task => {
                if let Some(thread) = self.observed.thread(event.task) {
                    thread.draft.disarms();
                }
            }
            Kind::ExpireBegin(_) => self.callback_begins(seen, at),
            Kind::ExpireEnd(end) => self.callback_ends(seen, at, end.timer),
            Kind::IrqBegin(begin) => {
                self.wakes_up(at, now_ns, before);
                self.idle_ends(at);
                self.irq_begins(at, now_ns, since_ns, begin.irq, before);
            }
            Kind::IrqEnd(end) => self.irq_ends(seen, at, end.irq),
            Kind::SoftirqRaise(raise) => self.softirq_raised(at, raise.vector),
            Kind::SoftirqBegin(begin) => self.softirq_begins(seen, at, begin.vector, left),
            Kind::SoftirqEnd(end) => self.softirq_ends(at, now_ns, end.vector),
            Kind::Waking(waking) => self.waking(seen, at, waking),
            Kind::Migrate(migrate) => {
                if let Some(from) = self.cpus.get_mut(usize::from(migrate.from.0))
                    && let Some(call) = from.called.take_if(|call| call.1 == migrate.target)
                {
                    self.calls(seen, migrate.to, call);
                }
                // It is woken for another CPU than the one on which it slept.
                if let Some(call) = self.cpus[at].woke.take_if(|woke| woke.1 == migrate.target) {
                    self.calls(seen, migrate.to, call);
                }
                if let Some(timer) = &mut self.cpus[at].timer
                    && timer.waking_ns > 0
                    && timer.wakes == migrate.target
                {
                    timer.sends = is_interrupted(seen, migrate.to);
                }
            }
            Kind::WokenNew(new) => {
                self.observed.begun_by(new.target, event.task);
                self.begins(at, now_ns, new.target);
            }
            Kind::Switch(switch) => {
                let cpu = seen.followers.cpu(seen.event.cpu);
                self.knows(at, cpu.map_or(u64::MAX, Cpu::stolen_is_told_ns));
                self.idle_ends(at);
                self.cpus[at].left_at_ns = left;
                if let Some((armed_ns, programmed)) = armed
                    && switch.prev_state != TaskState::Running
                {
                    self.measured(at, Measured::Arm(programmed), armed_ns, now_ns);
                }
                self.switch(seen, at, switch);
            }
            Kind::IdleEnter(enter) => {
                if matches!(before, Activity::Idle(_)) {
                    self.measured(at, Measured::IdleEntry, since_ns, now_ns);
                }
                self.cpus[at].idle_state = Some(enter.state);
                self.cpus[at].falls_asleep(now_ns, enter.polls);
                if self.cpus[at].idled.take().is_none() {
                    self.cpus[at].idles_since_ns = now_ns;
                }
                if enter.polls {
                    self.observed.costs.polls_in(enter.state);
                }
            }
            Kind::IdleExit(_) => {
                self.cpus[at].is_awake(now_ns);
                // The interrupt that wakes it may come only now, where states are left with interrupts off.
                self.is_called(at, now_ns, before);
                self.wakes_up(at, now_ns, before);
                self.cpus[at].left_at_ns = Some(now_ns);
                self.cpus[at].contexts.clear();
            }
            Kind::Mark(_) => {
                if let Some(thread) = self.observed.thread(event.task) {
                    thread.draft.is_back();
                }
            }
            Kind::Stolen(_) => self.stolen(seen, at),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{Cause, NameId};

    #[test]
    fn what_comes_behind_an_idle_exit_without_a_reason_is_part_of_it() {
        let segment = |cause, culprit, start_ns, ns| Segment {
            cause: Cause(cause),
            culprit,
            start_ns,
            ns,
            stretch: 0,
            stack: NameId::NONE,
        };
        let state = Culprit::IdleState(1);
        let seen = [
            segment("irq_delay", Culprit::Nobody, 0, 10),
            segment("idle_exit", state, 10, 5),
            segment("irq_delay", Culprit::Nobody, 15, 20),
            segment("irq_delay", Culprit::ClockEventDevice, 35, 5),
            segment("irq_delay", Culprit::Nobody, 40, 5),
        ];
        let taken = as_simulated(&seen);
        let causes: Vec<&str> = taken.iter().map(|segment| segment.cause.0).collect();
        assert_eq!(causes, ["irq_delay", "idle_exit", "idle_exit", "irq_delay", "irq_delay"]);
        assert_eq!((taken[2].culprit, taken[2].ns), (state, 20));
    }
}
