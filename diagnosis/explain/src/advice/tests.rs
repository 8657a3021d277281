//! Advice where it weighs, none where it does not.

use super::*;
use crate::{Explainer, Options, Watch};
use tardy_model::event::{Comm, Switch, TaskInfo, TaskName, TaskState, Waking};
use tardy_model::{Batch, CpuId, Event, Kind, Prio};

/// A thread of this priority is woken again and again, and each time another one runs first, for so long.
fn explained(victim: Prio, others: &[(u32, &str, Prio, u64)]) -> Explanation {
    explained_with(victim, others, 0)
}

const VICTIM: TaskId = TaskId(4_711);

/// The same; the flags are the others'.
fn explained_with(victim: Prio, others: &[(u32, &str, Prio, u64)], flags: u8) -> Explanation {
    explained_about(victim, others, flags, None, None)
}

/// The same, about the wakeup of that expiry. At last the thread has another priority, where one is given.
fn explained_about(
    victim: Prio,
    others: &[(u32, &str, Prio, u64)],
    flags: u8,
    expiry_ns: Option<u64>,
    last: Option<Prio>,
) -> Explanation {
    let mut batch = Batch::default();
    let mut at_ns = 1_000;
    let mut event = |after_ns: u64, task: TaskId, kind: Kind| {
        at_ns += after_ns;
        batch.events.push(Event::new(at_ns, CpuId(0), task, kind));
    };
    let named = others.iter().map(|(id, name, ..)| (TaskId(*id), *name, flags));
    for (task, name, flags) in named.chain([(VICTIM, "audio", TaskInfo::WATCHED)]) {
        event(0, task, Kind::TaskName(TaskName { comm: Comm::new(name) }));
        event(0, task, Kind::TaskInfo(TaskInfo { process: task, flags }));
    }
    let switch = |prev_state, prev_prio, next, next_prio| {
        let preempted = prev_state == TaskState::Running;
        Kind::Switch(Switch { prev_state, prev_prio, preempted, next, next_prio })
    };
    for _ in 0..20 {
        for (id, _, prio, runs_ns) in others {
            let other = TaskId(*id);
            let wake = Waking { target: other, target_cpu: CpuId(0), prio: *prio };
            event(0, VICTIM, wake.into());
            event(1_000, VICTIM, switch(TaskState::Interruptible, victim, other, *prio));
            let wake = Waking { target: VICTIM, target_cpu: CpuId(0), prio: victim };
            event(1_000, other, wake.into());
            event(*runs_ns, other, switch(TaskState::Interruptible, *prio, VICTIM, victim));
        }
    }
    if let Some(last) = last {
        let idle = TaskId(0);
        event(1_000, VICTIM, switch(TaskState::Interruptible, last, idle, Prio(120)));
        event(1_000, idle, Waking { target: VICTIM, target_cpu: CpuId(0), prio: last }.into());
        event(1_000, idle, switch(TaskState::Running, Prio(120), VICTIM, last));
    }
    let mut explainer = Explainer::new(Options { watch: Watch::default(), worst: 50 }, ());
    explainer.batch(&batch);
    explainer.finish_about(expiry_ns.map(|expiry_ns| (VICTIM, expiry_ns))).0
}

#[test]
fn advice_about_one_wakeup_names_who_made_that_one_late() {
    let others = [(5, "encoder", Prio(79), 400_000), (6, "backup", Prio(69), 100_000)];
    let about = |expiry_ns| explained_about(Prio(89), &others, 0, expiry_ns, None);
    let all = about(None);
    assert!(all.advice[0].text.starts_with("encoder (5) runs first"), "{:?}", all.advice);
    let is_short = |worst: &&crate::WorstWakeup| worst.wakeup.lateness_ns < 200_000;
    let short = all.worst.iter().find(is_short).expect("one by the backup");
    let one = about(Some(short.wakeup.expiry_ns));
    let [advice] = &one.advice[..] else { panic!("{:?}", one.advice) };
    assert!(advice.text.starts_with("backup (6) runs first"), "{advice:?}");
    assert_eq!(advice.command.as_deref(), Some("chrt -f -p 31 4711"));
    // A wakeup that is not there changes nothing.
    assert_eq!(about(Some(1)).advice, all.advice);
}

#[test]
fn a_thread_above_is_named_with_a_priority_that_beats_it() {
    let explanation = explained(Prio(89), &[(5, "encoder", Prio(79), 400_000)]);
    let [advice] = &explanation.advice[..] else { panic!("{:?}", explanation.advice) };
    assert_eq!(advice.cause, Cause("higher_priority"));
    assert_eq!(
        advice.text,
        "encoder (5) runs first, with real-time priority 20. A priority above it lets the thread run first."
    );
    assert_eq!(advice.command.as_deref(), Some("chrt -f -p 21 4711"));
    assert!(advice.gain > 0.99 && advice.gain <= 1.0, "{advice:?}");
}

#[test]
fn equals_are_left_behind_by_a_real_time_priority() {
    let hackbench: Vec<_> = (100..110).map(|id| (id, "hackbench", Prio(120), 10_000)).collect();
    let explanation = explained(Prio(120), &hackbench);
    let [advice] = &explanation.advice[..] else { panic!("{:?}", explanation.advice) };
    assert!(advice.text.starts_with("hackbench (10 processes) shares the CPU"), "{advice:?}");
    assert_eq!(advice.command.as_deref(), Some("chrt -f -p 50 4711"));
    let [cause] = &explanation.causes[..] else { panic!("one cause") };
    assert_eq!(cause.advice, Some(advice.line()));
}

/// A priority above an equal's is no advice where the thread has a higher one by now.
#[test]
fn who_was_ordinary_at_first_is_told_to_begin_with_its_priority() {
    let hackbench: Vec<_> = (100..110).map(|id| (id, "hackbench", Prio(120), 10_000)).collect();
    let explanation = explained_about(Prio(120), &hackbench, 0, None, Some(Prio(19)));
    let [advice] = &explanation.advice[..] else { panic!("{:?}", explanation.advice) };
    assert!(advice.text.contains("while the thread was still an ordinary one"), "{advice:?}");
    assert_eq!((&advice.command, &advice.changes[..]), (&None, &[][..]));
}

#[test]
fn what_weighs_little_gets_no_advice() {
    let others = [(5, "encoder", Prio(79), 1_000), (6, "hackbench", Prio(120), 1_000_000)];
    let explanation = explained(Prio(120), &others);
    let small = explanation.causes.iter().find(|found| found.cause == Cause("higher_priority"));
    assert!(small.is_some_and(|found| found.share < SHARE_MIN), "{:?}", explanation.causes);
    let advised: Vec<&str> = explanation.advice.iter().map(|advice| advice.cause.0).collect();
    assert_eq!(advised, ["cpu_contention"]);
}

#[test]
fn nobody_can_be_put_above_the_highest() {
    let explanation = explained(Prio(89), &[(5, "hog", Prio(0), 400_000)]);
    let [advice] = &explanation.advice[..] else { panic!("{:?}", explanation.advice) };
    assert_eq!(advice.command, None, "{advice:?}");
    assert!(advice.text.contains("no priority is higher"), "{advice:?}");
}

#[test]
fn no_change_puts_a_late_thread_before_another_that_is_late_too() {
    let others = [(5, "encoder", Prio(79), 400_000)];
    let alone = explained(Prio(89), &others);
    assert_eq!(alone.advice[0].changes[0].to_string(), "prio(victim)=fifo:21");
    let together = explained_with(Prio(89), &others, TaskInfo::WATCHED);
    let advice = together.advice.iter().find(|advice| advice.cause == Cause("higher_priority"));
    let advice = advice.expect("it weighs");
    assert!(advice.text.contains("give each its own priority"), "{advice:?}");
    assert!(advice.changes.is_empty() && advice.command.is_none(), "{advice:?}");
}

#[test]
fn a_thread_of_the_kernel_is_stopped_by_what_it_is_for() {
    let explanation =
        explained_with(Prio(120), &[(5, "khugepaged", Prio(120), 400_000)], TaskInfo::KERNEL);
    let [advice] = &explanation.advice[..] else { panic!("{:?}", explanation.advice) };
    let changes: Vec<String> = advice.changes.iter().map(ToString::to_string).collect();
    assert_eq!(changes[..2], ["prio(victim)=fifo:50", "khugepaged=off"]);
}
