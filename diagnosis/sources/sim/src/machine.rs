//! The machine: CPUs, and how long each thing takes there.
//!
//! Left out: caches beyond what a cost's distribution holds, memory bandwidth, SMT, CPU frequency (but where a
//! recording is done again, its CPUs have their [paces](crate::Pace)), and interrupts that are shared out by the
//! hardware.

use crate::Cost;
use crate::cost::Tables;
use crate::idle::{Coldness, HaltPolling, IdleState};

/// The most CPUs: affinities are 64 bits.
pub const CPUS_MAX: u16 = 64;

/// A machine. All costs are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// How many CPUs, 1 to [`CPUS_MAX`].
    pub cpus: u16,
    /// The clock-event device interrupts so much after it should.
    pub device_late: Cost,
    /// Writing the clock-event device.
    pub program: Cost,
    /// From where a timer interrupt's handler begins to the first callback, which it takes off the queue.
    pub irq_entry: Cost,
    /// From the last callback, or the programming of the device, to the handler's end.
    pub irq_exit: Cost,
    /// Putting a timer into its queue; taking the second and later timers of one interrupt off it.
    pub queue_operation: Cost,
    /// A callback up to where it wakes its thread; of one that wakes nobody all of it.
    pub callback: Cost,
    /// The tick's callback.
    pub tick: Cost,
    /// From where a softirq may run to where its action begins, and once more at its end.
    pub softirq_entry: Cost,
    /// The end of a callback takes so much more in a softirq.
    pub softirq_callback: Cost,
    /// From where a wakeup is told to where the thread is in a queue.
    pub wakeup: Cost,
    /// A fair thread's wakeup takes so much more.
    pub wakeup_fair: Cost,
    /// From where the scheduler is called to where the next thread runs.
    pub switch: Cost,
    /// It takes so much more for each fair thread: the one that is put back or leaves, and the one that comes.
    pub switch_fair: Cost,
    /// An interrupt to another CPU takes so long to arrive.
    pub ipi: Cost,
    /// Sending it takes so long of a CPU that wakes a thread for another one: in a guest, leaving it for the hypervisor.
    pub ipi_send: Cost,
    /// Its handler.
    pub ipi_handler: Cost,
    /// From user space to the work of a system call.
    pub syscall_entry: Cost,
    /// And back.
    pub syscall_exit: Cost,
    /// A futex call's work, each time that it holds the lock of its hash bucket.
    pub futex: Cost,
    /// From where the idle task has nothing to do to where the CPU sleeps.
    pub idle_entry: Cost,
    /// Starting the tick again on the way from a sleep for which it was stopped to the scheduler.
    pub tick_restart: Cost,
    /// The states in which a CPU sleeps, the shallowest first. With none it just waits for interrupts and is
    /// awake at once.
    pub idle_states: Vec<IdleState>,
    /// A hypervisor waits for CPUs that sleep for a short time.
    pub halt_polling: Option<HaltPolling>,
    /// Work after sleeps takes longer.
    pub cold: Coldness,
    /// A hypervisor takes CPUs away.
    pub theft: Option<Theft>,
}

/// A hypervisor that lets another guest have a CPU now and then.
#[derive(Clone, Debug, PartialEq)]
pub struct Theft {
    /// From the end of a burst to the next one.
    pub every: Cost,
    /// How long it lasts.
    pub length: Cost,
}

impl Default for Machine {
    /// One CPU on which nothing takes any time.
    fn default() -> Self {
        Self {
            cpus: 1,
            device_late: Cost::ZERO,
            program: Cost::ZERO,
            irq_entry: Cost::ZERO,
            irq_exit: Cost::ZERO,
            queue_operation: Cost::ZERO,
            callback: Cost::ZERO,
            tick: Cost::ZERO,
            softirq_entry: Cost::ZERO,
            softirq_callback: Cost::ZERO,
            wakeup: Cost::ZERO,
            wakeup_fair: Cost::ZERO,
            switch: Cost::ZERO,
            switch_fair: Cost::ZERO,
            ipi: Cost::ZERO,
            ipi_send: Cost::ZERO,
            ipi_handler: Cost::ZERO,
            syscall_entry: Cost::ZERO,
            syscall_exit: Cost::ZERO,
            futex: Cost::ZERO,
            idle_entry: Cost::ZERO,
            tick_restart: Cost::ZERO,
            idle_states: Vec::new(),
            halt_polling: None,
            cold: Coldness::default(),
            theft: None,
        }
    }
}

impl Machine {
    /// All CPUs of a machine that has at least one, a bit each.
    pub fn all_cpus(&self) -> u64 {
        u64::MAX >> (CPUS_MAX - self.cpus)
    }

    /// Makes all costs ready to be drawn from.
    pub(crate) fn prepare(&mut self, tables: &mut Tables) {
        let Self {
            cpus: _,
            device_late,
            program,
            irq_entry,
            irq_exit,
            queue_operation,
            callback,
            tick,
            softirq_entry,
            softirq_callback,
            wakeup,
            wakeup_fair,
            switch,
            switch_fair,
            ipi,
            ipi_send,
            ipi_handler,
            syscall_entry,
            syscall_exit,
            futex,
            idle_entry,
            tick_restart,
            idle_states,
            halt_polling,
            cold: _,
            theft,
        } = self;
        let interrupts = [device_late, program, irq_entry, irq_exit, queue_operation, callback];
        let softirqs = [tick, softirq_entry, softirq_callback, ipi, ipi_send, ipi_handler];
        let scheduler = [wakeup, wakeup_fair, switch, switch_fair, idle_entry, tick_restart];
        let calls = [syscall_entry, syscall_exit, futex];
        let own = interrupts.into_iter().chain(softirqs).chain(scheduler).chain(calls);
        let theft = theft.iter_mut().flat_map(|Theft { every, length }| [every, length]);
        let exits = idle_states.iter_mut().flat_map(IdleState::exits_mut);
        let polled = halt_polling.iter_mut().map(|polling| &mut polling.exit);
        own.chain(theft).chain(exits).chain(polled).for_each(|cost| cost.prepare(tables));
    }

    /// Every cost with its name.
    pub fn costs(&self) -> impl Iterator<Item = (&'static str, &Cost)> {
        let own = [
            ("wakeup_fair", &self.wakeup_fair),
            ("switch_fair", &self.switch_fair),
            ("device_late", &self.device_late),
            ("program", &self.program),
            ("irq_entry", &self.irq_entry),
            ("irq_exit", &self.irq_exit),
            ("queue_operation", &self.queue_operation),
            ("callback", &self.callback),
            ("tick", &self.tick),
            ("softirq_entry", &self.softirq_entry),
            ("softirq_callback", &self.softirq_callback),
            ("wakeup", &self.wakeup),
            ("switch", &self.switch),
            ("ipi", &self.ipi),
            ("ipi_send", &self.ipi_send),
            ("ipi_handler", &self.ipi_handler),
            ("syscall_entry", &self.syscall_entry),
            ("syscall_exit", &self.syscall_exit),
            ("futex", &self.futex),
            ("idle_entry", &self.idle_entry),
            ("tick_restart", &self.tick_restart),
        ];
        let theft = self
            .theft
            .iter()
            .flat_map(|theft| [("theft.every", &theft.every), ("theft.length", &theft.length)]);
        let exits = self.idle_states.iter().flat_map(IdleState::exits);
        let exits = exits.map(|exit| ("idle_states.exit", exit));
        let polled = self.halt_polling.iter().map(|polling| ("halt_polling.exit", &polling.exit));
        own.into_iter().chain(theft).chain(exits).chain(polled)
    }
}
