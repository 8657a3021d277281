//! `tardy measure pi`: what a lock costs a thread of high priority.

use super::boosts;
use crate::arguments::{self, Cpus};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::session::{Request, Session};
use crate::verb::record::RecorderFlags;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tardy_host::Host;
use tardy_lab::pi::{
    self, Ended, LockProtocol, PRIO, PiMeasurement, Plan, ROUNDS, TRAINING_ROUNDS,
};
use tardy_recording::{Recording, Sealed};
use tardy_report::json::PiDocument;
use tardy_report::units::count;
use tardy_report::{BoostsSeen, Terminal, pi_text};

/// Flags of `tardy measure pi`.
#[derive(Debug, Args)]
pub(super) struct Pi {
    /// What the lock does to the priority of its owner
    #[arg(long, value_enum, default_value_t = ProtocolFlag::Inherit)]
    protocol: ProtocolFlag,

    /// Use a robust lock, which survives the death of its owner
    #[arg(long)]
    robust: bool,

    /// The CPU that High and Busy share [default: the last one]
    #[arg(short, long, value_name = "CPU", value_parser = arguments::cpus)]
    affinity: Option<Cpus>,

    /// High's priority under SCHED_FIFO; Busy's is one below, the watchdog's one above
    #[arg(short = 'P', long, value_name = "PRIO", default_value_t = PRIO, value_parser = clap::value_parser!(u8).range(2..=98))]
    priority: u8,

    /// How long High and Low are busy with the lock; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "1001ns", value_parser = arguments::interval_ns)]
    locked: u64,

    /// How long they are busy without it; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "1001ns", value_parser = arguments::interval_ns)]
    free: u64,

    /// End a load at the first clock reading past its length, instead of making it exactly as long as requested
    #[arg(long)]
    uncalibrated: bool,

    /// Rounds to measure [default: 1000000; with -D, as many as fit]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    loops: Option<u64>,

    /// Warm-up rounds before them, which are not counted
    #[arg(long, value_name = "N", default_value_t = TRAINING_ROUNDS)]
    training: u64,

    /// How long, at most; a bare number is seconds
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    /// Print a histogram of whole µs up to this after the end: time to lock, round less loads
    #[arg(short = 'H', long, value_name = "US", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    histogram: Option<u32>,

    /// Write the histogram to this file, in cyclictest's format
    #[arg(long, value_name = "FILE")]
    histfile: Option<PathBuf>,

    /// Also record into this folder, and count how often each lock call lent High's priority
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    #[command(flatten)]
    recorder: RecorderFlags,

    /// Allow all idle states, instead of holding /dev/cpu_dma_latency at 0
    #[arg(long)]
    laptop: bool,

    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// A protocol on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolFlag {
    /// The owner gets the priority of the waiting thread
    Inherit,
    /// Nothing
    None,
    /// The owner has High's priority; Low then has the lowest real-time priority
    Protect,
}

/// The histogram's size where a file is asked for without one.
const HISTOGRAM_US: usize = 1000;

impl Pi {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        output::must_be_writable([self.out.as_deref(), self.histfile.as_deref()])?;
        let plan = self.plan()?;
        let session = self.begin_session()?;
        let measured = self.measure(&plan, &interrupt);
        // Whatever came of the measurement: what was recorded is kept.
        let sealed = session.map(Session::end).transpose();
        let (measurement, sealed) = (measured?, sealed?);
        let boosts = boosts(sealed.as_ref(), &measurement)?;
        let kept = match (&self.histfile, &measurement.histograms) {
            (Some(path), Some(histograms)) => write_histfile(path, histograms),
            _ => Ok(()),
        };
        self.tell(&measurement, &boosts)?;
        kept?;
        if let Some(sealed) = sealed {
            let dir = sealed.dir.display();
            self.output.remark(&format!("next: tardy explain --comm pi-high {dir}"));
        }
        let was_stuck = measurement.ended == Ended::Stalled;
        Ok(if was_stuck { Outcome::BoundExceeded } else { Outcome::Fine })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let cpu = match &self.affinity {
            None => None,
            Some(Cpus(cpus)) => match cpus[..] {
                [cpu] => Some(cpu),
                _ => return Err(Failure::usage("High and Busy share one CPU: give -a one CPU")),
            },
        };
        let default = Plan::default();
        let bins = self.histogram.map(|us| us as usize);
        Ok(Plan {
            protocol: match self.protocol {
                ProtocolFlag::Inherit => LockProtocol::Inherit,
                ProtocolFlag::None => LockProtocol::None,
                ProtocolFlag::Protect => LockProtocol::Protect,
            },
            robust: self.robust,
            cpu,
            prio: self.priority,
            locked_ns: self.locked,
            free_ns: self.free,
            training_rounds: self.training,
            rounds: match (self.loops, self.duration) {
                (None, Some(_)) => None,
                (loops, _) => Some(loops.unwrap_or(ROUNDS)),
            },
            duration: self.duration,
            calibrated: !self.uncalibrated,
            histogram_us: bins.or(self.histfile.as_ref().map(|_| HISTOGRAM_US)),
            dma_latency_us: if self.laptop { None } else { default.dma_latency_us },
            ..default
        })
    }

    fn begin_session(&self) -> Result<Option<Session>, Failure> {
        let Some(folder) = &self.record else { return Ok(None) };
        let request = Request {
            watched_processes: vec![std::process::id()],
            ..self.recorder.request(folder.clone())
        };
        let session = Session::begin(&Host::probe(), request)?;
        for note in &session.notes {
            self.output.remark(note);
        }
        Ok(Some(session))
    }

    fn measure(&self, plan: &Plan, interrupt: &Interrupt) -> Result<PiMeasurement, Failure> {
        let asked = interrupt.clone();
        let running = pi::start(plan, move || asked.is_asked())?;
        let begun = Instant::now();
        let progress = Progress::new(self.duration, self.output.hides_progress());
        while !running.wait(Duration::from_millis(100)) {
            let words = match plan.rounds {
                Some(rounds) => format!("{} of {} rounds", count(running.rounds()), count(rounds)),
                None => format!("{} rounds", count(running.rounds())),
            };
            progress.show(begun.elapsed(), words);
        }
        drop(progress);
        Ok(running.finish()?)
    }

    fn tell(
        &self,
        measurement: &PiMeasurement,
        boosts: &Result<BoostsSeen, String>,
    ) -> Result<(), Failure> {
        if self.output.json {
            return output::write_json(&PiDocument::new(measurement, boosts), self.out.as_deref());
        }
        let terminal = if self.out.is_some() { Terminal::default() } else { Terminal::of_stdout() };
        let mut out = output::writer(self.out.as_deref());
        pi_text(measurement, boosts, terminal, &mut out)?;
        if let (Some(_), Some(histograms)) = (self.histogram, &measurement.histograms) {
            writeln!(out)?;
            tardy_stats::histfile::write(&mut out, histograms, true)?;
        }
        out.finish()
    }
}

/// What was recorded of High's lock calls, or how to get that.
fn boosts(
    sealed: Option<&Sealed>,
    measurement: &PiMeasurement,
) -> Result<Result<BoostsSeen, String>, Failure> {
    match sealed {
        Some(sealed) => Ok(Ok(boosts::seen(&mut Recording::open(&sealed.dir)?, measurement)?)),
        None => Ok(Err("it takes the kernel's events; --record DIR records them".to_owned())),
    }
}

fn write_histfile(path: &Path, histograms: &[tardy_stats::Histogram]) -> Result<(), Failure> {
    let mut text = Vec::new();
    tardy_stats::histfile::write(&mut text, histograms, false)?;
    output::write_bytes(path, &text)
}
