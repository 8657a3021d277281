//! Interrupts and the softirqs that they leave, as they are seen: what each took, and what comes by the clock.

use super::contexts::{Above, Open};
use super::costs::Measured;
use super::cpu::{Raiser, Threaded, TimerIrq, Woke};
use super::observation::{NOTHING, Observation, short};
use super::recent::As;
use tardy_explain::{Activity, Seen};
use tardy_followers::Cpu;
use tardy_model::event::{Irq, Vector, softirq};
use tardy_sim::Arrival;

impl Observation {
    pub(super) fn irq_begins(
        &mut self,
        at: usize,
        now_ns: u64,
        since_ns: u64,
        irq: Irq,
        before: Activity,
    ) {
        let cpu = &mut self.cpus[at];
        cpu.soft_woke = None;
        let idle = cpu.idle_state.zip(cpu.entered_ns).filter(|_| before.is_idle());
        let (simulated, is_sent) = match irq {
            Irq::Vector(Vector::LOCAL_TIMER) => (true, false),
            Irq::Vector(Vector::RESCHEDULE) => (true, true),
            // So does a CPU have another one wake a thread that is to run there.
            Irq::Vector(Vector::CALL_FUNCTION | Vector::CALL_FUNCTION_SINGLE) => {
                (cpu.called.is_some(), true)
            }
            _ => (false, false),
        };
        if is_sent {
            self.is_called(at, now_ns, before);
            self.cpus[at].called = None;
        }
        let cpu = &mut self.cpus[at];
        if before.is_idle() {
            cpu.is_awake(now_ns);
        }
        let what = if simulated { Above::Simulated } else { Above::Interrupt(irq) };
        cpu.contexts.begins(what, now_ns, before.is_idle());
        if irq == Irq::Vector(Vector::LOCAL_TIMER) {
            cpu.timer = Some(TimerIrq {
                begin_ns: now_ns,
                silent_since_ns: since_ns,
                was_idle: idle,
                was_task: match before {
                    Activity::Task(task, _) | Activity::InjectedIdle(_, _, task, _) => Some(task),
                    _ => None,
                },
                ..TimerIrq::default()
            });
        }
    }

    /// A CPU is awake, by an interrupt that CPUs send or without any, perhaps for a thread that another one wakes.
    pub(super) fn is_called(&mut self, at: usize, now_ns: u64, before: Activity) {
        let cpu = &self.cpus[at];
        if let (Some((since_ns, _)), Some(state), Activity::Idle(_)) =
            (cpu.called, cpu.idle_state, before)
        {
            let slept = cpu.slept(since_ns);
            self.measured(at, Measured::Called(state, slept), since_ns, now_ns);
        }
    }

    pub(super) fn irq_ends(&mut self, seen: &Seen<'_>, at: usize, irq: Irq) {
        let now_ns = seen.event.time_ns;
        let cpu = &mut self.cpus[at];
        cpu.left_at_ns = Some(now_ns);
        cpu.last_end_ns = now_ns;
        let timer = cpu.timer.take();
        let is_it = |above: Above| match above {
            Above::Interrupt(open) => open.is_same(irq),
            Above::Simulated => true,
            _ => false,
        };
        let open = cpu.contexts.ends(is_it);
        if let Some(timer) = timer
            && timer.callback_end_ns > 0
        {
            match timer.woke {
                // With the interrupt's end, which is not known apart from the sending.
                Some((Woke::ForAnother, _)) => {}
                Some((Woke::Here(is_fair), waking_ns)) => {
                    self.measured(at, Measured::LastWakeup(is_fair), waking_ns, now_ns);
                }
                None => self.measured(at, Measured::IrqExit, timer.callback_end_ns, now_ns),
            }
        }
        let Some(Open { what, since_ns, ns, was_idle }) = open else { return };
        let (name, line) = match (what, irq) {
            (Above::Interrupt(_), Irq::Line(line, name)) => {
                (seen.tables.name(name).to_owned(), Some(line))
            }
            (Above::Interrupt(_), Irq::Vector(vector)) => (vector.name().to_owned(), None),
            _ => {
                let is_ipi = irq != Irq::Vector(Vector::LOCAL_TIMER);
                if is_ipi {
                    self.measured(at, Measured::IpiHandler, now_ns - ns, now_ns);
                }
                return;
            }
        };
        let device = self.observed.source(&name, line);
        let state = self.cpus[at].idle_state.filter(|_| was_idle);
        let arrival = Arrival { device, handler_ns: short(ns), ..NOTHING };
        let Some(place) = self.came(at, since_ns, arrival, As::Interrupt, (since_ns, now_ns))
        else {
            return;
        };
        let slept = self.cpus[at].slept(since_ns);
        self.observed.woke_up.extend(state.map(|state| (place, state, slept)));
        for by in self.cpus[at].raised_by.iter_mut().flatten() {
            if line == Some(by.line) && by.arrival.is_none() {
                by.arrival = Some(place);
            }
        }
    }

    /// An interrupt came, and its work was done from one time to another.
    pub(super) fn came(
        &mut self,
        at: usize,
        at_ns: u64,
        arrival: Arrival,
        taken: fn(usize) -> As,
        (from_ns, to_ns): (u64, u64),
    ) -> Option<usize> {
        let place = self.observed.arrives(at, at_ns, arrival)?;
        self.takes_for(at, taken(place), from_ns, to_ns);
        Some(place)
    }

    /// The interrupt that runs raises a softirq.
    pub(super) fn softirq_raised(&mut self, at: usize, vector: u32) {
        let cpu = &mut self.cpus[at];
        let line = cpu.contexts.line();
        // A raise while one is pending changes nothing.
        if let Some(by) = cpu.raised_by.get_mut(vector as usize) {
            *by = by.or(line.map(|line| Raiser { line, arrival: None }));
        }
    }

    /// `left`: when this CPU's last interrupt ended, where nothing came since.
    pub(super) fn softirq_begins(
        &mut self,
        seen: &Seen<'_>,
        at: usize,
        vector: u32,
        left: Option<u64>,
    ) {
        let now_ns = seen.event.time_ns;
        let activity = seen.followers.cpu(seen.event.cpu).map_or(Activity::Unknown, Cpu::activity);
        let raised_by = self.cpus[at].raised_by.get_mut(vector as usize).and_then(Option::take);
        let is_timers = vector == softirq::HRTIMER;
        let got_cpu_ns = self.cpus[at].got_cpu_ns.take();
        self.cpus[at].softirq_since_ns = left.or(got_cpu_ns).filter(|_| is_timers);
        if let Activity::ThreadedSoftirq(_, task, _) = activity {
            self.cpus[at].threaded = raised_by.map(|by| Threaded { task, vector, by, ns: 0 });
            if is_timers && let Some(thread) = self.observed.thread(task) {
                thread.runs_timers = true;
            }
            return;
        }
        if let Some(by) = self.cpus[at].served_by.get_mut(vector as usize) {
            *by = raised_by;
        }
        self.cpus[at].contexts.begins(Above::Softirq(vector), now_ns, false);
        if let Some(left_ns) = left {
            self.measured(at, Measured::SoftirqEntry, left_ns, now_ns);
        }
    }

    pub(super) fn softirq_ends(&mut self, at: usize, now_ns: u64, vector: u32) {
        let open = self.cpus[at].contexts.ends(|above| above == Above::Softirq(vector));
        let cpu = &mut self.cpus[at];
        cpu.left_at_ns = None;
        let Some(open) = open.filter(|_| vector != softirq::HRTIMER) else {
            return self.threaded_softirq_ends(at, vector);
        };
        // It belongs to its interrupt: it goes where that goes, and with it.
        let by = cpu.served_by.get_mut(vector as usize).and_then(Option::take);
        if let Some(place) = by.and_then(|by| by.arrival)
            && let Some(arrival) = self.observed.arrivals.get_mut(place)
        {
            arrival.softirq_ns = arrival.softirq_ns.saturating_add(short(open.ns));
            return self.takes_for(at, As::Softirq(place), open.since_ns, now_ns);
        }
        let device = self.observed.source(softirq::name(vector), by.map(|by| by.line));
        let arrival = Arrival { device, softirq_ns: short(open.ns), ..NOTHING };
        self.came(at, open.since_ns, arrival, As::Softirq, (open.since_ns, now_ns));
    }

    fn threaded_softirq_ends(&mut self, at: usize, vector: u32) {
        let is_it = |threaded: &mut Threaded| threaded.vector == vector;
        let Some(threaded) = self.cpus[at].threaded.take_if(is_it) else { return };
        if let Some(place) = threaded.by.arrival
            && let Some(thread) = self.observed.thread(threaded.task)
        {
            thread.softirqs_ns = thread.softirqs_ns.saturating_add(threaded.ns);
            self.observed.threaded.push((place, short(threaded.ns)));
        }
    }
}
