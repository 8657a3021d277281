//! A recording of made-up events, for who may not make a real one.

use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use tardy_model::event::{
    Call, Comm, ExpireBegin, ExpireEnd, IdleExit, Irq, IrqBegin, IrqEnd, Mark, Switch, TaskInfo,
    TaskName, TaskState, TimerArm, TimerMode, Vector, Waking,
};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Prio, TaskId, TimerClass, TimerDef, TimerId};
use tardy_recording::{Manifest, ManifestEnd, Writer};

const CPUS: u16 = 2;
/// Sleepers per CPU, besides the watched thread.
const SLEEPERS: u32 = 20;
const WATCHED_PRIO: Prio = Prio(19);
const SLEEPER_PRIO: Prio = Prio(120);
/// Events handed to the writer at a time.
const BATCH_EVENTS: usize = 10_000;

/// Writes at least `events_min` events to the folder `out`: each CPU's timer interrupt expires the
/// timers of the watched thread and of one to eight sleepers, who then run one after the other,
/// and each arms its timer again. Nine events a wakeup, as in recordings of a real timer storm.
pub(crate) fn write(out: &Path, events_min: u64) -> Result<Value, Box<dyn Error>> {
    let mut writer = Writer::create(out, Manifest::default())?;
    let mut storm = Storm { time_ns: 1_000_000_000, random: fastrand::Rng::with_seed(1) };
    let mut batch = storm.begin();
    let mut events = 0;
    while events < events_min {
        while batch.events.len() < BATCH_EVENTS {
            for cpu in 0..CPUS {
                storm.interrupt(CpuId(cpu), &mut batch.events);
            }
        }
        events += batch.events.len() as u64;
        batch = writer.append_waiting(batch)?;
    }
    let sealed = writer.seal(ManifestEnd::default())?;
    Ok(json!({ "events": sealed.totals.events, "bytes": sealed.totals.bytes }))
}

struct Storm {
    time_ns: u64,
    random: fastrand::Rng,
}

/// The thread with number `at` (0 the watched one) of a CPU; its timer has the same number.
fn thread(cpu: CpuId, at: u32) -> TaskId {
    TaskId(1 + u32::from(cpu.0) * (SLEEPERS + 1) + at)
}

fn timer(task: TaskId) -> TimerId {
    TimerId(task.0)
}

impl Storm {
    /// Who there is.
    fn begin(&mut self) -> Batch {
        let mut batch = Batch::default();
        let function = NameId(1);
        batch.names.push((function, "hrtimer_wakeup".to_owned()));
        for cpu in (0..CPUS).map(CpuId) {
            for at in 0..=SLEEPERS {
                let task = thread(cpu, at);
                batch.timers.push(TimerDef {
                    id: timer(task),
                    function,
                    owner: task,
                    class: TimerClass::Hrtimer,
                    ..TimerDef::default()
                });
                let (name, flags) = match at {
                    0 => ("watched", TaskInfo::WATCHED | TaskInfo::MARKS),
                    _ => ("sleeper", 0),
                };
                let info = TaskInfo { process: task, flags };
                self.push(&mut batch.events, cpu, task, TaskName { comm: Comm::new(name) });
                self.push(&mut batch.events, cpu, task, info);
            }
        }
        batch
    }

    /// One timer interrupt on an idle CPU and all that follows from it.
    fn interrupt(&mut self, cpu: CpuId, events: &mut Vec<Event>) {
        let irq = Irq::Vector(Vector::LOCAL_TIMER);
        let soft_ns = self.time_ns;
        let slack_ns = 0;
        let mode = TimerMode::default();
        let first = self.random.u32(1..=SLEEPERS);
        let sleepers = self.random.u32(1..=8).min(SLEEPERS + 1 - first);
        let woken: Vec<TaskId> =
            std::iter::once(0).chain(first..first + sleepers).map(|at| thread(cpu, at)).collect();
        self.push(events, cpu, TaskId::IDLE, IdleExit);
        self.push(events, cpu, TaskId::IDLE, IrqBegin { irq });
        for task in &woken {
            let begin = ExpireBegin { timer: timer(*task), soft_ns, slack_ns, mode };
            self.push(events, cpu, TaskId::IDLE, begin);
            let waking = Waking { target: *task, target_cpu: cpu, prio: prio(*task, cpu) };
            self.push(events, cpu, TaskId::IDLE, waking);
            self.push(events, cpu, TaskId::IDLE, ExpireEnd { timer: timer(*task) });
        }
        self.push(events, cpu, TaskId::IDLE, IrqEnd { irq });
        let mut prev = TaskId::IDLE;
        for next in woken.iter().copied().chain([TaskId::IDLE]) {
            self.push(events, cpu, prev, switch(prev, next, cpu));
            if next == thread(cpu, 0) {
                self.push(events, cpu, next, Mark { expiry_ns: soft_ns, sequence: 0 });
            }
            if next != TaskId::IDLE {
                let soft_ns = self.time_ns + 1_000_000;
                self.push(
                    events,
                    cpu,
                    next,
                    TimerArm { timer: timer(next), soft_ns, slack_ns, mode, call: Call::Unknown },
                );
            }
            prev = next;
        }
    }

    fn push(&mut self, events: &mut Vec<Event>, cpu: CpuId, task: TaskId, kind: impl Into<Kind>) {
        self.time_ns += self.random.u64(100..2000);
        events.push(Event::new(self.time_ns, cpu, task, kind.into()));
    }
}

fn prio(task: TaskId, cpu: CpuId) -> Prio {
    if task == thread(cpu, 0) { WATCHED_PRIO } else { SLEEPER_PRIO }
}

fn switch(prev: TaskId, next: TaskId, cpu: CpuId) -> Switch {
    Switch {
        prev_state: if prev == TaskId::IDLE {
            TaskState::Running
        } else {
            TaskState::Interruptible
        },
        prev_prio: prio(prev, cpu),
        preempted: false,
        next,
        next_prio: prio(next, cpu),
    }
}
