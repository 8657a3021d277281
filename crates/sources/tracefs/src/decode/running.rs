//! Who runs on each CPU, and switches that the kernel kept to itself.
//!
//! Every record says which task was current. Where that is not the one that was switched to last, a
//! switch has not been told of, and without this the CPU would seem to sleep, or to run a thread that
//! has long gone.
//!
//! Seen on a guest of Firecracker with its own 6.18 kernel: the trace buffer has nothing that some
//! tasks do themselves (switches away from them, their idle states, timers that they arm), only what
//! interrupts do meanwhile. It is so for the idle task of every CPU but the first, of which eBPF
//! programs on the same tracepoints see all, and for threads of the guest's agent (process 1), of
//! which they see nothing either. The kernel's own text (`trace`) lacks the same events as its pages.
//!
//! The stream then has a loss, from the last record of that CPU to the one that gave it away, since
//! what the CPU did in between is not known; and after it a switch, so that the rest is.

use std::collections::BTreeMap;
use tardy_model::event::{Loss, Switch, TaskState};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, TaskId};

/// What each CPU runs. One entry per CPU up to the highest that wrote anything: at most 2^16.
#[derive(Default)]
pub(super) struct Running {
    cpus: Vec<Option<Current>>,
    untold: BTreeMap<CpuId, u64>,
    /// Where switches are not recorded at all, nothing follows from their absence.
    pub(super) has_switches: bool,
}

#[derive(Clone, Copy)]
struct Current {
    task: TaskId,
    /// When it was last seen there.
    last_ns: u64,
}

impl Running {
    /// `task` is seen to run on `cpu`. Returns whether that is news, and since when.
    #[inline]
    pub(super) fn see(&mut self, time_ns: u64, cpu: CpuId, task: TaskId) -> Option<Untold> {
        let at = usize::from(cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, None);
        }
        let before = self.cpus[at].replace(Current { task, last_ns: time_ns })?;
        if before.task == task || !self.has_switches {
            return None;
        }
        *self.untold.entry(cpu).or_default() += 1;
        Some(Untold { time_ns, cpu, since_ns: before.last_ns, prev: before.task, next: task })
    }

    /// The kernel tells of a switch.
    pub(super) fn switched(&mut self, time_ns: u64, cpu: CpuId, next: TaskId) {
        if let Some(current) = self.cpus.get_mut(usize::from(cpu.0)) {
            *current = Some(Current { task: next, last_ns: time_ns });
        }
    }

    /// Whether `task` runs anywhere, as far as is known.
    pub(super) fn runs(&self, task: TaskId) -> bool {
        self.cpus.iter().flatten().any(|current| current.task == task)
    }

    /// Records of `cpu` were lost, and that has been told.
    pub(super) fn forget(&mut self, cpu: CpuId) {
        if let Some(current) = self.cpus.get_mut(usize::from(cpu.0)) {
            *current = None;
        }
    }

    /// How many switches the kernel did not tell of, on each CPU where there are any.
    pub(super) fn untold(&self) -> &BTreeMap<CpuId, u64> {
        &self.untold
    }
}

/// A switch that the kernel did not tell of.
pub(super) struct Untold {
    time_ns: u64,
    cpu: CpuId,
    since_ns: u64,
    prev: TaskId,
    pub(super) next: TaskId,
}

/// The priority of the idle tasks, and of a thread of which nothing else is known.
const PRIO: Prio = Prio(120);

impl Untold {
    /// The loss, and the switch at the time when it was given away.
    pub(super) fn tell(&self, next_prio: Option<Prio>, batch: &mut Batch) {
        let Self { time_ns, cpu, since_ns, prev, next } = *self;
        let loss = Loss { since_ns, count: 1 };
        batch.events.push(Event::new(time_ns, cpu, TaskId::IDLE, Kind::Loss(loss)));
        let switch = Switch {
            prev_state: TaskState::Running,
            prev_prio: PRIO,
            preempted: false,
            next,
            next_prio: next_prio.unwrap_or(PRIO),
        };
        batch.events.push(Event::new(time_ns, cpu, prev, Kind::Switch(switch)));
    }
}
