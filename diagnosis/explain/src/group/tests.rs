//! Which culprits are one, and what they are called together.

use super::*;
use crate::findings::CulpritFinding;
use tardy_model::event::{Comm, Irq, TaskInfo, Vector};
use tardy_model::{NameId, Setting, TimerDef, TimerId};

/// Threads: id, process, name, flags.
const TASKS: [(u32, u32, &str, u8); 14] = [
    (10, 10, "tardy", 0),
    (11, 10, "cyclic-0", TaskInfo::WATCHED),
    (12, 10, "storm-07", 0),
    (13, 10, "storm-12", 0),
    (20, 20, "hackbench", 0),
    (21, 20, "hackbench", 0),
    (22, 22, "hackbench", 0),
    (30, 30, "pipewire", 0),
    (31, 30, "data-loop.0", 0),
    (40, 0, "worker-1", 0),
    (41, 0, "worker-2", 0),
    (50, 50, "kworker/0:1", TaskInfo::KERNEL),
    (51, 51, "kworker/1:2-mm", TaskInfo::KERNEL),
    (60, 10, "tardy-record", TaskInfo::OWN),
];

fn labels() -> Labels {
    let mut labels = Labels::default();
    for (id, process, name, flags) in TASKS {
        labels.rename(TaskId(id), Comm::new(name));
        labels.inform(TaskId(id), TaskInfo { process: TaskId(process), flags });
    }
    labels.is_chosen(TaskId(11));
    let names = [
        "hrtimer_wakeup",
        "virtio1-input.0",
        "virtio1-output.0",
        "timerfd_tmrproc",
        "tick_nohz_handler",
    ];
    for (name, id) in names.iter().zip(1..) {
        labels.tables.define_name(NameId(id), name);
    }
    for (id, function) in [(1, 1), (2, 1), (3, 4), (4, 5)] {
        let (id, function) = (TimerId(id), NameId(function));
        labels.tables.define_timer(TimerDef { id, function, ..TimerDef::default() });
    }
    labels
}

/// The groups of these culprits, each with 10 ns: in words, with the numbers of the culprits.
fn grouped(culprits: &[Culprit]) -> Vec<(String, Vec<usize>)> {
    let labels = labels();
    let finding = |who: &Culprit| CulpritFinding {
        label: labels.label(*who),
        who: *who,
        process: None,
        group: 0,
        main_cause: Cause("interrupts"),
        causes: vec![(Cause("interrupts"), 10)],
        ns: 10,
        share: 0.1,
        wakeups: 1,
        stacks: Vec::new(),
    };
    let culprits: Vec<_> = culprits.iter().map(finding).collect();
    let sum: u64 = culprits.iter().map(|culprit| culprit.ns).sum();
    let mut explanation = Explanation { culprits, ..Explanation::default() };
    group_all(&mut explanation, &labels);
    assert_eq!(explanation.groups.iter().map(|group| group.ns).sum::<u64>(), sum);
    for (at, culprit) in explanation.culprits.iter().enumerate() {
        assert!(explanation.groups[culprit.group].members.contains(&at), "{culprit:?}");
    }
    let told = |found: &GroupFinding| (found.group.words(), found.members.clone());
    explanation.groups.iter().map(told).collect()
}

fn tasks(ids: &[u32]) -> Vec<Culprit> {
    ids.iter().map(|id| Culprit::Task(TaskId(*id))).collect()
}

#[track_caller]
fn assert_one(culprits: &[Culprit], words: &str) {
    let all = (0..culprits.len()).collect();
    assert_eq!(grouped(culprits), [(words.to_owned(), all)]);
}

#[test]
fn processes_of_one_name_are_one_program() {
    assert_one(&tasks(&[20, 21, 22]), "hackbench (3 threads of 2 processes)");
    assert_one(&tasks(&[20, 22]), "hackbench (2 processes)");
    assert_one(&tasks(&[20]), "hackbench (20)");
}

#[test]
fn who_had_no_name_yet_is_called_by_the_one_it_took() {
    let labels = labels();
    let both = |name: &str| (name.to_owned(), name.to_owned());
    assert_eq!(program::program(TaskId(20), "exe", &labels), both("hackbench"));
    assert_eq!(program::program(TaskId(20), "sh", &labels), both("sh"), "that it was another");
}

#[test]
fn threads_are_their_programs() {
    assert_one(&tasks(&[30, 31]), "pipewire (2 threads)");
    assert_one(&tasks(&[31]), "pipewire's data-loop.0 (31)");
}

#[test]
fn threads_beside_the_victim_keep_their_names() {
    let told = grouped(&tasks(&[11, 12, 13]));
    assert_eq!(
        told,
        [("storm-* (2 threads)".to_owned(), vec![1, 2]), ("cyclic-0 (11)".to_owned(), vec![0])]
    );
}

#[test]
fn without_processes_names_are_all_there_is() {
    assert_one(&tasks(&[40, 41]), "worker-* (2 threads)");
    assert_one(&tasks(&[7000, 7001]), "threads without a name (2 threads)");
}

#[test]
fn the_kernels_threads_go_by_kind() {
    let mut both = tasks(&[50, 51]);
    assert_one(&both, "kworker (2 kernel threads)");
    both[1] = Culprit::SoftirqIn(3, TaskId(50));
    assert_one(&both, "kworker (50)");
}

#[test]
fn timers_go_by_owner_and_call() {
    let timer = |timer, owner| Culprit::Timer(TimerId(timer), TaskId(owner));
    assert_one(&[timer(1, 12), timer(2, 13)], "sleep timers of storm-* (2 threads)");
    assert_one(&[timer(1, 20), timer(2, 22)], "sleep timers of hackbench (2 processes)");
    assert_one(&[timer(3, 31)], "timerfds of pipewire's data-loop.0 (31)");
    assert_one(&[timer(4, 0)], "the tick");
}

#[test]
fn interrupts_go_by_device_or_by_sender() {
    let line = |number, name| Culprit::Irq(Irq::Line(number, NameId(name)));
    assert_one(&[line(36, 2), line(37, 3)], "irqs of virtio1");
    assert_one(&[line(36, 2)], "virtio1-input.0 (irq 36)");
    let vector = Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER));
    assert_eq!(grouped(&[vector, line(36, 2)]).len(), 2);
    let sent = |vector, by| Culprit::Ipi(Vector(vector), TaskId(by), NameId::NONE);
    assert_one(&[sent(2, 20), sent(3, 22)], "interrupts sent by hackbench (2 processes)");
}

#[test]
fn short_names_of_the_kernels_say_what_they_are() {
    assert_one(&[Culprit::Softirq(7)], "softirq SCHED");
    assert_one(&[Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER))], "interrupt local_timer");
    assert_one(&[Culprit::Polling(0)], "idle state 0 (polling)");
    assert_one(&[Culprit::IdleState(u32::MAX)], "idle loop");
}

#[test]
fn settings_whatever_their_value() {
    let slack = |ns| Culprit::Setting(Setting::TimerSlack(ns));
    assert_one(&[slack(50_000), slack(20_000)], "timer slack");
    assert_one(&[slack(50_000)], "timer slack 50 µs");
    assert_one(&tasks(&[60]), "tardy's recorder (60)");
    assert_one(&[Culprit::Nobody], "unknown");
}

#[test]
fn the_first_group_took_most() {
    let mut culprits = tasks(&[31, 20, 21, 22]);
    culprits.push(Culprit::Nobody);
    let told = grouped(&culprits);
    assert_eq!(told[0].0, "hackbench (3 threads of 2 processes)");
    assert_eq!(told.len(), 3);
}

#[test]
fn a_verb_goes_with_the_name() {
    let verb = |kind, name: &str| {
        let name = name.to_owned();
        Group { kind, name, threads: 2, ..Group::default() }.verb("runs", "run")
    };
    assert_eq!(verb("task", "hackbench"), "runs");
    assert_eq!(verb("kernel_task", "kworker"), "runs");
    assert_eq!(verb("timer", "the tick"), "runs");
    assert_eq!(verb("kernel_task", "irq threads of eth0"), "run");
    assert_eq!(verb("irq", "irqs of eth0"), "run");
    assert_eq!(verb("task", "threads without a name"), "run");
    assert_eq!(verb("timer", "timerfds of pipewire"), "run");
}
