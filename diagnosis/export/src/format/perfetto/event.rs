//! What each event of the model is in the trace.

use super::bundles::Symbols;
use super::tasks::Tasks;
use rustc_hash::FxHashMap;
use tardy_model::event::{
    Call, ExpireBegin, Irq, Priority, Section, Switch, SyscallEnter, TaskState, TimerArm,
    TimerMode, Vector,
};
use tardy_model::{
    CpuId, Event, Kind, NameId, Prio, Tables, TaskId, TimerClass, TimerDef, TimerId,
};
use tardy_perfetto::{
    CpuIdle, FtraceEvent, FtraceEventBundle, GenericEvent, GenericField, HrtimerCancel,
    HrtimerExpireEntry, HrtimerExpireExit, HrtimerStart, IrqHandlerEntry, IrqHandlerExit,
    LocalTimerEntry, LocalTimerExit, SchedMigrateTask, SchedPiSetprio, SchedProcessExit,
    SchedSwitch, SchedWakeup, SchedWakeupNew, SchedWaking, SignalDeliver, SoftirqEntry,
    SoftirqExit, SoftirqRaise, SysEnter, SysExit, TaskRename, TimerCancel, TimerExpireEntry,
    TimerExpireExit, TimerStart, TracePacket, WorkqueueExecuteEnd, WorkqueueExecuteStart, own,
};

/// What an event needs to be told.
pub(super) struct Context<'a> {
    pub(super) tables: &'a Tables,
    pub(super) tasks: &'a Tasks,
    pub(super) symbols: &'a mut Symbols,
    pub(super) armed: &'a mut Armed,
    pub(super) polls: &'a mut Vec<u32>,
}

/// What a reader of the trace knows of armed high-resolution timers, by address. At most
/// [`ARMED_MAX`]; of those beyond, it is told once more when they expire.
pub(super) type Armed = FxHashMap<u64, Arming>;

/// As many as an import remembers.
const ARMED_MAX: usize = 1 << 18;

/// An idle state's number when it ends (`PWR_EVENT_EXIT`).
const IDLE_EXIT: u32 = u32::MAX;

/// x86's vector of the local timer (`LOCAL_TIMER_VECTOR`).
const LOCAL_TIMER: i32 = 0xec;

/// The callback of timers on which a thread sleeps, which arms them itself.
const SLEEPER: &str = "hrtimer_wakeup";

/// `TIMER_PINNED` in a wheel timer's flags.
const WHEEL_PINNED: u32 = 0x0010_0000;

/// What was said when a timer was armed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Arming {
    function: NameId,
    owner: TaskId,
    soft_ns: u64,
    slack_ns: u32,
    mode: TimerMode,
}

/// An event of one message.
macro_rules! encoded {
    ($event:expr, $name:ident: $message:ident { $($field:ident: $value:expr),* $(,)? }) => {
        FtraceEvent {
            #[allow(clippy::needless_update, reason = "some messages are told whole")]
            $name: Some($message { $($field: Some($value),)* ..$message::default() }),
            ..blank($event)
        }
    };
}

fn blank(event: &Event) -> FtraceEvent {
    let (timestamp, pid) = (Some(event.time_ns), Some(event.task.0));
    FtraceEvent { timestamp, pid, ..FtraceEvent::default() }
}

fn generic(event: &Event, name: &str, fields: &[(&str, u64)]) -> FtraceEvent {
    let field = |(name, value): &(&str, u64)| GenericField {
        name: Some(name.as_bytes().to_vec()),
        uint_value: Some(*value),
        ..GenericField::default()
    };
    let field = fields.iter().map(field).collect();
    let generic = GenericEvent { event_name: Some(name.as_bytes().to_vec()), field };
    FtraceEvent { generic: Some(generic), ..blank(event) }
}

/// The same with a name; empty where there is none.
fn named(event: &Event, what: &str, name: &str, fields: &[(&str, u64)]) -> FtraceEvent {
    let mut encoded = generic(event, what, fields);
    let name = GenericField {
        name: Some(own::FUNCTION.as_bytes().to_vec()),
        str_value: Some(name.as_bytes().to_vec()),
        ..GenericField::default()
    };
    encoded.generic.get_or_insert_default().field.push(name);
    encoded
}

/// A packet that says of which clock all times are.
pub(super) fn of_clock(time_ns: u64, clock: &str, sequence_id: u32) -> TracePacket {
    let event = Event::new(time_ns, CpuId(0), TaskId::IDLE, Kind::Unknown(0));
    let bundle = FtraceEventBundle {
        cpu: Some(0),
        event: vec![named(&event, own::CLOCK, clock, &[])],
        ..FtraceEventBundle::default()
    };
    TracePacket {
        ftrace_events: Some(bundle),
        trusted_packet_sequence_id: Some(sequence_id),
        ..TracePacket::default()
    }
}

/// A CPU's number; −1 where it is not known.
fn cpu_number(cpu: CpuId) -> i32 {
    if cpu.is_known() { cpu.0.into() } else { -1 }
}

/// Puts what `event` is in the trace behind `out`: one event, or one and what must be known for it.
#[expect(clippy::too_many_lines, reason = "a line or two for each kind")]
pub(super) fn encode(event: &Event, context: &mut Context<'_>, out: &mut Vec<FtraceEvent>) {
    let tables = context.tables;
    let encoded = match event.kind() {
        Kind::TimerArm(arm) => context.arm(event, arm),
        Kind::TimerCancel(cancel) => match context.timer(cancel.timer) {
            TimerDef { class: TimerClass::Hrtimer, address, .. } => {
                encoded!(event, hrtimer_cancel: HrtimerCancel { hrtimer: address })
            }
            TimerDef { address, .. } => {
                encoded!(event, timer_cancel: TimerCancel { timer: address })
            }
        },
        Kind::TimerPending(pending) => {
            let address = context.timer(pending.timer).address;
            let prio = i64::from(pending.prio.0) as u64;
            let fields = [("hrtimer", address), ("pid", pending.thread.0.into()), ("prio", prio)];
            generic(event, "timer_pending", &fields)
        }
        Kind::ExpireBegin(begin) => {
            out.extend(context.armed_before(event, begin));
            context.expire(event, begin)
        }
        Kind::ExpireEnd(end) => match context.timer(end.timer) {
            TimerDef { class: TimerClass::Hrtimer, address, .. } => {
                encoded!(event, hrtimer_expire_exit: HrtimerExpireExit { hrtimer: address })
            }
            TimerDef { address, .. } => {
                encoded!(event, timer_expire_exit: TimerExpireExit { timer: address })
            }
        },
        Kind::IrqBegin(begin) => match begin.irq {
            Irq::Line(number, name) => encoded!(event, irq_handler_entry: IrqHandlerEntry {
                irq: number as i32,
                name: tables.name(name).as_bytes().to_vec(),
            }),
            Irq::Vector(Vector::LOCAL_TIMER) => {
                encoded!(event, local_timer_entry: LocalTimerEntry { vector: LOCAL_TIMER })
            }
            Irq::Vector(vector) => {
                let Some(name) = Vector::NAMES.get(vector.0 as usize) else { return };
                generic(event, &format!("{name}_entry"), &[])
            }
        },
        Kind::IrqEnd(end) => match end.irq {
            Irq::Line(number, _) => {
                encoded!(event, irq_handler_exit: IrqHandlerExit { irq: number as i32, ret: 1 })
            }
            Irq::Vector(Vector::LOCAL_TIMER) => {
                encoded!(event, local_timer_exit: LocalTimerExit { vector: LOCAL_TIMER })
            }
            Irq::Vector(vector) => {
                let Some(name) = Vector::NAMES.get(vector.0 as usize) else { return };
                generic(event, &format!("{name}_exit"), &[])
            }
        },
        Kind::SoftirqRaise(raise) => {
            encoded!(event, softirq_raise: SoftirqRaise { vec: raise.vector })
        }
        Kind::SoftirqBegin(begin) => {
            encoded!(event, softirq_entry: SoftirqEntry { vec: begin.vector })
        }
        Kind::SoftirqEnd(end) => encoded!(event, softirq_exit: SoftirqExit { vec: end.vector }),
        Kind::Waking(waking) => FtraceEvent {
            sched_waking: Some(SchedWaking {
                comm: context.comm(waking.target, None),
                pid: Some(waking.target.0 as i32),
                prio: Some(waking.prio.0.into()),
                success: Some(1),
                target_cpu: Some(cpu_number(waking.target_cpu)),
            }),
            ..blank(event)
        },
        Kind::Woken(woken) => FtraceEvent {
            sched_wakeup: Some(SchedWakeup {
                comm: context.comm(woken.target, None),
                pid: Some(woken.target.0 as i32),
                prio: Some(woken.prio.0.into()),
                success: Some(1),
                target_cpu: Some(cpu_number(woken.target_cpu)),
            }),
            ..blank(event)
        },
        Kind::WokenNew(new) => FtraceEvent {
            sched_wakeup_new: Some(SchedWakeupNew {
                comm: context.comm(new.target, None),
                pid: Some(new.target.0 as i32),
                prio: Some(new.prio.0.into()),
                success: Some(1),
                target_cpu: Some(cpu_number(new.target_cpu)),
            }),
            ..blank(event)
        },
        Kind::Switch(switch) => context.switch(event, switch),
        Kind::Migrate(migrate) => FtraceEvent {
            sched_migrate_task: Some(SchedMigrateTask {
                comm: context.comm(migrate.target, None),
                pid: Some(migrate.target.0 as i32),
                prio: None,
                orig_cpu: Some(migrate.from.0.into()),
                dest_cpu: Some(migrate.to.0.into()),
            }),
            ..blank(event)
        },
        Kind::Priority(priority) => context.priority(event, priority),
        Kind::SyscallEnter(enter) => FtraceEvent {
            sys_enter: Some(SysEnter { id: Some(enter.number.into()), args: arguments(enter) }),
            ..blank(event)
        },
        Kind::SyscallExit(exit) => {
            encoded!(event, sys_exit: SysExit { id: exit.number.into(), ret: exit.result })
        }
        Kind::IdleEnter(enter) => {
            if enter.polls && !context.polls.contains(&enter.state) {
                context.polls.push(enter.state);
                out.push(generic(event, own::POLLS, &[(own::STATE, enter.state.into())]));
            }
            encoded!(event, cpu_idle: CpuIdle { state: enter.state, cpu_id: event.cpu.0.into() })
        }
        Kind::IdleExit(_) => {
            encoded!(event, cpu_idle: CpuIdle { state: IDLE_EXIT, cpu_id: event.cpu.0.into() })
        }
        Kind::Mark(mark) => generic(
            event,
            own::MARK,
            &[(own::EXPIRY, mark.expiry_ns), (own::SEQUENCE, mark.sequence.into())],
        ),
        Kind::Loss(loss) => generic(
            event,
            own::LOSS,
            &[(own::SINCE, loss.since_ns), (own::COUNT, loss.count.into())],
        ),
        Kind::TaskName(_) => FtraceEvent {
            task_rename: Some(TaskRename {
                pid: Some(event.task.0 as i32),
                oldcomm: None,
                // The event has just been taken note of.
                newcomm: context.tasks.name(event.task),
            }),
            ..blank(event)
        },
        Kind::TaskInfo(info) => generic(
            event,
            own::TASK,
            &[(own::PROCESS, info.process.0.into()), (own::FLAGS, info.flags.into())],
        ),
        Kind::TaskExit(_) => FtraceEvent {
            sched_process_exit: Some(SchedProcessExit {
                comm: context.tasks.name(event.task),
                pid: Some(event.task.0 as i32),
                ..SchedProcessExit::default()
            }),
            ..blank(event)
        },
        Kind::PageFault(fault) => generic(event, "page_fault_user", &[("address", fault.address)]),
        Kind::Signal(signal) => {
            encoded!(event, signal_deliver: SignalDeliver { sig: signal.number as i32 })
        }
        Kind::WorkBegin(begin) => {
            let function = context.symbols.number(begin.function, tables);
            encoded!(event, workqueue_execute_start: WorkqueueExecuteStart { function: function })
        }
        Kind::WorkEnd(end) => {
            let function = context.symbols.number(end.function, tables);
            FtraceEvent {
                workqueue_execute_end: Some(WorkqueueExecuteEnd {
                    work: None,
                    function: (function != 0).then_some(function),
                }),
                ..blank(event)
            }
        }
        kind => match of_own(event, kind, tables) {
            Some(encoded) => encoded,
            None => return,
        },
    };
    out.push(encoded);
}

/// What Perfetto has no message for.
fn of_own(event: &Event, kind: Kind, tables: &Tables) -> Option<FtraceEvent> {
    let name = |id: NameId| tables.name(id);
    let section = |what, section: Section, caller| {
        named(event, what, name(caller), &[(own::SECTION, section as u64)])
    };
    Some(match kind {
        Kind::Nmi(nmi) => named(event, own::NMI, name(nmi.handler), &[(own::DURATION, nmi.ns)]),
        Kind::IpiSend(send) => {
            let fields = [(own::TARGETS, send.targets), (own::FIRST, send.first.0.into())];
            named(event, own::IPI, name(send.function), &fields)
        }
        Kind::SectionBegin(begin) => section(own::SECTION_BEGIN, begin.section, begin.caller),
        Kind::SectionEnd(end) => section(own::SECTION_END, end.section, end.caller),
        Kind::ClockSet(set) => {
            let fields = [(own::BY, set.by_ns as u64), (own::SINCE, set.since_ns)];
            generic(event, own::CLOCK_SET, &fields)
        }
        Kind::IdleState(state) => {
            let fields = [(own::STATE, state.state.into()), (own::DURATION, state.exit_latency_ns)];
            named(event, own::IDLE_STATE, name(state.name), &fields)
        }
        Kind::TaskGroup(group) => {
            let fields = [(own::THROTTLED, group.throttled.into())];
            named(event, own::GROUP, name(group.path), &fields)
        }
        Kind::GroupBandwidth(group) => {
            let fields = [(own::DURATION, group.quota_ns), (own::PERIOD, group.period_ns.into())];
            named(event, own::GROUP_BANDWIDTH, name(group.path), &fields)
        }
        Kind::GroupWeight(group) => {
            let fields = [(own::WEIGHT, group.weight.into())];
            named(event, own::GROUP_WEIGHT, name(group.path), &fields)
        }
        Kind::TaskCpus(task) => generic(event, own::TASK_CPUS, &[(own::TARGETS, task.cpus)]),
        Kind::Recorded(recorded) => generic(event, own::RECORDED, &[(own::KINDS, recorded.kinds)]),
        Kind::Stolen(stolen) => generic(event, own::STOLEN, &[(own::DURATION, stolen.ns)]),
        Kind::Current(current) => {
            let prio = u64::from(current.prio.0 as u16);
            generic(event, own::CURRENT, &[(own::NEW_PRIO, prio)])
        }
        Kind::Stack(stack) => {
            let (taken, of) = ((own::TAKEN, stack.taken as u64), (own::PID, stack.of.0.into()));
            let fields = [taken, of, (own::DURATION, stack.late_ns)];
            named(event, own::STACK, name(stack.frames), &fields)
        }
        _ => return None,
    })
}

/// The arguments of a call in their places.
fn arguments(enter: SyscallEnter) -> Vec<u64> {
    let SyscallEnter { call, op, value, argument, .. } = enter;
    match call {
        Call::Futex => vec![argument, op.into(), value.into()],
        // Of its time the kernel's event has only the address, and the recording only the time.
        Call::ClockNanosleep => vec![0, op.into(), 0],
        Call::Nanosleep => vec![],
        _ => vec![argument],
    }
}

impl Context<'_> {
    /// A task's name; of the idle task, as the kernel calls it on each CPU.
    fn comm(&self, task: TaskId, cpu: Option<u16>) -> Option<Vec<u8>> {
        match (task, cpu) {
            (TaskId::IDLE, Some(cpu)) => Some(format!("swapper/{cpu}").into_bytes()),
            _ => self.tasks.name(task),
        }
    }

    /// A timer, with an address that is no other's.
    fn timer(&self, timer: TimerId) -> TimerDef {
        let mut def = self.tables.timer(timer);
        if def.address == 0 && timer != TimerId::UNKNOWN {
            // Above what a 32-bit kernel has, and below what a 64-bit one has.
            def.address = 1 << 32 | u64::from(timer.0);
        }
        def
    }

    fn arm(&mut self, event: &Event, arm: TimerArm) -> FtraceEvent {
        let TimerArm { timer, soft_ns, slack_ns, mode, .. } = arm;
        let def = self.timer(timer);
        let function = self.symbols.number(def.function, self.tables);
        if def.class == TimerClass::TimerList {
            let now = event.time_ns.wrapping_add(own::TICKS_AHEAD);
            let expires = now.wrapping_add(soft_ns.saturating_sub(event.time_ns));
            let is_pinned = mode.0 & TimerMode::PINNED != 0;
            return encoded!(event, timer_start: TimerStart {
                timer: def.address,
                function: function,
                expires: expires,
                now: now,
                flags: if is_pinned { WHEEL_PINNED } else { 0 },
                bucket_expiry: expires.wrapping_add(slack_ns.into()),
            });
        }
        let is_sleeper = self.tables.name(def.function) == SLEEPER;
        let owner = if is_sleeper { event.task } else { TaskId::IDLE };
        let arming = Arming { function: def.function, owner, soft_ns, slack_ns, mode };
        if self.armed.len() < ARMED_MAX || self.armed.contains_key(&def.address) {
            self.armed.insert(def.address, arming);
        }
        encoded!(event, hrtimer_start: HrtimerStart {
            hrtimer: def.address,
            function: function,
            expires: hard_ns(soft_ns, slack_ns),
            softexpires: soft_ns.min(i64::MAX as u64) as i64,
            mode: mode.0.into(),
        })
    }

    /// What is to be known of a timer that expires, where its arming has not told it.
    fn armed_before(&mut self, event: &Event, begin: ExpireBegin) -> Option<FtraceEvent> {
        let ExpireBegin { timer, soft_ns, slack_ns, mode } = begin;
        let def = self.timer(timer);
        if def.class != TimerClass::Hrtimer {
            return None;
        }
        let is_sleeper = self.tables.name(def.function) == SLEEPER;
        let owner = if is_sleeper { def.owner } else { TaskId::IDLE };
        let arming = Arming { function: def.function, owner, soft_ns, slack_ns, mode };
        if self.armed.remove(&def.address) == Some(arming) {
            return None;
        }
        let mut of_owner = *event;
        of_owner.task = owner;
        let mut encoded = generic(
            &of_owner,
            own::ARMED,
            &[
                (own::TIMER, def.address),
                (own::EXPIRY, soft_ns),
                (own::SLACK, slack_ns.into()),
                (own::MODE, mode.0.into()),
            ],
        );
        let number = self.symbols.number(def.function, self.tables);
        let name = self.tables.name(def.function).as_bytes();
        let function = GenericField {
            name: Some(own::FUNCTION.as_bytes().to_vec()),
            str_value: (number != 0).then(|| name.to_vec()),
            uint_value: (number == 0).then_some(0),
            ..GenericField::default()
        };
        encoded.generic.get_or_insert_default().field.push(function);
        Some(encoded)
    }

    fn expire(&mut self, event: &Event, begin: ExpireBegin) -> FtraceEvent {
        let def = self.timer(begin.timer);
        let function = self.symbols.number(def.function, self.tables);
        match def.class {
            TimerClass::Hrtimer => encoded!(event, hrtimer_expire_entry: HrtimerExpireEntry {
                hrtimer: def.address,
                now: event.time_ns as i64,
                function: function,
            }),
            TimerClass::TimerList => encoded!(event, timer_expire_entry: TimerExpireEntry {
                timer: def.address,
                now: event.time_ns.wrapping_add(own::TICKS_AHEAD),
                function: function,
            }),
        }
    }

    fn switch(&self, event: &Event, switch: Switch) -> FtraceEvent {
        let cpu = Some(event.cpu.0);
        FtraceEvent {
            sched_switch: Some(SchedSwitch {
                prev_comm: self.comm(event.task, cpu),
                prev_pid: Some(event.task.0 as i32),
                prev_prio: Some(switch.prev_prio.0.into()),
                prev_state: Some(state(switch)),
                next_comm: self.comm(switch.next, cpu),
                next_pid: Some(switch.next.0 as i32),
                next_prio: Some(switch.next_prio.0.into()),
            }),
            ..blank(event)
        }
    }

    fn priority(&self, event: &Event, priority: Priority) -> FtraceEvent {
        let Priority { target, old, new, released } = priority;
        if released != (new > old) {
            // The kernel's event would say the contrary.
            let number = |prio: Prio| i64::from(prio.0) as u64;
            let fields = [
                (own::PID, target.0.into()),
                (own::OLD_PRIO, number(old)),
                (own::NEW_PRIO, number(new)),
                (own::RELEASED, released.into()),
            ];
            return generic(event, own::PRIORITY, &fields);
        }
        FtraceEvent {
            sched_pi_setprio: Some(SchedPiSetprio {
                comm: self.comm(target, None),
                newprio: Some(new.0.into()),
                oldprio: Some(old.0.into()),
                pid: Some(target.0 as i32),
            }),
            ..blank(event)
        }
    }
}

fn hard_ns(soft_ns: u64, slack_ns: u32) -> i64 {
    soft_ns.saturating_add(slack_ns.into()).min(i64::MAX as u64) as i64
}

/// The bits of a state, as kernels since 4.14 have them.
fn state(switch: Switch) -> i64 {
    const PREEMPTED: i64 = 0x100;
    match switch.prev_state {
        _ if switch.preempted => PREEMPTED,
        TaskState::Running => 0,
        TaskState::Interruptible => 1,
        TaskState::Uninterruptible | TaskState::RtLock => 2,
        TaskState::Stopped => 4,
        TaskState::Dead => 0x10,
        TaskState::Parked => 0x40,
        TaskState::Idle => 0x80,
    }
}
