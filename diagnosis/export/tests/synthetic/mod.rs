//! Made-up streams of events.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(unreachable_pub)]

use tardy_model::event::{
    Call, Comm, ExpireBegin, ExpireEnd, IdleEnter, IdleExit, Irq, IrqBegin, IrqEnd, Loss, Mark,
    Migrate, PageFault, Priority, Signal, SoftirqBegin, SoftirqEnd, SoftirqRaise, Switch,
    SyscallEnter, SyscallExit, TaskExit, TaskInfo, TaskName, TaskState, TimerArm, TimerCancel,
    TimerMode, Vector, Waking, WokenNew, WorkBegin, WorkEnd,
};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Prio, TaskId, TimerClass, TimerDef, TimerId};

/// The thread that is watched, with a name that formats must take care of.
pub const WATCHED: TaskId = TaskId(4101);
pub const WATCHED_NAME: &str = "cyc;lic \"1\", é";
pub const OTHER: TaskId = TaskId(77);
const CPU: CpuId = CpuId(1);
const TIMER: TimerId = TimerId(1);
const WHEEL: TimerId = TimerId(2);

pub struct Stream {
    pub time_ns: u64,
    pub batch: Batch,
}

impl Stream {
    pub fn push(&mut self, after_ns: u64, task: TaskId, kind: impl Into<Kind>) {
        self.time_ns += after_ns;
        let kind = kind.into();
        // As all sources tell who a thread is.
        let cpu = if matches!(kind, Kind::TaskName(_)) { CpuId(0) } else { CPU };
        self.batch.events.push(Event::new(self.time_ns, cpu, task, kind));
    }
}

/// Who and what there is.
pub fn begin() -> Stream {
    let mut batch = Batch::default();
    for (id, name) in
        [(1, "hrtimer_wakeup"), (2, "process_timeout"), (3, "eth0"), (4, "vmstat_update")]
    {
        batch.names.push((NameId(id), name.to_owned()));
    }
    batch.timers.push(TimerDef {
        id: TIMER,
        address: 0xffff_8880_1234_5678,
        function: NameId(1),
        owner: WATCHED,
        class: TimerClass::Hrtimer,
    });
    batch.timers.push(TimerDef {
        id: WHEEL,
        address: 0xffff_8880_1234_9abc,
        function: NameId(2),
        owner: TaskId::IDLE,
        class: TimerClass::TimerList,
    });
    let mut stream = Stream { time_ns: 1_000_000_000, batch };
    for (task, name, flags) in
        [(WATCHED, WATCHED_NAME, TaskInfo::WATCHED), (OTHER, "kworker/1:2-mm", 0)]
    {
        stream.push(0, task, TaskName { comm: Comm::new(name) });
        stream.push(0, task, TaskInfo { process: task, flags });
    }
    stream
}

/// A wakeup of the watched thread: it sleeps, its timer fires, another interrupt and another thread's
/// end come before it runs. It is `late_ns` + 2,500 ns late at the switch.
pub fn wakeup(stream: &mut Stream, late_ns: u64) {
    let soft_ns = stream.time_ns + 100_000;
    let mode = TimerMode(TimerMode::PINNED);
    let arm = TimerArm { timer: TIMER, soft_ns, slack_ns: 50, mode, call: Call::Unknown };
    stream.push(10, WATCHED, arm);
    stream.push(10, WATCHED, switch(TaskState::Interruptible, Prio(19), OTHER, Prio(120)));
    stream.time_ns = soft_ns;
    let irq = Irq::Vector(Vector::LOCAL_TIMER);
    stream.push(500, OTHER, IrqBegin { irq });
    stream.push(300, OTHER, ExpireBegin { timer: TIMER, soft_ns, slack_ns: 50, mode });
    stream.push(200, OTHER, Waking { target: WATCHED, target_cpu: CPU, prio: Prio(19) });
    stream.push(100, OTHER, ExpireEnd { timer: TIMER });
    stream.push(400, OTHER, IrqEnd { irq });
    stream.push(late_ns, OTHER, IrqBegin { irq: Irq::Line(24, NameId(3)) });
    stream.push(600, OTHER, IrqEnd { irq: Irq::Line(24, NameId(3)) });
    let preempted =
        Switch { preempted: true, ..switch(TaskState::Running, Prio(120), WATCHED, Prio(19)) };
    stream.push(400, OTHER, preempted);
}

fn switch(prev_state: TaskState, prev_prio: Prio, next: TaskId, next_prio: Prio) -> Switch {
    Switch { prev_state, prev_prio, preempted: false, next, next_prio }
}

/// One of each kind of event, beside those of a wakeup.
pub fn one_of_each(stream: &mut Stream) {
    let new = TaskId(5000);
    stream.push(10, WATCHED, IdleEnter { state: 2, polls: false, only: false });
    stream.push(10, WATCHED, IdleExit);
    stream.push(10, WATCHED, SoftirqRaise { vector: 1 });
    stream.push(10, WATCHED, SoftirqBegin { vector: 1 });
    let soft_ns = stream.time_ns / 4_000_000 * 4_000_000 + 12_000_000;
    let mode = TimerMode(TimerMode::SOFT);
    let arm = TimerArm { timer: WHEEL, soft_ns, slack_ns: 8_000_000, mode, call: Call::Unknown };
    stream.push(10, WATCHED, arm);
    stream.push(10, WATCHED, TimerCancel { timer: WHEEL });
    stream.push(10, WATCHED, SoftirqEnd { vector: 1 });
    stream.push(10, WATCHED, WokenNew { target: new, target_cpu: CpuId(0), prio: Prio(120) });
    stream.push(10, WATCHED, Migrate { target: OTHER, from: CpuId(1), to: CpuId(0) });
    let boost = Priority { target: OTHER, old: Prio(120), new: Prio(19), released: false };
    stream.push(10, WATCHED, boost);
    stream.push(10, WATCHED, PageFault { address: 0x7f00_dead_b000 });
    stream.push(10, WATCHED, Signal { number: 14 });
    stream.push(10, OTHER, WorkBegin { function: NameId(4) });
    stream.push(10, OTHER, WorkEnd { function: NameId(4) });
    // Not the watched thread's: it would tell of one more wakeup.
    stream.push(10, OTHER, Mark { expiry_ns: 1_000, sequence: 3 });
    stream.push(10, OTHER, TaskExit);
    stream.push(10, WATCHED, Loss { since_ns: 1_000_000_000, count: 7 });
}

/// A futex call.
pub fn calls(stream: &mut Stream) {
    let enter = SyscallEnter {
        call: Call::Futex,
        number: 202,
        op: 0x86,
        value: 0,
        argument: 0x7f12_3456_7890,
    };
    stream.push(10, WATCHED, enter);
    stream.push(10, WATCHED, SyscallExit { number: 202, result: -110 });
}

/// A stream with `wakeups` wakeups, each a little later than the one before, in several batches.
pub fn stream(wakeups: u64) -> Vec<Batch> {
    let mut stream = begin();
    let mut batches = Vec::new();
    for late in 0..wakeups {
        wakeup(&mut stream, 1_000 * late);
        if late % 100 == 99 {
            batches.push(std::mem::take(&mut stream.batch));
        }
    }
    one_of_each(&mut stream);
    calls(&mut stream);
    batches.push(stream.batch);
    batches
}
