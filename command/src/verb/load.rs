//! `tardy load`: a load, alone.

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::Progress;
use clap::Args;
use std::time::{Duration, Instant};
use tardy_lab::load::{KNOWN, RECIPES, Spec, Work};

/// As wide as lines of help are at most, less what they are set in.
const LINE_COLUMNS: usize = 92;

/// Flags of `tardy load`.
#[derive(Debug, Args)]
pub(crate) struct Load {
    #[arg(value_name = "LOAD|list", help = help("What to run; `list` shows all loads and mixes"))]
    load: String,

    /// Run its threads under SCHED_FIFO with this priority (their timers then expire in hard interrupt context
    /// even on PREEMPT_RT)
    #[arg(long, value_name = "PRIO", num_args = 0..=1, default_missing_value = "1")]
    fifo: Option<u8>,

    /// How long; a bare number is seconds [default: until Ctrl-C]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    output: Output,
}

/// What the help of a flag says that takes loads.
pub(crate) fn help(what: &str) -> String {
    let names: Vec<_> = KNOWN.iter().map(|kind| kind.name).collect();
    format!(
        "{what}. Loads are {}; join several with +, as in storm:40+hackbench+net (`tardy load \
         list` describes each)",
        names.join(", ")
    )
}

/// Reads a load as the user wrote it. Says which loads `fifo` is not for.
pub(crate) fn parse(load: &str, fifo: Option<u8>, output: &Output) -> Result<Spec, Failure> {
    let wrong = |error: tardy_lab::load::SpecError| Failure::usage(error.to_string());
    let spec: Spec = load.parse().map_err(wrong)?;
    let Some(prio) = fifo else { return Ok(spec) };
    let option = format!("fifo={prio}");
    let with_it = spec.with_option(&option).map_err(wrong)?;
    for (before, after) in spec.parts().zip(with_it.parts()) {
        if before == after && !before.contains(&option) {
            output.remark(&format!("note: --fifo has no effect on {before}"));
        }
    }
    Ok(with_it)
}

impl Load {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if self.load == "list" {
            return list(&self.output);
        }
        let spec = parse(&self.load, self.fifo, &self.output)?;
        let interrupt = Interrupt::catch()?;
        let running = spec.start()?;
        let threads = running.tids().len();
        let begun = Instant::now();
        let progress = Progress::new(self.duration, self.output.hides_progress());
        let over = |elapsed| self.duration.is_some_and(|duration| elapsed >= duration);
        let is_over = || running.over_after().is_some();
        while !interrupt.is_asked() && !over(begun.elapsed()) && !is_over() {
            progress.show(begun.elapsed(), in_words(&spec, &running.work(), begun.elapsed()));
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
            crate::output::out!("{spec}: {threads} threads, {seconds:.1} s")?;
            for (load, work) in spec.parts().zip(&work) {
                let done: Vec<_> = work
                    .iter()
                    .map(|Work { unit, count }| {
                        format!("{count} {unit}, {:.0} a second", *count as f64 / seconds)
                    })
                    .collect();
                crate::output::out!("  {load}: {}", done.join("; "))?;
            }
            for note in notes {
                crate::output::say!("note: {note}");
            }
        }
        Ok(Outcome::Fine)
    }
}

/// What each load has done, a second, for a line that changes.
fn in_words(spec: &Spec, work: &[Vec<Work>], elapsed: Duration) -> String {
    // Nothing is nothing, however little time has passed.
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let words = spec.parts().zip(work).map(|(load, work)| {
        let rates = work
            .iter()
            .map(|Work { unit, count }| format!("{} {unit}/s", short(*count as f64 / seconds)));
        format!("{load}: {}", rates.collect::<Vec<_>>().join(" "))
    });
    words.collect::<Vec<_>>().join(" | ")
}

/// Three digits or so.
fn short(number: f64) -> String {
    match number {
        0.0..1e4 => format!("{number:.0}"),
        1e4..1e7 => format!("{:.0}k", number / 1e3),
        1e7..1e10 => format!("{:.0}M", number / 1e6),
        _ => format!("{:.0}G", number / 1e9),
    }
}

/// All loads that there are, and all mixes.
fn list(output: &Output) -> Result<Outcome, Failure> {
    if output.json {
        let loads = KNOWN.iter().map(|kind| {
            serde_json::json!({ "name": kind.name, "usage": kind.usage, "summary": kind.summary })
        });
        let mixes = RECIPES.iter().map(|recipe| {
            serde_json::json!({
                "name": recipe.name, "loads": recipe.loads, "source": recipe.source,
            })
        });
        let document = serde_json::json!({
            "schema": "tardy.loads/1",
            "loads": loads.collect::<Vec<_>>(),
            "mixes": mixes.collect::<Vec<_>>(),
        });
        crate::output::write_json(&document, None)?;
        return Ok(Outcome::Fine);
    }
    let mut lines = vec![];
    let mut entry = |head: String, words: &str| {
        lines.push(head);
        lines.extend(textwrap::wrap(words, LINE_COLUMNS).iter().map(|line| format!("    {line}")));
    };
    for kind in KNOWN {
        entry(kind.usage.to_owned(), kind.summary);
    }
    for recipe in RECIPES {
        entry(format!("mix:{} = {}", recipe.name, recipe.loads), recipe.source);
    }
    lines.push("\nJoin several with +: storm:40+hackbench+net. `none` means no load.".to_owned());
    crate::output::out!("{}", lines.join("\n"))?;
    Ok(Outcome::Fine)
}
