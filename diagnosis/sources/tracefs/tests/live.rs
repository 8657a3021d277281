//! The whole way on the running kernel: a thread sleeps, and its wakeups come out as a story.

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use tardy_model::event::{Comm, TaskInfo};
use tardy_model::{
    Batch, CpuId, Event, Kind, Source, Tables, TaskId, TimerClass, TimerId, mark_ring,
};
use tardy_tracefs::{Error, LiveSource, Options, Tracefs};

fn gettid() -> TaskId {
    TaskId(rustix::thread::gettid().as_raw_nonzero().get() as u32)
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Recorded {
    events: Vec<Event>,
    tables: Tables,
    sleeper: TaskId,
}

const SLEEPS: u32 = 100;

/// Records a thread that sleeps [`SLEEPS`] times. `None` where this may not be done here.
fn record() -> Option<Recorded> {
    let (go, ready) = (std::sync::mpsc::channel::<()>(), std::sync::mpsc::channel());
    let sleeper = thread::Builder::new()
        .name("tardy-sleeper".into())
        .spawn(move || {
            // On the first CPU: there are guests whose kernel says nothing of the other ones' idle
            // tasks, and so not of the switch from them to the sleeper (the closing notes tell).
            let mut first = rustix::thread::CpuSet::new();
            first.set(0);
            rustix::thread::sched_setaffinity(None, &first).unwrap();
            let (mut writer, reader) = mark_ring(gettid());
            ready.0.send(reader).unwrap();
            go.1.recv().unwrap();
            for _ in 0..SLEEPS {
                let expiry_ns = now_ns() + 2_000_000;
                thread::sleep(Duration::from_millis(2));
                writer.mark(expiry_ns, CpuId(0), now_ns);
            }
        })
        .unwrap();
    let reader = ready.1.recv().unwrap();
    let task = reader.task();
    let options = Options { own_threads: vec![gettid().0], ..Options::default() };
    let mut source = match Tracefs::start(&options) {
        Ok(source) => source,
        Err(error @ (Error::Permission { .. } | Error::NoTracefs { .. } | Error::NoEvents)) => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    source.follow(reader);
    go.0.send(()).unwrap();
    let mut recorded = Recorded { events: Vec::new(), tables: Tables::default(), sleeper: task };
    let mut batch = Batch::default();
    let mut stopped = false;
    loop {
        batch.clear();
        let goes_on = source.next_batch(&mut batch).unwrap();
        batch.define(&mut recorded.tables);
        recorded.events.append(&mut batch.events);
        if !goes_on {
            break;
        }
        if sleeper.is_finished() && !stopped {
            source.stop().unwrap();
            stopped = true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    sleeper.join().unwrap();
    println!("{} events, {:?}", recorded.events.len(), source.closing_notes());
    assert_eq!(source.undecoded(), 0);
    assert!(source.bytes_per_cpu() >= 8 << 20);
    Some(recorded)
}

/// How far one wakeup's story has come.
#[derive(Debug, PartialEq)]
enum At {
    Awake,
    Armed,
    Expiring,
    Woken,
    Running,
}

#[test]
fn a_sleepers_wakeups_come_as_a_story_in_time_order() {
    let Some(Recorded { events, tables, sleeper }) = record() else { return };
    assert!(events.is_sorted_by_key(|event| event.time_ns));
    let flags = TaskInfo::WATCHED | TaskInfo::MARKS;
    let process = TaskId(std::process::id());
    let comm = Comm::new("tardy-sleeper");
    let of_sleeper = |kind: Kind| events.iter().any(|e| e.task == sleeper && e.kind() == kind);
    assert!(of_sleeper(TaskInfo { process, flags }.into()));
    assert!(of_sleeper(tardy_model::event::TaskName { comm }.into()));

    // Armed by the sleeper → expires with the same timer and expiry → wakes → runs → marks.
    let mut at = At::Awake;
    let (mut timer, mut soft_ns, mut told) = (TimerId::UNKNOWN, 0, 0);
    let (mut losses, mut hidden) = (0, 0);
    // Who runs on each CPU, by the last switch that was told of.
    let mut running = BTreeMap::new();
    for event in &events {
        match event.kind() {
            Kind::TimerArm(arm) if tables.timer(arm.timer).owner == sleeper => {
                assert_eq!(tables.function(arm.timer), "hrtimer_wakeup");
                assert_eq!(tables.timer(arm.timer).class, TimerClass::Hrtimer);
                assert_eq!(event.task, sleeper);
                (at, timer, soft_ns) = (At::Armed, arm.timer, arm.soft_ns);
                assert!(soft_ns > event.time_ns && soft_ns < event.time_ns + 3_000_000);
                assert!(arm.slack_ns > 0, "an ordinary thread's timers have slack");
            }
            Kind::ExpireBegin(begin) if at == At::Armed && begin.timer == timer => {
                assert_eq!(begin.soft_ns, soft_ns);
                assert!(event.time_ns >= soft_ns);
                at = At::Expiring;
            }
            Kind::Waking(waking) if at == At::Expiring && waking.target == sleeper => {
                at = At::Woken;
            }
            Kind::Switch(switch) => {
                running.insert(event.cpu, switch.next);
                if at == At::Woken && switch.next == sleeper {
                    at = At::Running;
                }
            }
            Kind::Mark(_) if event.task == sleeper => {
                told += u32::from(at == At::Running);
                // Some machines keep stretches to themselves, the switch to the sleeper with them.
                let is_hidden = running.get(&event.cpu) != Some(&sleeper);
                hidden += u32::from(at != At::Running && is_hidden);
                at = At::Awake;
            }
            Kind::Loss(_) => losses += 1,
            _ => {}
        }
    }
    println!("{told} stories, {hidden} hidden, {losses} losses");
    assert!(losses > 0 || told + hidden == SLEEPS, "{told} and {hidden} of {SLEEPS}");
    assert!(told >= SLEEPS / 2, "{told} of {SLEEPS}");

    let mut kinds = BTreeMap::new();
    for event in &events {
        *kinds.entry(event.tag()).or_insert(0u32) += 1;
    }
    let named: Vec<_> =
        Kind::TAGS.iter().map(|(tag, name)| (name, kinds.get(tag).unwrap_or(&0))).collect();
    println!("{named:?}");
}

#[test]
fn nothing_stays_behind() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let Some(tracefs) = detached_tracefs() else {
        println!("skipped: tracefs cannot be mounted here");
        return;
    };
    let instances = PathBuf::from(format!("/proc/self/fd/{}/instances", tracefs.as_raw_fd()));
    // As a process that was killed leaves it. No process has this id (`PID_MAX_LIMIT` is 2^22).
    let stale = instances.join("tardy-99999999-0");
    std::fs::create_dir(&stale).unwrap();
    let before = mounts();
    let recorded = record();
    if recorded.is_none() {
        std::fs::remove_dir(&stale).unwrap();
        return;
    }
    assert_eq!(mounts(), before);
    assert!(!stale.exists());
    let mine = || {
        let names = std::fs::read_dir(&instances).unwrap().flatten().map(|e| e.file_name());
        names
            .filter_map(|name| name.into_string().ok())
            .find(|name| name.starts_with(&format!("tardy-{}-", std::process::id())))
    };
    // The other test of this process may have an instance for now.
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Some(name) = mine() {
        assert!(Instant::now() < deadline, "left behind: {name}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn detached_tracefs() -> Option<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    fsconfig_create(&context).ok()?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).ok()
}
