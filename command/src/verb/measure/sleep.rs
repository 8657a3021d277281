//! `tardy measure sleep`: ways to sleep, side by side.

use crate::arguments::{self, Cpus};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tardy_lab::sleep::{self, Plan, ROUNDS, ROUNDS_MAX};
use tardy_report::json::SleepDocument;
use tardy_report::units::count;
use tardy_report::{Terminal, sleep_text};

/// Rounds with `--full`: as many as the table in "Re: [PATCH] kernel/time: Feedback reply for
/// hr_sleep syscall, a fine-grained sleep service" (Thomas Gleixner, 7 April 2021) was made of.
const ROUNDS_FULL: u64 = 1_000_000;

/// Flags of `tardy measure sleep`.
#[derive(Debug, Args)]
pub(super) struct Sleep {
    /// Requested length of each sleep; a bare number is µs
    #[arg(short, long, value_name = "TIME", default_value = "50us", value_parser = arguments::interval_ns)]
    request: u64,

    /// Sleeps per method [default: 100000]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=ROUNDS_MAX))]
    loops: Option<u64>,

    /// A million sleeps per method
    #[arg(long, conflicts_with = "loops")]
    full: bool,

    /// This way to sleep alone, with each slack that it is measured with, or as results name it:
    /// "nanosleep, slack 1 ns"; may be repeated [default: all]
    #[arg(long = "method", value_name = "NAME")]
    methods: Vec<String>,

    /// Sleep under SCHED_FIFO with this priority, 1–99; real-time threads have no timer slack
    #[arg(short = 'P', long, value_name = "PRIO", value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: Option<u8>,

    /// The CPU to sleep on [default: any]
    #[arg(short, long, value_name = "CPU", value_parser = arguments::cpus)]
    affinity: Option<Cpus>,

    /// Chooses the random order of the methods within each round
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Show the difference of every pair of methods, not only of neighbours by mean
    #[arg(long)]
    pairs: bool,

    /// Allow all idle states, instead of holding /dev/cpu_dma_latency at 0
    #[arg(long)]
    laptop: bool,

    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl Sleep {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        output::must_be_writable([self.out.as_deref()])?;
        let plan = self.plan()?;
        let running = sleep::start(&plan)?;
        self.attend(&running, plan.rounds, &interrupt);
        let measurement = running.finish()?;
        for note in &measurement.notes {
            self.output.remark(note);
        }
        let comparison = sleep::compare(&measurement);
        if self.output.json {
            let document = SleepDocument::new(&measurement, &comparison);
            output::write_json(&document, self.out.as_deref())?;
        } else {
            let terminal =
                if self.out.is_some() { Terminal::default() } else { Terminal::of_stdout() };
            let mut out = output::writer(self.out.as_deref());
            sleep_text(&measurement, &comparison, self.pairs, terminal, &mut out)?;
            out.finish()?;
        }
        Ok(Outcome::Fine)
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let cpu = match &self.affinity {
            None => None,
            Some(Cpus(cpus)) => match cpus[..] {
                [cpu] => Some(cpu),
                _ => {
                    return Err(Failure::usage(
                        "the sleeping thread runs on one CPU: give -a one \
                    CPU",
                    ));
                }
            },
        };
        let default = Plan::default();
        let rounds = if self.full { ROUNDS_FULL } else { self.loops.unwrap_or(ROUNDS) };
        Ok(Plan {
            request_ns: self.request,
            rounds,
            methods: self.methods.clone(),
            fifo_prio: self.priority,
            cpu,
            seed: self.seed,
            dma_latency_us: if self.laptop { None } else { default.dma_latency_us },
            ..default
        })
    }

    /// Watches until it ends by itself or the user ends it.
    fn attend(&self, running: &sleep::Running, rounds: u64, interrupt: &Interrupt) {
        let begun = Instant::now();
        let progress = Progress::new(None, self.output.hides_progress());
        while !running.wait(Duration::from_millis(100)) {
            if interrupt.is_asked() {
                running.stop();
            }
            let done = running.rounds();
            progress.show(begun.elapsed(), in_words(done, rounds, begun.elapsed()));
        }
    }
}

fn in_words(done: u64, rounds: u64, elapsed: Duration) -> String {
    let share = done as f64 / rounds as f64;
    let left = if done > 0 {
        format!(", {:.0} s left", elapsed.as_secs_f64() / share * (1.0 - share))
    } else {
        String::new()
    };
    format!("{:3.0} %  {} of {} rounds{left}", share * 100.0, count(done), count(rounds))
}
