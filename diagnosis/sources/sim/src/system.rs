//! A whole system to be simulated, and whether it can be.

use crate::machine::CPUS_MAX;
use crate::workload::{OPERATIONS_MAX, THREADS_MAX};
use crate::{
    Arrival, Bandwidth, COST_NS_MAX, Cost, CostError, Kernel, Machine, NO_THREAD, Operation,
    PERMILLE_MAX, Policy, Sections, Workload,
};
use tardy_timers::policy::KNOWN;

/// The longest time that is simulated, ns: about 36 years.
pub const SPAN_NS_MAX: u64 = 1 << 60;

/// A program that takes less time than this waits before it begins anew: without taking any it would go round
/// for ever.
pub(crate) const REPEAT_NS_MIN: u64 = 1_000;

/// The most groups.
pub(crate) const GROUPS_MAX: usize = 1 << 12;

/// What a group may weigh (`cpu.shares`).
pub const GROUP_WEIGHTS: std::ops::RangeInclusive<u32> = 2..=1 << 18;

/// The shortest period of a bandwidth, ns, as in the kernel (`min_cfs_quota_period`).
const PERIOD_NS_MIN: u64 = 1_000_000;

/// A system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub kernel: Kernel,
    /// What runs.
    pub workload: Workload,
    /// What all that is random depends on.
    pub seed: u64,
}

/// Why a system cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// Too few or too many CPUs.
    #[error("a machine has 1 to {CPUS_MAX} CPUs, not {0}")]
    Cpus(u16),
    /// A cost that cannot be drawn.
    #[error("{what}: {error}")]
    Cost {
        /// Whose.
        what: String,
        /// Why.
        error: CostError,
    },
    /// There is no such timer policy.
    #[error("there is no timer policy {0}: tardy sim list shows them")]
    Timers(String),
    /// A bandwidth that cannot be.
    #[error("bandwidth of {0}: a runtime is above 0 and a period at least 1 ms")]
    Bandwidth(String),
    /// A factor that cannot be.
    #[error(
        "cold: a factor is from 0.001 to 10, a time at most {COST_NS_MAX} ns, and the shorter sleeps come first"
    )]
    Cold,
    /// A hypervisor that waits for CPUs which are awake at once without it.
    #[error(
        "halt-polling: a machine needs idle-states, which tell what waking up takes without it"
    )]
    HaltPolling,
    /// Too many groups.
    #[error("at most {GROUPS_MAX} control groups can be simulated")]
    Groups,
    /// A group in one that comes later.
    #[error("group {0}: it comes before the group that it is in")]
    Within(String),
    /// A weight that cannot be.
    #[error("group {0}: a weight is from 2 to 262144")]
    Weight(String),
    /// Too many threads.
    #[error("at most {THREADS_MAX} threads can be simulated")]
    Threads,
    /// A thread that cannot be.
    #[error("thread {name}: {why}")]
    Thread {
        /// Whose.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// Interrupts, thefts or paces that cannot be done again.
    #[error("external events are not in order of time, or name something that does not exist")]
    Outside,
    /// A device on a CPU that there is not.
    #[error("device {name}: there is no CPU {cpu}")]
    Device {
        /// Whose.
        name: String,
        /// Where.
        cpu: u16,
    },
}

impl System {
    /// Whether it can be simulated.
    ///
    /// # Errors
    /// Names what cannot be, and why.
    pub fn check(&self) -> Result<(), SystemError> {
        let machine = &self.machine;
        if machine.cpus == 0 || machine.cpus > CPUS_MAX {
            return Err(SystemError::Cpus(machine.cpus));
        }
        for (name, cost) in machine.costs() {
            check(name, cost)?;
        }
        let mut factors = machine.cold.steps.iter().flat_map(|step| [step.work, step.runs]);
        let in_order = machine.cold.steps.is_sorted_by_key(|step| step.from_ns);
        if factors.any(|permille| !(1..=PERMILLE_MAX).contains(&permille))
            || machine.cold.for_ns > COST_NS_MAX
            || !in_order
        {
            return Err(SystemError::Cold);
        }
        if machine.halt_polling.is_some() && machine.idle_states.is_empty() {
            return Err(SystemError::HaltPolling);
        }
        if !KNOWN.iter().any(|about| about.name == self.kernel.timers) {
            return Err(SystemError::Timers(self.kernel.timers.clone()));
        }
        let threads = &self.workload.threads;
        if threads.len() > THREADS_MAX {
            return Err(SystemError::Threads);
        }
        let rt = self.kernel.rt_bandwidth.iter();
        let rt = rt.map(|bandwidth| ("real-time", *bandwidth));
        let groups = self.workload.groups.iter();
        let groups = groups.filter_map(|group| Some((group.name.as_str(), group.bandwidth?)));
        for (name, Bandwidth { runtime_ns, period_ns }) in rt.chain(groups) {
            if !is_bandwidth(runtime_ns, period_ns) {
                return Err(SystemError::Bandwidth(name.to_owned()));
            }
        }
        if self.workload.groups.len() > GROUPS_MAX {
            return Err(SystemError::Groups);
        }
        for (at, group) in (0..).zip(&self.workload.groups) {
            if group.within.is_some_and(|within| within >= at) {
                return Err(SystemError::Within(group.name.clone()));
            }
            if group.weight.is_some_and(|weight| !GROUP_WEIGHTS.contains(&weight)) {
                return Err(SystemError::Weight(group.name.clone()));
            }
        }
        for thread in threads {
            let refuse = |why| SystemError::Thread { name: thread.name.clone(), why };
            if thread.cpus & machine.all_cpus() == 0 {
                return Err(refuse("the machine has none of its CPUs"));
            }
            match thread.policy {
                Policy::Other { nice } | Policy::Batch { nice } if !(-20..=19).contains(&nice) => {
                    return Err(refuse("nice is from -20 to 19"));
                }
                Policy::Fifo(prio) | Policy::RoundRobin(prio) if !(1..=99).contains(&prio) => {
                    return Err(refuse("a real-time priority is from 1 to 99"));
                }
                _ => {}
            }
            if thread.group.is_some_and(|group| group as usize >= self.workload.groups.len()) {
                return Err(refuse("there is no such control group"));
            }
            check(&thread.name, &thread.returns)?;
            check(&thread.name, &thread.callback)?;
            if thread.program.len() > OPERATIONS_MAX {
                return Err(refuse("its program is too long"));
            }
            for sections in [&thread.irqs_off, &thread.preempt_off].into_iter().flatten() {
                let Sections { every, length } = sections;
                check(&thread.name, every)?;
                check(&thread.name, length)?;
            }
            let script = thread.script.iter().flat_map(|script| script.iter());
            for step in script {
                self.check_operation(&step.operation(0), &thread.name)?;
            }
            for operation in &thread.program {
                self.check_operation(operation, &thread.name)?;
            }
        }
        self.check_outside()?;
        for device in &self.workload.devices {
            if device.cpu >= machine.cpus {
                let name = device.name.clone();
                return Err(SystemError::Device { name, cpu: device.cpu });
            }
            for cost in device.every.iter().chain([&device.handler]).chain(&device.softirq) {
                check(&device.name, cost)?;
            }
        }
        Ok(())
    }

    fn check_outside(&self) -> Result<(), SystemError> {
        let Workload { outside, devices, threads, .. } = &self.workload;
        let cpus = self.machine.cpus;
        let fits = |arrival: &Arrival| {
            let wakes = arrival.wakes == NO_THREAD || (arrival.wakes as usize) < threads.len();
            arrival.cpu < cpus && (arrival.device as usize) < devices.len() && wakes
        };
        let in_order = outside.arrivals.is_sorted_by_key(|arrival| arrival.at_ns)
            && outside.thefts.is_sorted_by_key(|theft| theft.at_ns)
            && outside.paces.is_sorted_by_key(|pace| pace.at_ns);
        let paces = 1..=PERMILLE_MAX;
        let all_fit = outside.arrivals.iter().all(fits)
            && outside.thefts.iter().all(|theft| theft.cpu < cpus && theft.ns <= COST_NS_MAX)
            && outside.paces.iter().all(|pace| pace.cpu < cpus && paces.contains(&pace.permille));
        if in_order && all_fit { Ok(()) } else { Err(SystemError::Outside) }
    }

    fn check_operation(&self, operation: &Operation, name: &str) -> Result<(), SystemError> {
        let refuse = |why| Err(SystemError::Thread { name: name.to_owned(), why });
        match operation {
            Operation::Run(cost)
            | Operation::Kernel(cost)
            | Operation::IrqsOff(cost)
            | Operation::PreemptOff(cost)
            | Operation::Sleep(cost)
            | Operation::Rearm(cost) => check(name, cost),
            Operation::SleepGrid { period_ns: 0, .. } => refuse("a period cannot be 0"),
            Operation::SleepGrid { period_ns, phase, from_ns } => {
                check(name, &Cost::Constant(*period_ns))?;
                check(name, &Cost::Constant(*from_ns))?;
                check(name, phase)
            }
            Operation::Wake(thread) if *thread as usize >= self.workload.threads.len() => {
                refuse("it wakes a thread that does not exist")
            }
            Operation::Lock(lock)
            | Operation::Unlock(lock)
            | Operation::PiLock(lock)
            | Operation::PiUnlock(lock)
                if *lock >= self.workload.locks =>
            {
                refuse("it uses a lock that does not exist")
            }
            _ => Ok(()),
        }
    }
}

/// Whether that can be a bandwidth.
pub(crate) fn is_bandwidth(runtime_ns: u64, period_ns: u64) -> bool {
    runtime_ns > 0 && (PERIOD_NS_MIN..=COST_NS_MAX).contains(&period_ns)
}

fn check(what: &str, cost: &Cost) -> Result<(), SystemError> {
    cost.check().map_err(|error| SystemError::Cost { what: what.to_owned(), error })
}
