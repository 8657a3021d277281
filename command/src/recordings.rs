//! The recordings that are kept here: below `recordings/`, where every verb puts them that is not told
//! otherwise, or below the system's temporary folder, where that cannot be written.

mod watched;

pub(crate) use watched::{
    WATCH_FILE, WatchIndex, caught, entries, is_watched, number_of, watch_home, watched, when,
    worst_first, worst_of,
};

use crate::failure::Failure;
use crate::manners;
use crate::memory;
use crate::output;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use tardy_explain::Explanation;
use tardy_files::{Access, Folder};
use tardy_recording::Manifest;

/// The folder's name, here and in the temporary one's.
pub(crate) const FOLDER: &str = "recordings";

/// What an explanation left of a recording for lists.
const SUMMARY: &str = "summary.json";

/// Of a summary that is read at most.
const SUMMARY_BYTES_MAX: u64 = 64 << 10;

/// Words of a command line that a list has.
const WORDS_MAX: usize = 1_000;

const SCHEMA: &str = "tardy.summary/1";

/// A recording that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) folder: PathBuf,
    /// What it says of itself, or why that cannot be read.
    pub(crate) manifest: Result<Manifest, String>,
}

impl Kept {
    /// When it was made; 0 where that is not known.
    pub(crate) fn created_unix_s(&self) -> u64 {
        self.manifest.as_ref().map_or(0, |manifest| manifest.created_unix_s)
    }

    /// Of all its files.
    pub(crate) fn bytes(&self) -> u64 {
        size(&self.folder) + size(&self.folder.join("events"))
    }

    /// Whether it is known that nothing happened in it.
    fn is_empty(&self) -> bool {
        let totals = self.manifest.as_ref().ok().and_then(|manifest| manifest.totals);
        totals.is_some_and(|totals| totals.events == 0)
            || self.summary().is_some_and(|summary| summary.wakeups == 0)
    }

    /// What the last explanation left.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let text = Folder::open(&self.folder).ok()?.read(SUMMARY, SUMMARY_BYTES_MAX).ok()?;
        let summary: Summary = serde_json::from_slice(&text).ok()?;
        (summary.schema == SCHEMA).then_some(summary)
    }
}

/// How late the threads were that a recording was made to watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    schema: String,
    pub(crate) wakeups: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
    /// The cause that took most; empty where nobody was late.
    pub(crate) main_cause: String,
}

/// Leaves the summary of an explanation in the recording that it is of, where that is ours.
pub(crate) fn remember(folder: &Path, explanation: &Explanation) -> Result<(), Failure> {
    let latencies = &explanation.latencies;
    let summary = Summary {
        schema: SCHEMA.to_owned(),
        wakeups: latencies.count(),
        p99_ns: latencies.quantile_ns(0.99),
        max_ns: latencies.max_ns(),
        main_cause: explanation.causes.first().map_or_else(String::new, |it| it.cause.0.to_owned()),
    };
    let mut text = serde_json::to_vec_pretty(&summary)?;
    text.push(b'\n');
    match Folder::open(folder) {
        Ok(folder) if folder.is_ours() => {
            let written = folder.replace(SUMMARY, &text, Access::Private);
            Ok(written
                .map_err(|error| output::cannot_write(&folder.path().join(SUMMARY), &error))?)
        }
        _ => Ok(()),
    }
}

/// Where recordings are kept that nobody put elsewhere.
pub(crate) fn homes() -> [PathBuf; 2] {
    output::homes(FOLDER)
}

/// The recordings in a folder, the newest first, with those in the folders of watches there. What is no
/// recording is passed over.
pub(crate) fn kept(folder: &Path) -> Vec<Kept> {
    memory::watch_list(folder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read_all = |path: PathBuf| {
        if is_watched(&path) { watched::kept(&path) } else { read(path).into_iter().collect() }
    };
    let mut kept: Vec<Kept> = entries.flat_map(|entry| read_all(entry.path())).collect();
    kept.sort_by(|a, b| {
        let newest = b.created_unix_s().cmp(&a.created_unix_s());
        newest.then_with(|| number(&b.folder).cmp(&number(&a.folder)))
    });
    kept
}

/// The recording asked for, of a watch's folder the worst, or the latest that is kept, with a word about which.
pub(crate) fn or_latest(
    asked: Option<PathBuf>,
    output: &output::Output,
) -> Result<PathBuf, Failure> {
    if let Some(path) = asked.map(meant) {
        must_be_there(&path)?;
        return worst_of(path, output);
    }
    let [latest] = latest::<1>()?;
    let home = homes().into_iter().find(|home| latest.starts_with(home));
    let home = home.map_or_else(String::new, |home| format!(" in {}", whole(&home)));
    output.remark(&format!("{}, the latest{home}", latest.display()));
    Ok(latest)
}

/// A path from the root on: which folder is the current one is not seen in a log.
fn whole(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Where recordings are looked for that are not named, in words.
pub(crate) fn homes_in_words() -> String {
    homes().map(|home| whole(&home)).join(" and ")
}

/// Whether a recording was made by this user on this system since it booted, so that what it says of processes holds
/// for those that run, and its commands are the user's own.
pub(crate) fn is_of_here(folder: &Path, manifest: &Manifest) -> bool {
    let boot = tardy_host::boot_id();
    let is_of_boot = !boot.is_empty() && manifest.host.boot_id == boot;
    is_of_boot && manifest.vm.is_none() && is_ours(folder)
}

fn is_ours(folder: &Path) -> bool {
    Folder::open(folder).is_ok_and(|folder| folder.is_ours())
}

/// What is meant by a path: a recording that is kept, where there is nothing else of that name.
pub(crate) fn meant(path: PathBuf) -> PathBuf {
    if path == Path::new("-") || path.symlink_metadata().is_ok() {
        return path;
    }
    let is_one = |there: &PathBuf| there.join("manifest.json").exists() && is_ours(there);
    homes().into_iter().map(|home| home.join(&path)).find(is_one).unwrap_or(path)
}

/// Recordings that are named where one was asked for that is not there.
const NAMED_MAX: usize = 3;

/// Whether there is a file or folder of this name; else what there is, as far as that can be guessed.
pub(crate) fn must_be_there(path: &Path) -> Result<(), Failure> {
    // Standard input.
    if path == Path::new("-") {
        return Ok(());
    }
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        // What else may be wrong is found when it is read.
        _ => return Ok(()),
    }
    let homes = homes();
    let meant = homes.iter().map(|home| home.join(path)).find(|there| there.exists());
    let hint = meant.map_or_else(
        || there_are(&homes),
        |there| format!("there is {}: give that", there.display()),
    );
    let path = path.display();
    Err(Failure::new(format!("cannot read {path}: there is no such file or folder; {hint}")))
}

/// The latest recordings in these folders, in a sentence.
fn there_are(homes: &[PathBuf]) -> String {
    let mut all: Vec<Kept> = homes.iter().flat_map(|home| kept(home)).collect();
    all.sort_by_key(|kept| std::cmp::Reverse(kept.created_unix_s()));
    let names: Vec<String> =
        all.iter().take(NAMED_MAX).map(|kept| kept.folder.display().to_string()).collect();
    match names.len() {
        0 => format!(
            "there are no recordings in {}: make one with tardy run or tardy record",
            homes_in_words()
        ),
        _ => format!("the latest recordings are {} (tardy list shows all)", names.join(", ")),
    }
}

/// The N latest recordings that are kept, the oldest of them first. One in which nobody was seen to wake up is none of
/// them, as long as there are others.
pub(crate) fn latest<const N: usize>() -> Result<[PathBuf; N], Failure> {
    // Those here; those in the temporary folder only where there are too few.
    let mut all: Vec<Kept> = Vec::new();
    for home in homes() {
        if all.len() < N {
            let found = kept(&home).into_iter();
            all.extend(found.filter(|kept| kept.manifest.is_ok() && is_ours(&kept.folder)));
        }
    }
    all.sort_by_key(|kept| std::cmp::Reverse(kept.created_unix_s()));
    // No more summaries are read than it takes.
    let (mut chosen, mut empty) = (Vec::new(), Vec::new());
    for kept in all {
        if chosen.len() == N {
            break;
        }
        if kept.is_empty() { empty.push(kept) } else { chosen.push(kept) }
    }
    let mut empty = empty.into_iter();
    chosen.extend(empty.by_ref().take(N - chosen.len()));
    let is_later =
        |kept: &Kept| chosen.iter().all(|it| it.created_unix_s() < kept.created_unix_s());
    if let Some(passed) = empty.next().filter(|kept| is_later(kept) && !manners::is_quiet()) {
        let name = output::one_line(&passed.folder.display().to_string());
        output::say!("{name} is later, but no wakeup was seen in it");
    }
    // Of two made in one second the one that stands later is the older.
    chosen.reverse();
    chosen.sort_by_key(Kept::created_unix_s);
    let found: Vec<PathBuf> = chosen.into_iter().map(|kept| kept.folder).collect();
    found.try_into().map_err(|found: Vec<PathBuf>| {
        let there = match found.len() {
            0 => "there is none".to_owned(),
            n => format!("there {} {n}", if n == 1 { "is" } else { "are" }),
        };
        Failure::usage(format!(
            "without a name, tardy takes the latest {}, but {there} in {}: name one, or make one with tardy run \
             or tardy record",
            if N == 1 { "recording".to_owned() } else { format!("{N} recordings") },
            homes_in_words(),
        ))
    })
}

fn read(folder: PathBuf) -> Option<Kept> {
    // Any other folder has neither.
    if !folder.join("manifest.json").exists() && !folder.join("events").is_dir() {
        return None;
    }
    let mut manifest = Manifest::read(&folder).map_err(|error| error.to_string());
    if let Ok(manifest) = &mut manifest {
        // A folder may hold a thousand, and this is most of each, and of none of a list's concern.
        (manifest.notes, manifest.missing) = (Vec::new(), Vec::new());
        manifest.settings.clear();
        manifest.command_line.truncate(WORDS_MAX);
        manifest.command_line.shrink_to_fit();
    }
    Some(Kept { folder, manifest })
}

/// The bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok().filter(fs::Metadata::is_file));
    files.map(|file| file.len()).sum()
}

/// The number at the end of a name: of two made in one second, the later one has the higher.
fn number(folder: &Path) -> u64 {
    let name = folder.to_string_lossy();
    let digits = name.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}
