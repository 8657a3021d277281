//! A live recording beside whatever else runs: the best source that there is, a thread that moves
//! its events to disk, and the end of both.

pub(crate) mod settings;
mod source;
mod stream;

use crate::failure::Failure;
use crate::manners;
use crate::output;
use crate::program::Started;
use rustix::process::{getpriority_process, setpriority_process};
pub(crate) use settings::Settings;
pub(crate) use source::{fly, name_parser, probe_host};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
pub(crate) use stream::{Consumer, Stream, StreamRequest};
use tardy_host::{Facts, Host};
use tardy_kernel::LiveSource;
use tardy_model::{Batch, Event, MarkReader, TaskId};
use tardy_recording::{Manifest, ManifestEnd, Options, Sealed, Writer};

/// How often the source is asked for events, where its buffer is small. It bounds how much of the
/// buffer fills up between two looks, and costs a wakeup each.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The most of it: what is read is on disk at least every 100 ms.
const LOOK_EVERY_MAX: Duration = Duration::from_millis(50);

/// Bytes of a CPU's buffer for which [`LOOK_EVERY`] is right: 30,000 events, of which a busy CPU may
/// make a million a second.
const BYTES_PER_LOOK: u64 = 1 << 20;

/// How often a source with this buffer is asked.
fn look_every(bytes_per_cpu: u64) -> Duration {
    let looks = (bytes_per_cpu / BYTES_PER_LOOK).clamp(1, 5) as u32;
    (LOOK_EVERY * looks).min(LOOK_EVERY_MAX)
}

/// The niceness of who records, where that is allowed: its buffer must not overflow because the load
/// that it records keeps it from running. It stays below every real-time thread.
pub(crate) const NICE: i32 = -15;

/// Who takes longer to begin waits for somebody.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);

const WAITS: &str =
    "the kernel has not let tardy attach to its events for 5 s; tardy goes on waiting";

/// `synchronize_rcu` waits for every CPU; on `PREEMPT_RT` threads of `SCHED_FIFO` 1 do the work for it.
const WAITS_FOR_RCU: &str = "\
    the kernel does not let tardy attach to its events: it waits for a grace period of RCU, which a real-time \
    thread that never sleeps may hold up. RCU's threads must have a higher priority than that one (for rcuc/N, rcub/N and \
    rcu_preempt: chrt -f -p PRIO PID, or rcutree.kthread_prio=PRIO on the kernel's command line). tardy goes on waiting";

/// What to record, and where to.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) folder: PathBuf,
    pub(crate) marks: Vec<MarkReader>,
    pub(crate) watched_processes: Vec<u32>,
    pub(crate) watch_children: bool,
    /// Bytes of the kernel's buffer per CPU; `None` for the source's own choice.
    pub(crate) buffer_bytes_per_cpu: Option<u64>,
    pub(crate) compress: bool,
    /// Take kernel stacks where something is later than this.
    pub(crate) stacks_over_ns: Option<u64>,
    /// Only this source; `None` for the best.
    pub(crate) only: Option<String>,
    /// How it is made, by name.
    pub(crate) settings: Settings,
}

/// A recording that runs.
pub(crate) struct Session {
    thread: JoinHandle<Result<Sealed, Failure>>,
    stop: Arc<AtomicBool>,
    events: Arc<AtomicU64>,
    /// What was learnt meanwhile.
    learnt: Arc<Mutex<Learnt>>,
    /// What was not to be had, a sentence each.
    pub(crate) notes: Vec<String>,
    pub(crate) folder: PathBuf,
}

/// What is known only while it is recorded.
#[derive(Default)]
struct Learnt {
    end: ManifestEnd,
    /// On which CPUs threads could run when they were looked at. Those of a command are gone when its recording ends.
    affinities: BTreeMap<TaskId, Event>,
}

/// What the recording thread says once it has begun: what was not to be had; or why it cannot.
type Begun = Result<Vec<String>, Failure>;

impl Session {
    /// Begins to record. Returns once events are being recorded.
    pub(crate) fn begin(host: &Host, request: Request) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let events = Arc::new(AtomicU64::new(0));
        let folder = request.folder.clone();
        let facts = host.facts().clone();
        let (begun_in, begun) = mpsc::sync_channel(1);
        let (stop_seen, counted) = (Arc::clone(&stop), Arc::clone(&events));
        let learnt = Arc::new(Mutex::default());
        let known = Arc::clone(&learnt);
        let thread = std::thread::Builder::new()
            .name("tardy-record".to_owned())
            .spawn(move || record(request, &facts, &begun_in, &stop_seen, &counted, &known))
            .map_err(|error| Failure::new(format!("cannot start the recording thread: {error}")))?;
        let died = || Failure::new("the recording thread ended before it began");
        let notes = patient(&begun).map_err(|_| died())??;
        Ok(Self { thread, stop, events, learnt, notes, folder })
    }

    /// Keeps settings that are known only now; of those told before, the new value.
    pub(crate) fn learn(&self, settings: Settings) {
        self.learnt().end.settings.extend(settings);
    }

    /// Keeps on which CPUs these threads may run now.
    pub(crate) fn learn_affinities(&self, threads: impl Iterator<Item = u32>) {
        let told = tardy_kernel::affinities(0, threads);
        self.learnt().affinities.extend(told.into_iter().map(|event| (event.task, event)));
    }

    /// Keeps what whoever explains the recording must be told.
    pub(crate) fn note(&self, sentence: String) {
        self.learnt().end.notes.push(sentence);
    }

    /// Keeps which process the command that is watched was started as.
    pub(crate) fn started(&self, child: Option<&Started>) {
        self.learnt().end.command_pid = child.map(Started::id);
    }

    fn learnt(&self) -> MutexGuard<'_, Learnt> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events recorded so far.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Whether it has ended by itself: the disk is full, the kernel refuses.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the recording and seals it.
    pub(crate) fn end(self) -> Result<Sealed, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| Failure::new("the recording thread broke"))?
    }
}

/// What a thread says once it records; where that takes long, the user is told why, as far as it shows.
fn patient<T>(begun: &mpsc::Receiver<T>) -> Result<T, mpsc::RecvError> {
    let mut said = "";
    loop {
        match begun.recv_timeout(BEGINS_WITHIN) {
            Ok(told) => return Ok(told),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(mpsc::RecvError),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let why = if waits_for_rcu() { WAITS_FOR_RCU } else { WAITS };
        if !manners::is_quiet() && said != WAITS_FOR_RCU && said != why {
            output::say!("{why}");
            said = why;
        }
    }
}

/// Whether a thread of this process sleeps until RCU's grace period is over, as whoever attaches to a tracepoint does.
fn waits_for_rcu() -> bool {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waits =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("wchan")).ok());
    waits.into_iter().any(|function| function.contains("rcu"))
}

fn record(
    request: Request,
    facts: &Facts,
    begun: &mpsc::SyncSender<Begun>,
    stop: &AtomicBool,
    events: &AtomicU64,
    learnt: &Mutex<Learnt>,
) -> Result<Sealed, Failure> {
    // Before the writer's thread is made, which inherits it.
    raise_own_niceness();
    let own_thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let wanted = tardy_kernel::Options {
        own_threads: vec![own_thread],
        watched_processes: request.watched_processes,
        watch_children: request.watch_children,
        buffer_bytes_per_cpu: request.buffer_bytes_per_cpu,
        stacks_over_ns: request.stacks_over_ns,
    };
    let started =
        source::start(&wanted, request.only.as_deref()).and_then(|(mut source, notes)| {
            for marks in request.marks {
                source.follow(marks);
            }
            // All is attached; the writer's thread inherits what is left.
            crate::confine::recorder();
            let mut manifest = manifest(facts, &Recorder::of(&*source), &notes);
            manifest.settings.extend(settings::of_tardy());
            manifest.settings.extend(request.settings);
            let options = Options { compress: request.compress, ..Options::default() };
            let writer = Writer::create_with(&request.folder, manifest, options)?;
            source.mark_own(writer.thread_id());
            Ok((source, writer, notes))
        });
    let (mut source, mut writer) = match started {
        Ok((source, writer, notes)) => {
            // The other end waits for exactly this.
            let _ = begun.send(Ok(notes));
            (source, writer)
        }
        Err(failure) => {
            let message = failure.to_string();
            let _ = begun.send(Err(failure));
            return Err(Failure::new(message));
        }
    };

    let look_every = look_every(source.bytes_per_cpu());
    let stolen_before_ns = tardy_kernel::stolen_ns();
    let (mut batch, mut last_ns) = (Batch::default(), 0);
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        if stopping {
            source.stop()?;
        }
        let more = source.next_batch(&mut batch)?;
        events.fetch_add(batch.events.len() as u64, Ordering::Relaxed);
        last_ns = batch.events.last().map_or(last_ns, |event| event.time_ns);
        let idle = batch.is_empty();
        // At the end nothing is lost by waiting for the disk.
        batch = if stopping { writer.append_waiting(batch)? } else { writer.append(batch)? };
        if !more {
            break;
        }
        if idle || !stopping {
            std::thread::sleep(look_every);
        }
    }
    let Learnt { mut end, affinities } =
        std::mem::take(&mut *learnt.lock().unwrap_or_else(PoisonError::into_inner));
    // As of the last event, so that the recording lasts no longer for it. What is so now is told last.
    let before = affinities.into_values().map(|mut event| {
        event.time_ns = last_ns;
        event
    });
    batch.events.extend(before.chain(tardy_kernel::affinities_now(last_ns)));
    writer.append_waiting(batch)?;
    end.notes.extend(source.closing_notes());
    let stolen_ns = tardy_kernel::stolen_ns().zip(stolen_before_ns);
    end.stolen_ns = stolen_ns.map(|(after_ns, before_ns)| after_ns.saturating_sub(before_ns));
    Ok(writer.seal(end)?)
}

fn raise_own_niceness() {
    // Who is even less nice already stays so.
    if own_niceness() > NICE {
        be_nice(NICE);
    }
}

/// This thread's niceness.
pub(crate) fn own_niceness() -> i32 {
    getpriority_process(None).unwrap_or(0)
}

/// This thread's niceness from now on. To be less nice is not allowed for everybody; then the buffer's size
/// has to do.
pub(crate) fn be_nice(niceness: i32) {
    // Without a number it is this thread: who is confined may name none.
    let _ = setpriority_process(None, niceness);
}

/// What recorded, for a manifest.
pub(crate) struct Recorder<'a> {
    pub(crate) name: &'a str,
    pub(crate) missing: &'a [String],
    pub(crate) bytes_per_cpu: u64,
}

impl<'a> Recorder<'a> {
    fn of(source: &'a dyn LiveSource) -> Self {
        let (name, missing) = (source.name(), source.missing());
        Self { name, missing, bytes_per_cpu: source.bytes_per_cpu() }
    }
}

pub(crate) fn manifest(facts: &Facts, recorder: &Recorder<'_>, notes: &[String]) -> Manifest {
    let created = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Manifest {
        tardy_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: created.map_or(0, |since| since.as_secs()),
        command_line: crate::shell::arguments().collect(),
        source: recorder.name.to_owned(),
        host: tardy_recording::Host {
            name: facts.hostname.clone(),
            kernel_release: facts.release.clone(),
            kernel_version: facts.version.clone(),
            arch: facts.arch.clone(),
            cpus_online: facts.cpus,
            hypervisor: facts.hypervisor.clone(),
            preemption: Some(facts.preemption.clone()),
            hz: facts.hz,
            boot_id: tardy_host::boot_id(),
        },
        settings: facts.settings.clone(),
        missing: recorder.missing.to_vec(),
        notes: notes.to_vec(),
        buffer_bytes_per_cpu: recorder.bytes_per_cpu,
        ..Manifest::default()
    }
}

/// The page that belongs to a recording.
pub(crate) fn page_path(folder: &Path) -> PathBuf {
    folder.join("report.html")
}
