//! The folder of what a watch keeps: the worst, each an ordinary recording, and what was counted.

use super::choice;
use crate::failure::Failure;
use crate::recordings::{self, WATCH_FILE, WatchIndex};
use rustix::fs::{FlockOperation, flock};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tardy_files::{Access, Folder};
use tardy_kernel::Held;
use tardy_model::{Batch, RECORD_BYTES};
use tardy_recording::{Manifest, ManifestEnd, Options, Trigger, Writer};
use tardy_report::units::{count, duration};

/// Where a recording is written before it has its name: what a crash leaves there is worth nothing.
const UNFINISHED: &str = ".unfinished";

/// Held by who watches into the folder.
const LOCK: &str = ".lock";

/// Bytes on disk for each byte of the kernel's buffers, at most: an expiry's record of two becomes three
/// events.
const BYTES_PER_HELD: u64 = 2;

/// Names of threads and functions, idle states and manifest, at most: two events for each of as many threads as
/// can be watched, and as much again.
const BYTES_BESIDE: u64 = 4 * 65_536 * RECORD_BYTES as u64;

/// What came of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Late,
    False,
    Missed,
}

/// The folder, while it is watched into.
pub(super) struct WatchFolder {
    /// Held open: what is counted is written here, whatever has its name by then.
    held: Folder,
    path: PathBuf,
    keep: usize,
    over_ns: u64,
    /// Those that are kept, the worst first.
    kept: Vec<(PathBuf, Trigger)>,
    index: WatchIndex,
    /// What was counted before this run.
    before: WatchIndex,
    /// Holds the lock.
    _lock: File,
}

impl WatchFolder {
    /// Opens the folder, or makes it; what is kept there stays as far as it is among the worst.
    pub(super) fn open(path: &Path, keep: u32, over_ns: u64) -> Result<Self, Failure> {
        let cannot = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot {what} {}: {error}", path.display()))
        };
        let held = Folder::make(path, Access::Private)
            .map_err(|error| cannot("make the folder", &error))?;
        let is_new = held.is_empty().map_err(|error| cannot("look into", &error))?;
        if !is_new && !held.has_file(WATCH_FILE) && !held.has_file(LOCK) {
            return Err(Failure::usage(format!(
                "{} is not empty and was not made by tardy watch: name another folder with -o",
                path.display()
            )));
        }
        if !held.is_ours() {
            return Err(cannot(
                "write into",
                &"it belongs to another user: name another folder \
                with -o",
            ));
        }
        let lock =
            held.append(LOCK, Access::Private).map_err(|error| cannot("write into", &error))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Failure::usage(format!(
                "another tardy watch uses {}: name another folder with -o",
                path.display()
            )));
        }
        let _ = held.remove_all(UNFINISHED);
        let before = WatchIndex::read(path).unwrap_or_default();
        let kept = recordings::caught(path);
        let last = kept.iter().map(|(folder, _)| recordings::number_of(folder)).max();
        let numbered = before.numbered.max(last.unwrap_or(0));
        let index = WatchIndex {
            schema: WatchIndex::SCHEMA.to_owned(),
            began_unix_s: match before.began_unix_s {
                0 => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()),
                began => began,
            },
            command_line: crate::shell::arguments().collect(),
            over_ns,
            keep,
            runs: before.runs + 1,
            numbered,
            ..before.clone()
        };
        let mut folder = Self {
            held,
            path: path.to_owned(),
            keep: keep as usize,
            over_ns,
            kept,
            index,
            before,
            _lock: lock,
        };
        folder.let_go()?;
        folder.write(Duration::ZERO, 0)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn has_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// What to say at the beginning; the buffers hold `held_bytes` at once.
    pub(super) fn greeting(&self, held_bytes: u64) -> Vec<String> {
        let each = held_bytes * BYTES_PER_HELD + BYTES_BESIDE;
        // One more is there while the least is let go of.
        let bytes = each * (self.keep as u64 + 1);
        let keeps = format!(
            "keeping the {} worst in {}: at most {:.0} MB, usually a tenth of that",
            self.keep,
            self.path.display(),
            bytes as f64 / 1e6
        );
        let goes_on = self.worst().map(|worst| {
            format!("continuing with {} kept before, the worst {worst}", self.kept.len())
        });
        std::iter::once(keeps).chain(goes_on).collect()
    }

    /// How late the worst was that is kept; those of a hypervisor and of the watch stand behind it, and may be later.
    fn worst(&self) -> Option<String> {
        let (_, worst) = self.kept.first()?;
        let all = self.kept.iter().map(|(_, trigger)| trigger);
        let words = duration(worst.lateness_ns);
        let latest = all.max_by_key(|trigger| trigger.lateness_ns);
        Some(match latest.filter(|latest| latest.lateness_ns > worst.lateness_ns) {
            Some(latest) if latest.origin() > worst.origin() => {
                let by = latest.origin().words();
                format!("{words} ({} by {by})", duration(latest.lateness_ns))
            }
            _ => words,
        })
    }

    pub(super) fn count(&mut self, found: Found) {
        let counter = match found {
            Found::Late => &mut self.index.late,
            Found::False => &mut self.index.false_triggers,
            Found::Missed => &mut self.index.missed,
        };
        *counter += 1;
    }

    /// Counts a late wakeup; yields whether it is to be kept.
    pub(super) fn counts(&mut self, trigger: &Trigger) -> bool {
        self.count(Found::Late);
        self.index.count_culprit(trigger);
        let all = self.kept.iter().map(|(_, kept)| kept).chain([trigger]);
        self.kept.len() < self.keep || choice::least(all) != Some(self.kept.len())
    }

    /// How late the least of those that are kept was, where there is no more room.
    pub(super) fn bar_ns(&self) -> u64 {
        let least_ns = self.kept.iter().map(|(_, kept)| kept.excess_ns()).min();
        least_ns
            .filter(|_| self.kept.len() >= self.keep)
            .map_or(self.over_ns, |ns| ns.max(self.over_ns))
    }

    /// Writes what was held as a recording, and lets go of the least one where there are too many.
    pub(super) fn keep(&mut self, manifest: Manifest, held: &Held) -> Result<PathBuf, Failure> {
        let trigger = manifest.trigger.clone().unwrap_or_default();
        let _ = self.held.remove_all(UNFINISHED);
        let written = write_held(&self.path.join(UNFINISHED), manifest, held);
        if written.is_err() {
            // What is of no use makes room for the next.
            let _ = self.held.remove_all(UNFINISHED);
        }
        written?;
        self.index.numbered += 1;
        let name = format!("late-{}", self.index.numbered);
        let folder = self.path.join(&name);
        self.held
            .rename(UNFINISHED, &name)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
        self.kept.push((folder.clone(), trigger));
        recordings::worst_first(&mut self.kept);
        self.let_go()?;
        Ok(folder)
    }

    fn let_go(&mut self) -> Result<(), Failure> {
        while self.kept.len() > self.keep {
            let all = self.kept.iter().map(|(_, kept)| kept);
            let Some(least) = choice::least(all) else { break };
            let (folder, _) = self.kept.remove(least);
            let name = folder.file_name().unwrap_or_default();
            self.held.remove_all(name).map_err(|error| {
                Failure::new(format!("cannot remove {}: {error}", folder.display()))
            })?;
            self.index.let_go += 1;
        }
        Ok(())
    }

    /// Writes down what was counted, in this run and before.
    pub(super) fn write(&mut self, watched: Duration, over_count: u64) -> Result<(), Failure> {
        self.index.watched_s = self.before.watched_s + watched.as_secs();
        self.index.over_count = self.before.over_count + over_count;
        self.index.kept = recordings::entries(&self.kept);
        self.index.write(&self.held)
    }

    pub(super) fn document(&self) -> &WatchIndex {
        &self.index
    }

    /// How it stands, in a line.
    pub(super) fn words(&self) -> String {
        let index = &self.index;
        if index.late + index.false_triggers + index.missed == 0 {
            return "no thread was late yet".to_owned();
        }
        let worst = self.worst().map_or_else(String::new, |worst| format!(", the worst {worst}"));
        let mut words =
            format!("{} late, {} kept{worst}", count(index.late), count(self.kept.len() as u64));
        for (number, what) in [
            (index.false_triggers, "false triggers"),
            (index.missed, "missed (a larger --buffer helps)"),
            (
                index.over_count.saturating_sub(index.late + index.false_triggers + index.missed),
                "over the bound not examined (they came with others or while those were explained; a higher --over helps)",
            ),
        ] {
            if number > 0 {
                let _ = write!(words, ", {} {what}", count(number));
            }
        }
        words
    }
}

fn write_held(folder: &Path, manifest: Manifest, held: &Held) -> Result<(), Failure> {
    let options = Options { compress: true, ..Options::default() };
    let mut writer = Writer::create_with(folder, manifest, options)?;
    for Batch { timers, names, events } in &held.batches {
        let batch = Batch { timers: timers.clone(), names: names.clone(), events: events.clone() };
        writer.append_waiting(batch)?;
    }
    writer.seal(ManifestEnd::default())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn trigger(lateness_ns: u64) -> Manifest {
        let trigger = Trigger { lateness_ns, ran_unix_ns: lateness_ns, ..Trigger::default() };
        Manifest { trigger: Some(trigger), ..Manifest::default() }
    }

    fn kept(folder: &Path) -> Vec<u64> {
        recordings::caught(folder).iter().map(|(_, trigger)| trigger.lateness_ns).collect()
    }

    fn keep(folder: &mut WatchFolder, lateness_ns: u64) {
        let manifest = trigger(lateness_ns);
        if folder.counts(manifest.trigger.as_ref().unwrap()) {
            folder.keep(manifest, &Held::default()).unwrap();
        }
    }

    #[test]
    fn the_worst_are_kept_and_the_bar_is_the_least_of_them() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = WatchFolder::open(home.path(), 3, 100).unwrap();
        assert_eq!(folder.bar_ns(), 100);
        for lateness_ns in [500, 200, 300] {
            keep(&mut folder, lateness_ns);
        }
        assert_eq!((kept(home.path()), folder.bar_ns()), (vec![500, 300, 200], 200));
        keep(&mut folder, 150);
        keep(&mut folder, 900);
        assert_eq!((kept(home.path()), folder.bar_ns()), (vec![900, 500, 300], 300));
    }

    #[test]
    fn a_hypervisors_and_the_watchs_stand_behind_and_are_said_to_be_later() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = WatchFolder::open(home.path(), 3, 100).unwrap();
        keep(&mut folder, 500);
        assert_eq!(folder.worst().as_deref(), Some("500 ns"));
        let mut manifest = trigger(900);
        manifest.trigger.as_mut().unwrap().cause = "hypervisor".to_owned();
        assert!(folder.counts(manifest.trigger.as_ref().unwrap()));
        folder.keep(manifest, &Held::default()).unwrap();
        assert_eq!(folder.worst().as_deref(), Some("500 ns (900 ns by the hypervisor)"));
        let mut manifest = trigger(950);
        manifest.trigger.as_mut().unwrap().culprit = "tardy's recorder (17)".to_owned();
        folder.keep(manifest, &Held::default()).unwrap();
        assert_eq!(folder.worst().as_deref(), Some("500 ns (950 ns by the watch itself)"));
        assert_eq!(kept(home.path()), [500, 950, 900]);
    }

    #[test]
    fn a_restart_goes_on_with_what_is_kept_and_throws_away_what_was_not_finished() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = WatchFolder::open(home.path(), 3, 100).unwrap();
        keep(&mut folder, 500);
        keep(&mut folder, 200);
        folder.write(Duration::from_secs(7), 11).unwrap();
        // Killed: the index knows nothing of the last one, and another was being written.
        keep(&mut folder, 300);
        drop(folder);
        fs::create_dir(home.path().join(UNFINISHED)).unwrap();
        let mut folder = WatchFolder::open(home.path(), 3, 100).unwrap();
        assert!(!home.path().join(UNFINISHED).exists());
        keep(&mut folder, 400);
        assert_eq!(kept(home.path()), [500, 400, 300]);
        assert!(home.path().join("late-4").exists(), "no number is given twice");
        folder.write(Duration::from_secs(2), 5).unwrap();
        let index = WatchIndex::read(home.path()).unwrap();
        assert_eq!((index.runs, index.watched_s, index.over_count, index.late), (2, 9, 16, 3));
    }

    #[test]
    fn what_cannot_be_written_costs_nothing_that_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = WatchFolder::open(&home.path().join("night"), 2, 100).unwrap();
        keep(&mut folder, 500);
        keep(&mut folder, 200);
        // It lies elsewhere for a while.
        let (path, aside) = (home.path().join("night"), home.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        fs::write(&path, "").unwrap();
        let worse = trigger(900);
        assert!(folder.counts(worse.trigger.as_ref().unwrap()));
        folder.keep(worse, &Held::default()).unwrap_err();
        assert_eq!(kept(&aside), [500, 200]);
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        keep(&mut folder, 300);
        assert_eq!(kept(&path), [500, 300], "it goes on where there is room again");
    }

    /// Who may write to the folder above puts a link in its place.
    #[test]
    fn what_a_swapped_folder_leads_to_is_not_let_go_of() {
        let home = tempfile::tempdir().unwrap();
        let (path, precious) = (home.path().join("night"), home.path().join("precious"));
        let mut folder = WatchFolder::open(&path, 1, 100).unwrap();
        keep(&mut folder, 200);
        for name in ["late-1", UNFINISHED] {
            fs::create_dir_all(precious.join(name)).unwrap();
        }
        let went = home.path().join("went");
        fs::rename(&path, &went).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        let worse = trigger(500);
        assert!(folder.counts(worse.trigger.as_ref().unwrap()));
        let _ = folder.keep(worse, &Held::default());
        folder.keep = 0;
        let _ = folder.let_go();
        for name in ["late-1", UNFINISHED] {
            assert!(precious.join(name).is_dir(), "{name}");
        }
        assert!(!went.join("late-1").exists());
    }

    #[test]
    fn two_do_not_watch_into_one_folder_and_no_other_folder_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let first = WatchFolder::open(home.path(), 3, 100).unwrap();
        let second = WatchFolder::open(home.path(), 3, 100).err().unwrap();
        assert!(second.to_string().contains("another tardy watch"), "{second}");
        drop(first);
        assert!(WatchFolder::open(home.path(), 3, 100).is_ok());
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("letter.txt"), "").unwrap();
        let refused = WatchFolder::open(other.path(), 3, 100).err().unwrap();
        assert!(refused.to_string().contains("not empty"), "{refused}");
    }
}
