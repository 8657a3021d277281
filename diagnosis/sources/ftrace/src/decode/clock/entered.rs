//! When each CPU entered the interrupt that it is in: what is read of a clock there was not read before.

use rustc_hash::FxHashMap;
use tardy_model::{CpuId, TaskId};

/// CPUs that are in an interrupt, or in the softirq of timers. There are at most 2^16.
#[derive(Default)]
pub(in crate::decode) struct Entered(FxHashMap<CpuId, Cpu>);

#[derive(Clone, Copy, Default)]
struct Cpu {
    interrupt_ns: Option<u64>,
    softirq_ns: Option<u64>,
    /// A task was in neither, and when that was last seen.
    outside: Option<(TaskId, u64)>,
}

impl Entered {
    /// An interrupt's handler begins (a device's, or the local timer's), or ends.
    pub(in crate::decode) fn interrupt(&mut self, cpu: CpuId, begun_ns: Option<u64>) {
        self.0.entry(cpu).or_default().interrupt_ns = begun_ns;
    }

    /// The softirq of high-resolution timers begins or ends.
    pub(in crate::decode) fn timer_softirq(&mut self, cpu: CpuId, begun_ns: Option<u64>) {
        self.0.entry(cpu).or_default().softirq_ns = begun_ns;
    }

    /// A task does something that none does in an interrupt or a softirq: it goes to sleep with the CPU or wakes up with
    /// it, or enters or leaves a system call.
    pub(in crate::decode) fn outside(&mut self, cpu: CpuId, task: TaskId, time_ns: u64) {
        self.0.entry(cpu).or_default().outside = Some((task, time_ns));
    }

    /// When the current task was last seen in neither: what runs in it now has begun since then. Of another task that
    /// says nothing: with `PREEMPT_RT` one is preempted in the middle of a softirq.
    pub(in crate::decode) fn not_before(&self, cpu: CpuId, current: TaskId) -> Option<u64> {
        let (task, time_ns) = self.0.get(&cpu)?.outside?;
        (task == current).then_some(time_ns)
    }

    /// Events of the CPU are missing.
    pub(in crate::decode) fn lost(&mut self, cpu: CpuId) {
        self.0.remove(&cpu);
    }

    /// When the CPU entered what it is in.
    pub(in crate::decode) fn of(&self, cpu: CpuId) -> Option<u64> {
        let cpu = self.0.get(&cpu)?;
        cpu.interrupt_ns.or(cpu.softirq_ns)
    }
}
