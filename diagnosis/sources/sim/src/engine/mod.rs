//! The simulation: what happens next, on which CPU.
//!
//! Each CPU is a stack of activities (`cpu.rs`); what happens next to it is the end of the one on top, an
//! interrupt, or a theft. The CPU with the earliest of these goes on by one step, and so on.
//!
//! | file | what it knows |
//! |---|---|
//! | `cpu.rs` | the stack, and what each step of an activity allows |
//! | `interrupt.rs` | interrupts from arrival to the way out |
//! | `timer.rs` | timers armed and fired, the device programmed |
//! | `softirq.rs` | softirqs at the end of interrupts and in threads |
//! | `schedule.rs` | wakings, preemption, switches |
//! | `balance.rs` | threads that busy CPUs take from each other |
//! | `bandwidth.rs` | real-time and group bandwidths |
//! | `idle.rs` | a CPU with nothing to do |
//! | `program.rs` | threads' programs |
//! | `futex.rs` | locks with priority inheritance |
//! | `tell.rs` | what observers are told |

mod balance;
mod bandwidth;
mod build;
mod cpu;
mod futex;
mod idle;
mod interrupt;
mod program;
mod schedule;
mod softirq;
mod tell;
mod thread;
mod timer;

use crate::observer::Observer;
use crate::random::Stream;
use crate::sched::{Balance, Class, Loads};
use crate::workload::Device;
use crate::{Kernel, Machine, System, SystemError};

pub(crate) use build::{groups_named_from, names};
use cpu::{Cpu, Frame, NEVER, NOBODY, Need, Step, Where};
pub(crate) use tell::{FIRST_DEVICE_NAME, line_of, timer_id};
use thread::{Thread, Timer};

/// The time at which simulations begin, ns: as after a second of uptime.
pub const START_NS: u64 = 1_000_000_000;

/// A system that is simulated, and who looks on.
pub struct Simulation<O> {
    now_ns: u64,
    /// Up to there nothing happens but to the CPU whose turn it is.
    limit_ns: u64,
    machine: Machine,
    kernel: Kernel,
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
    /// By [`thread::sleeper_of`] and the like; behind those the CPUs' ticks.
    timers: Vec<Timer>,
    /// Where ticks begin among timers.
    ticks_at: u32,
    /// Where the ticks begin that idle CPUs stop, where they do.
    stopped_ticks_at: Option<u32>,
    locks: Vec<program::Lock>,
    pi_locks: Vec<futex::PiLock>,
    groups: Vec<bandwidth::Group>,
    /// What weighs on which CPU in each group.
    loads: Loads,
    /// How busy CPUs are, where a thread may be on more than one.
    balance: Option<Balance>,
    /// The name of the first group among the names that events use.
    groups_named_from: u32,
    devices: Vec<Line>,
    /// The policy leaves it to each timer where it expires, and timeouts ask for the softirq.
    soft_timers: bool,
    /// So do the sleeps of ordinary threads, as on `PREEMPT_RT` since Linux 5.4.
    soft_sleepers: bool,
    /// The policy's threads change their priorities.
    follows_timers: bool,
    /// Calls for locks with priority inheritance, how often a thread was lent a priority by those who wait for it, and
    /// how often once more while it gave a lock up.
    lock_calls: u64,
    boosts: u64,
    double_boosts: u64,
    /// How often an armed timer was moved.
    moves: u64,
    programmed_by_moves: u64,
    /// What CPUs spent on writing their devices.
    programming_ns: u64,
    observer: O,
}

/// Of a CPU that runs nobody, to compare with.
const THREADS_NONE: Class = Class::Fair;

/// A device, and when it interrupts next.
struct Line {
    device: Device,
    next_ns: u64,
    every: Stream,
    handler: Stream,
    softirq: Stream,
}

impl<O: Observer> Simulation<O> {
    /// A system at its beginning.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn new(system: &System, observer: O) -> Result<Self, SystemError> {
        system.check()?;
        Ok(Self::build(system, observer))
    }

    /// The time, ns since the machine's start; a simulation begins at [`START_NS`].
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// How many steps were made so far.
    pub fn steps(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.steps).sum()
    }

    /// How often the clock-event devices were programmed so far.
    pub fn programmed(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.timers.programmed()).sum()
    }

    /// How often a timer was moved that was armed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// How often that programmed a device, what interrupts did at their end aside.
    pub fn programmed_by_moves(&self) -> u64 {
        self.programmed_by_moves
    }

    /// CPU time that went into programming the devices, ns, of all CPUs together.
    pub fn programming_time_ns(&self) -> u64 {
        self.programming_ns
    }

    /// How often a thread called the kernel for a lock with priority inheritance, because somebody else had it.
    pub fn lock_calls(&self) -> u64 {
        self.lock_calls
    }

    /// How often a thread was lent a higher priority by those who wait for its locks.
    pub fn boosts(&self) -> u64 {
        self.boosts
    }

    /// How often that was a thread which had given the lock up and fallen back to its own priority, but not left the call.
    pub fn double_boosts(&self) -> u64 {
        self.double_boosts
    }

    /// Who looks on.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Ends it.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Lets all happen that does before a time.
    pub fn run_until(&mut self, until_ns: u64) {
        loop {
            let (mut at, mut first_ns) = (0, NEVER);
            for (number, cpu) in self.cpus.iter().enumerate() {
                if cpu.next_ns < first_ns {
                    (at, first_ns) = (number, cpu.next_ns);
                }
            }
            if first_ns >= until_ns {
                self.now_ns = self.now_ns.max(until_ns);
                return;
            }
            // Its turn lasts until something happens to another one: of two at a time the first goes first.
            self.limit_ns = until_ns;
            for (other, cpu) in self.cpus.iter().enumerate() {
                if other != at {
                    let next_ns = cpu.next_ns.saturating_add(u64::from(other > at));
                    self.limit_ns = self.limit_ns.min(next_ns);
                }
            }
            while first_ns < self.limit_ns {
                self.now_ns = first_ns;
                first_ns = self.advance(at);
            }
        }
    }

    /// The next thing that happens to a CPU; says when the one after that does.
    #[inline]
    fn advance(&mut self, at: usize) -> u64 {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[at];
        cpu.steps += 1;
        if cpu.breaks_ns > now_ns {
            self.step_ends(at);
            // What takes no time is done at once, where nobody looks on and nothing comes between.
            while !O::EVENTS && !O::STATES && self.goes_on(at) {
                self.step_ends(at);
            }
        } else {
            self.breaks_in(at);
        }
        let cpu = &mut self.cpus[at];
        if cpu.need != Need::No && cpu.depth == 1 {
            self.preempts(at);
        }
        self.tell_state(at);
        self.cpus[at].foresees(now_ns)
    }

    /// Whether the next thing to happen is the end of a step that has just begun; counts it then.
    #[inline]
    fn goes_on(&mut self, at: usize) -> bool {
        let cpu = &mut self.cpus[at];
        let now_ns = self.now_ns;
        let goes_on = cpu.top.end_ns == now_ns
            && cpu.need == Need::No
            && now_ns < self.limit_ns
            && now_ns < cpu.arrival_ns().min(cpu.theft_ns);
        cpu.steps += u64::from(goes_on);
        goes_on
    }

    /// Something comes from outside.
    fn breaks_in(&mut self, at: usize) {
        let cpu = &self.cpus[at];
        if cpu.theft_ns <= self.now_ns && cpu.top().step != Step::Stolen {
            self.steal(at);
        } else if cpu.top().step == Step::Asleep {
            self.wakes_up(at);
        } else {
            self.interrupt(at);
        }
    }

    fn step_ends(&mut self, at: usize) {
        match self.cpus[at].top().step {
            Step::TimerEntry => self.timer_entered(at),
            Step::Moving | Step::Waiting => self.fires_next(at),
            Step::ProgramAfter => self.leaves_timer(at),
            Step::IrqExit => self.irq_ends(at),
            Step::IrqLeave => self.irq_left(at),
            Step::Handler => self.handled(at),
            Step::Dequeue => self.callback_begins(at),
            Step::Callback => self.callback_done(at),
            Step::CallbackWakes => self.callback_woke(at),
            Step::CallbackEnd => self.callback_ends(at),
            Step::Tick => self.ticked(at),
            Step::SoftirqEntry => self.softirq_begins(at),
            Step::SoftirqProgram => self.softirq_done(at),
            Step::NetRx => self.net_rx_ends(at),
            Step::Switch => self.switches(at),
            Step::Stolen => self.given_back(at),
            Step::IdleEntry => self.idles(at),
            Step::IdleExit => self.awake(at),
            Step::Awake | Step::Polling => self.idle_looks(at),
            Step::Asleep => unreachable!("only an interrupt ends it"),
            Step::Fetch => self.fetches(at),
            Step::User | Step::Kernel => self.ran(at),
            Step::IrqsOff | Step::PreemptOff => self.section_ends(at),
            Step::SyscallEntry => self.syscall_entered(at),
            Step::Arming => self.arms(at),
            Step::Program => self.goes_to_sleep(at),
            Step::GoesToSleep => self.sleeps(at),
            Step::SyscallExit => self.syscall_left(at),
            Step::WakesOther => self.woke_other(at),
            Step::Futex => self.futex_worked(at),
            Step::Parked => self.unparked(at),
        }
    }

    /// The activity on top does something else for a time.
    fn go(&mut self, at: usize, step: Step, ns: u64) {
        let cpu = &mut self.cpus[at];
        let ns =
            if !cpu.has_pace() || !step.is_own_work() { ns } else { cpu.paced(self.now_ns, ns) };
        let top = cpu.top_mut();
        (top.step, top.end_ns) = (step, self.now_ns + ns);
    }

    fn steal(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let length_ns = match (&self.machine.theft, cpu.thefts.first()) {
            (Some(theft), _) => theft.length.draw(&mut cpu.streams.theft),
            (None, Some(taken)) => taken.ns,
            (None, None) => return,
        };
        let end_ns = self.now_ns + length_ns;
        cpu.stolen_since_ns = self.now_ns;
        cpu.push(Frame::new(Step::Stolen, end_ns), self.now_ns);
    }

    fn given_back(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        cpu.pop(self.now_ns);
        // A CPU that sleeps wants nothing from its host until an interrupt arrives.
        let wanted_ns = if cpu.top().step == Step::Asleep { cpu.arrival_ns() } else { 0 };
        let from_ns = cpu.stolen_since_ns.max(wanted_ns);
        cpu.stolen_ns += self.now_ns.saturating_sub(from_ns);
        if let Some(theft) = &self.machine.theft {
            cpu.theft_ns = self.now_ns + theft.every.draw(&mut cpu.streams.theft).max(1);
            return;
        }
        cpu.thefts.pass();
        cpu.theft_ns = cpu.thefts.first().map_or(NEVER, |taken| START_NS + taken.at_ns);
    }

    /// Something may happen to another CPU earlier than it knew.
    fn disturb(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let next_ns = cpu.foresees(self.now_ns);
        self.limit_ns = self.limit_ns.min(next_ns);
    }
}
