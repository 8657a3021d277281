//! Streams of events that were made up, one for each kind of recording.

use tardy_model::event::{
    Comm, ExpireBegin, ExpireEnd, Irq, IrqBegin, IrqEnd, Recorded, SectionBegin, SectionEnd,
    Switch, TaskInfo, TaskName, TaskState, TimerArm, TimerMode, Vector, Waking,
};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Prio, TaskId, TimerDef, TimerId};

const TIMER_IRQ: Irq = Irq::Vector(Vector::LOCAL_TIMER);

/// One CPU's events, one after the other.
pub(crate) struct Stream {
    pub(crate) batch: Batch,
    time_ns: u64,
    cpu: CpuId,
}

impl Stream {
    pub(crate) fn new() -> Self {
        let mut batch =
            Batch { names: vec![(NameId(1), "hrtimer_wakeup".to_owned())], ..Batch::default() };
        let sections = 1 << SectionBegin::TAG | 1 << SectionEnd::TAG;
        let recorded = Recorded { kinds: Recorded::all().kinds & !sections };
        batch.events.push(Event::new(1, CpuId(0), TaskId::IDLE, recorded.into()));
        Self { batch, time_ns: 1_000_000_000, cpu: CpuId(0) }
    }

    fn push(&mut self, after_ns: u64, task: TaskId, kind: impl Into<Kind>) {
        self.time_ns += after_ns;
        self.batch.events.push(Event::new(self.time_ns, self.cpu, task, kind.into()));
    }

    pub(crate) fn name(&mut self, task: u32, process: u32, name: &str, flags: u8) {
        let (task, process) = (TaskId(task), TaskId(process));
        self.push(0, task, TaskName { comm: Comm::new(name) });
        self.push(0, task, TaskInfo { process, flags });
    }

    /// A sleeper's timer, with the thread's own number.
    pub(crate) fn sleeper(&mut self, task: u32) {
        let timer = TimerDef {
            id: TimerId(task),
            address: u64::from(task) << 12,
            function: NameId(1),
            owner: TaskId(task),
            ..TimerDef::default()
        };
        self.batch.timers.push(timer);
    }

    /// A thread sleeps until `period_ns` from now; those of `before` have timers that fire first, and each of
    /// `then` runs before it, for so long.
    pub(crate) fn sleeps(
        &mut self,
        (task, prio): (u32, Prio),
        period_ns: u64,
        before: &[u32],
        then: &[(u32, Prio, u64)],
    ) {
        let (task, timer, mode) = (TaskId(task), TimerId(task), TimerMode::default());
        let soft_ns = self.time_ns + period_ns;
        let (slack_ns, call) = (0, tardy_model::event::Call::Unknown);
        self.push(0, task, TimerArm { timer, soft_ns, slack_ns, mode, call });
        let (first, first_prio) =
            then.first().map_or((TaskId::IDLE, Prio(120)), |one| (TaskId(one.0), one.1));
        self.push(1_000, task, switch(TaskState::Interruptible, prio, first, first_prio));
        self.time_ns = soft_ns;
        self.push(700, first, IrqBegin { irq: TIMER_IRQ });
        for other in before {
            let timer = TimerId(*other);
            self.push(500, first, ExpireBegin { timer, soft_ns, slack_ns, mode });
            self.push(2_500, first, ExpireEnd { timer });
        }
        self.push(500, first, ExpireBegin { timer, soft_ns, slack_ns, mode });
        self.push(900, first, Waking { target: task, target_cpu: self.cpu, prio });
        self.push(100, first, ExpireEnd { timer });
        self.push(400, first, IrqEnd { irq: TIMER_IRQ });
        let mut current = (first, first_prio);
        for (number, (id, its_prio, runs_ns)) in then.iter().enumerate() {
            if number > 0 {
                self.push(
                    0,
                    current.0,
                    switch(TaskState::Running, current.1, TaskId(*id), *its_prio),
                );
            }
            self.time_ns += runs_ns;
            current = (TaskId(*id), *its_prio);
        }
        self.push(1_500, current.0, switch(TaskState::Running, current.1, task, prio));
        self.push(3_000, task, Waking { target: TaskId(1), target_cpu: self.cpu, prio: Prio(120) });
    }
}

fn switch(prev_state: TaskState, prev_prio: Prio, next: TaskId, next_prio: Prio) -> Switch {
    let preempted = prev_state == TaskState::Running;
    Switch { prev_state, prev_prio, preempted, next, next_prio }
}

/// Two real-time threads, and a storm of four sleepers beside them.
pub(crate) fn two_threads() -> Batch {
    let mut stream = Stream::new();
    stream.name(1, 1, "init", 0);
    stream.name(100, 100, "audio", 0);
    stream.name(200, 200, "storm", 0);
    for (number, task) in [101, 102].into_iter().enumerate() {
        stream.name(task, 100, &format!("audio-rt-{number}"), TaskInfo::WATCHED);
        stream.sleeper(task);
    }
    let storm = [201, 202, 203, 204];
    for (number, task) in storm.into_iter().enumerate() {
        stream.name(task, 200, &format!("storm-{number:02}"), 0);
        stream.sleeper(task);
    }
    for round in 0..600 {
        let task = 101 + round % 2;
        let busy = &storm[..=round as usize % 4];
        let then: &[(u32, Prio, u64)] =
            if round % 50 == 7 { &[(201, Prio(120), 60_000)] } else { &[] };
        stream.sleeps((task, Prio(19)), 1_000_000, busy, then);
    }
    stream.batch
}

/// An ordinary thread beside the 400 threads of ten processes.
pub(crate) fn hackbench() -> Batch {
    let mut stream = Stream::new();
    stream.name(1, 1, "init", 0);
    stream.name(29_014, 29_014, "player", TaskInfo::WATCHED);
    stream.sleeper(29_014);
    let threads: Vec<(u32, Prio, u64)> =
        (0..400).map(|at| (5_000 + at, Prio(120), 20_000 + u64::from(at % 7) * 3_000)).collect();
    for (task, ..) in &threads {
        stream.name(*task, 5_000 + (task - 5_000) / 40 * 40, "hackbench", 0);
    }
    for round in 0..1_200usize {
        let from = round * 13 % 397;
        let then = &threads[from..from + 1 + round % 4];
        stream.sleeps((29_014, Prio(120)), 500_000, &[], then);
    }
    stream.batch
}

/// Ten minutes of a thread that a thread above it holds up every second.
pub(crate) fn ten_minutes() -> Batch {
    let mut stream = Stream::new();
    stream.name(1, 1, "init", 0);
    stream.name(700, 700, "controller", TaskInfo::WATCHED);
    stream.name(800, 800, "logger", 0);
    stream.name(900, 900, "kworker/0:1-mm", TaskInfo::KERNEL);
    stream.sleeper(700);
    for round in 0..6_000u64 {
        let above: &[(u32, Prio, u64)] = &[(800, Prio(9), 150_000 + round % 90 * 1_000)];
        let below: &[(u32, Prio, u64)] = &[(900, Prio(120), 8_000)];
        let then = match round % 10 {
            0 => above,
            3 => below,
            _ => &[],
        };
        stream.sleeps((700, Prio(49)), 100_000_000, &[], then);
    }
    stream.batch
}

/// A second as `perf script` prints it: a compiler and a thread of real-time priority take turns.
pub(crate) fn perf_script() -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let mut line = |us: u64, comm: &str, pid: u32, event: &str| {
        let (seconds, rest) = (70 + us / 1_000_000, us % 1_000_000);
        let _ = writeln!(text, "{comm:>16} {pid:>5} [000] {seconds:>5}.{rest:06}: {event}");
    };
    for round in 0..900u64 {
        let (at, pid) = (round * 1_100, 14_300 + round as u32 % 8);
        let out = format!(
            "sched:sched_switch: prev_comm=player prev_pid=29014 prev_prio=120 prev_state=S ==> next_comm=rustc \
             next_pid={pid} next_prio=120"
        );
        let waking = "sched:sched_waking: comm=player pid=29014 prio=120 target_cpu=000";
        let back = format!(
            "sched:sched_switch: prev_comm=rustc prev_pid={pid} prev_prio=120 prev_state=R ==> next_comm=player \
             next_pid=29014 next_prio=120"
        );
        line(at, "player", 29_014, &out);
        line(at + 400, "rustc", pid, waking);
        line(at + 450 + round % 300, "rustc", pid, &back);
    }
    text
}
