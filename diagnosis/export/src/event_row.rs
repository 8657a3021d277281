//! An event as a row of a table: a column for each thing that any kind of event tells.

use crate::names::Names;
use tardy_model::event::{Irq, Section, TimerMode, softirq};
use tardy_model::{CpuId, Event, Kind, NameId, Tables, TaskId, TimerClass, TimerId};
use tardy_recording::parquet_file::Value;

/// A column of the table of events.
#[derive(Clone, Copy, Debug)]
pub struct EventColumn {
    /// Its name.
    pub name: &'static str,
    /// Its line in a Parquet schema, without the name: `optional int64 (INTEGER(64,false))`.
    kind: (&'static str, &'static str),
    /// What is in it.
    pub meaning: &'static str,
}

impl EventColumn {
    /// Its line in a Parquet schema.
    pub(crate) fn schema(&self) -> String {
        let (kind, annotation) = self.kind;
        format!("{kind} {} {annotation};", self.name)
    }
}

macro_rules! kind {
    (u64) => {
        ("required int64", "(INTEGER(64,false))")
    };
    (u32) => {
        ("required int32", "(INTEGER(32,false))")
    };
    (text) => {
        ("required binary", "(STRING)")
    };
    (optional_u64) => {
        ("optional int64", "(INTEGER(64,false))")
    };
    (optional_i64) => {
        ("optional int64", "")
    };
    (optional_u32) => {
        ("optional int32", "(INTEGER(32,false))")
    };
    (optional_i32) => {
        ("optional int32", "")
    };
    (optional_bool) => {
        ("optional boolean", "")
    };
    (optional_text) => {
        ("optional binary", "(STRING)")
    };
}

macro_rules! rust_type {
    (u64) => { u64 };
    (u32) => { u32 };
    (text) => { &'a str };
    (optional_u64) => { Option<u64> };
    (optional_i64) => { Option<i64> };
    (optional_u32) => { Option<u32> };
    (optional_i32) => { Option<i32> };
    (optional_bool) => { Option<bool> };
    (optional_text) => { Option<&'a str> };
}

macro_rules! value {
    (u64 $value:expr) => {
        Value::U64($value)
    };
    (u32 $value:expr) => {
        Value::U32($value)
    };
    (text $value:expr) => {
        Value::Text($value)
    };
    (optional_u64 $value:expr) => {
        Value::OptionalU64($value)
    };
    (optional_i64 $value:expr) => {
        Value::OptionalI64($value)
    };
    (optional_u32 $value:expr) => {
        Value::OptionalU32($value)
    };
    (optional_i32 $value:expr) => {
        Value::OptionalI32($value)
    };
    (optional_bool $value:expr) => {
        Value::OptionalBool($value)
    };
    (optional_text $value:expr) => {
        Value::OptionalText($value)
    };
}

macro_rules! columns {
    ($($name:ident: $kind:ident, $meaning:literal;)*) => {
        /// Every column, in the order in which they stand.
        pub const EVENT_COLUMNS: &[EventColumn] = &[$(EventColumn {
            name: stringify!($name),
            kind: kind!($kind),
            meaning: $meaning,
        }),*];

        /// A row. What the event's kind does not tell is `None`.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct EventRow<'a> {
            $(pub(crate) $name: rust_type!($kind),)*
        }

        impl<'a> EventRow<'a> {
            /// Its values, in the order of [`EVENT_COLUMNS`].
            pub(crate) fn values(&self) -> [Value<'a>; EVENT_COLUMNS.len()] {
                [$(value!($kind self.$name)),*]
            }
        }
    };
}

columns! {
    time_ns: u64, "when, on the recording's clock: CLOCK_MONOTONIC, or what an imported trace had";
    cpu: u32, "where";
    task: u32, "the thread that was current; for task_name, task_info and task_exit the thread \
                that the event is about";
    task_name: text, "its name; empty where it is not known";
    kind: text, "what happened: switch, waking, timer_arm, …";
    timer: optional_u32, "which timer, by a number of this recording";
    timer_class: optional_text, "hrtimer or timer_list";
    function: optional_text, "the timer's or the work's function, an NMI's handler, what an interrupt is sent for, who begins a section";
    owner: optional_u32, "the thread that sleeps on the timer";
    soft_ns: optional_u64, "the timer's soft expiry";
    slack_ns: optional_u32, "its hard expiry less its soft one";
    mode: optional_text, "how it was armed: ABS, REL|PINNED, …";
    irq: optional_u32, "the interrupt's number";
    irq_name: optional_text, "the interrupt's, vector's or softirq's name";
    target: optional_u32, "the thread that is woken, moved, boosted, or switched to, or whose \
                           stack it is";
    target_name: optional_text, "its name";
    prev_state: optional_text, "the letter of the state in which the current thread left the CPU";
    preempted: optional_bool, "whether it was preempted";
    old_prio: optional_i32, "the current thread's priority at a switch, the target's before a change";
    prio: optional_i32, "the target's priority as the scheduler counts it: lower runs first";
    released: optional_bool, "whether a boost ends";
    from_cpu: optional_u32, "the CPU that the target leaves";
    to_cpu: optional_u32, "the CPU that the target comes to";
    syscall: optional_u32, "the system call's number";
    call: optional_text, "its name, where it matters to timing";
    op: optional_u32, "its operation or flags";
    value: optional_u32, "what it compares with";
    argument: optional_u64, "its argument";
    result: optional_i64, "what it returned";
    idle_state: optional_u32, "the idle state";
    polls: optional_bool, "whether the idle state only polls";
    expiry_ns: optional_u64, "the expiry that a thread which marks its return had asked for";
    sequence: optional_u32, "how many marks it had made before";
    since_ns: optional_u64, "when the loss began; when a clock was last seen as before";
    lost: optional_u32, "how many events were lost; 4294967295 where that is not known";
    process: optional_u32, "the process of a thread";
    flags: optional_u32, "its flags: 1 kernel, 2 tardy's own, 4 watched, 8 marks, 16 calls recorded";
    address: optional_u64, "the address of a page fault, and of a timer";
    signal: optional_u32, "the signal's number";
    name: optional_text, "the name of an idle state, the path of a control group, irq or preempt of a section, which stack: interrupted, left or slept";
    frames: optional_text, "a stack: the kernel's functions, the innermost first, with <- between them";
    targets: optional_u64, "the CPUs to which an interrupt is sent, or on which a task may run, a bit each";
    first_target: optional_u32, "the CPU of the lowest bit";
    duration_ns: optional_u64, "how long an NMI took; the exit latency of an idle state; what a hypervisor stole; how late it was where a stack was taken; the CPU time that a control group may use";
    period_ns: optional_u64, "the period in which a control group may use so much CPU time";
    weight: optional_u32, "a control group's share of the CPU, as a thread of nice 0 has 1024";
    by_ns: optional_i64, "by how much a clock was set forward";
    kinds: optional_u64, "the kinds of events that are recorded, a bit for each tag";
}

/// Makes rows of events: knows names.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    pub(crate) tables: Tables,
    names: Names,
    task_name: String,
    target_name: String,
    mode: String,
}

/// Whose names a row shows.
enum Target {
    Nobody,
    Task(TaskId),
}

impl EventRows {
    /// The row of the next event.
    pub(crate) fn row(&mut self, event: &Event) -> EventRow<'_> {
        self.names.see(event);
        let kind = event.kind();
        let target = match &kind {
            Kind::Waking(waking) => Target::Task(waking.target),
            Kind::WokenNew(woken) => Target::Task(woken.target),
            Kind::Woken(woken) => Target::Task(woken.target),
            Kind::Switch(switch) => Target::Task(switch.next),
            Kind::Migrate(migrate) => Target::Task(migrate.target),
            Kind::Priority(priority) => Target::Task(priority.target),
            Kind::TimerPending(pending) => Target::Task(pending.thread),
            Kind::Stack(stack) => Target::Task(stack.of),
            _ => Target::Nobody,
        };
        name_into(&mut self.task_name, &self.names, event.task);
        let target = match target {
            Target::Task(task) => {
                name_into(&mut self.target_name, &self.names, task);
                Some(task)
            }
            Target::Nobody => None,
        };
        if let Kind::TimerArm(arm) = &kind {
            mode_into(&mut self.mode, arm.mode);
        } else if let Kind::ExpireBegin(begin) = &kind {
            mode_into(&mut self.mode, begin.mode);
        }
        let mut row = EventRow {
            time_ns: event.time_ns,
            cpu: event.cpu.0.into(),
            task: event.task.0,
            task_name: &self.task_name,
            kind: kind_name(&kind),
            target: target.map(|task| task.0),
            target_name: target.map(|_| self.target_name.as_str()),
            ..EventRow::default()
        };
        self.of_kind(&kind, &mut row);
        row
    }

    #[allow(clippy::too_many_lines, reason = "a line or two for each kind of event")]
    fn of_kind<'a>(&'a self, kind: &Kind, row: &mut EventRow<'a>) {
        match kind {
            Kind::TimerArm(arm) => {
                self.timer(arm.timer, row);
                row.soft_ns = Some(arm.soft_ns);
                row.slack_ns = Some(arm.slack_ns);
                row.mode = Some(&self.mode);
                row.call = text(arm.call.name());
            }
            Kind::ExpireBegin(begin) => {
                self.timer(begin.timer, row);
                row.soft_ns = Some(begin.soft_ns);
                row.slack_ns = Some(begin.slack_ns);
                row.mode = Some(&self.mode);
            }
            Kind::TimerCancel(cancel) => self.timer(cancel.timer, row),
            Kind::TimerPending(pending) => {
                self.timer(pending.timer, row);
                row.prio = Some(pending.prio.0.into());
            }
            Kind::ExpireEnd(end) => self.timer(end.timer, row),
            Kind::IrqBegin(begin) => self.irq(begin.irq, row),
            Kind::IrqEnd(end) => self.irq(end.irq, row),
            Kind::SoftirqRaise(raise) => softirq_row(raise.vector, row),
            Kind::SoftirqBegin(begin) => softirq_row(begin.vector, row),
            Kind::SoftirqEnd(end) => softirq_row(end.vector, row),
            Kind::Waking(waking) => {
                row.prio = Some(waking.prio.0.into());
                row.to_cpu = known(waking.target_cpu);
            }
            Kind::WokenNew(woken) => {
                row.prio = Some(woken.prio.0.into());
                row.to_cpu = known(woken.target_cpu);
            }
            Kind::Switch(switch) => {
                row.prev_state = Some(state_name(switch.prev_state));
                row.preempted = Some(switch.preempted);
                row.old_prio = Some(switch.prev_prio.0.into());
                row.prio = Some(switch.next_prio.0.into());
            }
            Kind::Migrate(migrate) => {
                row.from_cpu = Some(migrate.from.0.into());
                row.to_cpu = Some(migrate.to.0.into());
            }
            Kind::Priority(priority) => {
                row.old_prio = Some(priority.old.0.into());
                row.prio = Some(priority.new.0.into());
                row.released = Some(priority.released);
            }
            Kind::SyscallEnter(enter) => {
                row.syscall = Some(enter.number);
                row.call = text(enter.call.name());
                row.op = Some(enter.op.into());
                row.value = Some(enter.value.into());
                row.argument = Some(enter.argument);
            }
            Kind::SyscallExit(exit) => {
                row.syscall = Some(exit.number);
                row.result = Some(exit.result);
            }
            Kind::IdleEnter(enter) => {
                row.idle_state = Some(enter.state);
                row.polls = Some(enter.polls);
            }
            Kind::Mark(mark) => {
                row.expiry_ns = Some(mark.expiry_ns);
                row.sequence = Some(mark.sequence);
            }
            Kind::Loss(loss) => {
                row.since_ns = Some(loss.since_ns);
                row.lost = Some(loss.count);
            }
            Kind::TaskInfo(info) => {
                row.process = Some(info.process.0);
                row.flags = Some(info.flags.into());
            }
            Kind::PageFault(fault) => {
                row.address = Some(fault.address);
            }
            Kind::Signal(signal) => {
                row.signal = Some(signal.number);
            }
            Kind::WorkBegin(work) => {
                row.function = self.name(work.function);
            }
            Kind::WorkEnd(work) => {
                row.function = self.name(work.function);
            }
            Kind::Woken(woken) => {
                row.prio = Some(woken.prio.0.into());
                row.to_cpu = known(woken.target_cpu);
            }
            Kind::Nmi(nmi) => {
                row.function = self.name(nmi.handler);
                row.duration_ns = Some(nmi.ns);
            }
            Kind::IpiSend(send) => {
                row.function = self.name(send.function);
                row.targets = Some(send.targets);
                row.first_target = Some(send.first.0.into());
            }
            Kind::SectionBegin(begin) => {
                row.function = self.name(begin.caller);
                row.name = Some(section_name(begin.section));
            }
            Kind::SectionEnd(end) => {
                row.function = self.name(end.caller);
                row.name = Some(section_name(end.section));
            }
            Kind::IdleState(state) => {
                row.idle_state = Some(state.state);
                row.duration_ns = Some(state.exit_latency_ns);
                row.name = self.name(state.name);
            }
            Kind::ClockSet(set) => {
                row.by_ns = Some(set.by_ns);
                row.since_ns = Some(set.since_ns);
            }
            Kind::TaskGroup(group) => row.name = self.name(group.path),
            Kind::GroupBandwidth(group) => {
                row.name = self.name(group.path);
                row.duration_ns = Some(group.quota_ns);
                row.period_ns = Some(group.period_ns.into());
            }
            Kind::GroupWeight(group) => {
                row.name = self.name(group.path);
                row.weight = Some(group.weight);
            }
            Kind::TaskCpus(task) => row.targets = Some(task.cpus),
            Kind::Recorded(recorded) => row.kinds = Some(recorded.kinds),
            Kind::Current(current) => row.prio = Some(current.prio.0.into()),
            Kind::Stolen(stolen) => row.duration_ns = Some(stolen.ns),
            Kind::Stack(stack) => {
                row.name = Some(stack.taken.name());
                row.duration_ns = (stack.late_ns > 0).then_some(stack.late_ns);
                row.frames = self.name(stack.frames);
            }
            Kind::IdleExit(_) | Kind::TaskName(_) | Kind::TaskExit(_) | Kind::Unknown(_) => {}
        }
    }

    fn timer<'a>(&'a self, id: TimerId, row: &mut EventRow<'a>) {
        if id == TimerId::UNKNOWN {
            return;
        }
        let def = self.tables.timer(id);
        let class = match def.class {
            TimerClass::Hrtimer => "hrtimer",
            TimerClass::TimerList => "timer_list",
        };
        row.timer = Some(id.0);
        row.timer_class = Some(class);
        row.address = (def.address != 0).then_some(def.address);
        row.function = self.name(def.function);
        row.owner = (def.owner != TaskId::IDLE).then_some(def.owner.0);
    }

    fn irq<'a>(&'a self, irq: Irq, row: &mut EventRow<'a>) {
        match irq {
            Irq::Line(number, name) => {
                row.irq = Some(number);
                row.irq_name = self.name(name);
            }
            Irq::Vector(vector) => {
                row.irq_name = Some(vector.name());
            }
        }
    }

    fn name(&self, id: NameId) -> Option<&str> {
        text(self.tables.name(id))
    }
}

fn known(cpu: CpuId) -> Option<u32> {
    cpu.is_known().then_some(cpu.0.into())
}

fn section_name(section: Section) -> &'static str {
    match section {
        Section::IrqsOff => "irq",
        Section::PreemptOff => "preempt",
    }
}

fn softirq_row(vector: u32, row: &mut EventRow<'_>) {
    row.irq = Some(vector);
    row.irq_name = Some(softirq::name(vector));
}

fn text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn name_into(text: &mut String, names: &Names, task: TaskId) {
    use std::fmt::Write as _;
    text.clear();
    if task == TaskId::IDLE {
        text.push_str("<idle>");
    } else if let Some(name) = names.get(task) {
        // Writing to a String does not fail.
        let _ = write!(text, "{name}");
    }
}

/// The kernel's words for a mode.
pub(crate) fn mode_into(text: &mut String, mode: TimerMode) {
    text.clear();
    text.push_str(if mode.0 & TimerMode::REL != 0 { "REL" } else { "ABS" });
    for (bit, word) in
        [(TimerMode::PINNED, "|PINNED"), (TimerMode::SOFT, "|SOFT"), (TimerMode::HARD, "|HARD")]
    {
        if mode.0 & bit != 0 {
            text.push_str(word);
        }
    }
}

/// The letter, as a text that lives long enough.
fn state_name(state: tardy_model::event::TaskState) -> &'static str {
    match state.letter() {
        'R' => "R",
        'S' => "S",
        'T' => "T",
        'X' => "X",
        'P' => "P",
        'I' => "I",
        _ => "D",
    }
}

fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::TimerArm(_) => "timer_arm",
        Kind::TimerCancel(_) => "timer_cancel",
        Kind::TimerPending(_) => "timer_pending",
        Kind::ExpireBegin(_) => "expire_begin",
        Kind::ExpireEnd(_) => "expire_end",
        Kind::IrqBegin(_) => "irq_begin",
        Kind::IrqEnd(_) => "irq_end",
        Kind::SoftirqRaise(_) => "softirq_raise",
        Kind::SoftirqBegin(_) => "softirq_begin",
        Kind::SoftirqEnd(_) => "softirq_end",
        Kind::Waking(_) => "waking",
        Kind::WokenNew(_) => "woken_new",
        Kind::Switch(_) => "switch",
        Kind::Migrate(_) => "migrate",
        Kind::Priority(_) => "priority",
        Kind::SyscallEnter(_) => "syscall_enter",
        Kind::SyscallExit(_) => "syscall_exit",
        Kind::IdleEnter(_) => "idle_enter",
        Kind::IdleExit(_) => "idle_exit",
        Kind::Mark(_) => "mark",
        Kind::Loss(_) => "loss",
        Kind::TaskName(_) => "task_name",
        Kind::TaskInfo(_) => "task_info",
        Kind::TaskExit(_) => "task_exit",
        Kind::PageFault(_) => "page_fault",
        Kind::Signal(_) => "signal",
        Kind::WorkBegin(_) => "work_begin",
        Kind::WorkEnd(_) => "work_end",
        Kind::Woken(_) => "woken",
        Kind::Nmi(_) => "nmi",
        Kind::IpiSend(_) => "ipi_send",
        Kind::SectionBegin(_) => "section_begin",
        Kind::SectionEnd(_) => "section_end",
        Kind::ClockSet(_) => "clock_set",
        Kind::IdleState(_) => "idle_state",
        Kind::TaskGroup(_) => "task_group",
        Kind::GroupBandwidth(_) => "group_bandwidth",
        Kind::GroupWeight(_) => "group_weight",
        Kind::TaskCpus(_) => "task_cpus",
        Kind::Recorded(_) => "recorded",
        Kind::Stolen(_) => "stolen",
        Kind::Current(_) => "current",
        Kind::Stack(_) => "stack",
        Kind::Unknown(_) => "unknown",
    }
}
