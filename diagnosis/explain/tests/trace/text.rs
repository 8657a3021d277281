//! Traces as text, so that a reader of a test sees the story.
//!
//! A line is `TIME CPU TASK EVENT…`, or a definition: `task ID NAME [flag…]`, `name ID NAME`,
//! `timer ID FUNCTION [owner TASK] [list]`. A flag of a task may be its process, as a number. Times are
//! nanoseconds; `#` begins a remark. Every kind of event counts as recorded, unless a line `learn` says that
//! this is to be learnt from what comes, or an event `no-idle-states` that those are not.

use tardy_model::event::*;
use tardy_model::*;

pub(crate) fn parse(trace: &str) -> Batch {
    let mut batch = Batch::default();
    if !trace.lines().any(|line| line.trim() == "learn") {
        batch.events.push(Event::new(0, CpuId(0), TaskId::IDLE, recorded().into()));
    }
    for line in trace.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] | ["learn"] => {}
            ["task", id, name, flags @ ..] => define_task(&mut batch, number(id), name, flags),
            ["timer", id, function, rest @ ..] => {
                define_timer(&mut batch, number(id), function, rest);
            }
            ["name", id, name] => {
                batch.names.push((NameId(number(id) as u32), (*name).to_owned()));
            }
            [time, cpu, task, event @ ..] => {
                let kind = kind(event).unwrap_or_else(|| panic!("no such event: {line}"));
                let cpu = CpuId(number(cpu) as u16);
                batch.events.push(Event::new(number(time), cpu, TaskId(number(task) as u32), kind));
            }
            _ => panic!("no such line: {line}"),
        }
    }
    batch
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("no number: {word}"))
}

fn define_task(batch: &mut Batch, id: u64, name: &str, flags: &[&str]) {
    let (processes, flags): (Vec<&str>, Vec<&str>) =
        flags.iter().partition(|flag| flag.starts_with(|c: char| c.is_ascii_digit()));
    let process = processes.first().map_or(id, |process| number(process));
    let flags = flags.iter().fold(0, |all, flag| {
        all | match *flag {
            "watched" => TaskInfo::WATCHED,
            "marks" => TaskInfo::WATCHED | TaskInfo::MARKS,
            "syscalls" => TaskInfo::WATCHED | TaskInfo::SYSCALLS,
            "own" => TaskInfo::OWN,
            "kernel" => TaskInfo::KERNEL,
            other => panic!("no such flag: {other}"),
        }
    });
    let time_ns = batch.events.last().map_or(0, |last| last.time_ns);
    for kind in [
        Kind::TaskName(TaskName { comm: Comm::new(name) }),
        Kind::TaskInfo(TaskInfo { process: TaskId(process as u32), flags }),
    ] {
        batch.events.push(Event::new(time_ns, CpuId(0), TaskId(id as u32), kind));
    }
}

fn define_timer(batch: &mut Batch, id: u64, function: &str, rest: &[&str]) {
    let name = NameId(1000 + id as u32);
    batch.names.push((name, function.to_owned()));
    let mut timer = TimerDef { id: TimerId(id as u32), function: name, ..TimerDef::default() };
    match rest {
        [] => {}
        ["owner", owner] => timer.owner = TaskId(number(owner) as u32),
        ["list"] => timer.class = TimerClass::TimerList,
        other => panic!("no such timer: {other:?}"),
    }
    batch.timers.push(timer);
}

fn idle(state: &str, polls: bool) -> Kind {
    Kind::IdleEnter(IdleEnter { state: number(state) as u32, polls, only: false })
}

fn irq(word: &str) -> Irq {
    match Vector::NAMES.iter().position(|name| *name == word) {
        Some(at) => Irq::Vector(Vector(at as u32)),
        None => Irq::Line(number(word) as u32, NameId::NONE),
    }
}

fn mode(how: &[&str]) -> TimerMode {
    match how {
        [] => TimerMode::default(),
        ["softirq"] => TimerMode(TimerMode::SOFT),
        other => panic!("no such way to expire: {other:?}"),
    }
}

/// The word after `call`: a call's name, or `other`.
fn call(how: &[&str]) -> Call {
    let Some(at) = how.iter().position(|word| *word == "call") else { return Call::Unknown };
    let name = how.get(at + 1).expect("a call's name");
    let known = |call: &Call| call.name() == *name;
    match *name {
        "other" => Call::Other,
        name => Call::ALL.into_iter().find(known).unwrap_or_else(|| panic!("no call: {name}")),
    }
}

fn kind(event: &[&str]) -> Option<Kind> {
    let id = |word: &str| TaskId(number(word) as u32);
    let timer = |word: &str| TimerId(number(word) as u32);
    let cpu = |word: &str| CpuId(number(word) as u16);
    let prio = |word: &str| Prio(word.parse().expect("a priority"));
    Some(match *event {
        ["arm", t, "soft", soft, "slack", slack, ref how @ ..] => Kind::TimerArm(TimerArm {
            timer: timer(t),
            soft_ns: number(soft),
            slack_ns: number(slack) as u32,
            mode: mode(how.split(|word| *word == "call").next().unwrap_or_default()),
            call: call(how),
        }),
        ["pending", t, "in", thread, "prio", p] => {
            Kind::TimerPending(TimerPending { timer: timer(t), thread: id(thread), prio: prio(p) })
        }
        ["cancel", t] => Kind::TimerCancel(TimerCancel { timer: timer(t) }),
        ["expire+", t, "soft", soft, "slack", slack, ref how @ ..] => {
            Kind::ExpireBegin(ExpireBegin {
                timer: timer(t),
                soft_ns: number(soft),
                slack_ns: number(slack) as u32,
                mode: mode(how),
            })
        }
        ["expire-", t] => Kind::ExpireEnd(ExpireEnd { timer: timer(t) }),
        ["irq+", name] => Kind::IrqBegin(IrqBegin { irq: irq(name) }),
        ["irq-", name] => Kind::IrqEnd(IrqEnd { irq: irq(name) }),
        ["raise", v] => Kind::SoftirqRaise(SoftirqRaise { vector: number(v) as u32 }),
        ["softirq+", v] => Kind::SoftirqBegin(SoftirqBegin { vector: number(v) as u32 }),
        ["softirq-", v] => Kind::SoftirqEnd(SoftirqEnd { vector: number(v) as u32 }),
        ["waking", task, "on", on, "prio", p] => {
            Kind::Waking(Waking { target: id(task), target_cpu: cpu(on), prio: prio(p) })
        }
        ["woken", task, "on", on, "prio", p] => {
            Kind::Woken(Woken { target: id(task), target_cpu: cpu(on), prio: prio(p) })
        }
        ["new", task, "on", on, "prio", p] => {
            Kind::WokenNew(WokenNew { target: id(task), target_cpu: cpu(on), prio: prio(p) })
        }
        // The last number is the priority of who leaves, where it is not 120.
        ["switch", state, next, p, ref own @ ..] => Kind::Switch(Switch {
            prev_state: left(state),
            prev_prio: own.first().map_or(Prio(120), |own| prio(own)),
            preempted: state == "R",
            next: id(next),
            next_prio: prio(p),
        }),
        ["migrate", task, from, to] => {
            Kind::Migrate(Migrate { target: id(task), from: cpu(from), to: cpu(to) })
        }
        ["boost", task, old, new] => Kind::Priority(Priority {
            target: id(task),
            old: prio(old),
            new: prio(new),
            released: false,
        }),
        ["unboost", task, old, new] => Kind::Priority(Priority {
            target: id(task),
            old: prio(old),
            new: prio(new),
            released: true,
        }),
        ["futex", op, address, ref value @ ..] => Kind::SyscallEnter(SyscallEnter {
            call: Call::Futex,
            number: 202,
            op: (0..14).find(|at| futex::name(*at) == op).expect("a futex operation"),
            value: value.first().map_or(0, |value| number(value) as u16),
            argument: number(address),
        }),
        ["signal", n] => Kind::Signal(Signal { number: number(n) as u32 }),
        ["fault", address] => Kind::PageFault(PageFault { address: number(address) }),
        ["work", name] => Kind::WorkBegin(WorkBegin { function: NameId(number(name) as u32) }),
        ["work-done"] => Kind::WorkEnd(WorkEnd { function: NameId::NONE }),
        ["sleep"] => Kind::IdleEnter(IdleEnter { state: 1, polls: false, only: true }),
        ["sleep", state] => idle(state, false),
        ["poll", state] => idle(state, true),
        ["latency", state, ns] => Kind::IdleState(IdleState {
            state: number(state) as u32,
            exit_latency_ns: number(ns),
            name: NameId::NONE,
        }),
        ["nmi", ns] => Kind::Nmi(Nmi { ns: number(ns), handler: NameId::NONE }),
        ["ipi", to] => Kind::IpiSend(IpiSend::to(cpu(to), NameId::NONE)),
        ["stolen", ns] => Kind::Stolen(Stolen { ns: number(ns) }),
        ["stack", taken, of, frames] => stack(taken, of, frames),
        ["irqs-off"] => section_begin(),
        ["irqs-on"] => section_end(),
        ["awake"] => Kind::IdleExit(IdleExit),
        ["no-idle-states"] => {
            Kind::Recorded(Recorded { kinds: recorded().kinds & !(1 << IdleEnter::TAG) })
        }
        ["mark", expiry] => Kind::Mark(Mark { expiry_ns: number(expiry), sequence: 0 }),
        ["return"] => Kind::SyscallExit(SyscallExit { number: 230, result: 0 }),
        ["lost", count, "since", since] => {
            Kind::Loss(Loss { since_ns: number(since), count: number(count) as u32 })
        }
        ["gone"] => Kind::TaskExit(TaskExit),
        _ => return None,
    })
}

/// The state in which a task leaves its CPU.
fn left(state: &str) -> TaskState {
    match state {
        "R" => TaskState::Running,
        "S" => TaskState::Interruptible,
        "D" => TaskState::Uninterruptible,
        other => panic!("no such state: {other}"),
    }
}

/// Whose, and its frames as a name by its number.
fn stack(taken: &str, of: &str, frames: &str) -> Kind {
    Kind::Stack(Stack {
        taken: Taken::named(taken).expect("a stack"),
        of: TaskId(number(of) as u32),
        late_ns: 0,
        frames: NameId(number(frames) as u32),
    })
}

fn section_begin() -> Kind {
    Kind::SectionBegin(SectionBegin { section: Section::IrqsOff, caller: NameId::NONE })
}

fn section_end() -> Kind {
    Kind::SectionEnd(SectionEnd { section: Section::IrqsOff, caller: NameId::NONE })
}

/// What a recording of tardy's own tells: no sections.
fn recorded() -> Recorded {
    let sections = 1 << SectionBegin::TAG | 1 << SectionEnd::TAG;
    Recorded { kinds: Recorded::all().kinds & !sections }
}
