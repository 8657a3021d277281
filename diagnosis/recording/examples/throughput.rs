//! What recording costs: `throughput [EVENTS [FOLDER]]` writes, seals and reads back events that
//! look like those of a system full of timers, plain and compressed, and prints a table. Best of
//! three readings; the files are in the page cache. "append" includes waiting for the disk, "writer"
//! is the CPU time of the writing thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tardy_model::event::{Call, Irq, TimerMode};
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IrqBegin, IrqEnd, Switch, TaskState, TimerArm, Vector, Waking,
};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, TaskId, TimerId};
use tardy_recording::{Manifest, ManifestEnd, Options, Recording, Writer};

const BATCH: usize = 10_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let events = arguments.next().map_or(10_000_000, |text| text.parse().expect("a number"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{events} events, {} MB as records", events * 32 / 1_000_000);
    println!(
        "compressed  append ns/event  writer ns/event  seal s  MB on disk  read ns/event  read and look at"
    );
    for compress in [false, true] {
        let dir = folder.join(format!("tardy-throughput-{}", std::process::id()));
        measure(&dir, compress, events);
        fs::remove_dir_all(&dir).expect("the recording just made can be removed");
    }
}

fn measure(dir: &Path, compress: bool, events: usize) {
    let options = Options { compress, ..Options::default() };
    let mut writer = Writer::create_with(dir, Manifest::default(), options).expect("it begins");
    let mut made = Load::default();
    let (mut batch, mut appending_ns) = (Batch::default(), 0);
    for _ in 0..events / BATCH {
        made.fill(&mut batch);
        let start = Instant::now();
        batch = writer.append_waiting(batch).expect("it goes on");
        appending_ns += start.elapsed().as_nanos();
    }
    let writing_ns = cpu_ns(writer.thread_id());
    let start = Instant::now();
    let sealed = writer.seal(ManifestEnd::default()).expect("it ends");
    let seal_s = start.elapsed().as_secs_f64();
    let per_event = |ns: u128| ns as f64 / events as f64;
    let read_ns = (0..3).map(|_| read(dir, |_| 0)).min().unwrap_or_default();
    let look = |event: &Event| match event.kind() {
        Kind::Waking(waking) => u64::from(waking.target.0),
        Kind::ExpireBegin(begin) => begin.soft_ns,
        _ => event.time_ns,
    };
    let look_ns = (0..3).map(|_| read(dir, look)).min().unwrap_or_default();
    println!(
        "{compress:>10}  {:>15.1}  {:>15.1}  {seal_s:>6.2}  {:>10.0}  {:>13.1}  {:>16.1}",
        per_event(appending_ns),
        per_event(writing_ns),
        sealed.totals.bytes as f64 / 1e6,
        per_event(read_ns),
        per_event(look_ns)
    );
}

/// The time that a thread of this process has run (`/proc/[pid]/task/[tid]/schedstat`, first field).
fn cpu_ns(thread: u32) -> u128 {
    let path = format!("/proc/self/task/{thread}/schedstat");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

fn read(dir: &Path, look: impl Fn(&Event) -> u64) -> u128 {
    let start = Instant::now();
    let mut recording = Recording::open(dir).expect("it opens");
    let (mut batch, mut sum) = (Batch::default(), 0u64);
    while recording.read(&mut batch).expect("it reads") {
        for event in &batch.events {
            sum = sum.wrapping_add(look(event));
        }
        batch.clear();
    }
    assert!(recording.stopped_at().is_none());
    std::hint::black_box(sum);
    start.elapsed().as_nanos()
}

/// A CPU whose timer interrupt expires one to eight sleepers' timers, each of which runs and sleeps
/// again. The times between are drawn from a xorshift generator (Marsaglia 2003).
struct Load {
    time_ns: u64,
    random: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self { time_ns: 1_000_000_000_000, random: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl Load {
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn fill(&mut self, batch: &mut Batch) {
        batch.clear();
        let vector = Irq::Vector(Vector::LOCAL_TIMER);
        while batch.events.len() < BATCH {
            let cpu = CpuId(self.draw(2) as u16);
            let current = TaskId(1000 + self.draw(40) as u32);
            let before = batch.events.len();
            self.push(batch, cpu, current, IrqBegin { irq: vector });
            let sleepers = 1 + self.draw(8);
            for _ in 0..sleepers {
                let (timer, mode) = (TimerId(1 + self.draw(300) as u32), TimerMode::default());
                let soft_ns = self.time_ns - self.draw(60_000);
                let target = TaskId(1000 + timer.0);
                let prio = Prio(120);
                self.push(
                    batch,
                    cpu,
                    current,
                    ExpireBegin { timer, soft_ns, slack_ns: 50_000, mode },
                );
                self.push(batch, cpu, current, Waking { target, target_cpu: cpu, prio });
                self.push(batch, cpu, current, ExpireEnd { timer });
            }
            self.push(batch, cpu, current, IrqEnd { irq: vector });
            let next = TaskId(1000 + self.draw(300) as u32);
            let prev_state = TaskState::Interruptible;
            let (prev_prio, next_prio) = (Prio(120), Prio(120));
            let switch = Switch { prev_state, prev_prio, preempted: false, next, next_prio };
            self.push(batch, cpu, current, switch);
            let soft_ns = self.time_ns + 1_000_000;
            let (timer, mode) = (TimerId(next.0 - 999), TimerMode(TimerMode::REL));
            self.push(
                batch,
                cpu,
                next,
                TimerArm { timer, soft_ns, slack_ns: 50_000, mode, call: Call::Unknown },
            );
            assert!(batch.events.len() > before);
        }
        batch.events.truncate(BATCH);
    }

    fn push(&mut self, batch: &mut Batch, cpu: CpuId, task: TaskId, kind: impl Into<Kind>) {
        self.time_ns += 200 + self.draw(3000);
        batch.events.push(Event::new(self.time_ns, cpu, task, kind.into()));
    }
}
