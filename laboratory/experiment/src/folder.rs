//! An experiment's folder: what was asked, on what, and the blocks done so far.
//!
//! `experiment.toml` is the experiment as it runs, `run.json` what was chosen and on which machine,
//! `blocks.jsonl` a line per block, each with a checksum and on disk before the next block begins. A
//! line that a crash cut short is passed over and its block measured again.

mod line;

use crate::schedule::{Slot, schedule};
use crate::{Block, Experiment, ExperimentError, Results, Run, fitness};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use tardy_files::{Access, Folder as Held};

const EXPERIMENT: &str = "experiment.toml";
const RUN: &str = "run.json";
const BLOCKS: &str = "blocks.jsonl";
const SCHEMA: &str = "tardy.experiment.run/1";

/// The most bytes of `experiment.toml` and `run.json` that are read.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 20;

/// The most bytes of one block: 64 threads with 50,000 distinct values each are 40 MB.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// `run.json`.
#[derive(Serialize, Deserialize)]
struct Kept {
    schema: String,
    #[serde(flatten)]
    run: Run,
}

/// A folder, open for reading, or for one run that adds to it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    experiment: Experiment,
    run: Run,
    blocks: Vec<Block>,
    /// What was found wrong while reading.
    notes: Vec<String>,
    /// Where the next block is written, and the lock on the folder; `None` where it is only read.
    out: Option<File>,
}

impl Folder {
    /// Whether there is an experiment in `path`.
    pub fn is_one(path: &Path) -> bool {
        Held::open(path).is_ok_and(|held| held.has_file(RUN) && held.has_file(EXPERIMENT))
    }

    /// Begins a run in a new folder, or in an empty one.
    ///
    /// # Errors
    /// Where it cannot be made, or has something in it.
    pub(crate) fn create(
        path: &Path,
        experiment: &Experiment,
        run: Run,
    ) -> Result<Self, ExperimentError> {
        let wrong = |error| ExperimentError::write(path, &error);
        let held = Held::make(path, Access::Private).map_err(wrong)?;
        if !held.is_empty().map_err(wrong)? {
            return Err(ExperimentError::NotEmpty { path: path.to_owned() });
        }
        let write = |name: &str, text: &[u8]| held.replace(name, text, Access::Private);
        write(EXPERIMENT, experiment.to_toml().as_bytes()).map_err(wrong)?;
        // Last: with it the folder is one.
        let text = run_text(&run).map_err(wrong)?;
        write(RUN, &text).map_err(wrong)?;
        let out = open_out(&held)?;
        Ok(Self {
            path: path.to_owned(),
            experiment: experiment.clone(),
            run,
            blocks: vec![],
            notes: vec![],
            out: Some(out),
        })
    }

    /// Keeps in which guest it ran: the flags that choose it again.
    ///
    /// # Errors
    /// Where it is no experiment's folder, or cannot be read or written.
    pub fn keep_guest(path: &Path, flags: &str) -> Result<(), ExperimentError> {
        let run = Run { guest: flags.to_owned(), ..Self::open(path)?.run };
        let wrong = |error| ExperimentError::write(path, &error);
        let text = run_text(&run).map_err(wrong)?;
        let held = Held::open(path).map_err(wrong)?;
        held.replace(RUN, &text, Access::Private).map_err(wrong)
    }

    /// Opens what there is, to read it.
    ///
    /// # Errors
    /// Where it is no experiment's folder, or cannot be read. Blocks that are broken are passed over,
    /// and the results' notes say so.
    pub fn open(path: &Path) -> Result<Self, ExperimentError> {
        let experiment = Experiment::read(&path.join(EXPERIMENT))?;
        let run_path = path.join(RUN);
        let text = read_text(&run_path)?;
        let Kept { schema, run } = serde_json::from_str(&text)
            .map_err(|error| ExperimentError::garbled(&run_path, error.to_string()))?;
        if schema != SCHEMA {
            let why = format!("its schema is {schema:?}, this program reads {SCHEMA:?}");
            return Err(ExperimentError::garbled(&run_path, why));
        }
        let mut folder = Self {
            path: path.to_owned(),
            experiment,
            run,
            blocks: vec![],
            notes: vec![],
            out: None,
        };
        folder.read_blocks()?;
        Ok(folder)
    }

    /// Opens it to go on where it ended.
    ///
    /// # Errors
    /// As [`Folder::open`], and where another process is at it.
    pub(crate) fn resume(path: &Path) -> Result<Self, ExperimentError> {
        let held = Held::open(path).map_err(|error| ExperimentError::write(path, &error))?;
        let out = open_out(&held)?;
        let mut folder = Self::open(path)?;
        end_last_line(&out).map_err(|error| ExperimentError::write(path, &error))?;
        folder.out = Some(out);
        Ok(folder)
    }

    fn read_blocks(&mut self) -> Result<(), ExperimentError> {
        let path = self.path.join(BLOCKS);
        let file = match Held::open(&self.path).and_then(|held| held.file(BLOCKS)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ExperimentError::read(&path, &error)),
        };
        let mut input = BufReader::new(file);
        let slots = self.slots();
        let mut seen = vec![false; slots.len()];
        for number in 1usize.. {
            let mut text = Vec::new();
            let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut text);
            if read.map_err(|error| ExperimentError::read(&path, &error))? == 0 {
                break;
            }
            let is_cut = text.last() != Some(&b'\n');
            match line::read(&text, &self.experiment, &slots) {
                Ok(block) if seen[block.index] => {
                    self.notes.push(format!("Line {number} of {BLOCKS} repeats a block."));
                }
                Ok(block) => {
                    seen[block.index] = true;
                    self.blocks.push(block);
                }
                Err(why) => self.notes.push(format!(
                    "Line {number} of {BLOCKS} was left out: {}{why}.",
                    if is_cut { "it is cut short; " } else { "" }
                )),
            }
            if is_cut && text.len() as u64 == LINE_BYTES_MAX {
                self.notes.push(format!("{BLOCKS} was not read beyond line {number}."));
                break;
            }
        }
        self.blocks.sort_by_key(|block| block.index);
        Ok(())
    }

    /// All blocks that there are to be.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let is_left_out =
            |name: &str| self.run.left_out.iter().any(|(left_out, _)| left_out == name);
        let conditions: Vec<usize> = (0..self.experiment.conditions.len())
            .filter(|place| !is_left_out(&self.experiment.conditions[*place].name))
            .collect();
        schedule(&conditions, self.run.length.rounds, self.run.seed)
    }

    /// Adds a block. It is on disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written; what was there before stays.
    pub(crate) fn add(&mut self, block: Block) -> Result<(), ExperimentError> {
        let wrong = |error: io::Error| ExperimentError::write(&self.path.join(BLOCKS), &error);
        let Some(out) = &mut self.out else {
            return Err(wrong(io::Error::other("it was opened to be read only")));
        };
        let text = line::write(&block, &self.experiment).map_err(wrong)?;
        out.write_all(&text).and_then(|()| out.sync_data()).map_err(wrong)?;
        self.blocks.push(block);
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is measured.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What was chosen, and on which machine.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Blocks done so far, in the order in which they are planned.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All that has been measured.
    pub fn into_results(self) -> Results {
        let planned = self.slots().len();
        let names: Vec<String> =
            self.experiment.conditions.iter().map(|condition| condition.name.clone()).collect();
        let mut blocks = self.blocks;
        blocks.sort_by_key(|block| block.index);
        let fitness = fitness::judge(&blocks, &names);
        let mut notes = self.notes;
        for note in blocks.iter().flat_map(|block| &block.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        Results { experiment: self.experiment, run: self.run, blocks, planned, fitness, notes }
    }
}

/// What `run.json` holds.
fn run_text(run: &Run) -> io::Result<Vec<u8>> {
    let kept = Kept { schema: SCHEMA.to_owned(), run: run.clone() };
    Ok(serde_json::to_vec_pretty(&kept)?)
}

/// The file of blocks, to add to; locked, so that no two runs do. The kernel takes the lock away with
/// the process, however it ends.
fn open_out(folder: &Held) -> Result<File, ExperimentError> {
    let path = folder.path().join(BLOCKS);
    let wrong = |error: io::Error| ExperimentError::write(&path, &error);
    let out = folder.append(BLOCKS, Access::Private).map_err(wrong)?;
    flock(&out, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => ExperimentError::Busy { path: path.clone() },
        error => wrong(error.into()),
    })?;
    Ok(out)
}

/// Ends a line that a crash cut short, so that the next one is a line of its own.
fn end_last_line(mut out: &File) -> io::Result<()> {
    if out.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    out.seek(SeekFrom::End(-1))?;
    out.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { out.write_all(b"\n") }
}

/// A whole text of bounded length.
pub(crate) fn read_text(path: &Path) -> Result<String, ExperimentError> {
    let mut text = String::new();
    let file = tardy_files::open(path).map_err(|error| ExperimentError::read(path, &error))?;
    let read = file.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| ExperimentError::read(path, &error))?;
    if bytes as u64 > TEXT_BYTES_MAX {
        let why = format!("it is longer than {} MiB", TEXT_BYTES_MAX >> 20);
        return Err(ExperimentError::garbled(path, why));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
