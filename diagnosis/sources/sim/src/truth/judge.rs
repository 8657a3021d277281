//! What a stretch of a lateness counts as: the table of causes, by state.

use crate::engine::{line_of, timer_id};
use crate::observer::{Doing, Interrupt, State, ThreadAt, Throttle, TimerAt, Waker};
use tardy_model::event::{Irq, Vector};
use tardy_model::{CpuId, Culprit, NameId, Prio, Setting, TaskId};

/// What a thread waits for. The order is that in which a timed wakeup goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The timer should have been armed by now, and the thread did something else.
    Unarmed,
    /// The same, and the thread still slept.
    Overslept,
    /// It may fire and need not.
    Slack,
    /// It must, and the kernel takes no interrupt, because the last one took too long: most of it for that timer.
    PutOff(TimerAt),
    /// It must, and the device has not interrupted.
    Device,
    /// It has, and the CPU has not begun with the interrupt.
    Pending,
    /// From there to the callback, or to where a softirq is raised.
    Interrupt,
    /// From there to where that begins.
    SoftirqWait,
    /// From there to the callback.
    SoftirqRun,
    /// To where it wakes the thread.
    Callback,
    /// The waker moves it to the queue of that CPU.
    Placing(u16),
    /// It could run, and may not.
    Throttled(Throttle),
    /// It could run, at that priority.
    Runnable(Prio),
}

/// Who is who.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) tasks: Vec<TaskId>,
    /// How many threads are the workload's.
    pub(super) own: u32,
    /// Events tell when interrupts are off.
    pub(super) tells_sections: bool,
}

impl Names {
    fn task(&self, thread: ThreadAt) -> TaskId {
        self.tasks.get(thread as usize).copied().unwrap_or(TaskId::IDLE)
    }

    fn timer(&self, timer: TimerAt) -> Culprit {
        let owner = timer / 2;
        let task = if owner < self.own { self.task(owner) } else { TaskId::IDLE };
        Culprit::Timer(timer_id(timer), task)
    }

    /// Whoever makes a CPU do what it does.
    fn culprit(&self, doing: Doing) -> Culprit {
        match doing {
            Doing::Idle(state) => Culprit::IdleState(state),
            Doing::Polling(state) => Culprit::Polling(state),
            Doing::Thread(thread, _) => Culprit::Task(self.task(thread)),
            Doing::Interrupt(Interrupt::Timer) => Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER)),
            Doing::Interrupt(Interrupt::Device(device)) => Culprit::Irq(line_of(device)),
            Doing::Interrupt(Interrupt::Reschedule(by)) => {
                let by = by.map_or(TaskId::IDLE, |by| self.task(by));
                Culprit::Ipi(Vector::RESCHEDULE, by, NameId::NONE)
            }
            Doing::Callback(timer) | Doing::SoftirqCallback(timer) => self.timer(timer),
            Doing::Softirq(vector) => Culprit::Softirq(vector),
            Doing::ThreadedSoftirq(vector, thread, _) => {
                Culprit::SoftirqIn(vector, self.task(thread))
            }
            Doing::ThreadedCallback(_, thread, _) => {
                Culprit::SoftirqIn(crate::observer::HRTIMER, self.task(thread))
            }
        }
    }

    /// The cause and the culprit of a stretch in which a thread waited in a phase while its CPU was in a state.
    pub(super) fn judge(
        &self,
        thread: ThreadAt,
        by: Option<Waker>,
        phase: Phase,
        state: State,
    ) -> (&'static str, Culprit) {
        let State { doing, irqs_off, stolen } = state;
        let culprit = self.culprit(doing);
        if stolen && phase != Phase::Slack {
            return ("hypervisor", Culprit::Nobody);
        }
        // Before its callback begins, only its being taken off the queue is its own, which has interrupts off. With
        // interrupts on it is the rest of its last callback.
        if Phase::is_own(by, doing)
            && (irqs_off || phase.callback_has_begun())
            && !matches!(phase, Phase::Unarmed | Phase::Overslept | Phase::Slack)
            && let Some(Waker::Timer(fired)) = by
        {
            return ("callback", Culprit::Timer(timer_id(fired.timer), TaskId::IDLE));
        }
        match phase {
            Phase::Unarmed => ("armed_late", Culprit::Task(self.task(thread))),
            Phase::Overslept => ("armed_late", Culprit::Nobody),
            Phase::Slack => {
                let Some(Waker::Timer(fired)) = by else { return ("unexplained", Culprit::Nobody) };
                let slack_ns = u32::try_from(fired.hard_ns - fired.soft_ns).unwrap_or(u32::MAX);
                ("slack", Culprit::Setting(Setting::TimerSlack(slack_ns)))
            }
            // The interrupt has given up only when it ends.
            Phase::PutOff(by) if !matches!(doing, Doing::Callback(_) | Doing::Interrupt(_)) => {
                ("hrtimer_hang", self.timer(by))
            }
            Phase::Device => ("irq_delay", Culprit::ClockEventDevice),
            Phase::PutOff(_) | Phase::Pending => match doing {
                Doing::Idle(_) => ("idle_exit", culprit),
                Doing::Callback(_) | Doing::SoftirqCallback(_) => ("stacked_timers", culprit),
                _ if irqs_off && self.tells_sections => ("irqs_off", culprit),
                _ if irqs_off => ("irq_delay", culprit),
                _ => ("irq_delay", Culprit::Nobody),
            },
            Phase::SoftirqWait => ("softirq_wait", culprit),
            Phase::Interrupt | Phase::SoftirqRun | Phase::Callback => match doing {
                Doing::Callback(_) => ("stacked_timers", culprit),
                Doing::Interrupt(_) => ("interrupts", culprit),
                Doing::SoftirqCallback(timer) | Doing::ThreadedCallback(timer, ..) => {
                    ("softirq_work", self.timer(timer))
                }
                Doing::Softirq(_) | Doing::ThreadedSoftirq(..) => ("softirq_work", culprit),
                // The softirq has begun and does not have the CPU.
                Doing::Thread(..) | Doing::Idle(_) | Doing::Polling(_) => ("softirq_wait", culprit),
            },
            Phase::Throttled(Throttle::RealTime) => {
                ("throttled", Culprit::Setting(Setting::RtBandwidth))
            }
            Phase::Throttled(Throttle::Group) => {
                ("throttled", Culprit::Setting(Setting::CfsBandwidth(self.task(thread))))
            }
            Phase::Placing(to) => ("wrong_cpu", Culprit::Cpu(CpuId(to))),
            Phase::Runnable(prio) => runnable(thread, by, prio, doing, culprit),
        }
    }
}

/// Of a thread that could run.
fn runnable(
    thread: ThreadAt,
    by: Option<Waker>,
    prio: Prio,
    doing: Doing,
    culprit: Culprit,
) -> (&'static str, Culprit) {
    // Only who is woken by a timer is in the way of an expiry loop.
    let by_timer = matches!(by, Some(Waker::Timer(_)));
    match doing {
        Doing::Callback(_) | Doing::SoftirqCallback(_) if by_timer => ("stacked_timers", culprit),
        Doing::Callback(_)
        | Doing::SoftirqCallback(_)
        | Doing::Interrupt(_)
        | Doing::Softirq(_) => ("interrupts", culprit),
        Doing::Idle(_) | Doing::Polling(_) => ("idle_exit", culprit),
        Doing::Thread(other, _) if other == thread => ("own_kernel_work", culprit),
        Doing::Thread(_, runs)
        | Doing::ThreadedSoftirq(_, _, runs)
        | Doing::ThreadedCallback(_, _, runs) => {
            let fair = |prio: Prio| prio.0 >= Prio::FAIR_FIRST.0;
            if runs == prio || fair(runs) && fair(prio) {
                ("cpu_contention", culprit)
            } else if runs < prio {
                ("higher_priority", culprit)
            } else {
                ("not_preemptible", culprit)
            }
        }
    }
}
