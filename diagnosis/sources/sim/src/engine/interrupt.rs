//! Interrupts, from their arrival to the way out.

use super::tell::Softirq;
use super::{Frame, NEVER, NOBODY, Need, START_NS, Simulation, Step, Where};
use crate::observer::{Interrupt, NET_RX, Observer};

impl<O: Observer> Simulation<O> {
    /// An interrupt arrives, or has arrived and is taken now.
    pub(super) fn interrupt(&mut self, at: usize) {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[at];
        let arrival_ns = cpu.arrival_ns();
        let mut frame = Frame::new(Step::Handler, now_ns);
        (frame.arrival_ns, frame.entry_ns) = (arrival_ns, now_ns);
        if cpu.device_ns == arrival_ns {
            cpu.device_ns = NEVER;
            frame.step = Step::TimerEntry;
            let ns = self.machine.irq_entry.draw(&mut cpu.streams.entry);
            frame.end_ns = now_ns + cpu.paced(now_ns, ns);
        } else if cpu.ipi_ns == arrival_ns {
            cpu.ipi_ns = NEVER;
            let by = std::mem::replace(&mut cpu.ipi_by, NOBODY);
            frame.interrupt = Interrupt::Reschedule((by != NOBODY).then_some(by));
            let ns = self.machine.ipi_handler.draw(&mut cpu.streams.ipi);
            frame.end_ns = now_ns + cpu.paced(now_ns, ns);
        } else if cpu.recorded_ns == arrival_ns
            && let Some(arrival) = cpu.arrivals.first()
        {
            frame.interrupt = Interrupt::Device(arrival.device);
            frame.is_recorded = true;
            frame.end_ns = now_ns + u64::from(arrival.handler_ns);
        } else {
            frame.interrupt = Interrupt::Device(cpu.line);
            let line = &mut self.devices[cpu.line as usize];
            frame.end_ns = now_ns + line.device.handler.draw(&mut line.handler);
            let every = line.device.every.as_ref().map(|every| every.draw(&mut line.every));
            line.next_ns = every.map_or(NEVER, |ns| now_ns + ns.max(1));
            self.next_line(at);
        }
        self.cpus[at].push(frame, now_ns);
        self.tell_irq_begin(at, frame.interrupt);
    }

    /// Finds the device that interrupts a CPU next.
    pub(super) fn next_line(&mut self, at: usize) {
        let lines = self.devices.iter().enumerate();
        let here = lines.filter(|(_, line)| usize::from(line.device.cpu) == at);
        let first = here.min_by_key(|(_, line)| line.next_ns);
        let cpu = &mut self.cpus[at];
        (cpu.line, cpu.line_ns) =
            first.map_or((0, NEVER), |(number, line)| (number as u32, line.next_ns));
    }

    /// A handler that is no timer's has done its work.
    pub(super) fn handled(&mut self, at: usize) {
        if self.cpus[at].top().is_recorded {
            return self.handled_as_recorded(at);
        }
        if let Interrupt::Device(device) = self.cpus[at].top().interrupt {
            let line = &mut self.devices[device as usize];
            if let Some(work) = &line.device.softirq {
                let cpu = &mut self.cpus[at];
                cpu.net_ns += work.draw(&mut line.softirq);
                if !std::mem::replace(&mut cpu.net_raised, true) {
                    self.tell_softirq(at, NET_RX, Softirq::Raise);
                }
            }
        }
        self.irq_ends(at);
    }

    /// An interrupt that is done again has done its work.
    fn handled_as_recorded(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let arrival = cpu.arrivals.first();
        cpu.arrivals.pass();
        cpu.recorded_ns = cpu.arrivals.first().map_or(NEVER, |next| START_NS + next.at_ns);
        let Some(arrival) = arrival else { return self.irq_ends(at) };
        if arrival.softirq_ns > 0 {
            cpu.net_ns += u64::from(arrival.softirq_ns);
            if !std::mem::replace(&mut cpu.net_raised, true) {
                self.tell_softirq(at, NET_RX, Softirq::Raise);
            }
        }
        let Some(woken) = self.threads.get_mut(arrival.wakes as usize) else {
            return self.irq_ends(at);
        };
        let interrupt = self.cpus[at].top().interrupt;
        if !(woken.waits && woken.prepared) {
            woken.tokens = woken.tokens.saturating_add(1);
            return self.irq_ends(at);
        }
        woken.waits = false;
        self.tell_irq_end(at, interrupt);
        let ns = self.tell_waking(at, arrival.wakes);
        self.cpus[at].top_mut().timer = arrival.wakes;
        self.go(at, Step::IrqLeave, ns);
    }

    /// The handler ends. Whoever runs softirqs in a thread is woken on the way out.
    pub(super) fn irq_ends(&mut self, at: usize) {
        let interrupt = self.cpus[at].top().interrupt;
        self.tell_irq_end(at, interrupt);
        self.wakes_softirqs(at);
    }

    /// On the way out: the next thread that softirqs wait for, then those at the interrupt's end, then
    /// whatever was interrupted.
    pub(super) fn wakes_softirqs(&mut self, at: usize) {
        let in_softirq = self.in_softirq(at);
        if let Some(thread) = self.softirq_thread(at, in_softirq) {
            let ns = self.tell_waking(at, thread);
            self.cpus[at].top_mut().timer = thread;
            return self.go(at, Step::IrqLeave, ns);
        }
        self.cpus[at].pop(self.now_ns);
        if !in_softirq && self.has_tail(at) {
            self.tail_begins(at);
        }
    }

    /// A thread that softirqs wait for is in its queue.
    pub(super) fn irq_left(&mut self, at: usize) {
        let thread = self.cpus[at].top().timer;
        if !self.enqueues_and_sends(at, thread, Step::IrqLeave) {
            self.wakes_softirqs(at);
        }
    }

    /// Preempts what runs, where it can be: asked after each step of a thread or the idle task that is to give way.
    pub(super) fn preempts(&mut self, at: usize) {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[at];
        // A CPU that polls sees what an interrupt on it has found to do.
        if cpu.top().step == Step::Polling {
            cpu.top_mut().end_ns = now_ns;
        }
        let cpu = &self.cpus[at];
        if cpu.current != NOBODY {
            let place = cpu.top().step.place();
            if self.may_preempt(place, cpu.need) {
                self.schedules(at, false);
            }
        }
    }

    fn may_preempt(&self, place: Where, need: Need) -> bool {
        use crate::Preemption::{Full, Lazy, None, Rt, Voluntary};
        match (place, self.kernel.preemption) {
            (Where::User, _) | (Where::Kernel, Full | Rt) | (Where::Softirq, Rt) => true,
            (Where::Kernel, Lazy) => need == Need::Now,
            (Where::Kernel, None | Voluntary)
            | (Where::Softirq, Full | Lazy | None | Voluntary)
            | (Where::Nowhere, _) => false,
        }
    }
}
