//! Whether a CPU runs a task's own code in the kernel, or an interrupt.

use tardy_model::{CpuId, Event, Kind, TaskId};

/// CPUs that can be told apart; what is above is read as the last one.
const CPUS_MAX: usize = 8192;

/// Interrupts within interrupts, and softirqs that threads have left: more than any kernel has.
const NESTING_MAX: usize = 16;

/// One CPU.
#[derive(Debug, Default)]
struct Context {
    interrupts: usize,
    in_softirq: bool,
    /// Threads that were switched away from in a softirq (`PREEMPT_RT` runs them in threads).
    left: Vec<TaskId>,
    /// Events seen.
    events: u64,
}

/// All CPUs.
#[derive(Debug, Default)]
pub(super) struct Contexts(Vec<Context>);

/// A place among the events of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    cpu: u16,
    number: u64,
}

impl Place {
    pub(super) fn is_next_after(self, other: Self) -> bool {
        self.cpu == other.cpu && self.number == other.number + 1
    }
}

impl Contexts {
    /// Takes an event. Says where it is, and whether the current task did it itself.
    pub(super) fn event(&mut self, event: &Event) -> (Place, bool) {
        let at = place_of(event.cpu);
        if at >= self.0.len() {
            self.0.resize_with(at + 1, Context::default);
        }
        let context = &mut self.0[at];
        context.events += 1;
        match event.kind() {
            Kind::IrqBegin(_) => context.interrupts = (context.interrupts + 1).min(NESTING_MAX),
            Kind::IrqEnd(_) => context.interrupts = context.interrupts.saturating_sub(1),
            Kind::SoftirqBegin(_) => context.in_softirq = true,
            Kind::SoftirqEnd(_) => context.in_softirq = false,
            Kind::Switch(switch) => context.switch(event.task, switch.next),
            Kind::IdleEnter(_) | Kind::Loss(_) => {
                *context = Context { events: context.events, ..Context::default() };
            }
            _ => {}
        }
        let in_task = context.interrupts == 0 && !context.in_softirq && event.task != TaskId::IDLE;
        (Place { cpu: at as u16, number: context.events }, in_task)
    }
}

impl Context {
    /// Nothing switches in a hard interrupt: where one is open its end was not seen.
    fn switch(&mut self, prev: TaskId, next: TaskId) {
        self.interrupts = 0;
        if self.in_softirq {
            if self.left.len() == NESTING_MAX {
                self.left.remove(0);
            }
            self.left.push(prev);
        }
        let taken_up = self.left.iter().position(|task| *task == next);
        self.in_softirq = taken_up.is_some();
        if let Some(at) = taken_up {
            self.left.remove(at);
        }
    }
}

fn place_of(cpu: CpuId) -> usize {
    usize::from(cpu.0).min(CPUS_MAX - 1)
}
