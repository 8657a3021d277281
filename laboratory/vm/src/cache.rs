//! The folder that kernels and programs for guests are kept in.

use crate::VmError;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long to wait for another tardy that brings something: longer than a kernel takes to build.
const LOCK_LIMIT: Duration = Duration::from_secs(3600);

/// A folder that kernels and programs for guests are kept in.
///
/// ```text
/// kernels/NAME/     a kernel: image, modules, kernel.json
/// tools/ARCH/       programs of Debian's with their libraries, tools.json
/// sources/          Debian's package of the kernel's source
/// apt/ARCH/         apt's lists, for nobody but tardy
/// tmp/              what is not complete yet; nobody else's while lock is held
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    path: PathBuf,
}

impl Cache {
    /// The user's: `tardy/vm` below `$XDG_CACHE_HOME`, or below `$HOME/.cache`.
    ///
    /// # Errors
    /// Where the environment names neither.
    pub fn of_user() -> Result<Self, VmError> {
        let absolute = |name| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .ok_or(VmError::NoHome)?;
        Ok(Self::at(base.join("tardy/vm")))
    }

    /// One that is anywhere. Nothing is made until something is kept.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn kernel(&self, name: &str) -> PathBuf {
        self.path.join("kernels").join(name)
    }

    pub(crate) fn tools(&self, arch: &str) -> PathBuf {
        self.path.join("tools").join(arch)
    }

    /// The folder of that name below this one, made where it is not.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, VmError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(VmError::file("make", &path))?;
        let others = || io::Error::other("somebody else may change what is in it");
        if !tardy_files::owner::is_ours_alone(&path) {
            return Err(VmError::file("use", &path)(others()));
        }
        Ok(path)
    }

    /// Keeps other processes from bringing anything until the answer is dropped, or ends with this
    /// process.
    pub(crate) fn claim(&self, tell: &mut dyn FnMut(&str)) -> Result<Claim<'_>, VmError> {
        self.claim_within(LOCK_LIMIT, tell)
    }

    fn claim_within(
        &self,
        limit: Duration,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Claim<'_>, VmError> {
        let path = self.folder("")?.join("lock");
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let lock = options.open(&path).map_err(VmError::file("make", &path))?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(VmError::file("lock", path)(error.into())),
            }
            if !told {
                tell("waiting for another tardy that is fetching something");
                told = true;
            }
            if begun.elapsed() >= limit {
                return Err(VmError::InUse { path: self.path.clone(), waited: limit });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // What a process left that was ended in the middle.
        let scratch = self.path.join("tmp");
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(VmError::file("remove", &scratch))?;
        }
        Ok(Claim { cache: self, _lock: lock })
    }
}

/// The right to change what is in a cache.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    cache: &'a Cache,
    _lock: File,
}

impl Claim<'_> {
    /// A folder for what is not complete yet, on the file system of what will be; it vanishes with
    /// what is returned.
    pub(crate) fn scratch(&self) -> Result<TempDir, VmError> {
        let below = self.cache.folder("tmp")?;
        TempDir::new_in(&below).map_err(VmError::file("make a folder in", below))
    }

    /// Puts the folder `complete` in the place of `target`.
    pub(crate) fn put(&self, complete: &Path, target: &Path) -> Result<(), VmError> {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(VmError::file("make", parent))?;
        }
        let old = self.scratch()?;
        if target.exists() {
            fs::rename(target, old.path().join("old")).map_err(VmError::file("move", target))?;
        }
        fs::rename(complete, target).map_err(VmError::file("move to", target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ended_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        fs::create_dir_all(folder.path().join("tmp/half")).unwrap();
        let _claim = cache.claim(&mut |_| {}).unwrap();
        assert!(!folder.path().join("tmp/half").exists());
    }

    #[test]
    fn a_cache_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("theirs/vm"));
        let theirs = folder.path().join("theirs");
        for (mode, is_refused) in [(0o755, false), (0o777, true), (0o1777, false)] {
            fs::create_dir_all(&theirs).unwrap();
            fs::set_permissions(&theirs, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.folder("apt").is_err(), is_refused, "{mode:o}");
        }
        fs::remove_dir_all(&theirs).unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "it").unwrap();
        fs::create_dir_all(cache.path()).unwrap();
        std::os::unix::fs::symlink(&precious, cache.path().join("lock")).unwrap();
        assert!(cache.claim(&mut |_| {}).is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "it");
    }

    #[test]
    fn a_second_claim_waits_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let claim = cache.claim(&mut |_| {}).unwrap();
        let mut told = vec![];
        let mut tell = |text: &str| told.push(text.to_owned());
        let error = cache.claim_within(Duration::from_millis(1), &mut tell).unwrap_err();
        assert!(matches!(error, VmError::InUse { .. }), "{error}");
        assert_eq!(told.len(), 1);
        drop(claim);
        cache.claim_within(Duration::from_millis(1), &mut |_| {}).unwrap();
    }

    #[test]
    fn a_folder_takes_the_place_of_the_old_one_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let claim = cache.claim(&mut |_| {}).unwrap();
        let target = cache.kernel("some");
        for content in ["first", "second"] {
            let scratch = claim.scratch().unwrap();
            let complete = scratch.path().join("it");
            fs::create_dir(&complete).unwrap();
            fs::write(complete.join(content), content).unwrap();
            claim.put(&complete, &target).unwrap();
            let names: Vec<_> =
                fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, [content]);
        }
        let left = fs::read_dir(folder.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "nothing incomplete stays");
    }
}
