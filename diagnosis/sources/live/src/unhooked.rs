//! Events that no hook tells of, since others tell them: when interrupts of the timer begin, the wakings
//! by sleepers' timers, the ends of timers' callbacks, and that a CPU is awake again. Each hook left out
//! makes every recorded wakeup a third of a microsecond less late on a processor of 500 MIPS.

use tardy_followers::{Callback, Cpu, Prios, RunIn};
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleExit, Irq, IrqBegin, SoftirqEnd, SoftirqRaise, TaskState, Vector,
    Waking, softirq,
};
use tardy_model::{Event, Kind, TaskId, TimerClass, TimerId};

/// An interrupt of the timer.
const TIMER: Irq = Irq::Vector(Vector::LOCAL_TIMER);

/// Follows the records of all CPUs, each CPU's in its order.
#[derive(Debug, Default)]
pub(crate) struct Unhooked {
    cpus: Vec<OnCpu>,
    /// None is told here: what a CPU did in the past is not asked for.
    prios: Prios,
    /// Interrupts of the timer have no hook where they begin.
    timer_interrupts_untold: bool,
}

#[derive(Debug)]
struct OnCpu {
    /// By what is handed on. A callback's owner is the thread that it wakes, where that was told with it;
    /// callbacks of the timer wheel are left out, of which begin and end are told.
    contexts: Cpu,
    sleeps: bool,
}

impl Default for OnCpu {
    fn default() -> Self {
        Self { contexts: Cpu::new(0), sleeps: false }
    }
}

impl OnCpu {
    /// Whether an event is from an interrupt of the timer that has told of nothing yet.
    fn is_first(&self, kind: Kind) -> bool {
        match kind {
            Kind::ExpireBegin(begin) => !begin.mode.is_deferred(),
            Kind::TimerPending(_)
            | Kind::SoftirqRaise(SoftirqRaise { vector: softirq::HRTIMER }) => true,
            // It had nothing to run, or that was not told: it counts for nothing.
            Kind::IrqEnd(end) => end.irq.is_same(TIMER),
            // A sleeper's callback wakes its sleeper alone. Who else is woken in it, is so by an interrupt
            // that came while the callback's begin was being recorded: the kernel runs no eBPF program
            // inside itself, so that the interrupt's own first expiry is missing.
            Kind::Waking(waking) => self.contexts.callback().is_some_and(|callback| {
                callback.owner != TaskId::IDLE && callback.owner != waking.target
            }),
            _ => false,
        }
    }

    /// Whether a callback ends with an event, at the latest.
    fn ends(callback: Callback, kind: Kind, is_hrtimer: bool) -> bool {
        match kind {
            Kind::ExpireBegin(begin) => {
                is_hrtimer && callback.in_interrupt != begin.mode.is_deferred()
            }
            Kind::TimerArm(arm) => callback.timer == arm.timer,
            // Nothing switches inside an interrupt: one that is still open had its end lost.
            Kind::IrqEnd(_) => callback.in_interrupt,
            // A thread for timers sleeps when all have run; a softirq's callback may wait for a lock.
            Kind::Switch(switch) => {
                callback.in_interrupt
                    || callback.in_timer_thread && switch.prev_state != TaskState::Running
            }
            Kind::SoftirqEnd(SoftirqEnd { vector: softirq::HRTIMER }) => !callback.in_interrupt,
            _ => false,
        }
    }

    /// Takes an event into the contexts; a timer's expiry is [`OnCpu::expires`].
    fn follow(&mut self, event: &Event, kind: Kind, prios: &Prios) {
        let (contexts, time_ns) = (&mut self.contexts, event.time_ns);
        match kind {
            Kind::IrqBegin(begin) => contexts.irq_begin(time_ns, begin.irq, begin.irq == TIMER),
            Kind::IrqEnd(end) => contexts.irq_end(time_ns, end.irq),
            Kind::SoftirqBegin(begin) => {
                contexts.softirq_begin(time_ns, begin.vector, false, prios);
            }
            Kind::SoftirqEnd(end) => contexts.softirq_end(time_ns, end.vector),
            Kind::Switch(switch) => {
                contexts.switch(time_ns, event.task, switch.next, switch.next_prio);
            }
            Kind::IdleEnter(enter) => {
                self.sleeps = true;
                contexts.idle_enter(time_ns, enter);
            }
            _ => {}
        }
    }

    /// An hrtimer's callback begins. Says whether it ends at once: in an interrupt of which no hook tells it
    /// is not known where that ends, so what is left of the callback stays time of whom it interrupted.
    fn expires(&mut self, time_ns: u64, begin: ExpireBegin, wakes: Option<Waking>) -> bool {
        if !begin.mode.is_deferred() && !self.contexts.in_interrupt() {
            return true;
        }
        let in_thread = begin.mode.is_in_thread();
        let run_in = if in_thread { RunIn::TimerThread } else { RunIn::Itself };
        let owner = wakes.map_or(TaskId::IDLE, |waking| waking.target);
        self.contexts.expire_begin(time_ns, begin, owner, TimerClass::Hrtimer, run_in, None);
        false
    }
}

impl Unhooked {
    pub(crate) fn new(timer_interrupts_untold: bool) -> Self {
        Self { timer_interrupts_untold, ..Self::default() }
    }

    /// Hands `event` on, together with those that it implies. An hrtimer's expiry comes with `wakes`,
    /// where its callback is known to wake its thread.
    ///
    /// A callback counts until the next one of its loop begins, its timer is armed again, or its
    /// interrupt or softirq ends: with what the loop does after it.
    pub(crate) fn event(
        &mut self,
        event: Event,
        is_hrtimer: bool,
        wakes: Option<Waking>,
        mut out: impl FnMut(Event),
    ) {
        let at = usize::from(event.cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize_with(at + 1, OnCpu::default);
        }
        let cpu = &mut self.cpus[at];
        let time_ns = event.time_ns;
        let at_once = |kind| Event::new(time_ns, event.cpu, event.task, kind);
        let end = |timer: TimerId| at_once(Kind::ExpireEnd(ExpireEnd { timer }));
        let kind = event.kind();
        if let Kind::Loss(loss) = kind {
            cpu.contexts.forget(loss.since_ns);
            cpu.sleeps = false;
            return out(event);
        }
        if Kind::speaks_of_current(event.tag()) {
            // Where a switch is missing, so may be the ends of callbacks.
            cpu.contexts.check_current(time_ns, event.task, &self.prios);
        }
        if std::mem::take(&mut cpu.sleeps) {
            out(Event::new(time_ns, event.cpu, TaskId::IDLE, Kind::IdleExit(IdleExit)));
        }
        if self.timer_interrupts_untold && !cpu.contexts.in_interrupt() && cpu.is_first(kind) {
            cpu.contexts.irq_begin(time_ns, TIMER, true);
            out(at_once(Kind::IrqBegin(IrqBegin { irq: TIMER })));
        }
        if let Some(callback) = cpu.contexts.callback() {
            // The kernel side tells of it again where something came between timer and waking.
            if matches!(kind, Kind::Waking(waking) if waking.target == callback.owner) {
                return;
            }
            if OnCpu::ends(callback, kind, is_hrtimer) {
                cpu.contexts.expire_end(time_ns, callback.timer);
                out(end(callback.timer));
            }
        }
        cpu.follow(&event, kind, &self.prios);
        let ends_at_once = match kind {
            Kind::ExpireBegin(begin) if is_hrtimer => {
                cpu.expires(time_ns, begin, wakes).then_some(begin.timer)
            }
            _ => None,
        };
        out(event);
        if let Some(waking) = wakes {
            out(at_once(Kind::Waking(waking)));
        }
        if let Some(timer) = ends_at_once {
            out(end(timer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::CpuId;
    use tardy_model::event::{
        ExpireBegin, IdleEnter, IrqEnd, Loss, Switch, TimerArm, TimerMode, TimerPending,
    };
    use tardy_model::{Prio, event::Call};

    const TIMER_INTERRUPT: Irq = Irq::Vector(Vector::LOCAL_TIMER);
    const THREAD: TaskId = TaskId(9);
    const KSOFTIRQD: TaskId = TaskId(17);

    /// Tells, in a word each, what comes of events; one begins with the name of its time.
    struct Fixture(Unhooked, Vec<String>);

    impl Fixture {
        fn new(untold: bool) -> Self {
            Self(Unhooked::new(untold), Vec::new())
        }

        fn at(&mut self, time_ns: u64, task: TaskId, kind: Kind) -> &mut Self {
            self.with(time_ns, task, kind, false, None)
        }

        /// An hrtimer's expiry that wakes its thread, whose number is the timer's.
        fn expiry(&mut self, time_ns: u64, task: TaskId, timer: u32, soft: bool) -> &mut Self {
            let mode = TimerMode(if soft { TimerMode::SOFT } else { 0 });
            let timer = TimerId(timer);
            let begin = ExpireBegin { timer, soft_ns: 0, slack_ns: 0, mode };
            let wakes = waking(timer.0);
            self.with(time_ns, task, Kind::ExpireBegin(begin), true, Some(wakes))
        }

        fn with(
            &mut self,
            time_ns: u64,
            task: TaskId,
            kind: Kind,
            is_hrtimer: bool,
            wakes: Option<Waking>,
        ) -> &mut Self {
            let Self(unhooked, fixture) = self;
            let event = Event::new(time_ns, CpuId(0), task, kind);
            unhooked.event(event, is_hrtimer, wakes, |event| {
                let word = match event.kind() {
                    Kind::IrqBegin(_) => "irq{".to_owned(),
                    Kind::IrqEnd(_) => "}irq".to_owned(),
                    Kind::SoftirqBegin(_) => "softirq{".to_owned(),
                    Kind::SoftirqEnd(_) => "}softirq".to_owned(),
                    Kind::SoftirqRaise(_) => "raise".to_owned(),
                    Kind::ExpireBegin(begin) => format!("{}(", begin.timer.0),
                    Kind::ExpireEnd(end) => format!("){}", end.timer.0),
                    Kind::Waking(waking) => format!("wakes {}", waking.target.0),
                    Kind::TimerArm(arm) => format!("arms {}", arm.timer.0),
                    Kind::TimerPending(it) => format!("pending {} in {}", it.timer.0, it.thread),
                    Kind::IdleEnter(_) => "idle{".to_owned(),
                    Kind::IdleExit(_) => format!("}}idle of {}", event.task.0),
                    Kind::Switch(_) => "switch".to_owned(),
                    other => format!("{other:?}"),
                };
                fixture.push(format!("{} {word}", event.time_ns));
            });
            self
        }

        #[track_caller]
        fn is(&self, expected: &[&str]) {
            assert_eq!(self.1, expected);
        }
    }

    fn waking(target: u32) -> Waking {
        Waking { target: TaskId(target), target_cpu: CpuId(0), prio: Prio(1) }
    }

    fn irq_end() -> Kind {
        Kind::IrqEnd(IrqEnd { irq: TIMER_INTERRUPT })
    }

    fn switch(next: TaskId) -> Kind {
        Kind::Switch(Switch {
            next,
            prev_state: TaskState::Running,
            preempted: false,
            prev_prio: Prio(120),
            next_prio: Prio(120),
        })
    }

    fn arm(timer: u32) -> Kind {
        let (soft_ns, slack_ns, mode) = (0, 0, TimerMode(0));
        Kind::TimerArm(TimerArm {
            timer: TimerId(timer),
            soft_ns,
            slack_ns,
            mode,
            call: Call::Unknown,
        })
    }

    #[test]
    fn a_loop_is_an_interrupt_and_each_callback_lasts_to_the_next() {
        let mut fixture = Fixture::new(true);
        fixture.expiry(10, THREAD, 1, false).expiry(15, THREAD, 2, false).at(20, THREAD, irq_end());
        fixture.is(&[
            "10 irq{",
            "10 1(",
            "10 wakes 1",
            "15 )1",
            "15 2(",
            "15 wakes 2",
            "20 )2",
            "20 }irq",
        ]);
    }

    #[test]
    fn an_interrupt_that_is_told_is_not_told_twice() {
        let mut fixture = Fixture::new(false);
        let begin = Kind::IrqBegin(IrqBegin { irq: TIMER_INTERRUPT });
        fixture.at(8, THREAD, begin).expiry(10, THREAD, 1, false).at(20, THREAD, irq_end());
        fixture.is(&["8 irq{", "10 1(", "10 wakes 1", "20 )1", "20 }irq"]);
    }

    #[test]
    fn an_interrupt_that_ran_nothing_counts_for_nothing() {
        let mut fixture = Fixture::new(true);
        fixture.at(20, THREAD, irq_end());
        fixture.is(&["20 irq{", "20 }irq"]);
        let mut fixture = Fixture::new(true);
        let device = Irq::Vector(Vector::RESCHEDULE);
        fixture.at(20, THREAD, Kind::IrqEnd(IrqEnd { irq: device }));
        fixture.is(&["20 }irq"]);
    }

    #[test]
    fn where_no_hook_tells_of_interrupts_a_callback_lasts_for_nothing() {
        let mut fixture = Fixture::new(false);
        fixture.expiry(10, THREAD, 1, false).at(90, THREAD, switch(KSOFTIRQD));
        fixture.is(&["10 1(", "10 wakes 1", "10 )1", "90 switch"]);
    }

    #[test]
    fn a_callback_ends_where_its_timer_is_armed_again() {
        let mut fixture = Fixture::new(true);
        fixture.expiry(10, THREAD, 1, false).at(12, THREAD, arm(3)).at(14, THREAD, arm(1));
        fixture.at(20, THREAD, irq_end());
        fixture.is(&[
            "10 irq{",
            "10 1(",
            "10 wakes 1",
            "12 arms 3",
            "14 )1",
            "14 arms 1",
            "20 }irq",
        ]);
    }

    #[test]
    fn a_softirqs_callback_outlives_interrupts_and_preemption() {
        let (begin, end) = (
            Kind::SoftirqBegin(tardy_model::event::SoftirqBegin { vector: softirq::HRTIMER }),
            Kind::SoftirqEnd(SoftirqEnd { vector: softirq::HRTIMER }),
        );
        let mut fixture = Fixture::new(true);
        fixture.at(5, KSOFTIRQD, begin).expiry(10, KSOFTIRQD, 1, true);
        fixture.expiry(12, KSOFTIRQD, 2, false).at(14, KSOFTIRQD, irq_end());
        fixture.at(15, KSOFTIRQD, switch(THREAD)).at(30, THREAD, switch(KSOFTIRQD));
        fixture.at(40, KSOFTIRQD, end);
        fixture.is(&[
            "5 softirq{",
            "10 1(",
            "10 wakes 1",
            "12 irq{",
            "12 2(",
            "12 wakes 2",
            "14 )2",
            "14 }irq",
            "15 switch",
            "30 switch",
            "40 )1",
            "40 }softirq",
        ]);
    }

    /// The kernel side tells a waking by itself where an interrupt came before it.
    #[test]
    fn a_waking_told_twice_is_one() {
        let mut fixture = Fixture::new(true);
        fixture.expiry(10, KSOFTIRQD, 1, true).expiry(12, KSOFTIRQD, 2, false);
        fixture.at(14, KSOFTIRQD, irq_end()).at(15, KSOFTIRQD, Kind::Waking(waking(1)));
        fixture.at(16, KSOFTIRQD, switch(TaskId(1))).at(18, TaskId(1), Kind::Waking(waking(5)));
        let wakings: Vec<_> = fixture.1.iter().filter(|it| it.contains("wakes")).collect();
        assert_eq!(wakings, ["10 wakes 1", "12 wakes 2", "18 wakes 5"]);
    }

    /// While a softirq's expiry is being recorded an interrupt's cannot be.
    #[test]
    fn who_is_woken_in_anothers_callback_is_so_by_an_interrupt() {
        let mut fixture = Fixture::new(true);
        fixture.expiry(10, KSOFTIRQD, 1, true).at(12, KSOFTIRQD, Kind::Waking(waking(7)));
        fixture.at(14, KSOFTIRQD, irq_end());
        fixture.is(&["10 1(", "10 wakes 1", "12 irq{", "12 wakes 7", "14 }irq"]);
    }

    /// A thread for timers wakes one, is preempted by it, runs the next and sleeps.
    #[test]
    fn a_timer_threads_callback_is_in_no_interrupt_and_ends_where_the_thread_sleeps() {
        const LEVEL: TaskId = TaskId(18);
        let pending = TimerPending { timer: TimerId(1), thread: LEVEL, prio: Prio(39) };
        let begin = |timer: u32| {
            let mode = TimerMode(TimerMode::IN_THREAD);
            Kind::ExpireBegin(ExpireBegin { timer: TimerId(timer), soft_ns: 0, slack_ns: 0, mode })
        };
        let sleeps = |next| {
            let Kind::Switch(switch) = switch(next) else { unreachable!() };
            Kind::Switch(Switch { prev_state: TaskState::Interruptible, ..switch })
        };
        let mut fixture = Fixture::new(true);
        fixture.at(10, THREAD, Kind::TimerPending(pending)).at(12, THREAD, irq_end());
        fixture.at(13, THREAD, switch(LEVEL));
        fixture.with(15, LEVEL, begin(1), true, Some(waking(1)));
        fixture.at(16, LEVEL, switch(TaskId(1))).at(30, TaskId(1), switch(LEVEL));
        fixture.with(32, LEVEL, begin(2), true, Some(waking(2)));
        fixture.expiry(34, LEVEL, 3, false).at(36, LEVEL, irq_end());
        fixture.at(40, LEVEL, sleeps(TaskId(2)));
        fixture.is(&[
            "10 irq{",
            "10 pending 1 in 18",
            "12 }irq",
            "13 switch",
            "15 1(",
            "15 wakes 1",
            "16 switch",
            "30 switch",
            "32 )1",
            "32 2(",
            "32 wakes 2",
            "34 irq{",
            "34 3(",
            "34 wakes 3",
            "36 )3",
            "36 }irq",
            "40 )2",
            "40 switch",
        ]);
    }

    #[test]
    fn a_raise_of_the_timers_softirq_is_in_an_interrupt() {
        let raise = |vector| Kind::SoftirqRaise(SoftirqRaise { vector });
        let mut fixture = Fixture::new(true);
        fixture.at(10, THREAD, raise(softirq::TIMER)).at(11, THREAD, raise(softirq::HRTIMER));
        fixture.at(14, THREAD, irq_end());
        fixture.is(&["10 raise", "11 irq{", "11 raise", "14 }irq"]);
    }

    #[test]
    fn a_cpu_is_awake_with_the_next_that_it_does_and_a_loss_begins_anew() {
        let enter = || Kind::IdleEnter(IdleEnter { state: 1, polls: false, only: false });
        let loss = Kind::Loss(Loss { since_ns: 41, count: 3 });
        let mut fixture = Fixture::new(true);
        fixture.at(5, TaskId::IDLE, enter()).expiry(10, TaskId::IDLE, 1, false);
        fixture.at(20, TaskId::IDLE, irq_end()).at(25, TaskId::IDLE, switch(THREAD));
        fixture.is(&[
            "5 idle{",
            "10 }idle of 0",
            "10 irq{",
            "10 1(",
            "10 wakes 1",
            "20 )1",
            "20 }irq",
            "25 switch",
        ]);
        let mut fixture = Fixture::new(true);
        fixture.at(5, TaskId::IDLE, enter()).at(45, TaskId::IDLE, loss);
        fixture.expiry(50, THREAD, 2, false).at(50, TaskId::IDLE, loss).at(60, THREAD, irq_end());
        let fixture: Vec<_> = fixture.1.iter().filter(|it| !it.contains("Loss")).collect();
        assert_eq!(fixture, ["5 idle{", "50 irq{", "50 2(", "50 wakes 2", "60 irq{", "60 }irq"]);
    }
}
