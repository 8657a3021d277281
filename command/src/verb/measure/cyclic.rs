//! `tardy measure cyclic`: threads that ask to be woken at regular times.

use crate::arguments::{self, Cpus};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::session::settings::Looks;
use crate::session::{Session, Settings, settings};
use crate::verb::load;
use crate::verb::record::RecorderFlags;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tardy_host::Host;
use tardy_lab::cyclic::{self, Affinity, LiveFigures, Phase, Plan, Prepared, Running};
use tardy_lab::{Measurement, Policy};
use tardy_report::json::MeasureDocument;
use tardy_report::{Resolution, cyclictest_lines};

/// What a cyclic measurement is, in cyclictest's letters.
#[derive(Clone, Debug, Args)]
pub(crate) struct CyclicFlags {
    /// Threads [default: one per CPU]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Real-time priority, 1–99 [default: 80; with --policy other none]
    #[arg(short = 'P', long, value_name = "PRIO", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) priority: Option<u8>,

    /// Scheduling policy
    #[arg(long, value_enum, default_value_t = PolicyFlag::Fifo)]
    pub(crate) policy: PolicyFlag,

    /// Time between two expiries; a bare number is µs
    #[arg(short, long, value_name = "TIME", default_value = "1ms", value_parser = arguments::interval_ns)]
    pub(crate) interval: u64,

    /// How much longer the interval of each further thread is; a bare number is µs
    #[arg(short, long, value_name = "TIME", value_parser = arguments::interval_ns)]
    pub(crate) distance: Option<u64>,

    /// CPUs to bind the threads to, in turn: 0-2,5 [default: one thread per CPU]
    #[arg(short, long, value_name = "CPUS", value_parser = arguments::cpus)]
    pub(crate) affinity: Option<Cpus>,

    /// End at the first latency above this, and keep the recording; a bare number is µs
    #[arg(short, long, value_name = "TIME", value_parser = arguments::interval_ns)]
    pub(crate) break_over: Option<u64>,

    /// The threads' timer slack; a bare number is µs [default: as inherited: 50 µs, none for
    /// real-time policies]
    #[arg(long, value_name = "TIME", value_parser = arguments::interval_ns)]
    pub(crate) slack: Option<u64>,

    /// Lock memory, as cyclictest's -m; tardy always does so if it may
    #[arg(short, long)]
    mlockall: bool,

    /// Allow all idle states, instead of holding /dev/cpu_dma_latency at 0
    #[arg(long)]
    pub(crate) laptop: bool,
}

/// A policy on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyFlag {
    Fifo,
    Rr,
    Other,
    Deadline,
}

impl CyclicFlags {
    /// The plan for `duration`.
    pub(crate) fn plan(&self, duration: Option<Duration>) -> Result<Plan, Failure> {
        let policy = match self.policy {
            PolicyFlag::Fifo => Policy::Fifo,
            PolicyFlag::Rr => Policy::Rr,
            PolicyFlag::Other => Policy::Other,
            PolicyFlag::Deadline => Policy::Deadline,
        };
        if self.priority.is_some() && !matches!(policy, Policy::Fifo | Policy::Rr) {
            return Err(Failure::usage(format!(
                "--priority goes with --policy fifo or rr; {} has no priority",
                policy.name()
            )));
        }
        let default = Plan::default();
        let affinity = match (&self.affinity, policy) {
            (Some(Cpus(cpus)), _) => Affinity::Cpus(cpus.clone()),
            (None, Policy::Deadline) => Affinity::Unbound,
            (None, _) => Affinity::EachCpu,
        };
        Ok(Plan {
            threads: self.threads,
            policy,
            prio: self.priority.unwrap_or(default.prio),
            interval_ns: self.interval,
            distance_ns: self.distance.unwrap_or(0),
            phase: Phase::Spread,
            duration,
            affinity,
            break_over_ns: self.break_over,
            timer_slack_ns: self.slack,
            dma_latency_us: if self.laptop { None } else { default.dma_latency_us },
            ..default
        })
    }
}

/// Flags of `tardy measure cyclic`.
#[derive(Debug, Args)]
pub(super) struct Cyclic {
    #[command(flatten)]
    cyclic: CyclicFlags,

    /// How long; a bare number is seconds [default: until Ctrl-C]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    /// Wakeups per thread
    #[arg(short, long, value_name = "N")]
    loops: Option<u64>,

    #[arg(long, value_name = "LOAD", help = load::help("What runs meanwhile"))]
    load: Option<String>,

    /// Print a histogram of whole µs up to this after the end
    #[arg(short = 'H', long, value_name = "US", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    histogram: Option<u32>,

    /// Write the histogram to this file, in cyclictest's format
    #[arg(long, value_name = "FILE")]
    histfile: Option<PathBuf>,

    /// Also record, into this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    #[command(flatten)]
    recorder: RecorderFlags,

    /// Show ns instead of µs
    #[arg(short = 'N', long)]
    nsecs: bool,

    /// Write the JSON to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// The histogram's size where a file is asked for without one.
const HISTOGRAM_US: usize = 1000;

/// Watches a measurement until it ends by itself or the user ends it. Returns the last figures, and
/// how long it took.
pub(crate) fn attend(
    running: &Running,
    duration: Option<Duration>,
    quiet: bool,
    interrupt: &Interrupt,
    mut looks: Looks<'_>,
) -> (Vec<LiveFigures>, Duration) {
    let begun = Instant::now();
    let progress = Progress::new(duration, quiet);
    while !running.wait(Duration::from_millis(100)) {
        if interrupt.is_asked() {
            running.stop();
        }
        looks.after(begun.elapsed());
        progress.show(begun.elapsed(), in_words(&running.snapshot()));
    }
    (running.snapshot(), begun.elapsed())
}

/// Begins to record the measuring threads to `folder`, where one is given.
pub(super) fn begin_session(
    folder: Option<&Path>,
    recorder: &RecorderFlags,
    prepared: &mut Prepared,
    settings: Settings,
    output: &Output,
) -> Result<Option<Session>, Failure> {
    let Some(folder) = folder else { return Ok(None) };
    let request = crate::session::Request {
        settings,
        marks: prepared.take_marks(),
        ..recorder.request(folder.to_owned())
    };
    let session = Session::begin(&Host::probe(), request)?;
    for note in &session.notes {
        output.remark(note);
    }
    Ok(Some(session))
}

fn in_words(figures: &[LiveFigures]) -> String {
    let figures: Vec<_> = figures.iter().filter(|thread| thread.count > 0).collect();
    let us = |ns: u64| ns / 1000;
    let samples: u64 = figures.iter().map(|thread| thread.count).sum();
    let sum: f64 = figures.iter().map(|thread| thread.avg_ns * thread.count as f64).sum();
    format!(
        "n {samples}  min {}  act {}  avg {}  max {} µs",
        us(figures.iter().map(|thread| thread.min_ns).min().unwrap_or(0)),
        us(figures.iter().map(|thread| thread.act_ns).max().unwrap_or(0)),
        us((sum / samples.max(1) as f64) as u64),
        us(figures.iter().map(|thread| thread.max_ns).max().unwrap_or(0)),
    )
}

impl Cyclic {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        output::must_be_writable([self.out.as_deref(), self.histfile.as_deref()])?;
        let bins = self.histogram.map(|us| us as usize);
        let bins = bins.or(self.histfile.as_ref().map(|_| HISTOGRAM_US));
        let plan = Plan {
            loops: self.loops,
            histogram_us: bins,
            marks: self.record.is_some(),
            ..self.cyclic.plan(self.duration)?
        };
        let load =
            self.load.as_deref().map(|load| load::parse(load, None, &self.output)).transpose()?;
        let mut prepared = cyclic::prepare(&plan)?;
        let mut settings = settings::of_run(load.as_ref(), self.duration);
        settings.extend(settings::of_plan(&plan));
        let folder = self.record.as_deref();
        let session = begin_session(folder, &self.recorder, &mut prepared, settings, &self.output)?;
        let load = load.map(|load| load.start()).transpose()?;
        let running = prepared.start();
        let quiet = self.output.hides_progress();
        let looks = Looks::at_own(session.as_ref(), plan.name);
        let (figures, _) = attend(&running, self.duration, quiet, &interrupt, looks);
        let measurement = running.finish();
        drop(load);
        for note in &measurement.notes {
            self.output.remark(note);
        }
        let recorded = session.map(Session::end).transpose()?;
        let kept = self.histfile.as_ref().map_or(Ok(()), |path| write_histfile(path, &measurement));
        self.tell(&measurement, &figures)?;
        kept?;
        if let Some(sealed) = recorded {
            self.output.remark(&format!("next: tardy explain {}", sealed.dir.display()));
        }
        let broken = measurement.broken_by.is_some();
        Ok(if broken { Outcome::BoundExceeded } else { Outcome::Fine })
    }

    fn tell(&self, measurement: &Measurement, figures: &[LiveFigures]) -> Result<(), Failure> {
        if self.output.json {
            return output::write_json(&MeasureDocument::from(measurement), self.out.as_deref());
        }
        let mut out = output::writer(self.out.as_deref());
        let last_ns: Vec<u64> = figures.iter().map(|thread| thread.act_ns).collect();
        let resolution = if self.nsecs { Resolution::Nanos } else { Resolution::Micros };
        write!(out, "{}", cyclictest_lines(measurement, &last_ns, resolution))?;
        if self.histogram.is_some() {
            tardy_stats::histfile::write(&mut out, &measurement.histograms, true)?;
        }
        out.finish()
    }
}

fn write_histfile(path: &Path, measurement: &Measurement) -> Result<(), Failure> {
    let mut text = Vec::new();
    tardy_stats::histfile::write(&mut text, &measurement.histograms, false)?;
    output::write_bytes(path, &text)
}
