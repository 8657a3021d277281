//! Interrupts and the softirqs that they leave, as they are seen: what each took, and what comes by the clock.

use super::contexts::{Above, Open};
use super::costs::Measured;
use super::cpu::{TimerIrq, Woke};
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
        let simulated = matches!(irq, Irq::Vector(vector) if vector == Vector::LOCAL_TIMER || vector == Vector::RESCHEDULE);
        let what = if simulated { Above::Simulated } else { Above::Interrupt(irq) };
        cpu.contexts.begins(what, now_ns, before.is_idle());
        if irq == Irq::Vector(Vector::LOCAL_TIMER) {
            cpu.timer = Some(TimerIrq {
                begin_ns: now_ns,
                silent_since_ns: since_ns,
                was_idle: idle,
                was_task: match before {
                    Activity::Task(task, _) => Some(task),
                    _ => None,
                },
                ..TimerIrq::default()
            });
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
                let is_ipi = irq == Irq::Vector(Vector::RESCHEDULE);
                if is_ipi {
                    self.measured(at, Measured::IpiHandler, now_ns - ns, now_ns);
                }
                return;
            }
        };
        let device = self.observed.source(&name, line);
        // The simulator makes an idle CPU wake up for it, so that it has to come before.
        let before_ns = if was_idle { self.observed.costs.usual_exit_ns() } else { 0 };
        let arrival = Arrival { device, handler_ns: short(ns), ..NOTHING };
        self.came(at, since_ns.saturating_sub(before_ns), arrival, (since_ns, now_ns));
    }

    /// An interrupt came, and its work was done from one time to another.
    pub(super) fn came(
        &mut self,
        at: usize,
        at_ns: u64,
        arrival: Arrival,
        (from_ns, to_ns): (u64, u64),
    ) {
        if let Some(place) = self.observed.arrives(at, at_ns, arrival) {
            self.takes_for(at, As::Interrupt(place), from_ns, to_ns);
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
        if let Activity::ThreadedSoftirq(_, task, _) = activity {
            if let Some(by) = self.cpus[at].raised_by.get_mut(vector as usize) {
                *by = None;
            }
            if vector == softirq::HRTIMER
                && let Some(thread) = self.observed.thread(task)
            {
                thread.runs_timers = true;
            }
            return;
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
        // It goes where its interrupt goes, and with it.
        let line = cpu.raised_by.get_mut(vector as usize).and_then(Option::take);
        let Some(open) = open.filter(|_| vector != softirq::HRTIMER) else { return };
        let device = self.observed.source(softirq::name(vector), line);
        let arrival = Arrival { device, softirq_ns: short(open.ns), ..NOTHING };
        self.came(at, open.since_ns, arrival, (open.since_ns, now_ns));
    }
}
