//! A simulated system as a source of events, like any other.

use crate::engine::{FIRST_DEVICE_NAME, START_NS, Simulation, groups_named_from, names};
use crate::observer::Observer;
use crate::{Bandwidth, Group, System, SystemError};
use tardy_model::event::{
    Comm, GroupBandwidth, GroupWeight, IdleState, Recorded, SectionBegin, SectionEnd, Stack,
    TaskCpus, TaskGroup, TaskInfo, TaskName,
};
use tardy_model::{
    Batch, CpuId, Event, NameId, Source, SourceError, TaskId, TimerClass, TimerDef, TimerId,
};

/// A batch is of this much of the system's time, ns.
const BATCH_NS: u64 = 10_000_000;

/// The functions of timers, by what they are for.
const WAKEUP: NameId = NameId(1);
const TIMEOUT: NameId = NameId(2);
const TICK: NameId = NameId(3);
const RT_PERIOD: NameId = NameId(4);
const CFS_PERIOD: NameId = NameId(5);

/// Where the kernel would keep the first timer; only that addresses differ matters.
const FIRST_ADDRESS: u64 = 0xffff_8880_0000_1000;

/// Keeps events until they are taken.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Vec<Event>,
}

impl Recorder {
    /// Those that have come since it was asked last.
    pub fn take(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.events.drain(..)
    }
}

impl Observer for Recorder {
    const EVENTS: bool = true;
    const STATES: bool = false;

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// A simulated system as a source.
pub struct Simulated<O> {
    simulation: Simulation<(Recorder, O)>,
    /// What comes before all events.
    first: Option<Batch>,
    end_ns: u64,
}

impl<O: Observer> Simulated<O> {
    /// A system for `span_ns` of its time, with somebody else who looks on too.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn new(system: &System, span_ns: u64, observer: O) -> Result<Self, SystemError> {
        let simulation = Simulation::new(system, (Recorder::default(), observer))?;
        let first = Some(definitions(system));
        Ok(Self { simulation, first, end_ns: START_NS.saturating_add(span_ns) })
    }

    /// The other one who looks on.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.simulation.observer_mut().1
    }

    /// Ends it.
    pub fn into_observer(self) -> O {
        self.simulation.into_observer().1
    }
}

impl<O: Observer> Source for Simulated<O> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if let Some(first) = self.first.take() {
            *batch = first;
            return Ok(true);
        }
        let now_ns = self.simulation.now_ns();
        if now_ns >= self.end_ns {
            return Ok(false);
        }
        self.simulation.run_until(self.end_ns.min(now_ns + BATCH_NS));
        // Its memory goes round.
        std::mem::swap(&mut batch.events, &mut self.simulation.observer_mut().0.events);
        Ok(true)
    }
}

/// Names, timers and threads of a system.
fn definitions(system: &System) -> Batch {
    let mut batch = Batch::default();
    let named = [
        (WAKEUP, "hrtimer_wakeup"),
        (TIMEOUT, "timerfd_tmrproc"),
        (TICK, "tick_nohz_handler"),
        (RT_PERIOD, "sched_rt_period_timer"),
        (CFS_PERIOD, "sched_cfs_period_timer"),
    ];
    batch.names.extend(named.map(|(id, name)| (id, name.to_owned())));
    let devices = &system.workload.devices;
    for (at, device) in devices.iter().enumerate() {
        batch.names.push((NameId(FIRST_DEVICE_NAME + at as u32), device.name.clone()));
    }
    let mut event = |task, kind: tardy_model::Kind| {
        batch.events.push(Event::new(START_NS, CpuId(0), task, kind));
    };
    let mut recorded = Recorded::all();
    recorded.kinds &= !(1 << Stack::TAG);
    if !system.kernel.tells_sections {
        recorded.kinds &= !(1 << SectionBegin::TAG | 1 << SectionEnd::TAG);
    }
    event(TaskId::IDLE, recorded.into());
    let states_from = FIRST_DEVICE_NAME + devices.len() as u32;
    for (at, state) in system.machine.idle_states.iter().enumerate() {
        let (state_at, name) = (at as u32, NameId(states_from + at as u32));
        let kind = IdleState { state: state_at, exit_latency_ns: state.latency_ns, name };
        event(TaskId::IDLE, kind.into());
    }
    let own = &system.workload.threads;
    for (at, (task, name, is_kernel)) in names(system).into_iter().enumerate() {
        event(task, TaskName { comm: Comm::new(&name) }.into());
        let watched = own.get(at).is_some_and(|thread| thread.watched);
        let kernel = if is_kernel { TaskInfo::KERNEL } else { TaskInfo::SYSCALLS };
        let flags = kernel | if watched { TaskInfo::WATCHED } else { 0 };
        event(task, TaskInfo { process: task, flags }.into());
    }
    let groups = || (groups_named_from(system)..).zip(&system.workload.groups);
    for (at, group) in groups() {
        let path = NameId(at);
        if let Some(Bandwidth { runtime_ns: quota_ns, period_ns }) = group.bandwidth {
            let period_ns = u32::try_from(period_ns).unwrap_or(u32::MAX);
            event(TaskId::IDLE, GroupBandwidth { path, quota_ns, period_ns }.into());
        }
        if let Some(weight) = group.weight {
            event(TaskId::IDLE, GroupWeight { path, weight }.into());
        }
    }
    for (task, thread) in names(system).into_iter().map(|(task, ..)| task).zip(own) {
        let cpus = bound_to(thread.cpus, system.machine.all_cpus());
        event(task, TaskCpus { cpus }.into());
        if let Some(group) = thread.group {
            let path = NameId(groups_named_from(system) + group);
            event(task, TaskGroup { path, throttled: false }.into());
        }
    }
    let states = system.machine.idle_states.iter().enumerate();
    let states = states.map(|(at, state)| (NameId(states_from + at as u32), state.name.clone()));
    batch.names.extend(states);
    let paths = (0..system.workload.groups.len() as u32).map(|at| path(system, at));
    batch.names.extend((groups_named_from(system)..).map(NameId).zip(paths));
    let tasks = names(system);
    for (at, _) in own.iter().enumerate() {
        for (function, owner) in [(WAKEUP, tasks[at].0), (TIMEOUT, TaskId::IDLE)] {
            add_timer(&mut batch, function, owner);
        }
    }
    for _ in 0..system.machine.cpus {
        add_timer(&mut batch, TICK, TaskId::IDLE);
    }
    if system.kernel.rt_bandwidth.is_some() {
        (0..system.machine.cpus).for_each(|_| add_timer(&mut batch, RT_PERIOD, TaskId::IDLE));
    }
    for _ in system.workload.groups.iter().filter(|group| group.bandwidth.is_some()) {
        add_timer(&mut batch, CFS_PERIOD, TaskId::IDLE);
    }
    if system.kernel.stops_ticks() {
        (0..system.machine.cpus).for_each(|_| add_timer(&mut batch, TICK, TaskId::IDLE));
    }
    batch
}

/// The CPUs to which a thread is bound by its mask, if it is to any, on a machine of all these.
fn bound_to(mask: u64, all: u64) -> u64 {
    if mask & all == all { TaskCpus::ANY } else { mask }
}

/// A group's path, in which those around it are: readers tell by it which group is in which.
fn path(system: &System, group: u32) -> String {
    let around: Vec<&Group> =
        system.workload.around(Some(group)).map(|(_, around)| around).collect();
    around.iter().rev().fold(String::new(), |path, group| {
        let is_below = group.name.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'));
        if path.is_empty() || is_below {
            group.name.clone()
        } else {
            format!("{path}/{}", group.name)
        }
    })
}

fn add_timer(batch: &mut Batch, function: NameId, owner: TaskId) {
    let id = TimerId(batch.timers.len() as u32 + 1);
    let address = FIRST_ADDRESS + u64::from(id.0) * 64;
    batch.timers.push(TimerDef { id, address, function, owner, class: TimerClass::Hrtimer });
}
