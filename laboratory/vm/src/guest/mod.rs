//! Inside the guest: the first process there is this program. It makes the system's folders, runs the
//! command that it finds in its job, and sends what that yields to the host.

mod files;
mod port;
mod system;

use crate::channel::{self, Ended, Hello, Message, PAYLOAD_MAX};
use crate::job::{JOB_FILE, Job, OUT};
use files::Follower;
use port::Port;
use rustix::process::{WaitOptions, wait};
use rustix::time::{ClockId, clock_gettime};
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a guest says that it lives, and sends what its files have grown by.
const BEAT: Duration = Duration::from_secs(1);

/// How often it is looked whether the command's pipes are closed, once it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where programs lie.
const PATH: &str = "/bin:/sbin:/usr/bin:/usr/sbin";

/// The niceness of what only sends.
const NICE: i32 = 19;

/// Where this process is a guest's first: does what it is to do there, and ends the guest. Otherwise
/// returns none at once. To be called first in `main`, with one thread alone.
pub fn enter() -> Option<ExitCode> {
    if std::process::id() != 1 || !Path::new(JOB_FILE).exists() {
        return None;
    }
    if let Err(why) = serve() {
        // The console is all that is sure to be there.
        eprintln!("tardy-guest: {why}");
    }
    system::end();
    // The kernel takes the end of its first process for a panic, and that is right here.
    Some(ExitCode::FAILURE)
}

fn serve() -> Result<(), String> {
    // What it is called where it is somebody's culprit.
    let _ = rustix::thread::set_name(c"tardy-guest");
    system::mount()?;
    let text = std::fs::read(JOB_FILE).map_err(|error| format!("cannot read its job: {error}"))?;
    let job: Job =
        serde_json::from_slice(&text).map_err(|error| format!("cannot read its job: {error}"))?;
    for module in &job.modules {
        system::load(module)?;
    }
    let port = Arc::new(Port::open()?);
    port.send(&Message::Hello(Hello {
        protocol: channel::VERSION,
        tardy: env!("CARGO_PKG_VERSION").to_owned(),
        release: system::release(),
        up_ns: now_ns(),
    }));
    match run(&job, &port) {
        Ok(ended) => port.send(&Message::Ended(ended)),
        Err(why) => port.send(&Message::Trouble(why)),
    }
    Ok(())
}

/// Runs the command to its end, and sends what it yields.
fn run(job: &Job, port: &Arc<Port>) -> Result<Ended, String> {
    let (program, arguments) = job.command.split_first().ok_or("there is no command to run")?;
    std::thread::sleep(Duration::from_nanos(job.offset_ns));
    let begun_ns = now_ns();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(OUT)
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    let senders = [
        pass_on(child.stdout.take(), port, Message::Stdout),
        pass_on(child.stderr.take(), port, Message::Stderr),
    ];
    let is_over = Arc::new(AtomicBool::new(false));
    let follower = follow(port, &is_over);
    let status = wait_for(&child)?;
    let ran_ns = now_ns().saturating_sub(begun_ns);
    // Who still holds the pipes was left behind by the command.
    for sender in senders.into_iter().flatten() {
        let patience = now_ns() + BEAT.as_nanos() as u64;
        while !sender.is_finished() && now_ns() < patience {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    is_over.store(true, Ordering::Relaxed);
    follower.thread().unpark();
    let mut follower = follower.join().map_err(|_| "the thread that sends files broke")?;
    follower.finish(port);
    Ok(Ended { status: status.code(), signal: status.signal(), ran_ns })
}

/// Waits for the command; whatever else has no parent left is this process's to wait for, too.
fn wait_for(child: &Child) -> Result<ExitStatus, String> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() as u32 == child.id() => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) => {}
            Err(error) => return Err(format!("lost track of the command: {error}")),
        }
    }
}

/// Sends what comes from a pipe, as it comes.
fn pass_on(
    pipe: Option<impl Read + Send + 'static>,
    port: &Arc<Port>,
    message: fn(Vec<u8>) -> Message,
) -> Option<JoinHandle<()>> {
    let (mut pipe, port) = (pipe?, Arc::clone(port));
    Some(std::thread::spawn(move || {
        let mut buffer = vec![0; PAYLOAD_MAX / 2];
        while let Ok(len @ 1..) = pipe.read(&mut buffer) {
            port.send(&message(buffer[..len].to_vec()));
        }
    }))
}

/// Sends what files grow by, and that the guest lives.
fn follow(port: &Arc<Port>, is_over: &Arc<AtomicBool>) -> JoinHandle<Follower> {
    let (port, is_over) = (Arc::clone(port), Arc::clone(is_over));
    std::thread::spawn(move || {
        // A thread's own, on Linux; the command was started before.
        let _ = rustix::process::setpriority_process(None, NICE);
        let mut follower = Follower::of(Path::new(OUT));
        // It is woken no more than it must be: what is measured beside it counts every wakeup.
        while !is_over.load(Ordering::Relaxed) {
            port.send(&Message::Beat(now_ns()));
            follower.send_new(&port);
            std::thread::park_timeout(BEAT);
        }
        follower
    })
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
