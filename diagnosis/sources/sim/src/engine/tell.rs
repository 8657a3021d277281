//! What observers are told: the state of a CPU after each step, and events where the kernel has them.

use super::{Simulation, Step};
use crate::engine::cpu::NOBODY;
use crate::observer::{Doing, HRTIMER, Interrupt, NET_RX, Observer, State, ThreadAt, TimerAt};
use tardy_model::event::{
    Irq, IrqBegin, IrqEnd, Section, SectionBegin, SectionEnd, SoftirqBegin, SoftirqEnd,
    SoftirqRaise, Stolen, Vector,
};
use tardy_model::{CpuId, Event, Kind, NameId, TaskId, TimerId};

/// The number of the first device's interrupt line.
const FIRST_LINE: u32 = 24;

/// The place of the first device among names; 1 and those before it are functions'.
pub(crate) const FIRST_DEVICE_NAME: u32 = 16;

pub(crate) fn line_of(device: u32) -> Irq {
    Irq::Line(FIRST_LINE + device, NameId(FIRST_DEVICE_NAME + device))
}

pub(crate) fn irq_of(interrupt: Interrupt) -> Irq {
    match interrupt {
        Interrupt::Timer => Irq::Vector(Vector::LOCAL_TIMER),
        Interrupt::Reschedule(_) => Irq::Vector(Vector::RESCHEDULE),
        Interrupt::Device(device) => line_of(device),
    }
}

pub(crate) const fn timer_id(timer: TimerAt) -> TimerId {
    TimerId(timer + 1)
}

impl<O: Observer> Simulation<O> {
    pub(super) fn task(&self, thread: ThreadAt) -> TaskId {
        if thread == NOBODY { TaskId::IDLE } else { self.threads[thread as usize].task }
    }

    /// An event on a CPU.
    #[inline]
    pub(super) fn event(&mut self, at: usize, kind: impl Into<Kind>) {
        if O::EVENTS {
            let task = self.task(self.cpus[at].current);
            self.observer.event(Event::new(self.now_ns, CpuId(at as u16), task, kind.into()));
        }
    }

    pub(super) fn tell_irq_begin(&mut self, at: usize, interrupt: Interrupt) {
        self.tell_irqs(at, true);
        self.event(at, IrqBegin { irq: irq_of(interrupt) });
    }

    pub(super) fn tell_irq_end(&mut self, at: usize, interrupt: Interrupt) {
        self.event(at, IrqEnd { irq: irq_of(interrupt) });
        if interrupt == Interrupt::Timer && std::mem::take(&mut self.cpus[at].has_ticked) {
            self.tell_stolen(at);
        }
    }

    /// What the hypervisor took, where the scheduler looks at its clock: at switches, and behind a tick.
    pub(super) fn tell_stolen(&mut self, at: usize) {
        let ns = std::mem::take(&mut self.cpus[at].stolen_ns);
        if ns > 0 {
            self.event(at, Stolen { ns });
        }
    }

    pub(super) fn tell_softirq(&mut self, at: usize, vector: u32, what: Softirq) {
        match what {
            Softirq::Raise => self.event(at, SoftirqRaise { vector }),
            Softirq::End => self.event(at, SoftirqEnd { vector }),
        }
    }

    /// A thread that looks for softirqs has interrupts off for that (`handle_softirqs` in `kernel/softirq.c`); at an
    /// interrupt's end they are off already.
    pub(super) fn tell_softirq_begin(&mut self, at: usize, vector: u32, in_thread: bool) {
        if in_thread && !self.cpus[at].told_irqs_off {
            self.tell_irqs(at, true);
            self.tell_irqs(at, false);
        }
        self.event(at, SoftirqBegin { vector });
    }

    /// Tells of interrupts that are turned off or on, where that is wanted.
    pub(super) fn tell_irqs(&mut self, at: usize, off: bool) {
        if O::EVENTS && self.kernel.tells_sections && self.cpus[at].told_irqs_off != off {
            self.cpus[at].told_irqs_off = off;
            let (section, caller) = (Section::IrqsOff, NameId::NONE);
            if off {
                self.event(at, SectionBegin { section, caller });
            } else {
                self.event(at, SectionEnd { section, caller });
            }
        }
    }

    pub(super) fn tell_preemption(&mut self, at: usize, off: bool) {
        if self.kernel.tells_sections {
            let (section, caller) = (Section::PreemptOff, NameId::NONE);
            if off {
                self.event(at, SectionBegin { section, caller });
            } else {
                self.event(at, SectionEnd { section, caller });
            }
        }
    }

    /// The state of a CPU, where it has changed.
    #[inline]
    pub(super) fn tell_state(&mut self, at: usize) {
        if !O::EVENTS && !O::STATES {
            return;
        }
        let cpu = &self.cpus[at];
        let irqs_off = !self.takes_interrupts(at);
        if cpu.top().step != Step::Stolen {
            self.tell_irqs(at, irqs_off);
        }
        if O::STATES {
            let state = State {
                doing: self.doing(at),
                irqs_off,
                stolen: self.cpus[at].top().step == Step::Stolen,
            };
            if self.cpus[at].told != Some(state) {
                self.cpus[at].told = Some(state);
                self.observer.state(at as u16, self.now_ns, state);
            }
        }
    }

    /// Whether interrupts are on, a theft aside. A CPU that sleeps has them off and is woken all the same.
    fn takes_interrupts(&self, at: usize) -> bool {
        let cpu = &self.cpus[at];
        let stolen = usize::from(cpu.top().step == Step::Stolen);
        let frame = cpu.frame(cpu.depth - 1 - stolen);
        frame.step.irqs_on(frame.entry_ns != 0)
    }

    fn doing(&self, at: usize) -> Doing {
        let cpu = &self.cpus[at];
        let frames = (0..cpu.depth).rev().map(|depth| (depth, cpu.frame(depth)));
        for (depth, frame) in frames {
            let timer = frame.timer;
            let in_interrupt = frame.entry_ns != 0;
            return match frame.step {
                // It is on its way from one thing to another: it is about what is beneath.
                Step::Stolen | Step::Switch | Step::IrqLeave | Step::SoftirqEntry => continue,
                Step::Dequeue | Step::Callback | Step::CallbackWakes if in_interrupt => {
                    Doing::Callback(timer)
                }
                Step::Tick => Doing::Callback(timer),
                Step::TimerEntry
                | Step::Moving
                | Step::Waiting
                | Step::ProgramAfter
                | Step::IrqExit
                | Step::Handler
                    if in_interrupt =>
                {
                    Doing::Interrupt(frame.interrupt)
                }
                Step::NetRx if depth > 0 => Doing::Softirq(NET_RX),
                Step::Moving | Step::Waiting | Step::SoftirqProgram if depth > 0 => {
                    Doing::Softirq(HRTIMER)
                }
                _ if depth > 0 => Doing::SoftirqCallback(timer),
                step => self.doing_at_base(at, step, timer),
            };
        }
        self.doing_at_base(at, cpu.frame(0).step, 0)
    }

    fn doing_at_base(&self, at: usize, step: Step, timer: TimerAt) -> Doing {
        let cpu = &self.cpus[at];
        let Some(thread) = self.threads.get(cpu.current as usize) else {
            return match step {
                Step::Polling => Doing::Polling(cpu.idle_state),
                _ => Doing::Idle(cpu.idle_state),
            };
        };
        match step {
            Step::NetRx => Doing::ThreadedSoftirq(NET_RX, cpu.current, thread.prio),
            Step::Moving | Step::Waiting | Step::SoftirqProgram => {
                Doing::ThreadedSoftirq(HRTIMER, cpu.current, thread.prio)
            }
            Step::Dequeue | Step::Callback | Step::CallbackWakes | Step::CallbackEnd => {
                Doing::ThreadedCallback(timer, cpu.current, thread.prio)
            }
            _ => Doing::Thread(cpu.current, thread.prio),
        }
    }
}

/// What happens to a softirq.
#[derive(Clone, Copy, Debug)]
pub(super) enum Softirq {
    Raise,
    End,
}
