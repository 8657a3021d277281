//! Folders of `tardy watch`: recordings that were each kept for a late wakeup, and an index of them.

use super::Kept;
use crate::failure::Failure;
use crate::memory;
use crate::output::{self, Output};
use crate::shell;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use tardy_files::{Access, Folder};
use tardy_recording::{Manifest, Origin, Trigger};
use tardy_report::units::{count, counted, duration};
use tardy_report::{Watched, WatchedRow};

/// The index, by which such a folder is known.
pub(crate) const WATCH_FILE: &str = "watch.json";

/// Of an index that is read at most: a thousand entries have some 400 KB.
const INDEX_BYTES_MAX: u64 = 16 << 20;

/// What a watch has counted, and what it keeps: `tardy.watch/1`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WatchIndex {
    pub(crate) schema: String,
    /// When the first run began.
    pub(crate) began_unix_s: u64,
    /// Of all runs together.
    pub(crate) watched_s: u64,
    pub(crate) runs: u64,
    /// The last one's.
    pub(crate) command_line: Vec<String>,
    pub(crate) over_ns: u64,
    pub(crate) keep: u32,
    /// Wakeups that the kernel side saw exceed the bound, looked at or not.
    pub(crate) over_count: u64,
    /// Looks that found somebody late.
    pub(crate) late: u64,
    /// Looks that found nobody late.
    pub(crate) false_triggers: u64,
    /// Looks that came too late for what the buffers held.
    pub(crate) missed: u64,
    /// Recordings that had to make room.
    pub(crate) let_go: u64,
    /// The number of the last recording.
    pub(crate) numbered: u64,
    /// Who made threads late, kept or not: who did so latest first.
    pub(crate) culprits: Vec<CulpritEntry>,
    /// The worst first; those that mostly the watch itself or a hypervisor made late behind the others.
    pub(crate) kept: Vec<KeptEntry>,
}

/// Whose late wakeups are counted, and how many at most; those of others beyond that are not told apart.
const CULPRITS_MAX: usize = 200;

/// Who stands for those.
const OTHERS: &str = "others";

/// Culprits that are named in a sentence.
const NAMED_MAX: usize = 6;

/// Who made threads late, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CulpritEntry {
    pub(crate) culprit: String,
    /// Wakeups.
    pub(crate) late: u64,
    /// The worst of them.
    pub(crate) lateness_max_ns: u64,
}

/// A recording that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptEntry {
    pub(crate) recording: String,
    /// When the thread ran, RFC 3339.
    pub(crate) ran_at: String,
    #[serde(flatten)]
    pub(crate) trigger: Trigger,
}

impl WatchIndex {
    pub(crate) const SCHEMA: &str = "tardy.watch/1";

    /// That of a folder; `None` where there is none that can be read.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let text = Folder::open(folder).ok()?.read(WATCH_FILE, INDEX_BYTES_MAX).ok()?;
        let index: Self = serde_json::from_slice(&text).ok()?;
        (index.schema == Self::SCHEMA).then_some(index)
    }

    /// Counts a late wakeup for who made it late.
    pub(crate) fn count_culprit(&mut self, trigger: &Trigger) {
        let is_known = |name: &str| self.culprits.iter().position(|entry| entry.culprit == name);
        let full = self.culprits.len() >= CULPRITS_MAX;
        let who = trigger.who();
        let at = is_known(who).or_else(|| if full { is_known(OTHERS) } else { None });
        let at = at.unwrap_or_else(|| {
            let culprit = if full { OTHERS } else { who }.to_owned();
            self.culprits.push(CulpritEntry { culprit, ..CulpritEntry::default() });
            self.culprits.len() - 1
        });
        let entry = &mut self.culprits[at];
        entry.late += 1;
        entry.lateness_max_ns = entry.lateness_max_ns.max(trigger.lateness_ns);
        self.culprits.sort_by_key(|entry| Reverse(entry.lateness_max_ns));
    }

    /// `injector 1 (628.9 µs), the hypervisor 14 (24.50 ms)`: who did it how often, and the worst of each; `None` where
    /// nobody was late.
    pub(crate) fn culprits_in_words(&self) -> Option<String> {
        self.culprits_with(|_| None)
    }

    /// The same with what is kept of each, by the culprit's name.
    fn culprits_with(&self, kept: impl Fn(&str) -> Option<String>) -> Option<String> {
        let one = |entry: &CulpritEntry| {
            let mut about = duration(entry.lateness_max_ns);
            about.extend(kept(&entry.culprit).map(|kept| format!(", {kept}")));
            format!("{} {} ({about})", entry.culprit, count(entry.late))
        };
        let mut named: Vec<String> = self.culprits.iter().take(NAMED_MAX).map(one).collect();
        if self.culprits.len() > NAMED_MAX {
            named.push(format!("{} more", self.culprits.len() - NAMED_MAX));
        }
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// How it went.
    fn sentences(&self) -> Vec<String> {
        let watched = duration(self.watched_s * 1_000_000_000);
        let runs = counted(self.runs, "run");
        let bound = duration(self.over_ns);
        let culprits = self.culprits_in_words();
        let culprits = culprits
            .map(|words| format!("Late wakeups by culprit, with the worst of each: {words}."));
        let mut sentences = vec![
            format!(
                "Watched for {watched} in {runs}, since {}.",
                when(self.began_unix_s * 1_000_000_000)
            ),
            format!(
                "{} over {bound}; {} of them were examined: {} were late wakeups, {} were not, \
                    {} were too old to be explained.",
                counted(self.over_count, "wakeup"),
                count(self.late + self.false_triggers + self.missed),
                count(self.late),
                count(self.false_triggers),
                count(self.missed)
            ),
        ];
        sentences.extend(culprits);
        sentences
    }

    /// Replaces that of a folder, whole or not at all.
    pub(crate) fn write(&self, folder: &Folder) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        folder
            .replace(WATCH_FILE, &text, Access::Private)
            .map_err(|error| output::cannot_write(&folder.path().join(WATCH_FILE), &error))
    }
}

/// Whether a folder is of a watch.
pub(crate) fn is_watched(folder: &Path) -> bool {
    Folder::open(folder).is_ok_and(|folder| folder.has_file(WATCH_FILE))
}

/// The recordings in such a folder with what they were kept for, the worst first. Read from the recordings
/// themselves: the index may be of before a crash.
pub(crate) fn caught(folder: &Path) -> Vec<(PathBuf, Trigger)> {
    memory::watch_list(folder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caught: Vec<_> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .filter_map(|entry| {
            let manifest = Manifest::read(&entry.path()).ok()?;
            Some((entry.path(), manifest.trigger?))
        })
        .collect();
    worst_first(&mut caught);
    caught
}

/// The worst first, but what a hypervisor did, or the watch, behind all that this system did: that can be helped here.
pub(crate) fn worst_first(caught: &mut [(PathBuf, Trigger)]) {
    caught.sort_by_key(|(_, trigger)| {
        (trigger.origin(), Reverse(trigger.excess_ns()), trigger.ran_unix_ns)
    });
}

pub(crate) fn entries(caught: &[(PathBuf, Trigger)]) -> Vec<KeptEntry> {
    let entry = |(path, trigger): &(PathBuf, Trigger)| KeptEntry {
        recording: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        ran_at: Timestamp::from_nanosecond(trigger.ran_unix_ns.into())
            .map_or_else(|_| String::new(), |time| time.to_string()),
        trigger: trigger.clone(),
    };
    caught.iter().map(entry).collect()
}

/// The recording that is meant: of a watch's folder the worst one, with a word about the others.
pub(crate) fn worst_of(path: PathBuf, output: &Output) -> Result<PathBuf, Failure> {
    if !is_watched(&path) {
        return Ok(path);
    }
    let caught = caught(&path);
    let Some((worst, _)) = caught.first() else {
        return Err(Failure::new(format!(
            "no thread was late yet in {}: nothing is kept",
            path.display()
        )));
    };
    let of = |origin: Origin| caught.iter().filter(|(_, it)| it.origin() == origin).count();
    let (own, all) = (of(Origin::System), caught.len());
    let beside: Vec<String> = [Origin::Recorder, Origin::Host]
        .into_iter()
        .filter(|origin| of(*origin) > 0)
        .map(|origin| format!("{} caused {} more", origin.words(), of(origin)))
        .collect();
    let others = if all == 1 {
        "the only one kept".to_owned()
    } else if own > 0 && !beside.is_empty() {
        format!(
            "the worst of {own} kept that this system caused itself; {}; tardy list {} shows all",
            beside.join(", "),
            path.display()
        )
    } else {
        format!("the worst of {all} kept; tardy list {} shows all", path.display())
    };
    output.remark(&format!("{}, {others}", worst.display()));
    let index = WatchIndex::read(&path);
    let kept = |who: &str| {
        let (folder, _) = caught.iter().find(|(_, trigger)| trigger.who() == who)?;
        Some(folder.file_name()?.to_string_lossy().into_owned())
    };
    if let Some(words) = index.as_ref().and_then(|index| index.culprits_with(kept)) {
        output.remark(&format!("late wakeups by culprit, with the worst of each: {words}"));
    }
    Ok(worst.clone())
}

/// Where a watch keeps what nobody puts elsewhere: always the same, so that it goes on after a restart.
pub(crate) fn watch_home() -> Result<PathBuf, Failure> {
    let mut refused = None;
    for home in super::homes() {
        let folder = home.join("watch");
        match output::own_folder(&home).and_then(|_| output::own_folder(&folder)) {
            Ok(_) => return Ok(folder),
            Err(error) => refused = Some((folder, error)),
        }
    }
    let (folder, error) = refused.expect("two folders were tried");
    Err(Failure::new(format!("cannot make {}: {error}; name one with -o", folder.display())))
}

/// A time by the clock on the wall, `2026-11-22 03:12:45.123`.
pub(crate) fn when(unix_ns: u64) -> String {
    let Ok(time) = Timestamp::from_nanosecond(unix_ns.into()) else { return String::new() };
    time.to_zoned(crate::zone::local()).strftime("%Y-%m-%d %H:%M:%S.%3f").to_string()
}

/// A watch's folder, for its page.
pub(crate) fn watched(folder: &Path) -> Watched {
    let index = WatchIndex::read(folder).unwrap_or_default();
    let row = |(recording, trigger): (PathBuf, Trigger)| WatchedRow {
        when: when(trigger.ran_unix_ns),
        thread: format!("{} ({})", trigger.name, trigger.task),
        lateness_ns: trigger.lateness_ns,
        cause: trigger.cause,
        culprit: trigger.culprit,
        recording: recording.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        page: String::new(),
    };
    Watched {
        command_line: shell::line(&index.command_line),
        sentences: index.sentences(),
        kept: caught(folder).into_iter().map(row).collect(),
    }
}

/// The recordings that a watch keeps in a folder, as those of any folder.
pub(super) fn kept(folder: &Path) -> Vec<Kept> {
    let of = |(folder, _): (PathBuf, Trigger)| super::read(folder);
    caught(folder).into_iter().filter_map(of).collect()
}

/// The name of a recording that a watch kept, by which the next one's is found.
pub(crate) fn number_of(recording: &Path) -> u64 {
    super::number(recording)
}
