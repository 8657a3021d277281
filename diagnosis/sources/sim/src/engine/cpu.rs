//! One CPU: a stack of activities, each with work left to do.

use super::START_NS;
use crate::idle::{ColdStep, PollWindow, cold_run_ns};
use crate::observer::{Interrupt, PutOff, State, ThreadAt, TimerAt};
use crate::random::Stream;
use crate::replay::{AS_USUAL, Arrival, Coming, Pace, Taken};
use crate::sched::Queue;
use tardy_timers::policy::Policy;

/// What never comes.
pub(crate) const NEVER: u64 = u64::MAX;

/// No thread.
pub(crate) const NOBODY: ThreadAt = ThreadAt::MAX;

/// A task or the idle task; a softirq at an interrupt's end; an interrupt; a theft: nothing nests deeper.
pub(crate) const FRAMES: usize = 5;

/// What an activity does now. It lasts until the frame's end; what comes then is in the file that knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    // Interrupts.
    TimerEntry,
    Moving,
    Waiting,
    ProgramAfter,
    IrqExit,
    /// The handler has ended; threads for softirqs are being woken.
    IrqLeave,
    Handler,
    // Callbacks, in an interrupt, a softirq at its end, or a thread.
    Dequeue,
    Callback,
    CallbackWakes,
    /// It has woken its thread, which may preempt it here.
    CallbackEnd,
    Tick,
    // Softirqs.
    SoftirqEntry,
    /// Timers' softirq writes the device, under the lock of the queue.
    SoftirqProgram,
    NetRx,
    // The scheduler.
    Switch,
    Stolen,
    // The idle task.
    IdleEntry,
    Asleep,
    Polling,
    IdleExit,
    Awake,
    // Threads. At `Fetch` they take their next operation.
    Fetch,
    User,
    Kernel,
    IrqsOff,
    PreemptOff,
    SyscallEntry,
    Arming,
    Program,
    GoesToSleep,
    SyscallExit,
    WakesOther,
    /// Work of a futex call under its bucket's lock.
    Futex,
    /// A thread that runs softirqs has nothing to do.
    Parked,
}

/// Where a thread can be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    User,
    Kernel,
    /// In a softirq that a thread runs.
    Softirq,
    Nowhere,
}

impl Step {
    /// Whether interrupts are taken meanwhile; of callbacks `in_interrupt` tells.
    pub(crate) const fn irqs_on(self, in_interrupt: bool) -> bool {
        match self {
            Self::TimerEntry
            | Self::Moving
            | Self::Waiting
            | Self::ProgramAfter
            | Self::IrqExit
            | Self::IrqLeave
            | Self::Handler
            | Self::Tick
            // Under the lock of the queue, and of the thread.
            | Self::Dequeue
            | Self::SoftirqProgram
            | Self::CallbackWakes
            | Self::Switch
            | Self::Stolen
            | Self::IdleEntry
            | Self::Asleep
            | Self::IdleExit
            | Self::IrqsOff
            | Self::Arming
            | Self::Program
            | Self::WakesOther => false,
            Self::Callback | Self::CallbackEnd => !in_interrupt,
            Self::SoftirqEntry
            | Self::NetRx
            | Self::Polling
            | Self::Awake
            | Self::Fetch
            | Self::User
            | Self::Kernel
            | Self::PreemptOff
            | Self::SyscallEntry
            | Self::GoesToSleep
            | Self::SyscallExit
            | Self::Futex
            | Self::Parked => true,
        }
    }

    /// Whether it is the machine's own work, which takes what a cost of the machine says.
    pub(crate) const fn is_own_work(self) -> bool {
        matches!(
            self,
            Self::TimerEntry
                | Self::Moving
                | Self::ProgramAfter
                | Self::IrqExit
                | Self::IrqLeave
                | Self::Dequeue
                | Self::Callback
                | Self::CallbackWakes
                | Self::CallbackEnd
                | Self::Tick
                | Self::SoftirqEntry
                | Self::SoftirqProgram
                | Self::Switch
                | Self::IdleEntry
                | Self::SyscallEntry
                | Self::Arming
                | Self::Program
                | Self::SyscallExit
                | Self::WakesOther
                | Self::Futex
        )
    }

    /// Where a thread is that does this.
    pub(crate) const fn place(self) -> Where {
        match self {
            Self::Fetch | Self::User => Where::User,
            Self::Kernel
            | Self::SyscallEntry
            | Self::GoesToSleep
            | Self::SyscallExit
            | Self::Futex
            | Self::Parked => Where::Kernel,
            Self::SoftirqEntry
            | Self::NetRx
            | Self::Callback
            | Self::CallbackEnd
            | Self::Waiting => Where::Softirq,
            _ => Where::Nowhere,
        }
    }
}

/// An activity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) step: Step,
    /// When the step ends; while another activity is on top, how much of it is left.
    pub(crate) end_ns: u64,
    /// The timer whose callback runs.
    pub(crate) timer: TimerAt,
    /// Callbacks have run in this interrupt or softirq.
    pub(crate) has_fired: bool,
    /// When an interrupt's handler began.
    pub(crate) entry_ns: u64,
    /// When the device interrupted.
    pub(crate) arrival_ns: u64,
    /// The softirq context that is served, by its place.
    pub(crate) context: u8,
    /// Which interrupt.
    pub(crate) interrupt: Interrupt,
    /// It is one that is done again.
    pub(crate) is_recorded: bool,
    /// Whom it woke is in a queue of another CPU, to which it sends an interrupt.
    pub(crate) is_sending: bool,
}

impl Frame {
    pub(crate) const fn new(step: Step, end_ns: u64) -> Self {
        Self {
            step,
            end_ns,
            timer: 0,
            has_fired: false,
            entry_ns: 0,
            arrival_ns: 0,
            context: 0,
            interrupt: Interrupt::Timer,
            is_recorded: false,
            is_sending: false,
        }
    }

    const fn is_interrupt(&self) -> bool {
        self.entry_ns != 0
    }
}

/// How soon a thread has to give the CPU up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    No,
    /// When it is back in user space, or at the next tick.
    Lazy,
    Now,
}

/// A context of the timer policy beside the interrupt, and the common softirq.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The thread that serves it, [`NOBODY`] where it runs at the end of interrupts.
    pub(crate) thread: ThreadAt,
    /// It has work: since when, and when the interrupt arrived and began that raised it.
    pub(crate) raised: Option<Raise>,
    /// The raise for which it runs, and since when.
    pub(crate) runs: Option<(Raise, u64)>,
    /// Its thread is to be woken when the interrupt is left.
    pub(crate) wakes: bool,
}

/// A softirq was raised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raise {
    pub(crate) time_ns: u64,
    pub(crate) entry_ns: u64,
    pub(crate) arrival_ns: u64,
    pub(crate) put_off: Option<PutOff>,
}

/// The common softirq's place, threads' of timers by number behind it, and that of the threaded top half.
pub(crate) const COMMON: u8 = 0;
pub(crate) const TOP_HALF: u8 = 5;
pub(crate) const CONTEXTS: usize = 6;

/// What a CPU draws for.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) late: Stream,
    pub(crate) program: Stream,
    pub(crate) entry: Stream,
    pub(crate) exit: Stream,
    pub(crate) tick: Stream,
    pub(crate) softirq: Stream,
    pub(crate) switch: Stream,
    pub(crate) ipi: Stream,
    pub(crate) send: Stream,
    pub(crate) idle: Stream,
    pub(crate) theft: Stream,
    pub(crate) kernel: Stream,
}

/// One CPU.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Cpu {
    /// What it does, and what that has broken into: the thread or the idle task first.
    pub(crate) top: Frame,
    pub(crate) below: [Frame; FRAMES - 1],
    pub(crate) depth: usize,
    /// When something happens next, as far as is known.
    pub(crate) next_ns: u64,
    /// When something breaks into what it does, where nothing else happens before: an interrupt that it takes then, or a
    /// theft.
    pub(crate) breaks_ns: u64,
    pub(crate) current: ThreadAt,
    /// The thread that runs softirqs, or has begun to.
    pub(crate) softirq_owner: ThreadAt,
    /// Who waits for the lock of its softirqs' threads, in the order of coming.
    pub(crate) softirq_waiters: Vec<ThreadAt>,
    /// When its run was last charged.
    pub(crate) charged_ns: u64,
    pub(crate) idle_state: u32,
    /// When it went to sleep.
    pub(crate) asleep_ns: u64,
    /// For how long a hypervisor looks whether it has to wake up.
    pub(crate) window: PollWindow,
    pub(crate) need: Need,
    pub(crate) queue: Queue,
    pub(crate) timers: Box<dyn Policy<TimerAt>>,
    /// When the device interrupts.
    pub(crate) device_ns: u64,
    /// The callback that took longest of the timer interrupt that runs or ran last.
    pub(crate) longest: (u64, TimerAt),
    /// What that one put off, and whether it was put off itself.
    pub(crate) puts_off: Option<PutOff>,
    pub(crate) was_put_off: Option<PutOff>,
    /// When an interrupt of another CPU arrives, and which thread sent it.
    pub(crate) ipi_ns: u64,
    pub(crate) ipi_by: ThreadAt,
    /// It has sent one to another CPU.
    pub(crate) has_sent: bool,
    /// When the first device interrupts, and which.
    pub(crate) line_ns: u64,
    pub(crate) line: u32,
    pub(crate) theft_ns: u64,
    /// When the theft began that goes on or was the last.
    pub(crate) stolen_since_ns: u64,
    /// What was stolen and not told yet.
    pub(crate) stolen_ns: u64,
    /// The tick has run in the timer interrupt that goes on.
    pub(crate) has_ticked: bool,
    /// What is done again: interrupts, the next of which comes at that time, and thefts.
    pub(crate) arrivals: Coming<Arrival>,
    pub(crate) recorded_ns: u64,
    pub(crate) thefts: Coming<Taken>,
    /// How its pace changes, the next time when, and its pace now: what its own work takes, in thousandths.
    pub(crate) paces: Coming<Pace>,
    pub(crate) pace_ns: u64,
    pub(crate) permille: u16,
    /// By how much all takes longer until then, for it has slept.
    pub(crate) cold: ColdStep,
    pub(crate) cold_until_ns: u64,
    pub(crate) contexts: [Context; CONTEXTS],
    /// What real-time threads have run of their bandwidth.
    pub(crate) rt_used_ns: u64,
    /// Work that devices have left to `NET_RX`.
    pub(crate) net_ns: u64,
    pub(crate) net_raised: bool,
    /// `ksoftirqd`, or [`NOBODY`].
    pub(crate) ksoftirqd: ThreadAt,
    pub(crate) streams: Streams,
    /// The state that was told last.
    pub(crate) told: Option<State>,
    pub(crate) told_irqs_off: bool,
    /// How many steps were made: the simulator's own events.
    pub(crate) steps: u64,
}

impl Cpu {
    pub(crate) fn top(&self) -> &Frame {
        &self.top
    }

    pub(crate) fn top_mut(&mut self) -> &mut Frame {
        &mut self.top
    }

    /// An activity by its place: the thread or the idle task is 0.
    pub(crate) fn frame(&self, number: usize) -> &Frame {
        if number + 1 == self.depth { &self.top } else { &self.below[number] }
    }

    pub(crate) fn in_interrupt(&self) -> bool {
        self.top().is_interrupt()
    }

    pub(crate) fn irqs_on(&self) -> bool {
        let top = self.top();
        top.step.irqs_on(top.is_interrupt())
    }

    /// When the first interrupt arrives, or has arrived.
    pub(crate) fn arrival_ns(&self) -> u64 {
        self.device_ns.min(self.ipi_ns).min(self.line_ns).min(self.recorded_ns)
    }

    /// Finds when something happens next, if nothing happens before, and says it.
    #[inline]
    pub(crate) fn foresees(&mut self, now_ns: u64) -> u64 {
        let step = self.top.step;
        let takes = step == Step::Asleep || self.irqs_on();
        let arrival_ns = if takes { self.arrival_ns() } else { NEVER };
        let theft_ns = if step == Step::Stolen { NEVER } else { self.theft_ns };
        self.breaks_ns = arrival_ns.min(theft_ns);
        self.next_ns = self.top.end_ns.min(self.breaks_ns).max(now_ns);
        self.next_ns
    }

    /// Whether its pace is not the usual one, or may change.
    #[inline]
    pub(crate) fn has_pace(&self) -> bool {
        self.pace_ns != NEVER || self.permille != AS_USUAL || self.cold_until_ns > 0
    }

    /// What some of the machine's own work takes, by the pace of this CPU.
    #[inline]
    pub(crate) fn paced(&mut self, now_ns: u64, ns: u64) -> u64 {
        if !self.has_pace() {
            return ns;
        }
        if self.pace_ns <= now_ns {
            self.changes_pace(now_ns);
        }
        // A cost has an upper bound (`COST_NS_MAX`), and so do both factors, so that this cannot overflow.
        let ns = ns * u64::from(self.permille) / u64::from(AS_USUAL);
        if now_ns < self.cold_until_ns {
            ns * u64::from(self.cold.work) / u64::from(AS_USUAL)
        } else {
            ns
        }
    }

    /// What a run takes that a thread begins now, on a CPU that is cold for so long after it has slept.
    pub(crate) fn run_ns(&self, now_ns: u64, ns: u64, cold_for_ns: u64) -> u64 {
        if now_ns < self.cold_until_ns { cold_run_ns(ns, self.cold.runs, cold_for_ns) } else { ns }
    }

    #[cold]
    fn changes_pace(&mut self, now_ns: u64) {
        while let Some(pace) = self.paces.first() {
            self.pace_ns = START_NS + pace.at_ns;
            if self.pace_ns > now_ns {
                return;
            }
            self.permille = pace.permille;
            self.paces.pass();
        }
        self.pace_ns = NEVER;
    }

    pub(crate) fn push(&mut self, frame: Frame, now_ns: u64) {
        let top = self.top_mut();
        if top.end_ns != NEVER {
            top.end_ns -= now_ns;
        }
        self.below[self.depth - 1] = std::mem::replace(&mut self.top, frame);
        self.depth += 1;
    }

    pub(crate) fn pop(&mut self, now_ns: u64) {
        self.depth -= 1;
        self.top = self.below[self.depth - 1];
        let top = self.top_mut();
        if top.end_ns != NEVER {
            top.end_ns += now_ns;
        }
    }

    /// The innermost interrupt's times of arrival and entry.
    pub(crate) fn interrupt_times(&self) -> (u64, u64) {
        let frames = (0..self.depth).rev().map(|number| self.frame(number));
        let irq = frames.into_iter().find(|frame| frame.is_interrupt());
        irq.map_or((0, 0), |frame| (frame.arrival_ns, frame.entry_ns))
    }
}
