//! A stream with every kind of event in it, and enough wakeups to be explained.

use std::collections::HashMap;
use tardy_model::event::{
    Call, ClockSet, Comm, Current, ExpireBegin, ExpireEnd, GroupBandwidth, GroupWeight, IdleEnter,
    IdleExit, IdleState, IpiSend, Irq, IrqBegin, IrqEnd, Loss, Mark, Migrate, Nmi, PageFault,
    Priority, Recorded, Section, SectionBegin, SectionEnd, Signal, SoftirqBegin, SoftirqEnd,
    SoftirqRaise, Stack, Stolen, Switch, SyscallEnter, SyscallExit, Taken, TaskCpus, TaskExit,
    TaskGroup, TaskInfo, TaskName, TaskState, TimerArm, TimerCancel, TimerMode, TimerPending,
    Vector, Waking, Woken, WokenNew, WorkBegin, WorkEnd, futex,
};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Prio, TaskId, TimerClass, TimerDef, TimerId};

const CPUS: u16 = 3;
/// Sleepers per CPU, besides the watched thread.
const SLEEPERS: u32 = 5;
const WATCHED_PRIO: Prio = Prio(19);
const SLEEPER_PRIO: Prio = Prio(120);

const HRTIMER_WAKEUP: NameId = NameId(1);
const TICK: NameId = NameId(2);
const WHEEL: NameId = NameId(3);
const ETH0: NameId = NameId(4);
const WORK: NameId = NameId(5);
const REASON: NameId = NameId(6);
const GROUP: NameId = NameId(7);
const FRAMES: NameId = NameId(8);

/// A timer of the wheel, and the tick.
const WHEEL_TIMER: TimerId = TimerId(1000);
const TICK_TIMER: TimerId = TimerId(1001);
/// One of which the address is not known.
const NOWHERE_TIMER: TimerId = TimerId(1002);

/// Batches as a source yields them: definitions first, then `rounds` of interrupts on each CPU, with one
/// event of each kind in between.
pub(crate) fn batches(rounds: u32) -> Vec<Batch> {
    let random = fastrand::Rng::with_seed(3);
    let mut storm = Storm { time_ns: 5_000_000_000, random, armed: HashMap::new() };
    let mut batches = vec![storm.begin()];
    for round in 0..rounds {
        let mut batch = Batch::default();
        for cpu in (0..CPUS).map(CpuId) {
            storm.interrupt(cpu, &mut batch.events);
        }
        if round == rounds / 2 {
            storm.every_kind(&mut batch.events);
        }
        batches.push(batch);
    }
    batches
}

struct Storm {
    time_ns: u64,
    random: fastrand::Rng,
    /// What timers were last armed for.
    armed: HashMap<TimerId, TimerArm>,
}

/// The thread with number `at` (0 the watched one) of a CPU; its timer has the same number.
fn thread(cpu: CpuId, at: u32) -> TaskId {
    TaskId(10 + u32::from(cpu.0) * (SLEEPERS + 1) + at)
}

fn timer(task: TaskId) -> TimerId {
    TimerId(task.0)
}

fn prio(task: TaskId, cpu: CpuId) -> Prio {
    if task == thread(cpu, 0) { WATCHED_PRIO } else { SLEEPER_PRIO }
}

impl Storm {
    /// Who there is.
    fn begin(&mut self) -> Batch {
        let mut batch = Batch::default();
        for (name, text) in [
            (HRTIMER_WAKEUP, "hrtimer_wakeup"),
            (TICK, "tick_nohz_handler"),
            (WHEEL, "delayed_work_timer_fn"),
            (ETH0, "eth0"),
            (WORK, "vmstat_update"),
            (REASON, "Function call interrupts"),
            (GROUP, "/user.slice/a b"),
            (FRAMES, "zap_pte_range<-unmap_page_range<-unmap_vmas"),
        ] {
            batch.names.push((name, text.to_owned()));
        }
        let wheel = TimerClass::TimerList;
        for (id, address, function, class) in [
            (WHEEL_TIMER, 0xffff_8880_0000_1000, WHEEL, wheel),
            (TICK_TIMER, 0xffff_8880_0000_2000, TICK, TimerClass::Hrtimer),
            (NOWHERE_TIMER, 0, WHEEL, wheel),
        ] {
            batch.timers.push(TimerDef { id, address, function, class, owner: TaskId::IDLE });
        }
        for cpu in (0..CPUS).map(CpuId) {
            for at in 0..=SLEEPERS {
                let task = thread(cpu, at);
                batch.timers.push(TimerDef {
                    id: timer(task),
                    address: 0xffff_c900_0000_0000 | u64::from(task.0) << 12,
                    function: HRTIMER_WAKEUP,
                    owner: task,
                    class: TimerClass::Hrtimer,
                });
                let (name, flags) = match at {
                    0 => ("watched", TaskInfo::WATCHED | TaskInfo::MARKS),
                    1 => ("kworker", TaskInfo::KERNEL),
                    _ => ("sleeper", 0),
                };
                let info = TaskInfo { process: thread(cpu, u32::from(at == 1)), flags };
                let events = &mut batch.events;
                self.push(events, CpuId(0), task, TaskName { comm: Comm::new(name) });
                self.push(events, CpuId(0), task, info);
            }
        }
        batch
    }

    /// One timer interrupt on an idle CPU and all that follows from it.
    fn interrupt(&mut self, cpu: CpuId, events: &mut Vec<Event>) {
        let irq = Irq::Vector(Vector::LOCAL_TIMER);
        let soft_ns = self.time_ns - 3;
        let mode = TimerMode(TimerMode::REL);
        let first = self.random.u32(1..=SLEEPERS);
        let sleepers = self.random.u32(1..=8).min(SLEEPERS + 1 - first);
        let woken: Vec<TaskId> =
            std::iter::once(0).chain(first..first + sleepers).map(|at| thread(cpu, at)).collect();
        self.push(events, cpu, TaskId::IDLE, IdleExit);
        self.push(events, cpu, TaskId::IDLE, IrqBegin { irq });
        for task in &woken {
            // Some expire as they were armed, of others the arming was not seen.
            let seen = self.armed.remove(&timer(*task)).filter(|_| self.random.bool());
            let begin = match seen {
                Some(TimerArm { timer, soft_ns, slack_ns, mode, .. }) => {
                    ExpireBegin { timer, soft_ns, slack_ns, mode }
                }
                None => ExpireBegin { timer: timer(*task), soft_ns, slack_ns: 70, mode },
            };
            self.push(events, cpu, TaskId::IDLE, begin);
            let waking = Waking { target: *task, target_cpu: cpu, prio: prio(*task, cpu) };
            self.push(events, cpu, TaskId::IDLE, waking);
            self.push(events, cpu, TaskId::IDLE, ExpireEnd { timer: timer(*task) });
        }
        self.push(events, cpu, TaskId::IDLE, IrqEnd { irq });
        let mut prev = TaskId::IDLE;
        let ran = woken.iter().rev().copied();
        for next in ran.chain([TaskId::IDLE]) {
            let prev_state =
                if prev == TaskId::IDLE { TaskState::Running } else { TaskState::Interruptible };
            let (prev_prio, next_prio) = (prio(prev, cpu), prio(next, cpu));
            let switch = Switch { prev_state, prev_prio, preempted: false, next, next_prio };
            self.push(events, cpu, prev, switch);
            if next == thread(cpu, 0) {
                self.push(events, cpu, next, Mark { expiry_ns: soft_ns, sequence: 0 });
            }
            if next != TaskId::IDLE {
                let soft_ns = self.time_ns + self.random.u64(1..20_000);
                let (timer, call) = (timer(next), Call::Unknown);
                let arm = TimerArm { timer, soft_ns, slack_ns: 50, mode, call };
                self.armed.insert(arm.timer, arm);
                self.push(events, cpu, next, arm);
            }
            prev = next;
        }
        self.push(events, cpu, TaskId::IDLE, IdleEnter { state: 2, polls: false, only: false });
    }

    /// One of each, as the kernel would.
    #[expect(clippy::too_many_lines, reason = "there are many kinds")]
    fn every_kind(&mut self, events: &mut Vec<Event>) {
        let cpu = CpuId(1);
        let (idle, task, other) = (TaskId::IDLE, thread(cpu, 2), thread(cpu, 3));
        let new = TaskId(4000);
        let mode = TimerMode(TimerMode::SOFT | TimerMode::PINNED);
        let line = Irq::Line(26, ETH0);
        let resched = Irq::Vector(Vector::RESCHEDULE);
        let soft_ns = self.time_ns + 77_777;
        let switch = |prev_state, preempted, next| Switch {
            prev_state,
            prev_prio: SLEEPER_PRIO,
            preempted,
            next,
            next_prio: SLEEPER_PRIO,
        };
        let told: [(TaskId, Kind); 73] = [
            (idle, IdleExit.into()),
            (idle, switch(TaskState::Running, false, task).into()),
            (task, TaskInfo { process: thread(cpu, 0), flags: TaskInfo::SYSCALLS }.into()),
            (
                task,
                SyscallEnter {
                    call: Call::Futex,
                    number: 202,
                    op: futex::LOCK_PI | 0x80,
                    value: 7,
                    argument: 0x7000,
                }
                .into(),
            ),
            (
                task,
                TimerArm {
                    timer: timer(task),
                    soft_ns,
                    slack_ns: u32::MAX,
                    mode: TimerMode(TimerMode::HARD),
                    call: Call::Futex,
                }
                .into(),
            ),
            (task, TimerCancel { timer: timer(task) }.into()),
            (task, TimerPending { timer: timer(task), thread: other, prio: Prio(39) }.into()),
            (
                task,
                Priority { target: other, old: Prio(120), new: Prio(19), released: false }.into(),
            ),
            (
                task,
                Priority { target: other, old: Prio(19), new: Prio(120), released: true }.into(),
            ),
            (task, Priority { target: other, old: Prio(19), new: Prio(19), released: true }.into()),
            (
                task,
                Priority { target: other, old: Prio(-1), new: Prio(19), released: false }.into(),
            ),
            (task, SyscallExit { number: 202, result: -4 }.into()),
            (task, PageFault { address: 0x7fff_dead_beef }.into()),
            (task, Signal { number: 15 }.into()),
            (task, Waking { target: other, target_cpu: CpuId::UNKNOWN, prio: SLEEPER_PRIO }.into()),
            (task, Woken { target: other, target_cpu: CpuId(2), prio: SLEEPER_PRIO }.into()),
            (task, Nmi { ns: 2345, handler: WORK }.into()),
            (task, Nmi { ns: 2346, handler: NameId::NONE }.into()),
            (task, IpiSend::to(CpuId(70), WORK).into()),
            (task, IpiSend::to(CpuId(2), NameId::NONE).into()),
            (
                task,
                IpiSend { targets: 0x8000_0001_0000_0003, first: CpuId(64), function: WORK }.into(),
            ),
            (task, IpiSend { targets: 6, first: CpuId(0), function: REASON }.into()),
            (task, SectionBegin { section: Section::IrqsOff, caller: WORK }.into()),
            (task, SectionEnd { section: Section::IrqsOff, caller: NameId::NONE }.into()),
            (task, SectionBegin { section: Section::PreemptOff, caller: WORK }.into()),
            (task, SectionEnd { section: Section::PreemptOff, caller: WORK }.into()),
            (task, ClockSet { by_ns: -3_000_000, since_ns: 77 }.into()),
            (task, IdleState { state: 2, exit_latency_ns: 170_000, name: REASON }.into()),
            (task, TaskGroup { path: GROUP, throttled: true }.into()),
            (
                TaskId::IDLE,
                GroupBandwidth { path: GROUP, quota_ns: 50_000_000, period_ns: 100_000_000 }.into(),
            ),
            (TaskId::IDLE, GroupWeight { path: GROUP, weight: 1536 }.into()),
            (task, TaskCpus { cpus: 0x8000_0000_0000_0005 }.into()),
            (task, Recorded { kinds: 0x1f_ffff_ffff }.into()),
            (task, Stolen { ns: 345_678 }.into()),
            (task, Current { prio: Prio(49) }.into()),
            (task, stack(Taken::Interrupted, task).into()),
            (task, stack(Taken::Left, task).into()),
            (task, stack(Taken::Slept, other).into()),
            (task, switch(TaskState::Running, true, other).into()),
            (other, switch(TaskState::Uninterruptible, false, task).into()),
            (task, switch(TaskState::Stopped, false, other).into()),
            (other, switch(TaskState::Dead, false, task).into()),
            (task, switch(TaskState::Parked, false, other).into()),
            (other, switch(TaskState::Idle, false, task).into()),
            (task, WorkBegin { function: WORK }.into()),
            (task, WorkEnd { function: WORK }.into()),
            (task, WorkEnd { function: NameId::NONE }.into()),
            (task, IrqBegin { irq: line }.into()),
            (task, SoftirqRaise { vector: 3 }.into()),
            (task, IrqEnd { irq: line }.into()),
            (task, IrqBegin { irq: resched }.into()),
            (task, IrqEnd { irq: resched }.into()),
            (task, SoftirqBegin { vector: 3 }.into()),
            (
                task,
                TimerArm {
                    timer: WHEEL_TIMER,
                    soft_ns,
                    slack_ns: 123_456,
                    mode,
                    call: Call::Unknown,
                }
                .into(),
            ),
            (
                task,
                TimerArm {
                    timer: NOWHERE_TIMER,
                    soft_ns,
                    slack_ns: 0,
                    mode: TimerMode(TimerMode::SOFT),
                    call: Call::Unknown,
                }
                .into(),
            ),
            (task, ExpireBegin { timer: WHEEL_TIMER, soft_ns, slack_ns: 123_456, mode }.into()),
            (task, ExpireEnd { timer: WHEEL_TIMER }.into()),
            (task, TimerCancel { timer: NOWHERE_TIMER }.into()),
            // Armed before all, as the explainer would have it from a source that knows.
            (
                task,
                ExpireBegin {
                    timer: TICK_TIMER,
                    soft_ns: 4_999_000_000,
                    slack_ns: 9,
                    mode: TimerMode(TimerMode::HARD | TimerMode::PINNED),
                }
                .into(),
            ),
            (task, ExpireEnd { timer: TICK_TIMER }.into()),
            (task, SoftirqEnd { vector: 3 }.into()),
            (new, TaskName { comm: Comm::new("young") }.into()),
            (new, TaskInfo { process: thread(cpu, 0), flags: 0 }.into()),
            (task, WokenNew { target: new, target_cpu: CpuId(2), prio: Prio(120) }.into()),
            (task, Migrate { target: new, from: CpuId(2), to: CpuId(1) }.into()),
            (new, TaskName { comm: Comm(*b"\xff\xfe no text\0\0\0\0\0\0") }.into()),
            (new, TaskExit.into()),
            // The same id again, for another of the same name.
            (new, TaskName { comm: Comm(*b"\xff\xfe no text\0\0\0\0\0\0") }.into()),
            (new, TaskInfo { process: new, flags: TaskInfo::OWN }.into()),
            (task, switch(TaskState::Interruptible, false, idle).into()),
            (idle, IdleEnter { state: 0, polls: true, only: false }.into()),
            (idle, Loss { since_ns: self.time_ns, count: 17 }.into()),
            (idle, IdleExit.into()),
        ];
        for (task, kind) in told {
            // Names come as of the first CPU.
            let cpu = if matches!(kind, Kind::TaskName(_)) { CpuId(0) } else { cpu };
            self.push(events, cpu, task, kind);
        }
        let enter = IdleEnter { state: 2, polls: false, only: false };
        self.push(events, cpu, TaskId::IDLE, enter);
    }

    fn push(&mut self, events: &mut Vec<Event>, cpu: CpuId, task: TaskId, kind: impl Into<Kind>) {
        self.time_ns += self.random.u64(100..2000);
        events.push(Event::new(self.time_ns, cpu, task, kind.into()));
    }
}

fn stack(taken: Taken, of: TaskId) -> Stack {
    Stack { taken, of, late_ns: 123_456, frames: FRAMES }
}
