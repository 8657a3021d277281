//! `tardy vm run`: a command in a guest whose time is counted.

mod alike;
mod figures;

use crate::failure::{Failure, Outcome};
use crate::guest::{Extra, Finished, GuestFlags, Ready, recorded, recordings_below};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use alike::Alike;
use clap::Args;
use figures::Figures;
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tardy_report::units;
use tardy_vm::{Fate, Machine, Ran};

/// The most runs of one command.
const RUNS_MAX: u32 = 1000;

/// Flags of `tardy vm run`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy vm run -- tardy measure cyclic -P98 -D 10s --load storm:10\n\
    tardy vm run --kernel debian-rt-armv7 -- tardy measure cyclic -t1 -P98 -D 10s --load storm:10\n\
    tardy vm run --no-record --repeat 3 -- cyclictest -q -N -p98 -i1000 -l10000\n\
    tardy vm run --no-record --with busybox --with trace-cmd -- sh -c 'trace-cmd record -e sched …'")]
pub(crate) struct Run {
    #[command(flatten)]
    guest: GuestFlags,

    /// Seed of the guest's random numbers and timer phases; {seed} in the command is replaced by it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Run it this many times, and check whether all runs were identical
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(RUNS_MAX)))]
    repeat: u32,

    /// Give each run of --repeat its own seed: --seed and those after it
    #[arg(long)]
    vary: bool,

    /// Do not record: figures without the cost of recording
    #[arg(long)]
    no_record: bool,

    /// Also copy this program into the guest (repeatable)
    #[arg(long, value_name = "PROGRAM")]
    with: Vec<String>,

    /// Give the guest this file, or device, as its disk: /dev/vda there. What it writes stays; with a disk, runs
    /// are not identical
    #[arg(long, value_name = "FILE", conflicts_with = "repeat")]
    disk: Option<PathBuf>,

    /// The folder for the guest's files and the recording [default: recordings/vm-N]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    /// The command; `tardy` is this program. What it writes to its current folder is copied back
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// `tardy vm run --json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    kernel: &'a str,
    arch: &'a str,
    cpus: u32,
    instruction_ns: u64,
    memory_mib: u32,
    append: &'a [String],
    command: &'a [String],
    folder: &'a Path,
    runs: Vec<RunOf<'a>>,
    /// Whether all runs of the same seed said and recorded the same; with more than one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<bool>,
    /// Where the first difference is.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a str>,
}

/// One run of it.
#[derive(Debug, Serialize)]
struct RunOf<'a> {
    seed: u64,
    status: Option<i32>,
    signal: Option<i32>,
    release: &'a str,
    qemu: &'a str,
    up_ns: Option<u64>,
    ran_ns: Option<u64>,
    took_s: f64,
    recordings: Vec<PathBuf>,
    /// What the command printed, where that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    /// What it printed, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
}

/// A run that is over.
struct Over {
    seed: u64,
    folder: PathBuf,
    finished: Finished,
}

impl Run {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let mut command =
            if self.no_record { self.command.clone() } else { recorded(&self.command) };
        if self.repeat > 1 && !self.output.json {
            figures::ask_for(&mut command);
        }
        let folder = output::recording_folder(self.out.as_deref(), "vm")?;
        let interrupt = Interrupt::catch()?;
        let mut runs: Vec<Over> = vec![];
        let mut ready = None;
        for number in 1..=self.repeat {
            let seed = self.seed + if self.vary { u64::from(number) - 1 } else { 0 };
            let ready = ready.insert(self.guest.ready(
                &command,
                Extra { programs: &self.with, files: vec![], disk: self.disk.as_deref() },
                seed,
            )?);
            let place = if self.repeat == 1 {
                folder.clone()
            } else {
                folder.join(format!("run-{number}"))
            };
            let is_through = self.repeat == 1 && !self.output.json;
            let quiet = self.output.hides_progress();
            let finished = ready.run(&place, is_through, quiet, &interrupt)?;
            let is_over = interrupt.is_asked();
            finished.keep(&place)?;
            let failed = !matches!(finished.ran.fate, Fate::Ended { status: Some(0 | 3), .. });
            if failed && !is_through {
                output::say!("{}", String::from_utf8_lossy(&finished.stderr).trim_end());
            }
            runs.push(Over { seed, folder: place, finished });
            if is_over || failed {
                break;
            }
            if self.repeat > 1 {
                let over = runs.last().expect("one was added");
                self.output.remark(&format!("run {number}: {}", in_words(ready, over)));
            }
        }
        let (Some(ready), Some(last)) = (ready, runs.last()) else {
            return Err(Failure::usage("--repeat is at least 1"));
        };
        let alike = (runs.len() > 1 && !self.vary).then(|| Alike::of(&runs)).transpose()?;
        if self.output.json {
            output::write_json(&Document::of(&ready, &folder, &runs, alike.as_ref()), None)?;
        } else {
            self.tell(&ready, &folder, &runs, alike.as_ref())?;
        }
        last.finished.outcome()
    }

    fn tell(
        &self,
        ready: &Ready,
        folder: &Path,
        runs: &[Over],
        alike: Option<&Alike>,
    ) -> Result<(), Failure> {
        let mut out = output::writer(None);
        if runs.len() > 1 {
            match Figures::of(runs) {
                Some(figures) => write!(out, "{figures}")?,
                None => {
                    for over in runs {
                        writeln!(out, "seed {}:", over.seed)?;
                        out.write_all(&over.finished.stdout)?;
                    }
                }
            }
        }
        if let Some(alike) = alike {
            writeln!(out, "{alike}")?;
        }
        out.finish()?;
        if let [over] = runs {
            self.output.remark(&in_words(ready, over));
        }
        let found: Vec<PathBuf> =
            runs.iter().flat_map(|over| recordings_below(&over.folder)).collect();
        match found.as_slice() {
            [] => self.output.remark(&format!("in {}", folder.display())),
            [first, ..] => {
                self.output.remark(&format!("next: tardy explain {}", first.display()));
            }
        }
        Ok(())
    }
}

impl<'a> Document<'a> {
    fn of(ready: &'a Ready, folder: &'a Path, runs: &'a [Over], alike: Option<&'a Alike>) -> Self {
        let Machine { arch, cpus, mips, memory_mib, ref append, .. } = *ready.machine();
        Self {
            schema: "tardy.vm-run/1",
            kernel: &ready.kernel,
            arch: arch.name(),
            cpus,
            instruction_ns: mips.instruction_ns(),
            memory_mib,
            append,
            command: ready.command(),
            folder,
            runs: runs.iter().map(RunOf::from).collect(),
            alike: alike.map(Alike::is_alike),
            difference: alike.and_then(Alike::difference),
        }
    }
}

impl<'a> From<&'a Over> for RunOf<'a> {
    fn from(over: &'a Over) -> Self {
        let Ran { ref fate, up_ns, ran_ns, took, ref release, ref qemu } = over.finished.ran;
        let (status, signal) = match fate {
            Fate::Ended { status, signal } => (*status, *signal),
            _ => (None, None),
        };
        let said = String::from_utf8_lossy(&over.finished.stdout).into_owned();
        let result = RawValue::from_string(said.trim().to_owned()).ok();
        Self {
            seed: over.seed,
            status,
            signal,
            release,
            qemu,
            up_ns,
            ran_ns,
            took_s: took.as_secs_f64(),
            recordings: recordings_below(&over.folder),
            stdout: result.is_none().then_some(said),
            result,
        }
    }
}

/// What a run was, in a line.
fn in_words(ready: &Ready, over: &Over) -> String {
    let Ran { up_ns, ran_ns, took, release, .. } = &over.finished.ran;
    let time = |ns: Option<u64>| ns.map_or("?".to_owned(), units::duration);
    format!(
        "{} ({release}), {} CPU{}, {} MIPS, seed {}: {} of the guest's time after {} of booting, in {:.1} s",
        ready.kernel,
        ready.machine().cpus,
        if ready.machine().cpus == 1 { "" } else { "s" },
        ready.machine().mips,
        over.seed,
        time(*ran_ns),
        time(*up_ns),
        took.as_secs_f64()
    )
}
