//! Does what this process does itself arrive as the events that it should?

use rustix::event::{PollFd, PollFlags, poll};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tardy_live::{Live, LiveSource, Options};
use tardy_model::event::{Call, FRAME_SEPARATOR, IN_USER_SPACE, Taken};
use tardy_model::{Batch, Event, Kind, Source, Tables, TaskId};

/// What does not come within this time never does.
const LONGEST: Duration = Duration::from_secs(20);

/// Recorders see each other's tests, so there is one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The recorder, where this system lets it start; else says why not.
fn recorder(options: &Options) -> Option<(Live, MutexGuard<'static, ()>)> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: this needs root, to record by eBPF");
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match Live::start(options) {
        Ok(live) => Some((live, alone)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Does `act` again and again until `done` says that enough was seen.
#[track_caller]
fn until(
    mut live: Live,
    mut act: impl FnMut(),
    mut done: impl FnMut(&Event, &Tables) -> bool,
) -> Live {
    let begun = Instant::now();
    let (mut batch, mut tables) = (Batch::default(), Tables::default());
    while begun.elapsed() < LONGEST {
        act();
        live.next_batch(&mut batch).unwrap();
        batch.define(&mut tables);
        let mut seen = false;
        for event in &batch.events {
            seen |= done(event, &tables);
        }
        if seen {
            return live;
        }
        batch.clear();
    }
    panic!("it never came");
}

fn this_thread() -> TaskId {
    TaskId(rustix::thread::gettid().as_raw_nonzero().get() as u32)
}

#[test]
fn an_arming_says_in_which_call() {
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let me = this_thread();
    let (mutex, condition) = (Mutex::new(()), Condvar::new());
    let act = || {
        std::thread::sleep(Duration::from_millis(1));
        drop(condition.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(1)).unwrap());
        let stdin = std::io::stdin();
        // Nobody waits for anything here; only that the time passes.
        let timeout = Duration::from_millis(1).try_into().unwrap();
        let mut nothing = [PollFd::new(&stdin, PollFlags::empty())];
        poll(&mut nothing, Some(&timeout)).unwrap();
    };
    let mut calls = BTreeSet::new();
    until(live, act, |event, tables| {
        if let Kind::TimerArm(arm) = event.kind()
            && event.task == me
            && tables.function(arm.timer) == "hrtimer_wakeup"
        {
            assert_eq!(tables.timer(arm.timer).owner, me);
            calls.insert(arm.call);
        }
        [Call::ClockNanosleep, Call::Futex, Call::Poll].iter().all(|call| calls.contains(call))
    });
    assert!(!calls.contains(&Call::Unknown), "{calls:?}");
}

#[test]
fn a_kernel_threads_sleep_and_another_timer_are_in_no_call() {
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let mut armed = 0;
    until(
        live,
        || std::thread::sleep(Duration::from_millis(1)),
        |event, tables| {
            if let Kind::TimerArm(arm) = event.kind()
                && tables.function(arm.timer) != "hrtimer_wakeup"
            {
                assert_eq!(arm.call, Call::Unknown, "{}", tables.function(arm.timer));
                armed += 1;
            }
            armed >= 20
        },
    );
}

#[test]
fn pieces_of_work_come_with_their_functions() {
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    until(
        live,
        || std::thread::sleep(Duration::from_millis(5)),
        |event, tables| {
            let (set, function) = match event.kind() {
                Kind::WorkBegin(work) => (&mut begun, work.function),
                Kind::WorkEnd(work) => (&mut ended, work.function),
                _ => return false,
            };
            assert_ne!(event.task, TaskId::IDLE);
            set.insert((event.task, tables.name(function).to_owned()));
            begun.intersection(&ended).any(|(_, function)| !function.is_empty())
        },
    );
}

#[test]
fn a_signal_comes_with_its_number() {
    const SIGUSR1: u32 = 10;
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let act = || {
        // One that kills is told as SIGKILL: it is handled, so that it comes as what it is.
        let handled =
            Command::new("sh").args(["-c", "trap : USR1; kill -USR1 $$"]).status().unwrap();
        assert!(handled.success());
    };
    until(
        live,
        act,
        |event, _| matches!(event.kind(), Kind::Signal(signal) if signal.number == SIGUSR1),
    );
}

/// Memory that was not there yet, and is touched. Whoever drops it may get the same again.
fn touch_new_memory() -> Vec<u8> {
    std::thread::sleep(Duration::from_millis(2));
    std::hint::black_box(vec![1; 64 << 10])
}

#[test]
fn page_faults_come_of_who_is_watched() {
    let watched = Options { watched_processes: vec![std::process::id()], ..Options::default() };
    let Some((live, _alone)) = recorder(&watched) else { return };
    if live.missing().iter().any(|missing| missing == "page_fault_user") {
        eprintln!("skipped: this kernel does not tell of page faults");
        return;
    }
    let me = this_thread();
    let kept = RefCell::new(Vec::new());
    let act = || kept.borrow_mut().push(touch_new_memory());
    until(live, act, |event, _| {
        let Kind::PageFault(fault) = event.kind() else { return false };
        let is_in = |memory: &Vec<u8>| {
            let from = memory.as_ptr() as u64;
            (from..from + memory.len() as u64).contains(&fault.address)
        };
        event.task == me && kept.borrow().iter().any(is_in)
    });
}

#[test]
fn page_faults_do_not_come_where_nobody_is_watched() {
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let mut rounds = 0;
    let mut kept = Vec::new();
    let act = || kept.push(touch_new_memory());
    until(live, act, |event, _| {
        assert!(!matches!(event.kind(), Kind::PageFault(_)), "{event:?}");
        rounds += u32::from(matches!(event.kind(), Kind::Switch(_)));
        rounds >= 100
    });
}

/// A system call now and then, so that interrupts come upon user space and the kernel.
fn busy_a_while() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(3) {
        std::hint::black_box(std::fs::read("/proc/self/stat").unwrap());
    }
}

#[test]
fn a_late_interrupt_comes_with_the_stack_that_it_interrupted() {
    // Later than nothing: every one.
    let late = Options { stacks_over_ns: Some(0), ..Options::default() };
    let Some((live, _alone)) = recorder(&late) else { return };
    let me = this_thread();
    until(live, busy_a_while, |event, tables| {
        let Kind::Stack(stack) = event.kind() else { return false };
        let frames = tables.name(stack.frames);
        assert!(!frames.is_empty() && !frames.contains("0x"), "{frames}");
        assert_ne!(stack.of, TaskId::IDLE, "{frames}");
        assert!(stack.late_ns > 0 && !frames.contains("hrtimer_interrupt"), "{frames}");
        stack.of == me && frames.contains("vfs_") && stack.taken == Taken::Interrupted
    });
}

/// Time that is spent in this program alone.
#[inline(never)]
fn spin_in_this_function() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(3) {
        // No calls, whatever the compiler makes of it.
        let (mut number, mut rounds) = (std::hint::black_box(1u64), 0);
        while rounds < 1_000_000 {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            rounds += 1;
        }
        std::hint::black_box(number);
    }
}

#[test]
fn a_stack_goes_on_in_the_program() {
    let late = Options { stacks_over_ns: Some(0), ..Options::default() };
    let Some((live, _alone)) = recorder(&late) else { return };
    let me = this_thread();
    until(live, spin_in_this_function, |event, tables| {
        let Kind::Stack(stack) = event.kind() else { return false };
        let frames = tables.name(stack.frames);
        let mut frames = frames.split(FRAME_SEPARATOR);
        stack.of == me
            && frames.next() == Some(IN_USER_SPACE)
            && frames.next().is_some_and(|function| function.ends_with("spin_in_this_function"))
    });
}

#[test]
#[ignore = "this is what the test below starts"]
fn spins_for_another() {
    let begun = Instant::now();
    while begun.elapsed() < 2 * LONGEST {
        spin_in_this_function();
    }
}

#[test]
fn a_program_in_a_container_has_its_functions() {
    let late = Options { stacks_over_ns: Some(0), ..Options::default() };
    let Some((live, _alone)) = recorder(&late) else { return };
    let (folder, own) = (tempfile::tempdir().unwrap(), std::env::current_exe().unwrap());
    // Its file is in its own mounts alone, below a root of its own.
    let within = "mount -t tmpfs none \"$1\" && mkdir \"$1/root\" && cd \"$1/root\" && cp \"$2\" spins && \
                  for folder in lib lib64 usr proc; do \
                      test ! -d /$folder || { mkdir $folder && mount --rbind /$folder $folder; }; \
                  done && exec chroot . /spins --ignored --exact spins_for_another";
    let mut container = Command::new("unshare");
    container.args(["--mount", "sh", "-c", within, "sh"]).arg(folder.path()).arg(own);
    let Ok(mut container) = container.stdout(Stdio::null()).spawn() else {
        eprintln!("skipped: there is no unshare");
        return;
    };
    std::thread::sleep(Duration::from_millis(500));
    if let Ok(Some(ended)) = container.try_wait() {
        eprintln!("skipped: unshare makes no namespaces here: {ended}");
        return;
    }
    let me = this_thread();
    until(
        live,
        || std::thread::sleep(Duration::from_millis(5)),
        |event, tables| {
            let Kind::Stack(stack) = event.kind() else { return false };
            stack.of != me && tables.name(stack.frames).contains("spin_in_this_function")
        },
    );
    container.kill().unwrap();
    container.wait().unwrap();
}

/// Who starts a program waits until that has taken its place, and can do nothing else meanwhile.
fn start_a_program() {
    std::process::Command::new("true").status().expect("it is everywhere");
}

#[test]
fn who_was_held_up_comes_with_the_stack_of_where_it_slept() {
    let late = Options { stacks_over_ns: Some(0), ..Options::default() };
    let Some((live, _alone)) = recorder(&late) else { return };
    let me = this_thread();
    until(live, start_a_program, |event, tables| {
        let Kind::Stack(stack) = event.kind() else { return false };
        let frames = tables.name(stack.frames);
        stack.of == me && stack.taken == Taken::Slept && frames.contains("kernel_clone")
    });
}

#[test]
fn no_stack_comes_where_none_is_asked_for() {
    let Some((live, _alone)) = recorder(&Options::default()) else { return };
    let mut rounds = 0;
    until(live, busy_a_while, |event, _| {
        assert!(!matches!(event.kind(), Kind::Stack(_)), "{event:?}");
        rounds += u32::from(matches!(event.kind(), Kind::ExpireBegin(_)));
        rounds >= 100
    });
}
