//! `tardy load`: a load, alone.

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::Progress;
use clap::Args;
use std::time::{Duration, Instant};
use tardy_lab::load::{Spec, Work};

/// Flags of `tardy load`.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// What runs: storm:N (N threads that sleep 0–1 ms again and again); loads join with +
    #[arg(value_name = "LOAD")]
    load: String,

    /// Run its threads under SCHED_FIFO at this priority (their timers then expire in hard
    /// interrupt context even on PREEMPT_RT)
    #[arg(long, value_name = "PRIO", num_args = 0..=1, default_missing_value = "1")]
    fifo: Option<u8>,

    /// How long; without it until Ctrl-C
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    output: Output,
}

/// Reads a load as the user wrote it.
pub(crate) fn parse(load: &str, fifo: Option<u8>) -> Result<Spec, Failure> {
    let wrong = |error: tardy_lab::load::SpecError| Failure::usage(error.to_string());
    let spec: Spec = load.parse().map_err(wrong)?;
    match fifo {
        None => Ok(spec),
        Some(prio) => spec.with_option(&format!("fifo={prio}")).map_err(wrong),
    }
}

impl Load {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let spec = parse(&self.load, self.fifo)?;
        let interrupt = Interrupt::catch()?;
        let running = spec.start()?;
        let threads = running.tids().len();
        let begun = Instant::now();
        let progress = Progress::new(self.duration, self.output.quiet || self.output.json);
        let over = |elapsed| self.duration.is_some_and(|duration| elapsed >= duration);
        let is_over = || running.over_after().is_some();
        while !interrupt.is_asked() && !over(begun.elapsed()) && !is_over() {
            progress.show(begun.elapsed(), in_words(&spec, &running.work()));
            std::thread::sleep(Duration::from_millis(100));
        }
        let seconds = running.over_after().unwrap_or(begun.elapsed()).as_secs_f64();
        let notes = running.notes();
        let work = running.stop();
        drop(progress);
        if self.output.json {
            let work = spec.parts().zip(&work).map(|(load, work)| {
                let done: Vec<_> = work
                    .iter()
                    .map(|work| serde_json::json!({ "unit": work.unit, "count": work.count }))
                    .collect();
                serde_json::json!({ "load": load, "done": done })
            });
            let document = serde_json::json!({
                "schema": "tardy.load/1",
                "load": spec.to_string(),
                "threads": threads,
                "seconds": seconds,
                "work": work.collect::<Vec<_>>(),
                "notes": notes,
            });
            crate::output::write_json(&document, None)?;
        } else {
            println!("{spec}: {threads} threads, {seconds:.1} s");
            for (load, work) in spec.parts().zip(&work) {
                for Work { unit, count } in work {
                    println!("  {load}: {count} {unit}, {:.0} a second", *count as f64 / seconds);
                }
            }
            for note in notes {
                eprintln!("note: {note}");
            }
        }
        Ok(Outcome::Fine)
    }
}

fn in_words(spec: &Spec, work: &[Vec<Work>]) -> String {
    let words = spec.parts().zip(work).flat_map(|(load, work)| {
        work.iter().map(move |Work { unit, count }| format!("{load}: {count} {unit}"))
    });
    words.collect::<Vec<_>>().join(", ")
}
