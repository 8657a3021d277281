//! What the machine's own work takes, where nothing else was in the way.

use super::samples::Samples;
use tardy_sim::{Cost, IdleState, Machine};

/// Idle states; the kernel has at most ten (`CPUIDLE_STATE_MAX`).
const STATES_MAX: usize = 16;

/// Medians of fewer are compared with nothing.
const SAMPLES_MIN: u64 = 20;

#[derive(Debug, Default)]
struct StateSeen {
    name: String,
    latency_ns: u64,
    polls: bool,
    entered: u64,
    exit: Samples,
    /// How long it idled there.
    idled: Samples,
}

/// Distributions of each.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// Nothing is taken from then on; `None` where all is.
    until_ns: Option<u64>,
    is_over: bool,
    pub(crate) device_late: Samples,
    pub(crate) irq_entry: Samples,
    pub(crate) irq_exit: Samples,
    pub(crate) queue_operation: Samples,
    pub(crate) callback: Samples,
    /// Of real-time threads, and of fair ones.
    wakeups: [Samples; 2],
    pub(crate) tick: Samples,
    /// The same of the last callback of an interrupt, with all up to the interrupt's end: some sources do not tell
    /// where a callback ends.
    last_wakeups: [Samples; 2],
    /// By how many of the two threads are fair.
    switches: [Samples; 3],
    pub(crate) softirq_entry: Samples,
    pub(crate) ipi_handler: Samples,
    pub(crate) idle_entry: Samples,
    states: Vec<StateSeen>,
}

impl Costs {
    pub(crate) fn until(until_ns: Option<u64>) -> Self {
        Self { until_ns, ..Self::default() }
    }

    /// The time goes on.
    pub(crate) fn passes(&mut self, now_ns: u64) {
        if !self.is_over && self.until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.is_over = true;
            let by_class = self.wakeups.iter_mut().chain(&mut self.last_wakeups);
            let by_class = by_class.chain(&mut self.switches);
            by_class.for_each(Samples::close);
            for samples in [
                &mut self.device_late,
                &mut self.irq_entry,
                &mut self.irq_exit,
                &mut self.queue_operation,
                &mut self.callback,
                &mut self.tick,
                &mut self.softirq_entry,
                &mut self.ipi_handler,
                &mut self.idle_entry,
            ] {
                samples.close();
            }
            for state in &mut self.states {
                state.exit.close();
                state.idled.close();
            }
        }
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
            state.latency_ns = latency_ns;
        }
    }

    pub(crate) fn enters_state(&mut self, state: u32, polls: bool) {
        if let Some(state) = self.state(state) {
            state.entered += 1;
            state.polls |= polls;
        }
    }

    pub(crate) fn idle_exit(&mut self, state: u32, ns: u64) {
        if let Some(state) = self.state(state) {
            state.exit.add(ns);
        }
    }

    pub(crate) fn wakeup(&mut self, is_fair: bool, ns: u64) {
        self.wakeups[usize::from(is_fair)].add(ns);
    }

    pub(crate) fn last_wakeup(&mut self, is_fair: bool, ns: u64) {
        self.last_wakeups[usize::from(is_fair)].add(ns);
    }

    pub(crate) fn switch(&mut self, fair: usize, ns: u64) {
        self.switches[fair.min(2)].add(ns);
    }

    /// Where an interrupt had more than one callback, they tell what a wakeup takes; else the last ones do, with the
    /// interrupt's end.
    fn wakeups(&self) -> &[Samples; 2] {
        let seen = self.wakeups.iter().map(Samples::count).sum::<u64>();
        if seen >= SAMPLES_MIN { &self.wakeups } else { &self.last_wakeups }
    }

    /// What is left of the last callbacks without the waking.
    fn irq_exit(&self) -> Cost {
        let seen = self.wakeups.iter().map(Samples::count).sum::<u64>();
        if seen < SAMPLES_MIN {
            return self.irq_exit.cost(0);
        }
        let (usual_ns, _) = self.usual_ns();
        let last = self.last_wakeups.iter().zip([usual_ns, usual_ns]);
        Samples::together(last.chain([(&self.irq_exit, 0)]))
    }

    /// What a fair thread adds to a wakeup, and to a switch, as far as both kinds were seen.
    fn of_fair_ns(&self) -> (u64, u64) {
        let median =
            |samples: &Samples| samples.median().filter(|_| samples.count() >= SAMPLES_MIN);
        let more = |with: &Samples, without: &Samples| {
            Some(median(with)?.saturating_sub(median(without)?))
        };
        let [rt, fair] = self.wakeups();
        let [none, one, two] = &self.switches;
        let switch = more(one, none).or_else(|| more(two, one));
        (more(fair, rt).unwrap_or(0), switch.unwrap_or(0))
    }

    /// What a wakeup, and a switch, take as a rule.
    pub(crate) fn usual_ns(&self) -> (u64, u64) {
        let most = |all: &[Samples]| {
            let most = all.iter().max_by_key(|samples| samples.count());
            most.and_then(Samples::median).unwrap_or(0)
        };
        (most(self.wakeups()), most(&self.switches))
    }

    pub(crate) fn idled(&mut self, state: u32, ns: u64) {
        if let Some(state) = self.state(state) {
            state.idled.add(ns);
        }
    }

    /// What waking up an idle CPU takes as a rule.
    pub(crate) fn usual_exit_ns(&self) -> u64 {
        let most = self.states.iter().max_by_key(|state| state.entered);
        most.filter(|state| !state.polls).map_or(0, |state| state.latency_ns.min(1_000_000))
    }

    /// How late the timer's interrupt comes. What is more than the usual was in the way of a busy CPU: as often as
    /// interrupts found one.
    fn device_late(&self) -> Cost {
        let Some(usual_ns) = self.device_late.low() else { return Cost::ZERO };
        let idle: u64 = self.states.iter().map(|state| state.exit.count()).sum();
        let busy = self.device_late.count() as f64;
        let share = busy / (busy + idle as f64);
        let parts =
            vec![(share, self.device_late.cost(0)), (1.0 - share, Cost::Constant(usual_ns))];
        Cost::mixture(parts).unwrap_or_else(|_| self.device_late.cost(0))
    }

    /// From how long on the governor chooses a state: between the times that a CPU idled in the one before, and in
    /// this; some of either were not foreseen.
    fn residency_ns(&self, at: usize) -> u64 {
        let before = self.states[..at].iter().rev().find(|state| state.entered > 0);
        let Some(before) = before else { return 0 };
        let state = &self.states[at];
        match (before.idled.high(), state.idled.low()) {
            (Some(shorter), Some(longer)) => shorter.midpoint(longer).min(longer),
            _ => 2 * state.latency_ns,
        }
    }

    /// A machine on which things take that.
    pub(crate) fn machine(&self, cpus: u16) -> Machine {
        // An interrupt comes with some delay whoever runs: what is above it on an idle CPU is its waking up.
        let delivery_ns = self.device_late.low().unwrap_or(0);
        let entered = self.states.iter().enumerate().filter(|(_, state)| state.entered > 0);
        let idle_states = entered.map(|(at, state)| {
            let exit = if state.exit.count() > 0 {
                state.exit.cost(delivery_ns)
            } else {
                Cost::Constant(state.latency_ns)
            };
            IdleState {
                name: state.name.clone(),
                exit: if state.polls { Cost::ZERO } else { exit },
                latency_ns: state.latency_ns,
                residency_ns: self.residency_ns(at),
                polls: state.polls,
            }
        });
        let (wakeup_fair_ns, switch_fair_ns) = self.of_fair_ns();
        let device_late = self.device_late();
        Machine {
            cpus,
            device_late,
            irq_entry: self.irq_entry.cost(0),
            irq_exit: self.irq_exit(),
            queue_operation: self.queue_operation.cost(0),
            callback: self.callback.cost(0),
            tick: self.tick.cost(0),
            softirq_entry: self.softirq_entry.cost(0),
            wakeup: Samples::together(self.wakeups().iter().zip([0, wakeup_fair_ns])),
            wakeup_fair: Cost::Constant(wakeup_fair_ns),
            switch: Samples::together(self.switches.iter().zip([
                0,
                switch_fair_ns,
                2 * switch_fair_ns,
            ])),
            switch_fair: Cost::Constant(switch_fair_ns),
            ipi_handler: self.ipi_handler.cost(0),
            idle_entry: self.idle_entry.cost(0),
            idle_states: idle_states.collect(),
            ..Machine::default()
        }
    }
}
