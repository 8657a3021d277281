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
                        return print(&caught_rows(caught), CAUGHT_FIGURES);
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
            self.output.remark("no recordings here: make one with tardy run or tardy record");
            return Ok(Outcome::Fine);
        }
        print(&rows(&kept), FIGURES)
    }
}

/// Columns of figures among those of recordings, and of what a watch kept: they stand to the right.
const FIGURES: &[usize] = &[2, 3];
const CAUGHT_FIGURES: &[usize] = &[2];

fn print(rows: &[[String; 6]], figures: &[usize]) -> Result<Outcome, Failure> {
    let mut out = output::writer(None);
    out.write_all(table(rows, figures, Terminal::of_stdout().width).as_bytes())?;
    out.finish()?;
    Ok(Outcome::Fine)
}

/// The one wakeup that a watch kept a recording for, and who made it late.
fn kept_for(trigger: &Trigger) -> String {
    let (late, name) = (duration(trigger.lateness_ns), clean(&trigger.name));
    let cause = clean(&trigger.cause);
    match clean(&trigger.culprit) {
        who if who.is_empty() => format!("kept for {late}, {name}: {cause}"),
        who => format!("kept for {late}, {name}: {cause} by {who}"),
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
        let late = match one.summary() {
            _ if trigger.is_some() => trigger.map_or_else(String::new, kept_for),
            Some(summary) if summary.wakeups > 0 => {
                format!("{}, {}", duration(summary.p99_ns), duration(summary.max_ns))
            }
            Some(_) => "no wakeups".to_owned(),
            None => "not explained yet".to_owned(),
        };
        let size = format!("{:.1} MB", one.bytes() as f64 / 1e6);
        let folder = clean(&one.folder.to_string_lossy());
        rows.push([folder, made, length, size, late, how(one)]);
    }
    rows
}

/// Rows of cells, the first of which are heads.
fn table(rows: &[[String; 6]], figures: &[usize], width: usize) -> String {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let (mut text, no_pad) = (String::new(), String::new());
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let is_figure = figures.contains(&at);
            let (before, after) = if is_figure { (&pad, "") } else { (&no_pad, &*pad) };
            let _ = write!(line, "{before}{cell}{after}  ");
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
