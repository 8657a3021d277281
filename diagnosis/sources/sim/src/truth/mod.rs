//! The account of the truth: why each wakeup was late, by the simulator's own state.
//!
//! It says in the explainer's words what the explainer has to find out from events, and shares no code with it.
//! What a wakeup went through is known as it happens ([`Waker`], [`Fired`](crate::Fired)); what CPUs did
//! meanwhile is kept as they did it. `judge.rs` says what each stretch of it counts as.

mod judge;

use crate::System;
use crate::engine::names;
use crate::observer::{Doing, Observer, State, ThreadAt, Throttle, Waker};
use judge::{Names, Phase};
use std::collections::VecDeque;
use tardy_model::{CpuId, Culprit, Prio, TaskId};

/// Changes of state that are kept of each CPU. A wakeup that reaches further back is marked as cut.
const HISTORY_MAX: usize = 1 << 16;

/// Changes of what a thread does that are kept, to tell what kept it from arming its timer. A wakeup that reaches
/// further back is marked as cut.
const STANDINGS_MAX: usize = 1 << 12;

/// What woke a thread, or what else its lateness counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its timer: from that one's soft expiry.
    Timer,
    /// Anything else: from the waking.
    Other,
    /// It lost the CPU: from then.
    Preempted,
}

/// The ids of a system's threads, in the order of the workload's, the kernel's own behind them.
pub fn tasks(system: &System) -> impl Iterator<Item = TaskId> {
    names(system).into_iter().map(|(task, ..)| task)
}

/// A stretch of a lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub ns: u64,
    /// Why the thread did not run.
    pub cause: &'static str,
    /// Who it was.
    pub culprit: Culprit,
}

/// What is true of a wakeup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Who.
    pub task: TaskId,
    /// Where it came to run.
    pub cpu: CpuId,
    /// What it counts from.
    pub kind: Kind,
    /// From when.
    pub expiry_ns: u64,
    /// How late it ran.
    pub lateness_ns: u64,
    /// Consecutive; they sum to the lateness.
    pub segments: Vec<Segment>,
    /// Part of it lies further back than is kept.
    pub is_cut: bool,
}

/// A wakeup that is on its way.
#[derive(Clone, Debug)]
struct Journey {
    kind: Kind,
    by: Option<Waker>,
    woken_ns: u64,
    /// On whose queues it was since when, and at which priority.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    since_ns: u64,
    cpu: u16,
    prio: Prio,
    /// The waker is still looking for a CPU.
    is_placing: bool,
    /// It may not run.
    throttled: Option<Throttle>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Standing {
    Runs,
    /// It could run, at that priority, and may not where it is throttled.
    Waits(Prio, Option<Throttle>),
    Sleeps,
}

/// Keeps the account.
#[derive(Debug)]
pub struct Account {
    names: Names,
    history: Vec<VecDeque<(u64, State)>>,
    /// What each thread does from when on, and on which CPU.
    standings: Vec<VecDeque<(u64, Standing, u16)>>,
    dropped_ns: u64,
    /// Whose account it is.
    is_wanted: Vec<bool>,
    /// Whose account ends when they are back in user space.
    is_to_user_space: Vec<bool>,
    journeys: Vec<Option<Journey>>,
    told: Vec<Truth>,
}

impl Account {
    /// Of all threads of a system that has not begun.
    pub fn new(system: &System) -> Self {
        Self::of(system, |_| true)
    }

    /// Of some threads alone. Where hundreds wait for each other, the account of all costs their number times what
    /// each waits through.
    pub fn of(system: &System, is_wanted: impl Fn(ThreadAt) -> bool) -> Self {
        let tasks: Vec<TaskId> = tasks(system).collect();
        let own = system.workload.threads.len() as u32;
        Self {
            history: vec![VecDeque::new(); usize::from(system.machine.cpus)],
            standings: vec![VecDeque::new(); tasks.len()],
            dropped_ns: 0,
            is_wanted: (0..tasks.len()).map(|thread| is_wanted(thread as ThreadAt)).collect(),
            is_to_user_space: vec![false; tasks.len()],
            journeys: vec![None; tasks.len()],
            names: Names { tasks, own, tells_sections: system.kernel.tells_sections },
            told: Vec::new(),
        }
    }

    /// Of these threads it goes on until they are back in user space ([`Observer::late`]); a wakeup that never gets
    /// there is in no account.
    #[must_use]
    pub fn to_user_space(mut self, who: impl Fn(ThreadAt) -> bool) -> Self {
        for (thread, is) in self.is_to_user_space.iter_mut().enumerate() {
            *is = who(thread as ThreadAt);
        }
        self
    }

    /// What has ended since it was asked last, in the order of ending.
    pub fn take(&mut self) -> Vec<Truth> {
        std::mem::take(&mut self.told)
    }

    fn begin(&mut self, thread: ThreadAt, journey: impl FnOnce() -> Journey) {
        if self.is_wanted[thread as usize] {
            self.journeys[thread as usize] = Some(journey());
        }
    }

    fn end(&mut self, now_ns: u64, thread: ThreadAt) {
        if let Some(journey) = self.journeys[thread as usize].take() {
            self.close(now_ns, thread, &journey);
        }
    }

    fn close(&mut self, now_ns: u64, thread: ThreadAt, journey: &Journey) {
        let phases = phases(journey);
        let Some(expiry_ns) = phases.first().map(|(start_ns, ..)| *start_ns) else { return };
        let mut segments: Vec<Segment> = Vec::new();
        let mut is_cut = expiry_ns < self.dropped_ns;
        let mut adds = |(from_ns, to_ns): (u64, u64), (cause, culprit): (&'static str, Culprit)| {
            let ns = to_ns - from_ns;
            match segments.last_mut() {
                Some(last) if (last.cause, last.culprit) == (cause, culprit) => last.ns += ns,
                _ => segments.push(Segment { start_ns: from_ns, ns, cause, culprit }),
            }
        };
        for (at, (start_ns, phase, cpu)) in phases.iter().enumerate() {
            let end_ns = phases.get(at + 1).map_or(now_ns, |next| next.0);
            let mut judges = |by: Option<Waker>, phase: Phase, cpu: u16, (from_ns, to_ns)| {
                self.between(usize::from(cpu), from_ns, to_ns, |from_ns, to_ns, state| {
                    adds((from_ns, to_ns), self.names.judge(thread, by, phase, state));
                });
            };
            if *phase == Phase::Unarmed {
                // What happened then was for the wakeup before.
                let judges = |phase, cpu, part_ns| judges(None, phase, cpu, part_ns);
                self.stood(thread, *start_ns, end_ns, judges);
                is_cut |= self.has_forgotten(thread, *start_ns);
            } else {
                judges(journey.by, *phase, *cpu, (*start_ns, end_ns));
            }
        }
        self.told.push(Truth {
            task: self.names.tasks[thread as usize],
            cpu: journey.places.last().map_or(CpuId::UNKNOWN, |place| CpuId(place.cpu)),
            kind: journey.kind,
            expiry_ns,
            lateness_ns: now_ns - expiry_ns,
            segments,
            is_cut,
        });
    }

    /// What a thread did between two times, as a phase of the wakeup that it was to ask for, and on which CPU; in order.
    fn stood(
        &self,
        thread: ThreadAt,
        from_ns: u64,
        to_ns: u64,
        mut part: impl FnMut(Phase, u16, (u64, u64)),
    ) {
        let all = &self.standings[thread as usize];
        let before = all.partition_point(|(since_ns, ..)| *since_ns <= from_ns);
        let since = all.iter().enumerate().skip(before.saturating_sub(1));
        for (at, (since_ns, standing, cpu)) in since.take_while(|(_, since)| since.0 < to_ns) {
            let until_ns = all.get(at + 1).map_or(to_ns, |next| next.0.min(to_ns));
            let since_ns = (*since_ns).max(from_ns);
            if since_ns < until_ns {
                let phase = match *standing {
                    Standing::Runs => Phase::Unarmed,
                    Standing::Sleeps => Phase::Overslept,
                    Standing::Waits(_, Some(by)) => Phase::Throttled(by),
                    Standing::Waits(prio, None) => Phase::Runnable(prio),
                };
                part(phase, *cpu, (since_ns, until_ns));
            }
        }
    }

    /// Whether what a thread did at a time is not kept any more.
    fn has_forgotten(&self, thread: ThreadAt, ns: u64) -> bool {
        let all = &self.standings[thread as usize];
        all.len() == STANDINGS_MAX && all.front().is_some_and(|(since_ns, ..)| *since_ns > ns)
    }

    /// A thread that waits does so in another way from now on.
    fn waits(
        &mut self,
        now_ns: u64,
        thread: ThreadAt,
        change: impl FnOnce(&mut Prio, &mut Option<Throttle>, &mut u16),
    ) {
        let last = self.standings[thread as usize].back().copied();
        if let Some((_, Standing::Waits(mut prio, mut throttled), mut cpu)) = last {
            change(&mut prio, &mut throttled, &mut cpu);
            self.stands(now_ns, thread, Standing::Waits(prio, throttled), cpu);
        }
    }

    fn stands(&mut self, now_ns: u64, thread: ThreadAt, standing: Standing, cpu: u16) {
        if self.is_wanted[thread as usize] {
            let all = &mut self.standings[thread as usize];
            if all.len() == STANDINGS_MAX {
                all.pop_front();
            }
            all.push_back((now_ns, standing, cpu));
        }
    }

    /// What a CPU did between two times, in order.
    fn between(
        &self,
        cpu: usize,
        from_ns: u64,
        to_ns: u64,
        mut piece: impl FnMut(u64, u64, State),
    ) {
        let history = &self.history[cpu];
        let after = history.partition_point(|(start_ns, _)| *start_ns <= from_ns);
        let mut at_ns = from_ns;
        for at in after.saturating_sub(1)..history.len() {
            if at_ns >= to_ns {
                return;
            }
            let end_ns = history.get(at + 1).map_or(to_ns, |(start_ns, _)| to_ns.min(*start_ns));
            if end_ns > at_ns {
                piece(at_ns, end_ns, history[at].1);
                at_ns = end_ns;
            }
        }
    }
}

/// The phases of a wakeup, each with the CPU that mattered in it; none is empty but perhaps the last.
fn phases(journey: &Journey) -> Vec<(u64, Phase, u16)> {
    let mut phases: Vec<(u64, Phase, u16)> = Vec::new();
    let mut begins = |ns: u64, phase: Phase, cpu: u16| {
        let ns = phases.last().map_or(ns, |last| ns.max(last.0));
        if phases.last().is_some_and(|last| last.0 == ns) {
            phases.pop();
        }
        phases.push((ns, phase, cpu));
    };
    let mut waker_cpu = journey.places.first().map_or(0, |place| place.cpu);
    if let Some(Waker::Timer(fired)) = journey.by {
        let cpu = fired.cpu.0;
        waker_cpu = cpu;
        let fires_ns = fired.entry_ns;
        begins(fired.soft_ns.min(journey.woken_ns), Phase::Unarmed, cpu);
        begins(fired.armed_ns, Phase::Slack, cpu);
        if let Some(put_off) = fired.put_off {
            begins(fired.hard_ns.min(fires_ns), Phase::PutOff(put_off.by), cpu);
            let until_ns = put_off.until_ns.max(fired.hard_ns);
            begins(until_ns.min(fires_ns), Phase::Device, cpu);
        } else {
            begins(fired.hard_ns.min(fires_ns), Phase::Device, cpu);
        }
        begins(fired.arrival_ns.min(fires_ns), Phase::Pending, cpu);
        begins(fires_ns, Phase::Interrupt, cpu);
        if let Some((raised_ns, begin_ns)) = fired.softirq {
            begins(raised_ns, Phase::SoftirqWait, cpu);
            begins(begin_ns, Phase::SoftirqRun, cpu);
        }
        begins(fired.begin_ns, Phase::Callback, cpu);
    }
    for place in &journey.places {
        let Place { since_ns, cpu, prio, is_placing, throttled } = *place;
        if is_placing {
            begins(since_ns, Phase::Placing(place_of(journey, since_ns)), waker_cpu);
        } else if let Some(by) = throttled {
            begins(since_ns, Phase::Throttled(by), cpu);
        } else {
            begins(since_ns, Phase::Runnable(prio), cpu);
        }
    }
    phases
}

/// The CPU that is chosen in the end.
fn place_of(journey: &Journey, since_ns: u64) -> u16 {
    let later = journey.places.iter().find(|place| place.since_ns > since_ns || !place.is_placing);
    later.map_or(0, |place| place.cpu)
}

impl Observer for Account {
    const EVENTS: bool = false;
    const STATES: bool = true;

    fn state(&mut self, cpu: u16, now_ns: u64, state: State) {
        let history = &mut self.history[usize::from(cpu)];
        if let Some(last) = history.back_mut()
            && last.0 == now_ns
        {
            last.1 = state;
            return;
        }
        if history.len() == HISTORY_MAX {
            history.pop_front();
            let first_ns = history.front().map_or(now_ns, |(start_ns, _)| *start_ns);
            self.dropped_ns = self.dropped_ns.max(first_ns);
        }
        history.push_back((now_ns, state));
    }

    fn woken(&mut self, now_ns: u64, thread: ThreadAt, on: u16, prio: Prio, by: Waker) {
        self.stands(now_ns, thread, Standing::Waits(prio, None), on);
        let kind = if matches!(by, Waker::Timer(_)) { Kind::Timer } else { Kind::Other };
        let place = Place { since_ns: now_ns, cpu: on, prio, is_placing: false, throttled: None };
        self.begin(thread, || Journey {
            kind,
            by: Some(by),
            woken_ns: now_ns,
            places: vec![place],
        });
    }

    fn moved(&mut self, now_ns: u64, thread: ThreadAt, to: u16, by_waker: bool) {
        self.waits(now_ns, thread, |_, _, cpu| *cpu = to);
        if let Some(journey) = &mut self.journeys[thread as usize]
            && let Some(last) = journey.places.last_mut()
        {
            last.is_placing |= by_waker;
            let place = Place { since_ns: now_ns, cpu: to, is_placing: false, ..*last };
            journey.places.push(place);
        }
    }

    fn priority(&mut self, now_ns: u64, thread: ThreadAt, prio: Prio) {
        self.waits(now_ns, thread, |of, _, _| *of = prio);
        if let Some(journey) = &mut self.journeys[thread as usize]
            && let Some(last) = journey.places.last().copied()
        {
            journey.places.push(Place { since_ns: now_ns, prio, ..last });
        }
    }

    fn preempted(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16, prio: Prio) {
        let place = Place { since_ns: now_ns, cpu, prio, is_placing: false, throttled: None };
        self.stands(now_ns, thread, Standing::Waits(prio, None), cpu);
        // It was on its way to user space.
        if let Some(journey) = &mut self.journeys[thread as usize] {
            journey.places.push(place);
            return;
        }
        let (kind, by) = (Kind::Preempted, None);
        self.begin(thread, || Journey { kind, by, woken_ns: now_ns, places: vec![place] });
    }

    fn throttled(&mut self, now_ns: u64, thread: ThreadAt, by: Option<Throttle>) {
        self.waits(now_ns, thread, |_, throttled, _| *throttled = by);
        if let Some(journey) = &mut self.journeys[thread as usize]
            && let Some(last) = journey.places.last().copied()
        {
            journey.places.push(Place { since_ns: now_ns, throttled: by, ..last });
        }
    }

    fn sleeps(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16) {
        self.stands(now_ns, thread, Standing::Sleeps, cpu);
    }

    fn ran(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16) {
        self.stands(now_ns, thread, Standing::Runs, cpu);
        if !self.is_to_user_space[thread as usize] {
            self.end(now_ns, thread);
        }
    }

    fn late(&mut self, now_ns: u64, thread: ThreadAt, _lateness_ns: u64) {
        if self.is_to_user_space[thread as usize] {
            self.end(now_ns, thread);
        }
    }
}

/// What a stretch of a wakeup is, beside what the CPU did.
impl Phase {
    /// Whether its timer's callback has begun.
    const fn callback_has_begun(self) -> bool {
        matches!(self, Self::Callback | Self::Placing(_) | Self::Throttled(_) | Self::Runnable(_))
    }

    /// Whether what runs is the timer's own callback, of this expiry or of the one before.
    fn is_own(by: Option<Waker>, doing: Doing) -> bool {
        let Some(Waker::Timer(fired)) = by else { return false };
        matches!(
            doing,
            Doing::Callback(timer)
                | Doing::SoftirqCallback(timer)
                | Doing::ThreadedCallback(timer, ..)
                if timer == fired.timer
        )
    }
}
