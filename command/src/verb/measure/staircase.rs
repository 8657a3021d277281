//! `tardy measure staircase`: threads of rising period and falling priority on one CPU.

use super::cyclic::{attend, begin_session};
use crate::arguments::{self, Cpus};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::session::settings::Looks;
use crate::session::{Session, settings};
use crate::verb::load;
use crate::verb::record::RecorderFlags;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use tardy_lab::cyclic::{self, Plan};
use tardy_lab::staircase::{self, REPORTED_THREADS};
use tardy_report::json::StaircaseDocument;
use tardy_report::{Resolution, StaircaseRun, Terminal, staircase_text};

/// Flags of `tardy measure staircase`.
#[derive(Debug, Args)]
pub(super) struct Staircase {
    /// Threads
    #[arg(short, long, value_name = "N", default_value_t = REPORTED_THREADS)]
    threads: usize,

    /// Real-time priority of the first thread, 1–99; each further thread's is lower by 1
    #[arg(short = 'P', long, value_name = "PRIO", default_value_t = 60, value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: u8,

    /// Period of the first thread; the second's is twice as long, and so on; a bare number is µs
    #[arg(short, long, value_name = "TIME", default_value = "1ms", value_parser = arguments::interval_ns)]
    interval: u64,

    /// The CPU of all threads [default: the first one]
    #[arg(short, long, value_name = "CPU", value_parser = arguments::cpus)]
    affinity: Option<Cpus>,

    /// Levels at which their timers expire, 0 to 3, first thread first: 3,2,2,1,1 (the kernel `policies`)
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(..=3))]
    timer_levels: Vec<u8>,

    /// How long; a bare number is seconds [default: until Ctrl-C]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    /// End at the first deviation above this; a bare number is µs
    #[arg(short, long, value_name = "TIME", value_parser = arguments::interval_ns)]
    break_over: Option<u64>,

    /// A load to run meanwhile: storm:40. To keep it on the same CPU, start tardy under `taskset -c CPU`
    #[arg(long, value_name = "LOAD")]
    load: Option<String>,

    /// Also show the figures of the experiment of 2005
    #[arg(long)]
    reference: bool,

    /// Allow all idle states, instead of holding /dev/cpu_dma_latency at 0
    #[arg(long)]
    laptop: bool,

    /// Also record, into this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    #[command(flatten)]
    recorder: RecorderFlags,

    /// Show ns instead of µs
    #[arg(short = 'N', long)]
    nsecs: bool,

    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl Staircase {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        output::must_be_writable([self.out.as_deref()])?;
        let plan = self.plan()?;
        let load =
            self.load.as_deref().map(|load| load::parse(load, None, &self.output)).transpose()?;
        let mut prepared = cyclic::prepare(&plan)?;
        let mut settings = settings::of_run(load.as_ref(), self.duration);
        settings.extend(settings::of_plan(&plan));
        let folder = self.record.as_deref();
        let session = begin_session(folder, &self.recorder, &mut prepared, settings, &self.output)?;
        let shown = load.as_ref().filter(|load| !load.is_none()).map(ToString::to_string);
        let load = load.map(|load| load.start()).transpose()?;
        let running = prepared.start();
        let quiet = self.output.hides_progress();
        let looks = Looks::at_own(session.as_ref(), plan.name);
        let (_, took) = attend(&running, self.duration, quiet, &interrupt, looks);
        let measurement = running.finish();
        drop(load);
        for note in &measurement.notes {
            self.output.remark(note);
        }
        let recorded = session.map(Session::end).transpose()?;
        let run = StaircaseRun { load: shown.as_deref(), took, reference: self.reference };
        if self.output.json {
            let document = StaircaseDocument::new(&measurement, run);
            output::write_json(&document, self.out.as_deref())?;
        } else {
            let terminal =
                if self.out.is_some() { Terminal::default() } else { Terminal::of_stdout() };
            let resolution = if self.nsecs { Resolution::Nanos } else { Resolution::Micros };
            let mut out = output::writer(self.out.as_deref());
            staircase_text(&measurement, run, resolution, terminal, &mut out)?;
            out.finish()?;
        }
        if let Some(sealed) = recorded {
            self.output.remark(&format!("next: tardy explain {}", sealed.dir.display()));
        }
        let broken = measurement.broken_by.is_some();
        Ok(if broken { Outcome::BoundExceeded } else { Outcome::Fine })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let cpu = match self.affinity.as_ref().map(|Cpus(cpus)| &cpus[..]) {
            None => None,
            Some(&[cpu]) => Some(cpu),
            Some(_) => {
                return Err(Failure::usage(
                    "all threads of the staircase run on one CPU: give -a \
                    one CPU",
                ));
            }
        };
        let shape = staircase::Staircase {
            threads: self.threads,
            period_ns: self.interval,
            prio: self.priority,
            cpu,
            timer_levels: self.timer_levels.clone(),
        };
        let plan = shape.plan();
        Ok(Plan {
            duration: self.duration,
            break_over_ns: self.break_over,
            dma_latency_us: if self.laptop { None } else { plan.dma_latency_us },
            marks: self.record.is_some(),
            ..plan
        })
    }
}
