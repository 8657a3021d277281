//! Debian's programs for guests, with what they are linked with.

use crate::debian::{Apt, Release, describe, unpack};
use crate::elf::{is_elf, libraries_of, resolve};
use crate::manifest::{self, Kept, Manifest, Package};
use crate::{Arch, Cache, VmError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where programs are, in the order in which they are looked for.
const FOLDERS: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "sbin"];

/// Debian's programs for guests of one architecture.
#[derive(Clone, Debug)]
pub struct Tools {
    arch: Arch,
    folder: PathBuf,
    cache: Cache,
}

impl Tools {
    /// Those for `arch`, here or not.
    pub fn of(arch: Arch, cache: &Cache) -> Self {
        Self { arch, folder: cache.tools(arch.name()), cache: cache.clone() }
    }

    /// What users call all of them together.
    pub fn name(&self) -> String {
        format!("tools-{}", self.arch)
    }

    /// The command that brings them.
    pub fn command(&self) -> String {
        format!("tardy vm fetch {}", self.name())
    }

    /// Debian's packages whose programs they are.
    pub fn packages(&self) -> &'static [&'static str] {
        match self.arch {
            Arch::X86_64 => {
                &["busybox-static", "rt-tests", "trace-cmd", "linux-perf", "bpftrace", "rtla"]
            }
            // No bpftrace for 32 bits; on arm64 nobody has asked for it.
            Arch::Arm64 | Arch::Armv7 => &["busybox-static", "rt-tests", "trace-cmd", "linux-perf"],
        }
    }

    /// Their state.
    ///
    /// # Errors
    /// Where they are not here, or are others than would be brought now; the words name the command
    /// that brings them.
    pub fn installed(&self) -> Result<InstalledTools, VmError> {
        let record = self.record()?;
        for file in &record.files {
            file.check(&self.folder, &self.command())?;
        }
        let versions = record.packages.into_iter();
        Ok(InstalledTools {
            programs: record.programs,
            packages: versions
                .filter(|package| self.packages().contains(&package.name.as_str()))
                .collect(),
            bytes: record.files.iter().map(|file| file.bytes).sum(),
        })
    }

    fn record(&self) -> Result<Record, VmError> {
        let what = || format!("the set of programs {}", self.name());
        let command = self.command();
        let record = Record::read(&self.folder, &command)?
            .ok_or_else(|| VmError::Missing { what: what(), command: command.clone() })?;
        if record.asked != self.packages() {
            let why = "other packages belong to it now";
            return Err(VmError::Stale { what: what(), why, command });
        }
        Ok(record)
    }

    /// A program with its interpreter and its libraries: where each has to be in the guest, and where
    /// it is here. The program is the first; its modes are those of Debian's.
    ///
    /// # Errors
    /// Where there is no such program, or not all of it is here.
    pub fn program(&self, name: &str) -> Result<Vec<(PathBuf, PathBuf)>, VmError> {
        let record = self.record()?;
        let known =
            record.programs.iter().find(|path| path.file_name().is_some_and(|file| file == name));
        let path = known.ok_or_else(|| VmError::Unknown {
            what: "program for guests",
            name: name.to_owned(),
            known: names(&record.programs),
        })?;
        let program = self.folder.join(path);
        let mut files = vec![(Path::new("/").join(path), program.clone())];
        files.extend(libraries_of(&program, &self.folder)?);
        for (_, here) in &files {
            let kept = record.files.iter().find(|kept| self.folder.join(&kept.path) == *here);
            kept.map(|kept| kept.check(&self.folder, &self.command())).transpose()?;
        }
        Ok(files)
    }

    /// Sees to it that they are here: does nothing where they are. `tell` hears what it waits for.
    ///
    /// # Errors
    /// Where they cannot be had; what was here before stays.
    pub fn bring(&self, tell: &mut dyn FnMut(&str)) -> Result<InstalledTools, VmError> {
        match self.installed() {
            Ok(installed) => Ok(installed),
            Err(_) => self.bring_anew(tell),
        }
    }

    /// Brings them again in the newest versions there are. `tell` hears what it waits for.
    ///
    /// # Errors
    /// Where they cannot be had; what was here before stays.
    pub fn bring_anew(&self, tell: &mut dyn FnMut(&str)) -> Result<InstalledTools, VmError> {
        let claim = self.cache.claim(tell)?;
        let scratch = claim.scratch()?;
        let apt = Apt::fresh(self.arch, Release::Bookworm, &self.cache, tell)?;
        let files = apt.download_all(self.packages(), &scratch.path().join("archives"), tell)?;
        tell(&format!("unpacking {} packages", files.len()));
        let root = scratch.path().join("root");
        let packages = files.iter().map(|file| describe(file)).collect::<Result<Vec<_>, _>>()?;
        let is_asked = |package: &Package| self.packages().contains(&package.name.as_str());
        // What is there after these and before the others are their programs.
        for (_, file) in packages.iter().zip(&files).filter(|(package, _)| is_asked(package)) {
            unpack(file, &root)?;
        }
        let programs = programs_below(&root);
        for (_, file) in packages.iter().zip(&files).filter(|(package, _)| !is_asked(package)) {
            unpack(file, &root)?;
        }
        let complete = scratch.path().join("complete");
        let files = take(&programs, &root, &complete)?;
        let record = Record {
            schema: Record::SCHEMA.to_owned(),
            asked: self.packages().iter().map(ToString::to_string).collect(),
            brought_s: manifest::now_s(),
            packages,
            programs,
            files,
        };
        record.write(&complete)?;
        claim.put(&complete, &self.folder)?;
        self.installed()
    }
}

/// Programs that are here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstalledTools {
    /// Where they have to be in a guest, without the leading slash.
    pub programs: Vec<PathBuf>,
    /// The packages whose programs they are.
    pub packages: Vec<Package>,
    /// All files together.
    pub bytes: u64,
}

/// `tools.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    /// Packages whose programs these are.
    asked: Vec<String>,
    /// Seconds since 1970.
    brought_s: u64,
    /// All that were unpacked.
    packages: Vec<Package>,
    programs: Vec<PathBuf>,
    files: Vec<Kept>,
}

impl Manifest for Record {
    const FILE: &'static str = "tools.json";
    const SCHEMA: &'static str = "tardy.vm.tools/1";

    fn schema(&self) -> &str {
        &self.schema
    }
}

fn names(programs: &[PathBuf]) -> String {
    let names = programs.iter().filter_map(|path| path.file_name()?.to_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Programs below `root`, as paths there; scripts need too much else and are left out.
fn programs_below(root: &Path) -> Vec<PathBuf> {
    let mut names = BTreeSet::new();
    let mut programs = vec![];
    for folder in FOLDERS.map(Path::new) {
        // Not every package has each.
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let mut found: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        found.sort();
        for name in found {
            let path = folder.join(&name);
            let is_program = real(&path, root).is_some_and(|file| is_elf(&file));
            if is_program && names.insert(name) {
                programs.push(path);
            }
        }
    }
    programs
}

/// The file that runs where `path` is called. A script that chooses among `NAME_VERSION` stands for
/// the newest of them.
fn real(path: &Path, root: &Path) -> Option<PathBuf> {
    let file = resolve(root, path)?;
    if is_elf(&file) {
        return Some(file);
    }
    let begin = format!("{}_", file.file_name()?.to_str()?);
    let beside = fs::read_dir(file.parent()?).ok()?;
    let versions = beside.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&begin))
            && is_elf(path)
    });
    versions.max()
}

/// Copies programs with their libraries from `root` to `complete`, where links are files.
fn take(programs: &[PathBuf], root: &Path, complete: &Path) -> Result<Vec<Kept>, VmError> {
    let mut wanted = BTreeSet::new();
    for path in programs {
        let file = real(path, root).ok_or_else(|| VmError::Program {
            path: root.join(path),
            why: "it is no longer a program".to_owned(),
        })?;
        wanted.extend(libraries_of(&file, root)?);
        wanted.insert((Path::new("/").join(path), file));
    }
    let mut kept = vec![];
    for (guest, here) in wanted {
        let path = guest.strip_prefix("/").unwrap_or(&guest).to_owned();
        let target = complete.join(&path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(VmError::file("make", parent))?;
        }
        // Several names for a file are to cost its size once.
        fs::hard_link(&here, &target).map_err(VmError::file("link", &here))?;
        kept.push(Kept::of(complete, path)?);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A root with this machine's shell in it, under several names.
    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let shell = Path::new("/bin/sh");
        for (guest, here) in libraries_of(shell, Path::new("/")).unwrap() {
            let target = root.path().join(guest.strip_prefix("/").unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(here, target).unwrap();
        }
        let folder = root.path().join("usr/bin");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(shell, folder.join("some_6.1")).unwrap();
        fs::copy(shell, folder.join("some_6.0")).unwrap();
        fs::write(folder.join("some"), "#!/bin/bash\n").unwrap();
        fs::write(folder.join("script"), "#!/bin/bash\n").unwrap();
        symlink("some", folder.join("link")).unwrap();
        root
    }

    #[test]
    fn programs_are_found_and_scripts_that_choose_stand_for_the_newest() {
        let root = root();
        let programs = programs_below(root.path());
        let expected = ["usr/bin/link", "usr/bin/some", "usr/bin/some_6.0", "usr/bin/some_6.1"];
        assert_eq!(programs, expected.map(PathBuf::from));
        let file = real(Path::new("usr/bin/link"), root.path());
        assert_eq!(file, Some(root.path().join("usr/bin/some_6.1")));
    }

    #[test]
    fn a_kept_program_comes_with_its_libraries_until_a_file_changes() {
        let root = root();
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let tools = Tools::of(Arch::X86_64, &cache);
        assert_eq!(
            tools.program("some").unwrap_err().to_string(),
            "the set of programs tools-x86_64 is not present; get it with `tardy vm fetch tools-x86_64`"
        );

        let programs = programs_below(root.path());
        let complete = tools.folder.clone();
        let files = take(&programs, root.path(), &complete).unwrap();
        let asked = tools.packages().iter().map(ToString::to_string).collect();
        let schema = Record::SCHEMA.to_owned();
        let record = Record { schema, asked, brought_s: 0, packages: vec![], programs, files };
        record.write(&complete).unwrap();

        let found = tools.program("some").unwrap();
        assert_eq!(found[0].0, Path::new("/usr/bin/some"));
        let expected = libraries_of(Path::new("/bin/sh"), Path::new("/")).unwrap();
        let guests = |files: &[(PathBuf, PathBuf)]| -> Vec<PathBuf> {
            files.iter().map(|(guest, _)| guest.clone()).collect()
        };
        assert_eq!(guests(&found[1..]), guests(&expected));
        assert!(found.iter().all(|(_, here)| here.starts_with(&complete)));

        let words = tools.program("other").unwrap_err().to_string();
        assert!(words.contains("some_6.1"), "{words}");

        fs::remove_file(complete.join("usr/bin/some")).unwrap();
        fs::write(complete.join("usr/bin/some"), "something else").unwrap();
        let error = tools.installed().unwrap_err();
        assert_eq!(error.command(), Some("tardy vm fetch tools-x86_64"), "{error}");
    }
    /// Downloads some 40 MB; asked for by `TARDY_TEST_VM=1`.
    #[test]
    fn debians_programs_can_be_had() {
        if std::env::var_os("TARDY_TEST_VM").is_none_or(|value| value != "1") {
            println!("skipped: TARDY_TEST_VM=1 asks for it, with a network");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::of(Arch::Armv7, &Cache::at(folder.path()));
        match tools.bring(&mut |words| println!("{words}")) {
            Ok(_) => {}
            Err(error @ (VmError::Failed { .. } | VmError::Needs { .. })) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        }
        for name in ["busybox", "cyclictest", "trace-cmd", "perf"] {
            let files = tools.program(name).unwrap();
            let is_static = files.len() == 1;
            assert_eq!(is_static, name == "busybox", "{files:?}");
        }
        // There now, so nothing is to be waited for.
        tools.bring(&mut |words| panic!("{words}")).unwrap();
    }
}
