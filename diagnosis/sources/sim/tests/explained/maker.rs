//! Systems made up at random: any machine, kernel and workload that is of the kind that kernels are.

use tardy_sim::{
    ColdStep, Coldness, Cost, Device, Entity, HaltPolling, IdleState, Kernel, LongSleep, Machine,
    Measured, Operation, Policy, PollLimits, Preemption, Rtmutex, Sections, Softirqs, Stream,
    System, Thread, Workload,
};

/// Policies whose timers all program the device for their own expiry; of the others the events cannot tell
/// why a timer was left for the next tick.
const TIMERS: [&str; 7] = [
    "hardirq",
    "deferred",
    "ksoftirqd",
    "timer-thread",
    "rearm-eager-double",
    "rearm-single",
    "rearm-lazy",
];

struct Maker(Stream);

/// The system of a seed.
pub(crate) fn made(seed: u64) -> System {
    let mut maker = Maker(Stream::new(seed, Entity::Maker, 0));
    let mut machine = maker.machine();
    Maker(Stream::new(seed, Entity::Maker, 1)).sleeps_matter(&mut machine);
    let kernel = maker.kernel();
    let workload = maker.workload(&machine);
    System { machine, kernel, workload, seed }
}

impl Maker {
    fn below(&mut self, below: u64) -> u64 {
        self.0.below(below)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// About so much, in any shape.
    fn cost(&mut self, about_ns: u64) -> Cost {
        match self.below(4) {
            0 => Cost::Constant(about_ns / 2 + self.below(about_ns + 1)),
            1 => Cost::Uniform { from_ns: about_ns / 2, to_ns: about_ns * 2 },
            2 => Cost::LogNormal { median_ns: about_ns as f64, sigma: 0.4 },
            _ => {
                let parts =
                    vec![(0.9, Cost::Constant(about_ns)), (0.1, Cost::Constant(about_ns * 3))];
                Cost::mixture(parts).expect("shares that sum to 1")
            }
        }
    }

    fn machine(&mut self) -> Machine {
        let states = self.below(3);
        let state = |at: u64, maker: &mut Self| {
            let latency_ns = 20_000 * (at + 1);
            let exit = Cost::Uniform { from_ns: 1000, to_ns: latency_ns };
            let name = format!("C{}", at + 1);
            let residency_ns = 50_000 * at + maker.below(10_000);
            IdleState { name, exit, after: Vec::new(), latency_ns, residency_ns, polls: false }
        };
        let idle_states = (0..states).map(|at| state(at, self)).collect();
        Machine {
            wakeup_fair: Cost::ZERO,
            switch_fair: Cost::ZERO,
            cpus: 1 + self.below(4) as u16,
            device_late: Cost::ZERO,
            program: self.cost(500),
            irq_entry: self.cost(700),
            irq_exit: self.cost(300),
            queue_operation: self.cost(200),
            callback: self.cost(400),
            tick: self.cost(1500),
            softirq_entry: self.cost(300),
            softirq_callback: self.cost(200),
            wakeup: self.cost(600),
            switch: self.cost(900),
            ipi: self.cost(400),
            ipi_send: self.cost(600),
            ipi_handler: self.cost(300),
            syscall_entry: self.cost(200),
            syscall_exit: self.cost(300),
            futex: self.cost(800),
            idle_entry: self.cost(500),
            tick_restart: self.cost(700),
            idle_states,
            halt_polling: None,
            cold: Coldness::default(),
            theft: None,
        }
    }

    /// What depends on how long a CPU slept.
    fn sleeps_matter(&mut self, machine: &mut Machine) {
        for state in &mut machine.idle_states {
            if self.one_in(2) {
                // What exceeds the driver's table would be told as a late interrupt.
                let exit = Cost::Uniform { from_ns: state.latency_ns / 2, to_ns: state.latency_ns };
                state.after = vec![LongSleep { from_ns: 100_000, exit }];
            }
        }
        if self.one_in(3) && !machine.idle_states.is_empty() {
            let limits = PollLimits::default();
            machine.halt_polling = Some(HaltPolling { limits, exit: self.cost(800) });
        }
        if self.one_in(3) {
            let step = |from_ns, work, runs| ColdStep { from_ns, work, runs };
            let steps = vec![step(0, 900, 950), step(80_000, 1_600, 1_300)];
            machine.cold = Coldness { steps, for_ns: 50_000 };
        }
    }

    fn kernel(&mut self) -> Kernel {
        let preemptions = [
            Preemption::None,
            Preemption::Voluntary,
            Preemption::Lazy,
            Preemption::Full,
            Preemption::Rt,
        ];
        let preemption = preemptions[self.below(5) as usize];
        let softirqs = match preemption {
            Preemption::Rt if self.one_in(3) => Softirqs::Ksoftirqd,
            Preemption::Rt => Softirqs::Ktimers,
            _ => Softirqs::IrqTail,
        };
        let mut kernel = Kernel {
            preemption,
            softirqs,
            rtmutex: if self.one_in(2) { Rtmutex::Old } else { Rtmutex::New },
            timers: TIMERS[self.below(TIMERS.len() as u64) as usize].to_owned(),
            ..Kernel::default()
        };
        kernel.settings.timer_thread = 1 + self.below(90) as u8;
        kernel
    }

    fn workload(&mut self, machine: &Machine) -> Workload {
        let cpus = u64::from(machine.cpus);
        let locks = self.below(3) as u32;
        let count = 1 + self.below(12) as u32;
        let threads = (0..count).map(|at| self.thread(at, count, cpus, locks)).collect();
        let devices = (0..self.below(3)).map(|at| {
            let about_ns = 50_000 + self.below(400_000);
            let softirq = if self.one_in(2) { Some(self.cost(5_000)) } else { None };
            Device {
                name: format!("eth{at}"),
                cpu: self.below(cpus) as u16,
                every: Some(Cost::Exponential { mean_ns: about_ns as f64 }),
                handler: self.cost(2_000),
                softirq,
            }
        });
        Workload { threads, devices: devices.collect(), locks, ..Workload::default() }
    }

    fn thread(&mut self, at: u32, count: u32, cpus: u64, locks: u32) -> Thread {
        let policy = match self.below(6) {
            0 | 1 => Policy::Fifo(1 + self.below(98) as u8),
            2 => Policy::RoundRobin(1 + self.below(98) as u8),
            3 if self.one_in(2) => Policy::Deadline { deadline_ns: 1_000_000 },
            _ => Policy::Other { nice: self.below(20) as i8 - 10 },
        };
        let mut program = Vec::new();
        let sleep = match self.below(3) {
            0 => Operation::SleepGrid {
                period_ns: 200_000 + self.below(1_500_000),
                phase: Cost::Constant(self.below(1_000_000)),
                from_ns: 0,
            },
            _ => Operation::Sleep(Cost::Uniform {
                from_ns: 0,
                to_ns: 100_000 + self.below(2_000_000),
            }),
        };
        program.push(sleep);
        let pairs = self.below(4);
        for _ in 0..pairs {
            let about_ns = 2_000 + self.below(40_000);
            program.push(match self.below(8) {
                0 | 1 => Operation::Run(self.cost(about_ns)),
                2 => Operation::Kernel(self.cost(about_ns)),
                3 => Operation::IrqsOff(self.cost(about_ns / 2)),
                4 => Operation::PreemptOff(self.cost(about_ns / 2)),
                5 => Operation::Rearm(Cost::Constant(300_000)),
                6 => Operation::Wake(self.below(count.into()) as u32),
                _ => Operation::Sleep(Cost::Constant(about_ns)),
            });
        }
        if locks > 0 && self.one_in(2) {
            let lock = self.below(locks.into()) as u32;
            let held = self.cost(10_000);
            program.extend(if lock == 0 {
                [Operation::PiLock(lock), Operation::Run(held), Operation::PiUnlock(lock)]
            } else {
                [Operation::Lock(lock), Operation::Run(held), Operation::Unlock(lock)]
            });
        }
        if self.one_in(8) {
            program.push(Operation::Wait);
        }
        let sections = |maker: &mut Self| {
            let every = Cost::Exponential { mean_ns: 50_000.0 };
            maker.one_in(3).then(|| Sections { every, length: maker.cost(3_000) })
        };
        let cpus = if self.one_in(2) { u64::MAX } else { 1 << self.below(cpus) };
        let slack_ns = if self.one_in(2) { 50_000 } else { 1 };
        let (irqs_off, preempt_off) = (sections(self), sections(self));
        Thread {
            returns: Cost::ZERO,
            callback: Cost::ZERO,
            measured: Measured::Lateness,
            name: format!("thread-{at}"),
            policy,
            cpus,
            slack_ns,
            program,
            repeat_from: 0,
            group: None,
            script: None,
            again_ns: None,
            skips_passed: false,
            first_cpu: None,
            irqs_off,
            preempt_off,
            watched: true,
        }
    }
}
