//! `tardy watch`: waits, for a night or a week, until a thread is late, and keeps the worst of it.

mod action;
mod choice;
mod folder;
mod stretch;
mod whom;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::program;
use crate::progress::Progress;
use crate::recordings;
use crate::session::{self, Recorder};
use action::Action;
use clap::Args;
use folder::{Found, WatchFolder};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stretch::{Judged, Sought};
use tardy_explain::Explanation;
use tardy_host::Facts;
use tardy_kernel::{ClockOffsets, Exceeded, FlightRecorder, Held};
use tardy_recording::{Manifest, Trigger};
use tardy_report::units::{counted, duration as in_words};
use whom::Whom;

/// How often it is looked whether somebody was late. What the kernel's buffers hold must be more.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long it goes on after that, so that what follows the late wakeup is there too.
const GO_ON: Duration = Duration::from_millis(10);

/// How often what was counted is written down.
const COUNT_EVERY: Duration = Duration::from_secs(60);

/// Niceness of what explains: whoever is watched has more right to the CPU.
const NICE_EXPLAINING: i32 = 10;

/// How nice a watch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Niceness {
    waiting: i32,
    explaining: i32,
}

impl Niceness {
    /// By that which it was started with. Who made it less nice has hundreds of threads beside it that want the CPU, and
    /// knows that explaining would never end at [`NICE_EXPLAINING`].
    fn of(own: i32) -> Self {
        let explaining = if own < 0 { own } else { own.max(NICE_EXPLAINING) };
        Self { waiting: own.min(session::NICE), explaining }
    }
}

/// What this process has computed. On a busy machine a look lasts, which is no reason to look less often.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Looks may take so much of a CPU's time at the beginning, and this part of all of it, one in so many.
const LOOKS_FREE: Duration = Duration::from_secs(10);
const LOOKS_SHARE: u32 = 10;

/// Flags of `tardy watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy watch --over 200us                         every real-time thread of user space\n\
    tardy watch --over 200us --pid 1234 -D 8h        a process, for a night\n\
    tardy watch --over 1ms --comm pipewire --exec 'logger late: $TARDY_RECORDING'\n\
    tardy explain recordings/watch                   the worst that was kept\n\
\n\
    CMD of --exec finds in its environment: TARDY_RECORDING, TARDY_THREAD, TARDY_TID, TARDY_LATE_NS,\n\
    TARDY_TIME, TARDY_CAUSE, TARDY_CULPRIT.")]
pub(crate) struct Watch {
    #[command(flatten)]
    whom: Whom,

    /// The bound: how late a wakeup must be, beyond the thread's timer slack: 100us; a bare
    /// number is µs
    #[arg(long, value_name = "TIME", value_parser = arguments::interval_ns)]
    over: u64,

    /// How many of the worst to keep, shared among culprits: where there are more, the culprit with most of them
    /// loses its least late one
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    keep: u32,

    /// Run this command by sh for each recording kept; the watch goes on meanwhile
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,

    /// End after this many late wakeups
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    exit_after: Option<u64>,

    /// How long; a bare number is seconds [default: until Ctrl-C, or until the command ends]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    /// The folder for the recordings kept; an existing one is continued [default: recordings/watch]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// The kernel's buffer per CPU, in KiB: how far back a recording reaches [default: 4096]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(32..=131_072))]
    buffer: Option<u64>,

    /// Record no kernel stacks: the culprit is named, but not the function
    #[arg(long)]
    no_stacks: bool,

    #[command(flatten)]
    output: Output,

    /// Run the command as this user
    #[arg(long, value_name = "NAME", requires = "command")]
    user: Option<String>,

    /// A command to start and watch, until it ends
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// A watch that is on.
struct Watching<'a> {
    flags: &'a Watch,
    facts: Facts,
    flight: Box<dyn FlightRecorder>,
    folder: WatchFolder,
    action: Action,
    begun: Instant,
    niceness: Niceness,
    /// What was judged before ended before this.
    judged_until_ns: u64,
    /// How far `CLOCK_REALTIME` was ahead then.
    realtime_ahead_ns: i64,
    /// Late wakeups of this run.
    late: u64,
    /// How long looks took in all.
    looked: Duration,
    lost: Lost,
}

/// What could not be written, because the disk is full: no reason to end the night.
#[derive(Debug, Default)]
struct Lost {
    /// Why, the first time.
    why: Option<String>,
    /// Late wakeups that are not kept for it.
    wakeups: u64,
    /// Whether what was counted is not written down either, as far as was tried last.
    counts: bool,
}

impl Watch {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let mut whom = self.whom.clone();
        whom.check(&self.command)?;
        let user = self.user.as_deref().map(program::user).transpose()?;
        let interrupt = Interrupt::catch()?;
        let host = session::probe_host();
        let buffer_bytes = self.buffer.map(|kib| kib << 10);
        let options = whom.options(self.over, buffer_bytes, !self.no_stacks);
        let mut flight = session::fly(&options).map_err(|error| {
            Failure::new(format!(
                "cannot watch, because that needs eBPF: {error}; tardy measure cyclic \
                    --break-over works without it"
            ))
        })?;
        let folder = self.out.clone().map_or_else(recordings::watch_home, Ok)?;
        let folder = WatchFolder::open(&folder, self.keep, self.over)?;
        self.output.remark(&format!(
            "watching {} for wakeups later than {}",
            whom.greeting(&self.command),
            in_words(self.over)
        ));
        for word in folder.greeting(u64::from(host.facts().cpus) * flight.bytes_per_cpu()) {
            self.output.remark(&word);
        }
        let mut child = program::start(&self.command, user.as_ref(), self.output.json)?;
        if let Some(child) = &child {
            flight.watch_process(child.id())?;
        }
        let niceness = Niceness::of(session::own_niceness());
        session::be_nice(niceness.waiting);
        if self.exec.is_none() {
            crate::confine::watcher();
        }
        let mut watching = Watching {
            flags: &self,
            facts: host.facts().clone(),
            flight,
            folder,
            action: Action::new(self.exec.clone()),
            begun: Instant::now(),
            niceness,
            judged_until_ns: 0,
            realtime_ahead_ns: ClockOffsets::read().realtime_ahead_ns,
            late: 0,
            looked: Duration::ZERO,
            lost: Lost::default(),
        };
        watching.set_bar();
        let watched = watching.until_the_end(&mut whom, &interrupt, child.as_mut());
        if let Some(child) = &mut child {
            program::end(child, interrupt.signal())?;
        }
        watched?;
        watching.tell_all()?;
        watching.lost.tell()?;
        Ok(if watching.late > 0 { Outcome::BoundExceeded } else { Outcome::Fine })
    }
}

impl Watching<'_> {
    fn until_the_end(
        &mut self,
        whom: &mut Whom,
        interrupt: &Interrupt,
        mut child: Option<&mut program::Started>,
    ) -> Result<(), Failure> {
        let output = &self.flags.output;
        let progress = Progress::new(self.flags.duration, output.hides_progress());
        let mut counted = Duration::ZERO;
        loop {
            let elapsed = self.begun.elapsed();
            let over = self.flags.duration.is_some_and(|duration| elapsed >= duration);
            let ended = match &mut child {
                None => false,
                Some(child) => child.has_ended().unwrap_or(true),
            };
            if over || self.is_enough() || ended || interrupt.is_asked() {
                break;
            }
            if self.flight.exceeded().is_some() {
                self.look(&progress)?;
            }
            whom.look_for_more(&mut *self.flight);
            self.action.look();
            if elapsed.saturating_sub(counted) >= COUNT_EVERY {
                counted = elapsed;
                self.count(&progress);
            }
            progress.show(elapsed, self.folder.words());
            std::thread::sleep(LOOK_EVERY);
        }
        self.action.finish();
        self.count(&progress);
        Ok(())
    }

    /// Whether as many were late as were asked for.
    fn is_enough(&self) -> bool {
        self.flags.exit_after.is_some_and(|count| self.late >= count)
    }

    /// Somebody was late: what the recorder holds is explained, and kept where it is worth it.
    fn look(&mut self, progress: &Progress) -> Result<(), Failure> {
        let Some(exceeded) = self.flight.exceeded() else { return Ok(()) };
        let looked_since = computed();
        std::thread::sleep(GO_ON);
        let held = self.flight.hold()?;
        session::be_nice(self.niceness.explaining);
        let looked = stretch::judge(&held, &self.sought(exceeded));
        self.judged_until_ns = held.until_ns;
        match looked {
            Judged::Missed => {
                self.folder.count(Found::Missed);
                progress.beside(|| self.flags.output.remark(&missed(exceeded)));
            }
            Judged::False(mistaken) => {
                self.folder.count(Found::False);
                progress.beside(|| self.flags.output.remark(&format!("{mistaken}: not kept")));
            }
            Judged::Late(caught) => {
                for trigger in &caught.triggers {
                    if self.is_enough() {
                        break;
                    }
                    self.late += 1;
                    if self.folder.counts(trigger)
                        && let Err(error) = self.keep(&held, trigger, &caught.explanation, progress)
                    {
                        self.lost.wakeups += 1;
                        self.goes_on(&error, progress);
                    }
                }
            }
        }
        self.looked += computed().saturating_sub(looked_since);
        self.set_bar();
        session::be_nice(self.niceness.waiting);
        self.count(progress);
        Ok(())
    }

    /// What cannot be written is said once: each late wakeup would say the same.
    fn goes_on(&mut self, error: &Failure, progress: &Progress) {
        if self.lost.why.is_none() {
            progress.beside(|| {
                output::say!(
                    "tardy: {}; the watch goes on, keeps what it has, and tries again with what comes",
                    output::one_line(&error.to_string())
                );
            });
            self.lost.why = Some(error.to_string());
        }
    }

    fn sought(&mut self, exceeded: Exceeded) -> Sought {
        let ahead_ns = ClockOffsets::read().realtime_ahead_ns;
        let before_ns = std::mem::replace(&mut self.realtime_ahead_ns, ahead_ns);
        Sought {
            exceeded,
            over_ns: self.flags.over,
            since_ns: self.judged_until_ns,
            clock_was_set: ahead_ns.abs_diff(before_ns) > self.flags.over,
        }
    }

    fn keep(
        &mut self,
        held: &Held,
        trigger: &Trigger,
        explanation: &Explanation,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let manifest = self.manifest(trigger, held);
        let kept = self.folder.keep(manifest, held)?;
        // It is only what lists show.
        let _ = recordings::remember(&kept, explanation);
        let output = &self.flags.output;
        if !output.json {
            // That it cannot be told is no reason to end the night: it is kept.
            let _ = progress.beside(|| {
                output::out!(
                    "{}",
                    output::one_line(&format!("{} → {}", told(trigger), kept.display()))
                )
            });
        }
        self.action.run(&kept, trigger);
        Ok(())
    }

    fn manifest(&self, trigger: &Trigger, held: &Held) -> Manifest {
        let recorder = Recorder {
            name: self.flight.name(),
            missing: self.flight.missing(),
            bytes_per_cpu: self.flight.bytes_per_cpu(),
        };
        let mut manifest = session::manifest(&self.facts, &recorder, &[]);
        manifest.trigger = Some(trigger.clone());
        manifest.notes.push(stretch::note(trigger, held));
        manifest.notes.extend(self.flight.notes());
        manifest
    }

    /// Every late wakeup is looked at, as one of a new culprit is kept however late others were; but where they are
    /// so many that looking takes more than its share, only those are that are later than one that is kept.
    fn set_bar(&mut self) {
        let is_often = self.looked > LOOKS_FREE + self.begun.elapsed() / LOOKS_SHARE;
        let bar_ns = if is_often { self.folder.bar_ns() } else { self.flags.over };
        self.flight.set_bar(bar_ns);
    }

    fn count(&mut self, progress: &Progress) {
        let watched = self.begun.elapsed();
        let written = self.folder.write(watched, self.flight.over_count());
        self.lost.counts = written.is_err();
        if let Err(error) = written {
            self.goes_on(&error, progress);
        }
    }

    fn tell_all(&self) -> Result<(), Failure> {
        if self.flags.output.json {
            return output::write_json(&self.folder.document(), None);
        }
        output::out!("{}", output::one_line(&self.folder.words()))?;
        if self.folder.has_any() {
            let folder = self.folder.path().display();
            self.flags.output.remark(&format!("next: tardy explain {folder} (the worst)"));
        }
        Ok(())
    }
}

impl Lost {
    /// An error, where anything is missing of what should have been kept.
    fn tell(&self) -> Result<(), Failure> {
        let Some(why) = &self.why else { return Ok(()) };
        let mut missing = Vec::new();
        if self.wakeups > 0 {
            missing.push(format!("{} could not be kept", counted(self.wakeups, "late wakeup")));
        }
        if self.counts {
            missing.push("what was counted could not be written down".to_owned());
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!("{}, the first time because: {why}", missing.join(", and "))))
    }
}

/// Who was late when what the buffers held did not reach back to it any more.
fn missed(exceeded: Exceeded) -> String {
    let ran_unix_ns = exceeded.ran_ns.saturating_add_signed(ClockOffsets::read().realtime_ahead_ns);
    format!(
        "{} thread {} ran {} late on CPU {}: not kept, as the kernel's buffers did not reach back to it any more \
         (a larger --buffer helps)",
        recordings::when(ran_unix_ns),
        exceeded.task,
        in_words(exceeded.late_ns()),
        exceeded.cpu
    )
}

/// `2026-11-22 03:12:45.123 tick (1234) ran 512 µs late on CPU 1: mostly higher_priority by hog-90`.
fn told(trigger: &Trigger) -> String {
    let by = match trigger.culprit.as_str() {
        "" => String::new(),
        culprit if culprit.trim_start_matches("the ") == trigger.cause => String::new(),
        culprit => format!(" by {culprit}"),
    };
    format!(
        "{} {} ({}) ran {} late on CPU {}: mostly {}{by}",
        recordings::when(trigger.ran_unix_ns),
        trigger.name,
        trigger.task,
        in_words(trigger.lateness_ns),
        trigger.cpu,
        trigger.cause
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_in_the_end_is_an_error() {
        let lost = |why: Option<&str>, wakeups, counts| {
            let lost = Lost { why: why.map(str::to_owned), wakeups, counts };
            lost.tell().err().map(|error| error.to_string())
        };
        assert_eq!(lost(None, 0, false), None);
        // The disk had room again, and all was written then.
        assert_eq!(lost(Some("full"), 0, false), None);
        let told = lost(Some("full"), 2, true).unwrap();
        assert!(
            told.contains("2 late wakeups could not be kept") && told.ends_with("full"),
            "{told}"
        );
    }

    #[test]
    fn who_made_it_less_nice_has_it_explain_so() {
        let niceness = |own| (Niceness::of(own).waiting, Niceness::of(own).explaining);
        assert_eq!(niceness(0), (-15, 10));
        assert_eq!(niceness(15), (-15, 15));
        assert_eq!(niceness(-5), (-15, -5));
        assert_eq!(niceness(-20), (-20, -20));
    }
}
