//! What the machine's own work takes, where nothing else was in the way.

use super::cold::Factors;
use super::lates::{Lates, USUAL};
use super::pace::{Found, When};
use super::samples::Samples;
use super::waking::{Exits, Kind, Slept, Waking};
use tardy_sim::{Coldness, Cost, IdleState, Machine};

/// Idle states; the kernel has at most ten (`CPUIDLE_STATE_MAX`).
const STATES_MAX: usize = 16;

/// Medians of fewer are compared with nothing.
const SAMPLES_MIN: u64 = 20;

#[derive(Debug, Default)]
struct StateSeen {
    name: String,
    /// By the driver's table, if that was told.
    latency_ns: Option<u64>,
    polls: bool,
    entered: u64,
    exit: Exits,
    /// From where another CPU began to wake a thread for it to where it was awake.
    called: Samples<Slept>,
    /// How long it idled there.
    idled: Samples,
}

/// What is measured: the kinds of work that a machine's description has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// The timer's interrupt came so late to a CPU that ran a thread, by its place.
    DeviceLate(u32),
    /// The same to a CPU that polls for want of work, by its number.
    PollLate(u16),
    /// From where a CPU was to preempt a thread, by its place, to where it did.
    Preempt(u32),
    IrqEntry,
    IrqExit,
    QueueOperation,
    Callback,
    Tick,
    SoftirqEntry,
    /// The same of timers' softirq, up to its first callback: from the end of an interrupt, or from where a thread that
    /// runs it got the CPU.
    TimerSoftirqEntry,
    IpiHandler,
    IdleEntry,
    /// A wakeup, of a fair thread or not.
    Wakeup(bool),
    /// The same of the last callback of an interrupt, with all up to the interrupt's end: some sources do not tell
    /// where a callback ends.
    LastWakeup(bool),
    /// The same as the first, in a softirq: to its next callback.
    SoftirqWakeup,
    /// The same as the first, of any thread that another CPU is interrupted for.
    RemoteWakeup,
    /// A switch, from the idle task or of a thread that is preempted, by how many of the two threads are fair.
    Switch(u8),
    /// The same from the idle task, which started its stopped tick again before.
    SwitchWithTick(u8),
    /// From where a thread that goes to sleep armed its timer to where it left the CPU, with the device programmed for it
    /// or without.
    Arm(bool),
    /// Waking up from an idle state, by its number.
    IdleExit(u32, Slept),
    /// The same for a thread that another CPU wakes, from where that begins to.
    Called(u32, Slept),
}

/// Kinds whose samples are kept by [`Measured::place`].
const KINDS: usize = 24;

impl Measured {
    /// Where its samples are; `None` of those of idle states.
    fn place(self) -> Option<usize> {
        Some(match self {
            Self::DeviceLate(_) => 0,
            Self::PollLate(_) => 9,
            Self::IrqEntry => 1,
            Self::IrqExit => 2,
            Self::QueueOperation => 3,
            Self::Callback => 4,
            Self::Tick => 5,
            Self::SoftirqEntry => 6,
            Self::IpiHandler => 7,
            Self::IdleEntry => 8,
            Self::Wakeup(is_fair) => 10 + usize::from(is_fair),
            Self::LastWakeup(is_fair) => 12 + usize::from(is_fair),
            Self::Switch(fair) => 14 + usize::from(fair.min(2)),
            Self::SoftirqWakeup => 17,
            Self::RemoteWakeup => 18,
            Self::Arm(programs) => 19 + usize::from(programs),
            Self::SwitchWithTick(fair) => 21 + usize::from(fair.min(1)),
            Self::TimerSoftirqEntry => 23,
            Self::IdleExit(..) | Self::Called(..) | Self::Preempt(_) => return None,
        })
    }
}

/// What programming the clock-event device takes. It is part of what calls and interrupts take.
#[derive(Clone, Debug)]
pub(crate) struct Programming {
    /// What going to sleep takes longer where the timer that is armed for it is the first.
    pub(crate) ns: u64,
    /// The share of sleeps for which it is done.
    pub(crate) share: f64,
    /// What the end of an interrupt takes beside it.
    pub(crate) irq_exit: Cost,
}

/// Distributions of each.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// Nothing is taken from then on; `None` where all is.
    until_ns: Option<u64>,
    is_over: bool,
    kinds: [Samples; KINDS],
    /// How late interrupts came to threads, and how late those were preempted.
    pub(crate) lates: Lates,
    pub(crate) holds: Lates,
    states: Vec<StateSeen>,
    /// By how much work takes longer after sleeps, and by what that grows with each double of one.
    cold: Coldness,
    each_double: f64,
    /// What waking up takes, by how CPUs slept; once all is seen.
    waking: Waking,
    /// How long CPUs idled that had kept their tick, and that had stopped it.
    idled_with_tick: [Samples; 2],
    nothing: Samples,
}

impl Costs {
    pub(crate) fn until(until_ns: Option<u64>) -> Self {
        Self { until_ns, ..Self::default() }
    }

    /// The time goes on.
    pub(crate) fn passes(&mut self, now_ns: u64) {
        if !self.is_over && self.until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.is_over = true;
            self.kinds.iter_mut().for_each(Samples::close);
            for state in &mut self.states {
                state.exit.close();
                state.called.close();
                state.idled.close();
            }
            self.idled_with_tick.iter_mut().for_each(Samples::close);
        }
    }

    /// One more was measured.
    pub(crate) fn add(&mut self, when: When, what: Measured, ns: u64) {
        match (what, self.is_over) {
            (Measured::DeviceLate(thread), false) => self.lates.add(thread, ns),
            (Measured::Preempt(thread), false) => self.holds.add(thread, ns),
            _ => {}
        }
        match (what.place(), what) {
            (Some(at), _) => self.kinds[at].add(when, ns),
            (None, Measured::IdleExit(state, slept)) => {
                if let Some(state) = self.state(state) {
                    state.exit.add(slept, ns);
                }
            }
            (None, Measured::Called(state, slept)) => {
                if let Some(state) = self.state(state) {
                    state.called.add(slept, ns);
                }
            }
            (None, _) => {}
        }
    }

    /// What CPUs did themselves becomes what it takes at their usual pace. Devices and idle states have none: what waking
    /// up takes is told by how CPUs slept.
    pub(super) fn at_usual_pace(&mut self, paces: &Found, runs: &Factors) {
        let not_own = [Measured::DeviceLate(0), Measured::PollLate(0)].map(Measured::place);
        for (at, kind) in self.kinds.iter_mut().enumerate() {
            if !not_own.contains(&Some(at)) {
                kind.at_usual_pace(paces);
            }
        }
        self.cold = paces.coldness(runs);
        self.each_double = paces.each_double();
        self.waking = Waking::of(&self.exits());
    }

    fn of(&self, what: Measured) -> &Samples {
        &self.kinds[what.place().unwrap_or(0)]
    }

    fn by_class(&self, what: impl Fn(bool) -> Measured) -> [&Samples; 2] {
        [self.of(what(false)), self.of(what(true))]
    }

    /// Switches that nothing held up.
    fn switches(&self) -> [Samples; 3] {
        let most_ns = self.usual_switch_ns();
        [0, 1, 2].map(|fair| self.of(Measured::Switch(fair)).up_to(most_ns))
    }

    /// What a switch takes longer where the idle task starts its tick again before.
    fn tick_restart(&self) -> Cost {
        let (_, usual_ns) = self.usual_ns();
        let [none, one, _] = self.switches();
        let without = [none, one].map(|plain| {
            plain.median().filter(|_| plain.count() >= SAMPLES_MIN).unwrap_or(usual_ns)
        });
        let with = [0, 1].map(|fair| self.of(Measured::SwitchWithTick(fair)));
        Samples::together(with.into_iter().zip(without))
    }

    fn state(&mut self, state: u32) -> Option<&mut StateSeen> {
        let at = state as usize;
        if at >= STATES_MAX {
            return None;
        }
        if at >= self.states.len() {
            self.states.resize_with(at + 1, StateSeen::default);
        }
        self.states.get_mut(at)
    }

    pub(crate) fn knows_state(&mut self, state: u32, name: &str, latency_ns: u64) {
        if let Some(state) = self.state(state) {
            name.clone_into(&mut state.name);
            state.latency_ns = Some(latency_ns);
        }
    }

    pub(crate) fn polls_in(&mut self, state: u32) {
        if let Some(state) = self.state(state) {
            state.polls = true;
        }
    }

    /// Whether the source tells where a callback ends. Where it does not, a callback ends as the next one begins, and
    /// the last one as its interrupt does.
    fn tells_ends(&self) -> bool {
        self.of(Measured::QueueOperation).median().is_some_and(|ns| ns > 0)
    }

    /// Whether most callbacks that could show it end where the next one begins, or where their interrupt ends.
    pub(crate) fn hides_ends(&self) -> bool {
        let ends = [Measured::QueueOperation, Measured::IrqExit];
        ends.into_iter().any(|what| self.of(what).median() == Some(0))
    }

    /// What tells what a wakeup takes, and what to take off that: where interrupts had more than one callback, those
    /// that were not the last; else the last ones, with the interrupt's end. Where the source does not tell where
    /// callbacks end, the former have the taking of the next timer in them, and the shorter ones say more.
    fn wakeups(&self) -> ([&Samples; 2], u64) {
        let count = |both: [&Samples; 2]| both.iter().map(|samples| samples.count()).sum::<u64>();
        let median = |both: [&Samples; 2]| both.iter().filter_map(|samples| samples.median()).min();
        let (seen, last) = (self.by_class(Measured::Wakeup), self.by_class(Measured::LastWakeup));
        let is_longer =
            || !self.tells_ends() && count(last) >= SAMPLES_MIN && median(seen) > median(last);
        if count(seen) >= SAMPLES_MIN && !is_longer() {
            return (seen, 0);
        }
        (last, self.of(Measured::IrqExit).median().unwrap_or(0))
    }

    /// What taking a timer off its queue takes, as samples and what to take off each: where wakeups are known by the
    /// last ones of interrupts, what lies between a waking and the next callback, without the waking: in interrupts, or in
    /// softirqs where hardly any interrupt had more than one callback.
    fn queue_operations(&self) -> [(&Samples, u64); 2] {
        let (wakeups, less_ns) = self.wakeups();
        let seen = self.by_class(Measured::Wakeup);
        let count: u64 = seen.iter().map(|samples| samples.count()).sum();
        let soft = self.of(Measured::SoftirqWakeup);
        let tells = count > 0 || soft.count() >= SAMPLES_MIN;
        if self.tells_ends() || std::ptr::eq(wakeups[0], seen[0]) || !tells {
            return [(self.of(Measured::QueueOperation), 0), (&self.nothing, 0)];
        }
        let median = |at: usize| wakeups[at].median().or_else(|| wakeups[1 - at].median());
        let usual_ns = |at: usize| median(at).unwrap_or(0).saturating_sub(less_ns);
        if count < SAMPLES_MIN.min(soft.count()) {
            return [(soft, usual_ns(1)), (&self.nothing, 0)];
        }
        [(seen[0], usual_ns(0)), (seen[1], usual_ns(1))]
    }

    /// Sending an interrupt to another CPU, with all else that waking a thread for that takes: what such wakeups take
    /// more than others up to the next callback.
    fn ipi_send(&self) -> Cost {
        let here = self.by_class(Measured::Wakeup);
        let remote = self.of(Measured::RemoteWakeup);
        let most = if here[0].count() > here[1].count() { here[0] } else { here[1] };
        match most.mean() {
            Some(ns) if most.count() >= SAMPLES_MIN && remote.count() >= SAMPLES_MIN => {
                remote.cost(ns)
            }
            _ => Cost::ZERO,
        }
    }

    /// From where a CPU has sent an interrupt to another one to where that one begins to take it: what a CPU needs to be
    /// awake for a thread that another one wakes, without the waking and without what it needs for its own timer.
    fn ipi(&self, waking: &Waking, delivery_ns: u64) -> Cost {
        let (wakeup_ns, _) = self.usual_ns();
        let (mut sum_ns, mut all) = (0, 0);
        for (exit, called) in self.called(waking) {
            if let (Some(called_ns), Some(exit_ns)) = (called.mean(), exit.mean()) {
                let n = called.count();
                let exit_ns = exit_ns.saturating_sub(delivery_ns);
                sum_ns += u128::from(n) * u128::from(called_ns.saturating_sub(wakeup_ns + exit_ns));
                all += u128::from(n);
            }
        }
        Cost::Constant((sum_ns / all.max(1)) as u64)
    }

    /// The interrupt's end, and what is left of the last callbacks without the waking.
    fn irq_exit(&self) -> Cost {
        self.irq_exit_without(0)
    }

    /// How long a softirq takes to begin: that of timers, where it was seen, as the simulator's are.
    fn softirq_entry(&self) -> Cost {
        let [any, timers] =
            [Measured::SoftirqEntry, Measured::TimerSoftirqEntry].map(|what| self.of(what));
        if timers.count() >= SAMPLES_MIN { timers.cost(0) } else { any.cost(0) }
    }

    /// What waking a thread in a softirq takes up to the next callback more than in an interrupt: mostly that is the
    /// softirq's lock, and its thread's.
    fn softirq_callback(&self) -> Cost {
        let seen = self.of(Measured::SoftirqWakeup);
        let (wakeup_ns, _) = self.usual_ns();
        let more_ns = seen.median().map(|ns| ns.saturating_sub(wakeup_ns + self.usual_queue_ns()));
        Cost::Constant(more_ns.filter(|_| seen.count() >= SAMPLES_MIN).unwrap_or(0))
    }

    /// What a fair thread adds to a wakeup, and to a switch, as far as both kinds were seen.
    fn of_fair_ns(&self) -> (u64, u64) {
        let median =
            |samples: &Samples| samples.median().filter(|_| samples.count() >= SAMPLES_MIN);
        let more = |with: &Samples, without: &Samples| {
            Some(median(with)?.saturating_sub(median(without)?))
        };
        let ([rt, fair], _) = self.wakeups();
        let [none, one, two] = &self.switches();
        let switch = more(one, none).or_else(|| more(two, one));
        (more(fair, rt).unwrap_or(0), switch.unwrap_or(0))
    }

    /// What a wakeup, and a switch, take as a rule.
    pub(crate) fn usual_ns(&self) -> (u64, u64) {
        let most = |all: &[&Samples]| {
            let most = all.iter().max_by_key(|samples| samples.count());
            most.and_then(|samples| samples.median()).unwrap_or(0)
        };
        let (wakeups, less_ns) = self.wakeups();
        let switches = [0, 1, 2].map(|fair| self.of(Measured::Switch(fair)));
        (most(&wakeups).saturating_sub(less_ns), most(&switches))
    }

    /// What a switch takes as a rule without fair threads, and what each of those adds, as in [`Costs::machine`].
    pub(crate) fn usual_switch_parts_ns(&self) -> (u64, u64) {
        let (_, fair_ns) = self.of_fair_ns();
        let switches = self.switches();
        let most = (0u64..).zip(&switches).max_by_key(|(_, samples)| samples.count());
        let usual = most.and_then(|(fair, samples)| Some((fair, samples.median()?)));
        (usual.map_or(0, |(fair, ns)| ns.saturating_sub(fair * fair_ns)), fair_ns)
    }

    /// What taking a timer off its queue takes as a rule.
    pub(crate) fn usual_queue_ns(&self) -> u64 {
        let [one, other] = self.queue_operations();
        let (samples, less_ns) = if one.0.count() >= other.0.count() { one } else { other };
        samples.median().unwrap_or(0).saturating_sub(less_ns)
    }

    /// Whether CPUs look for work in a loop in that state.
    pub(crate) fn polls(&self, state: u32) -> bool {
        self.states.get(state as usize).is_some_and(|state| state.polls)
    }

    /// A CPU idled for so long, and was in that state in the end.
    pub(crate) fn idled(&mut self, when: When, state: u32, ns: u64) {
        if let Some(state) = self.state(state) {
            state.entered += 1;
            state.idled.add(when, ns);
        }
    }

    /// A CPU idled for so long until a thread ran, and had stopped its tick for that or not.
    pub(crate) fn idled_beside_tick(&mut self, when: When, stopped: bool, ns: u64) {
        self.idled_with_tick[usize::from(stopped)].add(when, ns);
    }

    /// From how long on CPUs stop their ticks.
    pub(crate) fn stops_ticks_from_ns(&self) -> u64 {
        let [kept, stopped] = &self.idled_with_tick;
        if stopped.count() == 0 {
            // Some sources do not tell of ticks.
            return 0;
        }
        let stopped = || stopped.weighted(stopped.count() as f64);
        let from_ns = parted_at_ns(kept.weighted(kept.count() as f64), stopped());
        // That nothing longer was kept says nothing where nothing longer was stopped either.
        if stopped().any(|(ns, _)| ns >= from_ns) { from_ns } else { u64::MAX }
    }

    /// How long leaving each idle state takes by the driver's table; `None` of one that was not entered, or of which that was
    /// not told.
    pub(crate) fn idle_states(&self) -> Vec<Option<u64>> {
        let latency = |state: &StateSeen| state.latency_ns.filter(|_| state.entered > 0);
        self.states.iter().map(latency).collect()
    }

    fn exits(&self) -> Vec<&Exits> {
        self.states.iter().map(|state| &state.exit).collect()
    }

    /// What waking up by itself took, and at another CPU's call, after sleeps of one kind.
    fn called<'a>(
        &'a self,
        waking: &'a Waking,
    ) -> impl Iterator<Item = (&'a Samples<Slept>, Samples<Slept>)> {
        self.states.iter().enumerate().flat_map(move |(at, state)| {
            let kinds = waking.kinds(at);
            let of_kind = move |kind: &'a Kind| {
                let is_it = |of: &Kind| std::ptr::eq(of, kind);
                let called =
                    state.called.those(|_, slept| waking.kind(at, slept).is_some_and(is_it));
                (called.count() >= SAMPLES_MIN).then_some((&kind.exit, called))
            };
            kinds.filter_map(of_kind)
        })
    }

    /// What waking up from an idle state takes as a rule.
    pub(crate) fn usual_exit_ns(&self, state: u32, slept: Slept) -> u64 {
        let Some(seen) = self.states.get(state as usize).filter(|state| !state.polls) else {
            return 0;
        };
        let usual_ns = self.waking.kind(state as usize, slept).and_then(|kind| kind.usual_ns);
        usual_ns.unwrap_or(seen.latency_ns.unwrap_or(0).min(1_000_000))
    }

    /// How late the timer's interrupt comes to a CPU that runs where nothing is in its way. What is more is in
    /// [`Lates`].
    fn device_late(&self) -> [Samples; 2] {
        let usual_ns = self.usual_late_ns();
        [Measured::DeviceLate(0), Measured::PollLate(0)].map(|kind| self.of(kind).up_to(usual_ns))
    }

    /// A switch takes no longer.
    pub(crate) fn usual_switch_ns(&self) -> u64 {
        let (_, switch_ns) = self.usual_ns();
        USUAL * switch_ns
    }

    /// An interrupt's way takes no longer.
    pub(crate) fn usual_late_ns(&self) -> u64 {
        self.lates.usual_ns().max(USUAL * self.of(Measured::PollLate(0)).median().unwrap_or(0))
    }

    /// From how long on the governor chooses a state or a deeper one: the time that tells best how long CPUs idled in
    /// those from how long they did in shallower ones. Where a governor tries a shallow one first whatever comes
    /// (`haltpoll`), none does, and the shallow one is it.
    fn residency_ns(&self, at: usize) -> u64 {
        let (shallow, deep) = self.states.split_at(at);
        if shallow.iter().all(|state| state.entered == 0) {
            return 0;
        }
        let idled = |state: &StateSeen| {
            state.idled.weighted(state.entered as f64).collect::<Vec<(u64, f64)>>()
        };
        parted_at_ns(shallow.iter().flat_map(idled), deep.iter().flat_map(idled))
    }

    /// What programming the clock-event device takes; `None` where too few sleeps of either kind were seen, or they take
    /// as long.
    pub(crate) fn programming(&self) -> Option<Programming> {
        let [without, with] = self.by_class(Measured::Arm);
        let (n, n_with) = (without.count(), with.count());
        let median =
            |samples: &Samples| samples.median().filter(|_| samples.count() >= SAMPLES_MIN);
        let ns = median(with)?.checked_sub(median(without)?).filter(|ns| *ns > 0)?;
        let (share, irq_exit) = (n_with as f64 / (n + n_with) as f64, self.irq_exit_without(ns));
        Some(Programming { ns, share, irq_exit })
    }

    /// The interrupt's end without the device, which is programmed in it.
    fn irq_exit_without(&self, programming_ns: u64) -> Cost {
        let (wakeup_ns, _) = self.usual_ns();
        let less_ns = wakeup_ns + programming_ns;
        let last = self.by_class(Measured::LastWakeup).into_iter().zip([less_ns, less_ns]);
        Samples::together(last.chain([(self.of(Measured::IrqExit), programming_ns)]))
    }

    /// A machine on which things take that.
    /// And whether what waking up takes is assumed, for a guest of KVM.
    pub(crate) fn machine(&self, cpus: u16, is_kvm_guest: bool) -> (Machine, bool) {
        // An interrupt comes with some delay whoever runs: what is above it on an idle CPU is its waking up.
        let device_late = self.device_late();
        let most = device_late.iter().max_by_key(|samples| samples.count());
        let delivery_ns = most.and_then(Samples::mean).unwrap_or(0);
        let entered = self.states.iter().enumerate().filter(|(_, state)| state.entered > 0);
        let assumed = if is_kvm_guest { self.waking.of_kvm_guest(&self.exits()) } else { None };
        let waking = assumed.as_ref().unwrap_or(&self.waking);
        let idle_states = entered.map(|(at, state)| {
            let mut exits = waking.longer(at, delivery_ns, self.each_double);
            let latency_ns = state.latency_ns.unwrap_or(0);
            let exit = match exits.next() {
                Some(shortest) => shortest.exit,
                None => Cost::Constant(latency_ns),
            };
            IdleState {
                name: state.name.clone(),
                exit: if state.polls { Cost::ZERO } else { exit },
                after: if state.polls { Vec::new() } else { exits.collect() },
                latency_ns,
                residency_ns: self.residency_ns(at),
                polls: state.polls,
            }
        });
        let idle_states: Vec<IdleState> = idle_states.collect();
        let (wakeups, less_ns) = self.wakeups();
        let (wakeup_fair_ns, switch_fair_ns) = self.of_fair_ns();
        let fair_ns = [0, switch_fair_ns, 2 * switch_fair_ns];
        let wakeup_ns = wakeups.into_iter().zip([less_ns, less_ns + wakeup_fair_ns]);
        let wakeup = if less_ns == 0 {
            Samples::together(wakeup_ns)
        } else {
            // By how much those differ is in the interrupts' ends, of which they are.
            let most = wakeup_ns.max_by_key(|(samples, _)| samples.count());
            let usual = most.and_then(|(samples, ns)| Some(samples.median()?.saturating_sub(ns)));
            Cost::Constant(usual.unwrap_or(0))
        };
        // Of what took longer something held the thread.
        let switches = self.switches();
        let machine = Machine {
            cpus,
            device_late: Samples::together(device_late.iter().zip([0, 0])),
            irq_entry: self.of(Measured::IrqEntry).cost(0),
            irq_exit: self.irq_exit(),
            queue_operation: Samples::together(self.queue_operations().into_iter()),
            callback: self.of(Measured::Callback).cost(0),
            tick: self.of(Measured::Tick).cost(0),
            softirq_entry: self.softirq_entry(),
            softirq_callback: self.softirq_callback(),
            wakeup,
            wakeup_fair: Cost::Constant(wakeup_fair_ns),
            switch: Samples::together(switches.iter().zip(fair_ns)),
            switch_fair: Cost::Constant(switch_fair_ns),
            ipi: self.ipi(waking, delivery_ns),
            ipi_send: self.ipi_send(),
            ipi_handler: self.of(Measured::IpiHandler).cost(0),
            idle_entry: self.of(Measured::IdleEntry).cost(0),
            tick_restart: self.tick_restart(),
            halt_polling: waking.halt_polling(delivery_ns).filter(|_| !idle_states.is_empty()),
            idle_states,
            cold: self.cold.clone(),
            ..Machine::default()
        };
        (machine, assumed.is_some())
    }
}

/// The time that parts short stretches best from long ones, each with its weight: the fewest short ones are above it, and
/// long ones below.
fn parted_at_ns(
    short: impl Iterator<Item = (u64, f64)>,
    long: impl Iterator<Item = (u64, f64)>,
) -> u64 {
    let mut all: Vec<(u64, f64)> = short.map(|(ns, weight)| (ns, -weight)).chain(long).collect();
    all.sort_unstable_by_key(|(ns, _)| *ns);
    let (mut wrong, mut fewest, mut best_ns) = (0.0, 0.0, 0);
    for (ns, weight) in all {
        wrong += weight;
        if wrong < fewest {
            (fewest, best_ns) = (wrong, ns + 1);
        }
    }
    best_ns
}

#[cfg(test)]
mod tests {
    use super::super::pace::Paces;
    use super::*;

    #[test]
    fn ticks_are_stopped_from_where_that_was_seen() {
        let costs = |stopped: &[u64]| {
            let mut costs = Costs::until(None);
            let when = Paces::when(0, 0);
            for at in 1..=100 {
                costs.idled_beside_tick(when, false, at * 7_000);
            }
            for ns in stopped {
                costs.idled_beside_tick(when, true, *ns);
            }
            costs.stops_ticks_from_ns()
        };
        assert_eq!(costs(&[]), 0, "nobody tells of ticks");
        assert_eq!(costs(&[900_000; 50]), 700_001);
        assert_eq!(
            costs(&[50_000, 300_000, 600_000]),
            u64::MAX,
            "now and then, however long it idles"
        );
    }
}
