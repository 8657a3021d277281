//! Who looks on: events as a kernel would tell them, and the state itself, which no kernel tells.
//!
//! Each is asked for by a constant, so that what nobody looks at costs nothing.

use tardy_model::{CpuId, Event, Prio};

/// The vector of the softirq in which timers expire.
pub(crate) const HRTIMER: u32 = tardy_model::event::softirq::HRTIMER;
/// The vector of the softirq that takes packets in.
pub(crate) const NET_RX: u32 = 3;

/// A thread of the simulation, by number: the workload's first, then the kernel's own.
pub type ThreadAt = u32;

/// A timer of the simulation, by number.
pub type TimerAt = u32;

/// What a CPU does, by its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has nothing to do: which idle state, `u32::MAX` before one was chosen or where there is none.
    Idle(u32),
    /// The same, and it looks for work in a loop.
    Polling(u32),
    /// A thread, the scheduler's work for it, and the way to and from an interrupt's handler in it.
    Thread(ThreadAt, Prio),
    /// The handler of an interrupt, beside callbacks.
    Interrupt(Interrupt),
    /// A timer's callback in an interrupt, and taking it off the queue.
    Callback(TimerAt),
    /// A softirq's action at the end of an interrupt, beside callbacks.
    Softirq(u32),
    /// A timer's callback there.
    SoftirqCallback(TimerAt),
    /// A softirq's action in a thread, beside callbacks.
    ThreadedSoftirq(u32, ThreadAt, Prio),
    /// A timer's callback there.
    ThreadedCallback(TimerAt, ThreadAt, Prio),
}

/// Which interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The clock-event device's.
    Timer,
    /// A device's, by its place in the workload.
    Device(u32),
    /// Another CPU's: from the CPU of that number, sent while that thread was current there (`None`: idle).
    Reschedule(Option<ThreadAt>),
}

/// The state of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// What it does.
    pub doing: Doing,
    /// It takes no interrupts.
    pub irqs_off: bool,
    /// A hypervisor does not let it run.
    pub stolen: bool,
}

/// The kernel gave up an interrupt that took too long, and took the next one no sooner than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutOff {
    /// When the device was to interrupt.
    pub until_ns: u64,
    /// Whose callback took most of the interrupt.
    pub by: TimerAt,
}

/// How a timer came to fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fired {
    /// Which.
    pub timer: TimerAt,
    /// Where.
    pub cpu: CpuId,
    /// When it was armed.
    pub armed_ns: u64,
    /// The earliest time it was allowed to fire.
    pub soft_ns: u64,
    /// The time it should have fired by.
    pub hard_ns: u64,
    /// The interrupt before had put off the one that led to it.
    pub put_off: Option<PutOff>,
    /// When the device interrupted that led to it.
    pub arrival_ns: u64,
    /// When that interrupt's handler began.
    pub entry_ns: u64,
    /// In a softirq: when that was raised, and when it began.
    pub softirq: Option<(u64, u64)>,
    /// When the callback began.
    pub begin_ns: u64,
}

/// What woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// Its timer.
    Timer(Fired),
    /// A thread.
    Thread(ThreadAt),
    /// The way out of an interrupt.
    Interrupt,
    /// It is new.
    Start,
}

/// Why a thread that could run may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// The bandwidth of all real-time threads of its CPU is used up.
    RealTime,
    /// That of its control group.
    Group,
}

/// Who looks on.
pub trait Observer {
    /// Whether events are wanted.
    const EVENTS: bool;
    /// Whether states of CPUs are wanted.
    const STATES: bool;

    /// An event, in time order.
    fn event(&mut self, _event: Event) {}

    /// What a CPU does from now on.
    fn state(&mut self, _cpu: u16, _now_ns: u64, _state: State) {}

    /// A thread is woken, and waits for the CPU on which it ran last.
    fn woken(&mut self, _now_ns: u64, _thread: ThreadAt, _on: u16, _prio: Prio, _by: Waker) {}

    /// A thread that waits for the CPU waits for another one from now on; `by_waker` where that is part of
    /// waking it.
    fn moved(&mut self, _now_ns: u64, _thread: ThreadAt, _to: u16, _by_waker: bool) {}

    /// A thread's priority changes.
    fn priority(&mut self, _now_ns: u64, _thread: ThreadAt, _prio: Prio) {}

    /// A thread loses the CPU and could go on.
    fn preempted(&mut self, _now_ns: u64, _thread: ThreadAt, _cpu: u16, _prio: Prio) {}

    /// A thread that could run may not, or may again.
    fn throttled(&mut self, _now_ns: u64, _thread: ThreadAt, _by: Option<Throttle>) {}

    /// A thread leaves the CPU and sleeps.
    fn sleeps(&mut self, _now_ns: u64, _thread: ThreadAt, _cpu: u16) {}

    /// A thread comes to run; or it goes on, where its timer fired before it slept.
    fn ran(&mut self, _now_ns: u64, _thread: ThreadAt, _cpu: u16) {}

    /// A thread is back in user space from a sleep, so much later than it asked for; or, where that is measured
    /// ([`Measured`](crate::Measured)), than it called, or than it wanted the lock that it has now.
    fn late(&mut self, _now_ns: u64, _thread: ThreadAt, _lateness_ns: u64) {}
}

/// For who wants nothing but the end.
impl Observer for () {
    const EVENTS: bool = false;
    const STATES: bool = false;
}

/// Two at once.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const EVENTS: bool = A::EVENTS || B::EVENTS;
    const STATES: bool = A::STATES || B::STATES;

    fn event(&mut self, event: Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn state(&mut self, cpu: u16, now_ns: u64, state: State) {
        self.0.state(cpu, now_ns, state);
        self.1.state(cpu, now_ns, state);
    }

    fn woken(&mut self, now_ns: u64, thread: ThreadAt, on: u16, prio: Prio, by: Waker) {
        self.0.woken(now_ns, thread, on, prio, by);
        self.1.woken(now_ns, thread, on, prio, by);
    }

    fn moved(&mut self, now_ns: u64, thread: ThreadAt, to: u16, by_waker: bool) {
        self.0.moved(now_ns, thread, to, by_waker);
        self.1.moved(now_ns, thread, to, by_waker);
    }

    fn priority(&mut self, now_ns: u64, thread: ThreadAt, prio: Prio) {
        self.0.priority(now_ns, thread, prio);
        self.1.priority(now_ns, thread, prio);
    }

    fn preempted(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16, prio: Prio) {
        self.0.preempted(now_ns, thread, cpu, prio);
        self.1.preempted(now_ns, thread, cpu, prio);
    }

    fn throttled(&mut self, now_ns: u64, thread: ThreadAt, by: Option<Throttle>) {
        self.0.throttled(now_ns, thread, by);
        self.1.throttled(now_ns, thread, by);
    }

    fn sleeps(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16) {
        self.0.sleeps(now_ns, thread, cpu);
        self.1.sleeps(now_ns, thread, cpu);
    }

    fn ran(&mut self, now_ns: u64, thread: ThreadAt, cpu: u16) {
        self.0.ran(now_ns, thread, cpu);
        self.1.ran(now_ns, thread, cpu);
    }

    fn late(&mut self, now_ns: u64, thread: ThreadAt, lateness_ns: u64) {
        self.0.late(now_ns, thread, lateness_ns);
        self.1.late(now_ns, thread, lateness_ns);
    }
}
