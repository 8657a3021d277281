//! Each test is a few events of one CPU, and what it did by them.

use super::*;
use crate::activity::RunBy;
use tardy_model::event::{ExpireBegin, TimerMode, TimerPending, softirq};
use tardy_model::{NameId, TimerClass, TimerId};

const KTIMERS: TaskId = TaskId(20);
const LEVEL: TaskId = TaskId(21);
const SPINNER: TaskId = TaskId(30);
const SOFTIRQ: RunBy = RunBy::HrtimerSoftirq;
const TIMER_IRQ: Irq = Irq::Vector(Vector::LOCAL_TIMER);

fn cpu() -> Cpu {
    Cpu::new(SPANS_MAX)
}

fn begin(timer: u32, soft_ns: u64) -> ExpireBegin {
    ExpireBegin { timer: TimerId(timer), soft_ns, slack_ns: 0, mode: TimerMode::default() }
}

fn told(cpu: &Cpu, from_ns: u64, to_ns: u64) -> Vec<(u64, Activity)> {
    let mut told = Vec::new();
    cpu.between(from_ns, to_ns, |start_ns, _, activity| told.push((start_ns, activity)));
    told
}

#[test]
fn a_callback_that_is_preempted_comes_back_with_its_softirq() {
    let mut cpu = cpu();
    let prios = Prios::default();
    cpu.switch(0, TaskId::IDLE, KTIMERS, Prio(98));
    cpu.irq_begin(1, TIMER_IRQ, true);
    cpu.softirq_raise(2, softirq::HRTIMER);
    cpu.irq_end(3, TIMER_IRQ);
    cpu.softirq_begin(10, softirq::HRTIMER, true, &prios);
    cpu.expire_begin(12, begin(1, 5), TaskId(7), TimerClass::Hrtimer, RunIn::Itself, None);
    assert!(cpu.switch(14, KTIMERS, SPINNER, Prio(19)), "a softirq is left");
    assert!(cpu.in_task_context());
    cpu.switch(114, SPINNER, KTIMERS, Prio(98));
    let callback = |timer, number| {
        Activity::ThreadedExpiry(SOFTIRQ, TimerId(timer), number, KTIMERS, Prio(98))
    };
    assert_eq!(cpu.activity(), callback(1, 1));
    assert_eq!(cpu.callback().map(|callback| callback.owner), Some(TaskId(7)));
    cpu.expire_end(116, TimerId(1));
    cpu.expire_begin(117, begin(2, 6), TaskId(8), TimerClass::Hrtimer, RunIn::Itself, None);
    let expiry = cpu.expiry().expect("a callback runs");
    assert_eq!(expiry.interrupt_ns, Some(1));
    assert_eq!(expiry.deferred.map(|it| (it.asked_ns, it.begin_ns)), Some((Some(2), 10)));
    assert_eq!(
        told(&cpu, 10, 118),
        [
            (10, Activity::ThreadedSoftirq(8, KTIMERS, Prio(98))),
            (12, callback(1, 1)),
            (14, Activity::Task(SPINNER, Prio(19))),
            (114, callback(1, 1)),
            (116, callback(2, 2)),
        ],
        "the loop's work between two callbacks is the second's"
    );
}

#[test]
fn a_softirq_that_a_switch_leaves_turns_out_to_run_in_a_thread_and_so_do_its_callbacks() {
    let mut cpu = cpu();
    cpu.switch(0, TaskId::IDLE, KTIMERS, Prio(120));
    // Nothing has told yet that softirqs are threaded here.
    cpu.softirq_begin(10, softirq::HRTIMER, false, &Prios::default());
    cpu.expire_begin(12, begin(1, 5), TaskId(7), TimerClass::Hrtimer, RunIn::Itself, None);
    assert_eq!(cpu.activity(), Activity::SoftExpiry(TimerId(1), TaskId(7), 1));
    cpu.switch(14, KTIMERS, SPINNER, Prio(19));
    cpu.switch(20, SPINNER, KTIMERS, Prio(98));
    assert_eq!(cpu.activity(), Activity::ThreadedExpiry(SOFTIRQ, TimerId(1), 1, KTIMERS, Prio(98)));
    cpu.switch(24, KTIMERS, SPINNER, Prio(19));
    cpu.switch(30, SPINNER, KTIMERS, Prio(50));
    assert_eq!(cpu.activity(), Activity::ThreadedExpiry(SOFTIRQ, TimerId(1), 1, KTIMERS, Prio(50)));
    // Its end is not recorded: the next one runs in the thread all the same.
    cpu.expire_begin(34, begin(2, 6), TaskId(8), TimerClass::Hrtimer, RunIn::Itself, None);
    assert_eq!(cpu.activity(), Activity::ThreadedExpiry(SOFTIRQ, TimerId(2), 2, KTIMERS, Prio(50)));
}

#[test]
fn a_thread_for_timers_takes_its_callback_with_it() {
    let mut cpu = cpu();
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(19));
    cpu.irq_begin(6, TIMER_IRQ, true);
    cpu.timer_pending(7, TimerPending { timer: TimerId(9), thread: LEVEL, prio: Prio(39) });
    cpu.irq_end(8, TIMER_IRQ);
    cpu.switch(50, SPINNER, LEVEL, Prio(39));
    cpu.expire_begin(52, begin(1, 5), TaskId(7), TimerClass::Hrtimer, RunIn::TimerThread, None);
    let callback = Activity::ThreadedExpiry(RunBy::TimerThread, TimerId(1), 1, LEVEL, Prio(39));
    assert_eq!(cpu.activity(), callback);
    let expiry = cpu.expiry().expect("a callback runs");
    assert_eq!(expiry.interrupt_ns, Some(6));
    let deferral = Deferral {
        asked_ns: Some(7),
        begin_ns: 50,
        thread: LEVEL,
        softirq_in: (TaskId::IDLE, Prio::UNKNOWN),
    };
    assert_eq!(expiry.deferred, Some(deferral));
    assert!(!cpu.switch(54, LEVEL, SPINNER, Prio(19)), "it is no softirq that is left");
    cpu.switch(90, SPINNER, LEVEL, Prio(39));
    assert_eq!(cpu.activity(), callback);
    // What is due while it is at it needs no waking; of the first no end was told.
    cpu.expire_begin(95, begin(2, 92), TaskId(8), TimerClass::Hrtimer, RunIn::TimerThread, None);
    let deferral = Deferral {
        asked_ns: Some(92),
        begin_ns: 92,
        thread: LEVEL,
        softirq_in: (TaskId::IDLE, Prio::UNKNOWN),
    };
    assert_eq!(cpu.expiry().and_then(|expiry| expiry.deferred), Some(deferral));
    cpu.expire_end(97, TimerId(2));
    assert_eq!(cpu.activity(), Activity::Task(LEVEL, Prio(39)));
}

#[test]
fn a_thread_for_timers_is_raised_while_it_runs() {
    let mut cpu = cpu();
    cpu.switch(0, TaskId::IDLE, LEVEL, Prio(98));
    cpu.expire_begin(2, begin(1, 1), TaskId(7), TimerClass::Hrtimer, RunIn::TimerThread, None);
    cpu.irq_begin(6, TIMER_IRQ, true);
    cpu.timer_pending(7, TimerPending { timer: TimerId(9), thread: LEVEL, prio: Prio(39) });
    cpu.irq_end(8, TIMER_IRQ);
    assert_eq!(cpu.activity().thread(), Some((LEVEL, Prio(39))));
    cpu.expire_end(9, TimerId(1));
    assert_eq!(cpu.activity(), Activity::Task(LEVEL, Prio(39)));
}

#[test]
fn a_softirq_raised_again_while_it_runs_runs_again() {
    let mut cpu = cpu();
    let prios = Prios::default();
    cpu.switch(0, TaskId::IDLE, KTIMERS, Prio(98));
    cpu.softirq_raise(1, softirq::TIMER);
    cpu.softirq_begin(10, softirq::TIMER, true, &prios);
    cpu.softirq_raise(20, softirq::TIMER);
    cpu.softirq_end(30, softirq::TIMER);
    cpu.softirq_begin(99, softirq::TIMER, true, &prios);
    cpu.expire_begin(100, begin(1, 5), TaskId::IDLE, TimerClass::TimerList, RunIn::Itself, None);
    let deferred = cpu.expiry().and_then(|expiry| expiry.deferred);
    assert_eq!(deferred.map(|it| (it.asked_ns, it.begin_ns)), Some((Some(20), 99)));
}

#[test]
fn interrupts_nest_and_an_end_takes_what_is_above_with_it() {
    let mut cpu = cpu();
    let device = Irq::Line(45, NameId::NONE);
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(120));
    cpu.irq_begin(10, device, false);
    cpu.irq_begin(12, TIMER_IRQ, true);
    cpu.irq_end(14, TIMER_IRQ);
    assert_eq!(cpu.activity(), Activity::Irq(device));
    cpu.irq_begin(15, TIMER_IRQ, true);
    cpu.irq_end(20, device);
    assert!(cpu.in_task_context(), "the inner one's end was not seen");
}

#[test]
fn who_sent_an_interrupt_is_told_where_it_comes() {
    let mut cpu = cpu();
    let (call, by, function) = (Vector(3), TaskId(77), NameId(5));
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(120));
    cpu.is_sent(Sent { time_ns: 10, by, function }, true);
    cpu.irq_begin(12, TIMER_IRQ, true);
    cpu.irq_end(13, TIMER_IRQ);
    cpu.irq_begin(14, Irq::Vector(call), false);
    assert_eq!(cpu.activity(), Activity::Ipi(call, by, function));
    cpu.irq_end(15, Irq::Vector(call));
    cpu.irq_begin(20, Irq::Vector(call), false);
    assert_eq!(cpu.activity(), Activity::Irq(Irq::Vector(call)), "nobody was seen to send it");
}

#[test]
fn a_non_maskable_interrupt_is_told_at_its_end() {
    let mut cpu = cpu();
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(120));
    cpu.nmi(50, Nmi { ns: 20, handler: NameId(3) });
    let task = Activity::Task(SPINNER, Prio(120));
    assert_eq!(told(&cpu, 0, 60), [(0, task), (30, Activity::Nmi(NameId(3))), (50, task)]);
}

#[test]
fn sections_with_interrupts_off_are_proof() {
    let mut cpu = cpu();
    let (section, caller) = (Section::IrqsOff, NameId::NONE);
    let off = |cpu: &Cpu, from_ns, to_ns| {
        let mut found = Vec::new();
        cpu.sections(section, from_ns, to_ns, |from, to, off| found.push((from, to, off)));
        found
    };
    cpu.section_begin(10, SectionBegin { section, caller });
    assert_eq!(off(&cpu, 12, 20), [(12, 20, true)], "they still are");
    cpu.section_end(30, SectionEnd { section, caller });
    cpu.section_begin(40, SectionBegin { section, caller });
    assert_eq!(off(&cpu, 5, 50), [(5, 10, false), (10, 30, true), (30, 40, false), (40, 50, true)]);
    assert_eq!(off(&cpu, 30, 40), [(30, 40, false)]);
}

#[test]
fn a_loss_leaves_nothing() {
    let mut cpu = cpu();
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(120));
    cpu.irq_begin(10, TIMER_IRQ, true);
    cpu.forget(5);
    assert_eq!(told(&cpu, 0, 20)[1], (5, Activity::Unknown));
    assert!(cpu.in_task_context());
}

#[test]
fn an_interrupt_runs_from_its_entry_to_its_end_whatever_nests_in_it() {
    let mut cpu = cpu();
    let device = Irq::Line(45, NameId::NONE);
    cpu.switch(0, TaskId::IDLE, SPINNER, Prio(120));
    cpu.irq_begin(10, TIMER_IRQ, true);
    cpu.irq_begin(12, device, false);
    assert!(cpu.runs_interrupt(10) && cpu.runs_interrupt(12) && !cpu.runs_interrupt(11));
    cpu.irq_end(14, device);
    assert!(cpu.runs_interrupt(10) && !cpu.runs_interrupt(12));
    cpu.switch(20, SPINNER, KTIMERS, Prio(98));
    assert!(!cpu.runs_interrupt(10), "its end was not seen");
}

#[test]
fn the_innermost_callback_is_told_whatever_interrupts_it() {
    let mut cpu = cpu();
    let prios = Prios::default();
    let callback = |timer, owner, in_interrupt| {
        let (timer, owner) = (TimerId(timer), TaskId(owner));
        Some(Callback { timer, owner, in_interrupt, in_timer_thread: false })
    };
    cpu.switch(0, TaskId::IDLE, KTIMERS, Prio(98));
    cpu.softirq_begin(10, softirq::HRTIMER, false, &prios);
    assert_eq!((cpu.callback(), cpu.in_interrupt()), (None, false));
    cpu.expire_begin(12, begin(1, 5), TaskId(7), TimerClass::Hrtimer, RunIn::Itself, None);
    cpu.irq_begin(14, TIMER_IRQ, true);
    assert_eq!((cpu.callback(), cpu.in_interrupt()), (callback(1, 7, false), true));
    cpu.expire_begin(15, begin(2, 6), TaskId(8), TimerClass::Hrtimer, RunIn::Itself, None);
    assert_eq!(cpu.callback(), callback(2, 8, true));
    cpu.irq_end(16, TIMER_IRQ);
    assert_eq!((cpu.callback(), cpu.in_interrupt()), (callback(1, 7, false), false));
    cpu.switch(20, KTIMERS, SPINNER, Prio(19));
    assert_eq!(cpu.callback(), None, "it waits with its thread");
    cpu.switch(30, SPINNER, KTIMERS, Prio(98));
    assert_eq!(cpu.callback(), callback(1, 7, false));
    cpu.softirq_end(40, softirq::HRTIMER);
    assert_eq!(cpu.callback(), None);
}
