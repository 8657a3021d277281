//! `tardy list`: the recordings that there are.

use crate::confine;
use crate::failure::{Failure, Outcome};
use crate::memory;
use crate::output::{self, Output};
use crate::recordings::{self, Kept};
use crate::shell;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use tardy_recording::Trigger;
use tardy_report::Terminal;
use tardy_report::clean::{clean, clean_cut};
use tardy_report::units::duration;
use textwrap::core::display_width;

/// Flags of `tardy list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Where to look [default: recordings/, and tardy's folder in the temporary directory]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl List {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        // What others' recordings say of themselves is read.
        confine::Kept::for_results(None).alone();
        let kept = match &self.folder {
            Some(folder) => {
                recordings::must_be_there(folder)?;
                std::fs::read_dir(folder).map_err(|error| {
                    Failure::new(format!("cannot look into {}: {error}", folder.display()))
                })?;
                if recordings::is_watched(folder) && !self.output.json {
                    memory::watch_list(folder);
                    let caught = recordings::caught(folder);
                    if !caught.is_empty() {
                        return print(&caught_rows(caught), &CAUGHT);
                    }
                }
                recordings::kept(folder)
            }
            None => recordings::homes().iter().flat_map(|home| recordings::kept(home)).collect(),
        };
        if self.output.json {
            let recordings: Vec<Value> = kept.iter().map(entry).collect();
            let document = json!({ "schema": "tardy.list/1", "recordings": recordings });
            output::write_json(&document, None)?;
            return Ok(Outcome::Fine);
        }
        if kept.is_empty() {
            let place = match &self.folder {
                Some(folder) => folder.display().to_string(),
                None => recordings::homes_in_words(),
            };
            self.output.remark(&format!(
                "no recordings in {place}: make one with tardy run or tardy record"
            ));
            return Ok(Outcome::Fine);
        }
        print(&rows(&kept), &RECORDINGS)
    }
}

/// What a table has in its columns.
struct Columns {
    /// Figures: they stand to the right.
    figures: &'static [usize],
    /// What a narrow terminal can do without, the least needed first.
    dispensable: &'static [usize],
}

const RECORDINGS: Columns = Columns { figures: &[2, 3], dispensable: &[3, 2, 1] };
/// Of what a watch kept.
const CAUGHT: Columns = Columns { figures: &[2], dispensable: &[1] };

/// Between two columns.
const GAP: usize = 2;

/// What is left of the last column at least, which is cut where lines are too long, before another one is left out.
const LAST_COLUMNS_MIN: usize = 16;

fn print(rows: &[[String; 6]], columns: &Columns) -> Result<Outcome, Failure> {
    let mut out = output::writer(None);
    out.write_all(table(rows, columns, Terminal::of_stdout().width).as_bytes())?;
    out.finish()?;
    Ok(Outcome::Fine)
}

/// Who was late in the one wakeup that a watch kept a recording for, and who made it late.
fn kept_for(trigger: &Trigger) -> String {
    let (name, cause) = (clean(&trigger.name), clean(&trigger.cause));
    match clean(&trigger.culprit) {
        who if who.is_empty() => format!("{name}: {cause}"),
        who => format!("{name}: {cause} by {who}"),
    }
}

fn entry(kept: &Kept) -> Value {
    let manifest = kept.manifest.as_ref();
    let summary = kept.summary();
    let summary = summary.as_ref();
    json!({
        "recording": kept.folder.to_string_lossy(),
        "unreadable": manifest.err(),
        "created_unix_s": manifest.map(|it| it.created_unix_s).ok(),
        "command_line": manifest.map(|it| &it.command_line).ok(),
        "source": manifest.map(|it| &it.source).ok(),
        "sealed": manifest.map(|it| it.sealed).ok(),
        "span_ns": span_ns(kept),
        "events": manifest.ok().and_then(|it| it.totals).map(|totals| totals.events),
        "bytes": kept.bytes(),
        "wakeups": summary.map(|summary| summary.wakeups),
        "p99_ns": summary.map(|summary| summary.p99_ns),
        "max_ns": summary.map(|summary| summary.max_ns),
        "kept_for": manifest.ok().and_then(|it| it.trigger.as_ref()),
        "main_cause": summary.map(|summary| &summary.main_cause),
    })
}

fn span_ns(kept: &Kept) -> Option<u64> {
    let totals = kept.manifest.as_ref().ok().filter(|it| it.sealed)?.totals;
    totals.map(|totals| totals.last_ns.saturating_sub(totals.first_ns))
}

/// What a watch kept, the worst first: for whom, and who made it late.
fn caught_rows(caught: Vec<(PathBuf, Trigger)>) -> Vec<[String; 6]> {
    let heads = ["recording", "ran", "late", "thread", "cause", "by"].map(str::to_owned);
    let row = |(path, trigger): (PathBuf, Trigger)| {
        [
            clean(&path.file_name().unwrap_or_default().to_string_lossy()),
            recordings::when(trigger.ran_unix_ns)
                .chars()
                .take("2026-11-22 03:12:45".len())
                .collect(),
            duration(trigger.lateness_ns),
            clean(&trigger.name),
            clean(&trigger.cause),
            clean(&trigger.culprit),
        ]
    };
    [heads].into_iter().chain(caught.into_iter().map(row)).collect()
}

fn rows(kept: &[Kept]) -> Vec<[String; 6]> {
    let zone = crate::zone::local();
    let mut rows =
        vec![["recording", "made", "length", "size", "late: p99, max", "how"].map(str::to_owned)];
    for one in kept {
        let made = Timestamp::from_second(one.created_unix_s() as i64).ok();
        let made = made.filter(|_| one.manifest.is_ok()).map_or_else(String::new, |made| {
            made.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
        });
        let length = match span_ns(one) {
            Some(ns) => format!("{:.1} s", ns as f64 / 1e9),
            None if one.manifest.is_ok() => "cut short".to_owned(),
            None => String::new(),
        };
        let trigger = one.manifest.as_ref().ok().and_then(|it| it.trigger.as_ref());
        let late = match (trigger, one.summary()) {
            (Some(trigger), _) => format!("kept for {}", duration(trigger.lateness_ns)),
            (None, Some(summary)) if summary.wakeups > 0 => {
                format!("{}, {}", duration(summary.p99_ns), duration(summary.max_ns))
            }
            (None, Some(_)) => "no wakeups".to_owned(),
            (None, None) => "not explained yet".to_owned(),
        };
        let size = format!("{:.1} MB", one.bytes() as f64 / 1e6);
        let folder = clean(&one.folder.to_string_lossy());
        let how =
            trigger.map(kept_for).into_iter().chain([how(one)]).collect::<Vec<_>>().join("; ");
        rows.push([folder, made, length, size, late, how]);
    }
    rows
}

/// Rows of cells, the first of which are heads. No line is longer than `width`: what can be done without is left out, then
/// lines are cut.
fn table(rows: &[[String; 6]], columns: &Columns, width: usize) -> String {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(display_width(cell));
        }
    }
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    for least in columns.dispensable {
        let needed = |at: &usize| match *at {
            5 => widths[5].min(LAST_COLUMNS_MIN),
            at => widths[at] + GAP,
        };
        if shown.iter().map(needed).sum::<usize>() > width {
            shown.retain(|at| at != least);
        }
    }
    let (mut text, no_pad) = (String::new(), String::new());
    for row in rows {
        let mut line = String::new();
        for at in shown.iter().copied() {
            let cell = &row[at];
            let pad = " ".repeat(widths[at] - display_width(cell));
            let is_figure = columns.figures.contains(&at);
            let (before, after) = if is_figure { (&pad, "") } else { (&no_pad, &*pad) };
            let _ = write!(line, "{before}{cell}{after}{:GAP$}", "");
        }
        text += &clean_cut(line.trim_end(), width);
        text.push('\n');
    }
    text
}

/// The command line, without the path of the program and what says where to.
fn how(kept: &Kept) -> String {
    let manifest = match &kept.manifest {
        Ok(manifest) => manifest,
        Err(why) => return clean(why),
    };
    let mut words = manifest.command_line.iter().skip(1);
    let mut told = Vec::new();
    while let Some(word) = words.next() {
        if word == "-o" || word == "--out" {
            words.next();
        } else {
            told.push(word.as_str());
        }
    }
    clean(&shell::line(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(folder: &str, how: &str) -> [[String; 6]; 2] {
        [
            ["recording", "made", "length", "size", "late: p99, max", "how"].map(str::to_owned),
            [folder, "2026-11-28 07:44", "10.4 s", "171.5 MB", "90.6 µs, 3.34 ms", how]
                .map(str::to_owned),
        ]
    }

    #[test]
    fn a_narrow_terminal_does_without_what_is_needed_least_and_no_line_wraps() {
        let how = "record --stacks -- ./my-program --periods 1000 --verbose";
        let all = |folder: &str, width| {
            let text = table(&rows(folder, how), &RECORDINGS, width);
            assert!(text.lines().all(|line| display_width(line) <= width), "{width}:\n{text}");
            text
        };
        let wide = all("recordings/run-1", 140);
        assert!(wide.contains("171.5 MB") && wide.contains("--verbose"), "{wide}");
        let narrow = all("recordings/run-1", 80);
        assert!(!narrow.contains("171.5 MB") && !narrow.contains("size"), "{narrow}");
        for part in ["recordings/run-1", "10.4 s", "90.6 µs, 3.34 ms", "record --stacks"] {
            assert!(narrow.contains(part), "no {part}:\n{narrow}");
        }
        let long = all("/tmp/tardy-recordings-65534/a-name-of-some-length", 80);
        assert!(!long.contains("2026") && long.contains("90.6 µs, 3.34 ms"), "{long}");
    }

    #[test]
    fn what_a_watch_kept_takes_no_wider_column_than_others() {
        let trigger = Trigger {
            name: "audio".to_owned(),
            lateness_ns: 628_900,
            cause: "higher_priority".to_owned(),
            culprit: "irq/24-eth0 (1 thread)".to_owned(),
            ..Trigger::default()
        };
        assert_eq!(kept_for(&trigger), "audio: higher_priority by irq/24-eth0 (1 thread)");
        let nobody = Trigger { culprit: String::new(), ..trigger };
        assert_eq!(kept_for(&nobody), "audio: higher_priority");
    }
}
