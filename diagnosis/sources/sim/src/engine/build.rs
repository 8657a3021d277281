//! A system at its beginning.

use super::bandwidth::Group;
use super::cpu::{self, COMMON, CONTEXTS, Context, Cpu, Frame, NEVER, NOBODY, Need, TOP_HALF};
use super::futex::PiLock;
use super::program::Lock;
use super::thread::{Planned, Purpose, Standing, Streams, Strewn, Thread, Timer};
use super::{Line, START_NS, Simulation, Step};
use crate::cost::Tables;
use crate::idle::{ColdStep, PollWindow};
use crate::observer::{Observer, ThreadAt};
use crate::random::{Entity, Stream};
use crate::replay::{AS_USUAL, Coming};
use crate::sched::{Balance, Class, Fair, FairQueue, Loads, Queue, RR_SLICE_NS, Tree, prio_of};
use crate::system::SPAN_NS_MAX;
use crate::{Cost, Measured, Operation, Outside, Policy, Preemption, Softirqs, System, workload};
use std::num::NonZeroU64;
use std::sync::Arc;
use tardy_model::TaskId;
use tardy_model::event::TaskState;
use tardy_timers::policy::{self, Settings};
use tardy_timers::queue::Heap;

/// The thread id of the workload's first thread.
const FIRST_TASK: u32 = 1000;
/// The same of the kernel's.
const FIRST_KERNEL_TASK: u32 = 10;
/// From the first stream of a thread's operations on: one each.
const OPERATIONS_FROM: u32 = 64;
/// Those of its sections.
const SECTIONS_FROM: u32 = 32;

/// The period of ticks that never come: 36 years.
const TICKS_NONE: NonZeroU64 = NonZeroU64::new(SPAN_NS_MAX).expect("above 0");

/// A kernel thread: its name, and how it is scheduled.
struct KernelThread {
    name: String,
    policy: Policy,
    cpu: u16,
    serves: Option<u8>,
    is_ksoftirqd: bool,
}

/// The settings with which a kernel's policy is built.
fn settings(system: &System) -> Settings {
    let mut settings = system.kernel.settings;
    settings.start_ns = START_NS;
    settings.timers = settings.timers.max(2 * system.workload.threads.len());
    if system.kernel.stops_ticks() {
        // The policy has no ticks of its own.
        settings.jiffy_ns = TICKS_NONE;
    }
    if system.kernel.softirqs == Softirqs::Ktimers && settings.common == 0 {
        settings.common = 1;
    }
    settings
}

/// The names of all threads of a system with their ids and whether they are the kernel's, in the order of
/// their numbers.
pub(crate) fn names(system: &System) -> Vec<(TaskId, String, bool)> {
    let own = system.workload.threads.iter().enumerate();
    let own = own.map(|(at, thread)| (TaskId(FIRST_TASK + at as u32), thread.name.clone(), false));
    let kernel = kernel_threads(system).into_iter().enumerate();
    let kernel =
        kernel.map(|(at, thread)| (TaskId(FIRST_KERNEL_TASK + at as u32), thread.name, true));
    own.chain(kernel).collect()
}

/// The first name of a group among the names that events use: behind devices' and idle states'.
pub(crate) fn groups_named_from(system: &System) -> u32 {
    let before = system.workload.devices.len() + system.machine.idle_states.len();
    super::FIRST_DEVICE_NAME + before as u32
}

fn kernel_threads(system: &System) -> Vec<KernelThread> {
    let settings = settings(system);
    let realtime = |priority: u8| match priority {
        0 => Policy::Other { nice: 0 },
        priority => Policy::Fifo(priority.min(99)),
    };
    let mut threads = Vec::new();
    let softirqs = system.kernel.softirqs;
    for cpu in 0..system.machine.cpus {
        let mut add = |name: String, policy, serves, is_ksoftirqd| {
            threads.push(KernelThread { name, policy, cpu, serves, is_ksoftirqd });
        };
        let ordinary = Policy::Other { nice: 0 };
        match softirqs {
            Softirqs::IrqTail => {}
            Softirqs::Ksoftirqd => {
                let policy = realtime(settings.common);
                add(format!("ksoftirqd/{cpu}"), policy, Some(COMMON), true);
            }
            Softirqs::Ktimers => {
                add(format!("ksoftirqd/{cpu}"), ordinary, None, true);
                add(format!("ktimers/{cpu}"), realtime(settings.common), Some(COMMON), false);
            }
        }
        let tail = softirqs == Softirqs::IrqTail;
        let name = if tail { "ksoftirqd" } else { "ktimers" };
        let own: &[(u8, u8)] = match system.kernel.timers.as_str() {
            "timer-thread" | "inherit" | "batch" => &[(0, settings.timer_thread)],
            "deferred" if settings.deferred_own_thread => &[(0, settings.timer_thread)],
            "levels" => {
                let [first, second, third] = settings.levels;
                &[(1, first), (2, second), (3, third)]
            }
            _ => &[],
        };
        for (number, priority) in own {
            let policy = realtime(*priority);
            add(format!("{name}/{cpu}:{number}"), policy, Some(1 + number), false);
        }
        if let Some(priority) = settings.top_half.filter(|_| has_top_half(&system.kernel.timers)) {
            add(format!("irq/0-timer/{cpu}"), realtime(priority), Some(TOP_HALF), false);
        }
    }
    threads
}

impl<O: Observer> Simulation<O> {
    pub(super) fn build(system: &System, observer: O) -> Self {
        let mut threads: Vec<Thread> = Vec::new();
        for (at, thread) in system.workload.threads.iter().enumerate() {
            threads.push(own_thread(system, at as ThreadAt, thread));
        }
        let own = threads.len() as u32;
        let tree = Arc::new(tree(&system.workload));
        let mut cpus: Vec<Cpu> =
            (0..system.machine.cpus).map(|at| new_cpu(system, at, &tree)).collect();
        for (at, kernel) in kernel_threads(system).into_iter().enumerate() {
            let number = threads.len() as ThreadAt;
            let cpu = &mut cpus[usize::from(kernel.cpu)];
            if kernel.is_ksoftirqd {
                cpu.ksoftirqd = number;
            }
            if let Some(serves) = kernel.serves {
                cpu.contexts[usize::from(serves)].thread = number;
            }
            let task = TaskId(FIRST_KERNEL_TASK + at as u32);
            let mut thread = new_thread(system.seed, number, task, kernel.policy);
            thread.cpu = kernel.cpu;
            thread.cpus = 1 << kernel.cpu;
            (thread.runs_softirqs, thread.serves) = (true, kernel.serves);
            thread.prepared = true;
            thread.frame = Frame::new(Step::Parked, 0);
            threads.push(thread);
        }
        let Timers { all: timers, ticks_at, periods_at, periods_end, stopped_ticks_at } =
            all_timers(system);
        let all_groups = &system.workload.groups;
        let groups = all_groups.iter().map(|group| Group::new(group.bandwidth, cpus.len()));
        let groups = groups.collect();
        let weights = all_groups.iter().map(|group| group.weight.map_or(0, u64::from));
        let weights: Vec<u64> = weights.collect();
        let balance = balances(&threads, system.machine.all_cpus()).then(|| {
            let jiffy_ns = system.kernel.settings.jiffy_ns.get();
            Balance::new(&tree, &weights, threads.len(), system.machine.cpus, jiffy_ns, START_NS)
        });
        let loads = Loads::new(weights, system.machine.cpus);
        let devices = system.workload.devices.iter().enumerate().map(|(at, device)| {
            let stream = |purpose| Stream::new(system.seed, Entity::Source(at as u32), purpose);
            let mut every = stream(0);
            let first = device.every.as_ref().map(|cost| cost.draw(&mut every));
            let next_ns = first.map_or(NEVER, |ns| START_NS + ns);
            let (handler, softirq) = (stream(1), stream(2));
            Line { device: device.clone(), next_ns, every, handler, softirq }
        });
        let mut simulation = Self {
            now_ns: START_NS,
            limit_ns: NEVER,
            machine: system.machine.clone(),
            kernel: system.kernel.clone(),
            devices: devices.collect(),
            cpus,
            threads,
            timers,
            ticks_at,
            stopped_ticks_at,
            locks: (0..system.workload.locks).map(|_| Lock::new()).collect(),
            pi_locks: (0..system.workload.locks).map(|_| PiLock::new()).collect(),
            groups,
            loads,
            balance,
            groups_named_from: groups_named_from(system),
            soft_timers: system.kernel.timers.starts_with("softirq-expires-next"),
            soft_sleepers: system.kernel.preemption == Preemption::Rt,
            follows_timers: false,
            moves: 0,
            lock_calls: 0,
            boosts: 0,
            double_boosts: 0,
            programmed_by_moves: 0,
            programming_ns: 0,
            observer,
        };
        let names = ["batch", "inherit"];
        simulation.follows_timers = names.contains(&system.kernel.timers.as_str());
        simulation.prepares();
        for at in 0..simulation.cpus.len() {
            simulation.next_line(at);
            simulation.programs(at);
            simulation.goes_idle(at);
            simulation.cpus[at].told_irqs_off = false;
        }
        for (number, timer) in (periods_at..periods_end).enumerate() {
            // Those of CPUs come first.
            let cpus = simulation.cpus.len();
            let per_cpu = if system.kernel.rt_bandwidth.is_some() { cpus } else { 0 };
            simulation.arms_period(if number < per_cpu { number } else { 0 }, timer);
        }
        for thread in 0..own {
            simulation.tell_group(0, thread, false);
        }
        for thread in 0..own {
            simulation.starts(thread);
        }
        for at in 0..simulation.cpus.len() {
            simulation.tell_state(at);
            simulation.disturb(at);
        }
        simulation
    }
}

impl<O> Simulation<O> {
    /// Makes all costs ready to be drawn from.
    fn prepares(&mut self) {
        let mut tables = Tables::default();
        self.machine.prepare(&mut tables);
        for thread in &mut self.threads {
            thread.returns.prepare(&mut tables);
            thread.callback.prepare(&mut tables);
            for planned in &mut thread.program {
                planned.operation.prepare(&mut tables);
            }
            for strewn in &mut thread.strewn {
                strewn.sections.every.prepare(&mut tables);
                strewn.sections.length.prepare(&mut tables);
            }
        }
        for line in &mut self.devices {
            line.device.prepare(&mut tables);
        }
    }
}

/// The timers of a system, and where those of each kind begin.
struct Timers {
    all: Vec<Timer>,
    ticks_at: u32,
    periods_at: u32,
    periods_end: u32,
    stopped_ticks_at: Option<u32>,
}

fn all_timers(system: &System) -> Timers {
    let own = system.workload.threads.len() as u32;
    let mut timers = Vec::new();
    for owner in 0..own {
        for purpose in [Purpose::Sleep, Purpose::Timeout] {
            timers.push(new_timer(owner, purpose));
        }
    }
    let ticks_at = timers.len() as u32;
    let jiffy_ns = system.kernel.settings.jiffy_ns;
    let first_ns = (START_NS / jiffy_ns + 1) * jiffy_ns.get();
    for _ in 0..system.machine.cpus {
        let tick = new_timer(0, Purpose::Tick);
        timers.push(Timer { soft_ns: first_ns, hard_ns: first_ns, ..tick });
    }
    let periods_at = timers.len() as u32;
    if system.kernel.rt_bandwidth.is_some() {
        for _ in 0..system.machine.cpus {
            timers.push(Timer { soft_ns: START_NS, ..new_timer(0, Purpose::RtPeriod) });
        }
    }
    for (at, group) in (0..).zip(&system.workload.groups) {
        if group.bandwidth.is_some() {
            timers.push(Timer { soft_ns: START_NS, ..new_timer(0, Purpose::GroupPeriod(at)) });
        }
    }
    let periods_end = timers.len() as u32;
    let stopped_ticks_at = system.kernel.stops_ticks().then_some(periods_end);
    if stopped_ticks_at.is_some() {
        for _ in 0..system.machine.cpus {
            timers.push(new_timer(0, Purpose::StoppedTick));
        }
    }
    Timers { all: timers, ticks_at, periods_at, periods_end, stopped_ticks_at }
}

fn own_thread(system: &System, at: ThreadAt, thread: &workload::Thread) -> Thread {
    let stream = |purpose| Stream::new(system.seed, Entity::Thread(at), purpose);
    let mut made = new_thread(system.seed, at, TaskId(FIRST_TASK + at), thread.policy);
    made.cpus = thread.cpus & system.machine.all_cpus();
    // Spread over those that it may use.
    let allowed: Vec<u16> =
        (0..system.machine.cpus).filter(|cpu| made.may_be_on(usize::from(*cpu))).collect();
    let first = thread.first_cpu.filter(|first| allowed.contains(first));
    made.cpu = first.unwrap_or(allowed[at as usize % allowed.len()]);
    made.slack_ns = thread.slack_ns;
    made.returns = thread.returns.clone();
    made.callback = thread.callback.clone();
    made.repeat_from = thread.repeat_from;
    made.watched = thread.watched;
    made.measured = thread.measured;
    made.group = system.workload.limit(thread.group);
    let operations = thread.program.iter().enumerate().map(|(number, operation)| {
        let stream = stream(OPERATIONS_FROM + number as u32);
        Planned { operation: operation.clone(), stream, next_ns: 0 }
    });
    made.program = operations.collect();
    if let Some(script) = &thread.script {
        // A script is done through a program of one operation.
        let (operation, stream) = (Operation::Wait, stream(OPERATIONS_FROM));
        made.program = Box::new([Planned { operation, stream, next_ns: 0 }]);
        made.script = Some(script.clone());
        made.again_ns = thread.again_ns;
        made.skips_passed = thread.skips_passed;
    }
    let both = [(&thread.irqs_off, Step::IrqsOff), (&thread.preempt_off, Step::PreemptOff)];
    for (number, (sections, step)) in both.into_iter().enumerate() {
        if let Some(sections) = sections {
            let mut stream = stream(SECTIONS_FROM + number as u32);
            let left_ns = sections.every.draw(&mut stream).max(1);
            made.strewn.push(Strewn { sections: sections.clone(), stream, step, left_ns });
        }
    }
    made
}

fn new_thread(seed: u64, number: ThreadAt, task: TaskId, policy: Policy) -> Thread {
    Thread {
        task,
        standing: Standing::Asleep,
        cpu: 0,
        cpus: 1,
        class: Class::of(policy),
        prio: prio_of(policy),
        fair: Fair::new(policy),
        policy,
        slack_ns: 0,
        returns: Cost::ZERO,
        callback: Cost::ZERO,
        program: Box::new([]),
        script: None,
        script_at: 0,
        again_ns: None,
        script_from_ns: 0,
        skips_passed: false,
        repeat_from: 0,
        began_ns: 0,
        at: 0,
        frame: Frame::new(Step::Fetch, 0),
        run_ns: 0,
        run_step: Step::User,
        strewn: Vec::new(),
        stage: None,
        sleep_state: TaskState::Interruptible,
        prepared: false,
        wakes_up: false,
        leaves: false,
        is_held: false,
        yields: false,
        tokens: 0,
        waits: false,
        deadline_ns: 0,
        slice_left_ns: RR_SLICE_NS,
        wakes: NOBODY,
        runs_softirqs: false,
        serves: None,
        has_softirq_lock: false,
        asks_ns: 0,
        called_ns: 0,
        measured: Measured::Lateness,
        group: None,
        watched: false,
        streams: Streams::new(seed, number),
    }
}

fn new_timer(owner: ThreadAt, purpose: Purpose) -> Timer {
    Timer {
        owner,
        purpose,
        key: None,
        cpu: 0,
        armed_ns: START_NS,
        soft_ns: 0,
        hard_ns: 0,
        begin_ns: 0,
        is_running: false,
    }
}

/// Whether any fair thread may be on more than one of these CPUs.
fn balances(threads: &[Thread], cpus: u64) -> bool {
    let may =
        |thread: &Thread| thread.class == Class::Fair && (thread.cpus & cpus).count_ones() > 1;
    threads.iter().any(may)
}

/// The groups that weigh anything, and who is in them.
fn tree(workload: &workload::Workload) -> Tree {
    let weighs = |group: Option<u32>| {
        let mut around = workload.around(group).filter(|(_, group)| group.weight.is_some());
        around.next().map(|(at, _)| at)
    };
    let groups: Vec<_> = workload.groups.iter().map(|group| weighs(group.within)).collect();
    let threads: Vec<_> = workload.threads.iter().map(|thread| weighs(thread.group)).collect();
    Tree::new(&groups, &threads)
}

fn new_cpu(system: &System, at: u16, tree: &Arc<Tree>) -> Cpu {
    let settings = settings(system);
    let room = settings.timers;
    let timers = policy::build(&system.kernel.timers, &settings, &|| Heap::with_capacity(room));
    let stream = |purpose| Stream::new(system.seed, Entity::Cpu(at), purpose);
    let mut theft = stream(9);
    let threads = system.workload.threads.len() + CONTEXTS;
    let jiffy_ns = system.kernel.settings.jiffy_ns.get();
    let Outside { arrivals, thefts, paces } = &system.workload.outside;
    let arrivals = Coming::of(arrivals.iter().filter(|it| it.cpu == at).copied());
    let thefts = Coming::of(thefts.iter().filter(|it| it.cpu == at).copied());
    let paces = Coming::of(paces.iter().filter(|it| it.cpu == at).copied());
    let first_theft = match &system.machine.theft {
        Some(drawn) => Some(drawn.every.draw(&mut theft).max(1)),
        None => thefts.first().map(|taken| taken.at_ns),
    };
    let nothing = Context { thread: NOBODY, raised: None, runs: None, wakes: false };
    Cpu {
        top: Frame::new(Step::Fetch, NEVER),
        below: [Frame::new(Step::Fetch, NEVER); cpu::FRAMES - 1],
        depth: 1,
        next_ns: START_NS,
        breaks_ns: START_NS,
        current: NOBODY,
        softirq_owner: NOBODY,
        softirq_waiters: Vec::new(),
        charged_ns: START_NS,
        idle_state: u32::MAX,
        asleep_ns: 0,
        window: PollWindow::default(),
        need: Need::No,
        queue: Queue::new(threads, FairQueue::new(tree, threads, system.machine.cpus, jiffy_ns)),
        timers: timers.expect("the system was checked"),
        device_ns: NEVER,
        longest: (0, 0),
        puts_off: None,
        was_put_off: None,
        ipi_ns: NEVER,
        ipi_by: NOBODY,
        has_sent: false,
        line_ns: NEVER,
        line: 0,
        theft_ns: first_theft.map_or(NEVER, |ns| START_NS + ns),
        stolen_since_ns: 0,
        stolen_ns: 0,
        has_ticked: false,
        recorded_ns: arrivals.first().map_or(NEVER, |arrival| START_NS + arrival.at_ns),
        arrivals,
        thefts,
        pace_ns: paces.first().map_or(NEVER, |pace| START_NS + pace.at_ns),
        paces,
        permille: AS_USUAL,
        cold: ColdStep::USUAL,
        cold_until_ns: 0,
        contexts: [nothing; CONTEXTS],
        rt_used_ns: 0,
        net_ns: 0,
        net_raised: false,
        ksoftirqd: NOBODY,
        streams: cpu::Streams {
            late: stream(0),
            program: stream(1),
            entry: stream(2),
            exit: stream(3),
            tick: stream(4),
            softirq: stream(5),
            switch: stream(6),
            ipi: stream(7),
            idle: stream(8),
            theft,
            kernel: stream(10),
            send: stream(11),
        },
        told: None,
        told_irqs_off: false,
        steps: 0,
    }
}

/// Whether a policy does anything in the thread that the timer interrupt's handler was made into.
fn has_top_half(policy: &str) -> bool {
    matches!(policy, "split" | "jiffy-list-race")
}
