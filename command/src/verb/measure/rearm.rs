//! `tardy measure rearm`: ways to move a timeout, side by side.

use super::programmed;
use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::session::Session;
use crate::verb::record::RecorderFlags;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tardy_host::Host;
use tardy_lab::rearm::{self, KNOWN, Pace, Plan, RearmMeasurement};
use tardy_recording::Recording;
use tardy_report::json::RearmDocument;
use tardy_report::{DeviceSeen, Terminal, rearm_text};

/// Flags of `tardy measure rearm`.
#[derive(Debug, Args)]
pub(super) struct Rearm {
    /// Time from the last move to the expiry; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "300us", value_parser = arguments::interval_ns)]
    timeout: u64,

    /// Time from one move to the next; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = arguments::interval_ns)]
    every: u64,

    /// How long the timer is moved, on average, before a pause in which it expires; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = arguments::interval_ns)]
    pause_after: u64,

    /// Duration of all methods together, of which a quarter is recorded; a bare number is seconds
    #[arg(short = 'D', long, default_value = "18s", value_parser = arguments::duration)]
    duration: Duration,

    /// What the moving thread does between moves
    #[arg(long, value_enum, default_value_t = PaceFlag::Spin)]
    pace: PaceFlag,

    /// Chooses the pauses, and the order of the methods
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Keep the recording by which programmings of the clock-event device are counted, in this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    #[command(flatten)]
    recorder: RecorderFlags,

    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// A pace on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaceFlag {
    Spin,
    Sleep,
}

/// How much of the time the moves are recorded. That makes them dearer, so what they cost is measured
/// without it, before.
const RECORDED_SHARE: u32 = 4;

impl Rearm {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        output::must_be_writable([self.out.as_deref()])?;
        let recorded = self.duration / RECORDED_SHARE;
        let measurement = self.measure(self.duration.saturating_sub(recorded), &interrupt)?;
        let device = if interrupt.is_asked() {
            Err("the measurement ended before the recording began".to_owned())
        } else {
            self.record(recorded, &interrupt).map_err(|failure| failure.to_string())
        };
        if self.output.json {
            output::write_json(&RearmDocument::new(&measurement, &device), self.out.as_deref())?;
        } else {
            let terminal =
                if self.out.is_some() { Terminal::default() } else { Terminal::of_stdout() };
            let mut out = output::writer(self.out.as_deref());
            rearm_text(&measurement, &device, terminal, &mut out)?;
            out.finish()?;
        }
        Ok(Outcome::Fine)
    }

    fn measure(
        &self,
        duration: Duration,
        interrupt: &Interrupt,
    ) -> Result<RearmMeasurement, Failure> {
        let plan = Plan {
            timeout_ns: self.timeout,
            every_ns: self.every,
            pause_after_ns: self.pause_after,
            duration: duration / KNOWN.len() as u32,
            pace: match self.pace {
                PaceFlag::Spin => Pace::Spin,
                PaceFlag::Sleep => Pace::Sleep,
            },
            seed: self.seed,
        };
        let running = rearm::start(&plan)?;
        let begun = Instant::now();
        let progress = Progress::new(Some(duration), self.output.hides_progress());
        while !running.wait(Duration::from_millis(100)) {
            if interrupt.is_asked() {
                running.stop();
            }
            progress.show(begun.elapsed(), String::new());
        }
        drop(progress);
        Ok(running.finish()?)
    }

    /// Moves once more, and looks at what the kernel's timers did meanwhile.
    fn record(&self, duration: Duration, interrupt: &Interrupt) -> Result<DeviceSeen, Failure> {
        let temporary = tempfile::tempdir_in(tardy_files::owner::temporary_folder())?;
        let folder = self.record.clone().unwrap_or_else(|| temporary.path().join("rearm"));
        let session = Session::begin(&Host::probe(), self.recorder.request(folder))?;
        let measured = self.measure(duration, interrupt);
        let sealed = session.end()?;
        programmed::seen(&mut Recording::open(&sealed.dir)?, &measured?)
    }
}
