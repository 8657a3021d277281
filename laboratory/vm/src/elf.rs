//! Which files a program needs to start: its interpreter and its libraries.

use crate::VmError;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, StringTable};
use object::{Endianness, FileKind, ReadRef};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// As many symbolic links as the kernel follows.
const LINKS_MAX: usize = 40;
/// More than any program has; a damaged file could name them without end.
const LIBRARIES_MAX: usize = 1000;

/// What a program file says of itself.
#[derive(Debug)]
struct Needs {
    interpreter: Option<PathBuf>,
    libraries: Vec<Vec<u8>>,
    /// Folders that it wants its libraries looked for first, separated by colons.
    paths: Vec<u8>,
    machine: Machine,
}

/// Code for one does not run with code for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Machine {
    kind: elf::Machine,
    is_64: bool,
}

impl Machine {
    /// Where its libraries are, as Debian's loader and others' look for them.
    fn folders(self) -> Vec<PathBuf> {
        let triplet = match self.kind {
            elf::EM_X86_64 => "x86_64-linux-gnu",
            elf::EM_ARM => "arm-linux-gnueabihf",
            elf::EM_AARCH64 => "aarch64-linux-gnu",
            _ => "",
        };
        let wide: &[&str] = if self.is_64 { &["/lib64", "/usr/lib64"] } else { &[] };
        let own = (!triplet.is_empty())
            .then(|| ["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(triplet)));
        own.into_iter()
            .flatten()
            .chain(wide.iter().chain(&["/lib", "/usr/lib"]).map(PathBuf::from))
            .collect()
    }
}

/// The interpreter of a program and all libraries that it is linked with, those of libraries
/// included: where each has to be in the guest, and where it is here. Nothing for a static program.
///
/// Everything is looked for below `root`, links too; `/` for a program of this machine.
///
/// # Errors
/// Where the program cannot be read, is none, or lacks a library.
pub fn libraries_of(program: &Path, root: &Path) -> Result<Vec<(PathBuf, PathBuf)>, VmError> {
    let why = |why: String| VmError::Program { path: program.to_owned(), why };
    let file = fs::canonicalize(program).map_err(VmError::file("read", program))?;
    let needs = read(&file)?.ok_or_else(|| why("it is not a program but a script".to_owned()))?;
    let machine = needs.machine;
    let mut found = BTreeMap::new();
    if let Some(interpreter) = &needs.interpreter {
        let here = resolve(root, interpreter).ok_or_else(|| {
            why(format!(
                "its interpreter {} is not below {}",
                interpreter.display(),
                root.display()
            ))
        })?;
        found.insert(interpreter.clone(), here);
    }
    let home = file.strip_prefix(root).map_or(file.clone(), |path| Path::new("/").join(path));
    let mut left = VecDeque::from([(home, needs)]);
    while let Some((home, needs)) = left.pop_front() {
        let folders = asked_for(&needs.paths, &home);
        for name in &needs.libraries {
            let name = Path::new(OsStr::from_bytes(name));
            let (guest, here, its) = look_for(name, &folders, machine, root)?.ok_or_else(|| {
                why(format!("it needs {}, which is not below {}", name.display(), root.display()))
            })?;
            let is_interpreter = found.values().any(|known| *known == here);
            if is_interpreter || found.contains_key(&guest) {
                continue;
            }
            if found.len() >= LIBRARIES_MAX {
                return Err(why(format!("it needs more than {LIBRARIES_MAX} libraries")));
            }
            found.insert(guest.clone(), here);
            left.push_back((guest, its));
        }
    }
    Ok(found.into_iter().collect())
}

/// Folders of the kind `/a:$ORIGIN/b`, for a program whose place in the guest is `home`.
fn asked_for(paths: &[u8], home: &Path) -> Vec<PathBuf> {
    let origin = home.parent().unwrap_or(Path::new("/"));
    let paths = String::from_utf8_lossy(paths);
    let origin = origin.to_string_lossy();
    paths
        .split(':')
        .map(|path| path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect()
}

fn look_for(
    name: &Path,
    folders: &[PathBuf],
    machine: Machine,
    root: &Path,
) -> Result<Option<(PathBuf, PathBuf, Needs)>, VmError> {
    let usual = machine.folders();
    for folder in folders.iter().chain(&usual) {
        // An absolute name stands for itself.
        let guest = folder.join(name);
        if let Some(here) = resolve(root, &guest)
            && let Some(needs) = read(&here)?
            && needs.machine == machine
        {
            return Ok(Some((guest, here, needs)));
        }
    }
    Ok(None)
}

/// The file that `path` is for one whose root is `root`.
pub(crate) fn resolve(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut links = 0;
    let mut left: VecDeque<_> = path.components().map(own).collect();
    // Below the root, without a link in it.
    let mut reached = PathBuf::new();
    while let Some(part) = left.pop_front() {
        match part {
            Part::Root => reached.clear(),
            Part::Up => {
                reached.pop();
            }
            Part::Name(name) => {
                let next = reached.join(name);
                match fs::read_link(root.join(&next)) {
                    Ok(target) => {
                        links += 1;
                        if links > LINKS_MAX {
                            return None;
                        }
                        for part in target.components().rev().map(own) {
                            left.push_front(part);
                        }
                    }
                    Err(_) => reached = next,
                }
            }
        }
    }
    let file = root.join(reached);
    file.is_file().then_some(file)
}

enum Part {
    Root,
    Up,
    Name(PathBuf),
}

fn own(component: Component) -> Part {
    match component {
        Component::RootDir | Component::Prefix(_) => Part::Root,
        Component::ParentDir => Part::Up,
        Component::CurDir => Part::Name(PathBuf::new()),
        Component::Normal(name) => Part::Name(PathBuf::from(name)),
    }
}

/// Whether a file is a program or a library, for any machine.
pub(crate) fn is_elf(file: &Path) -> bool {
    matches!(read(file), Ok(Some(_)))
}

/// Nothing where it is no ELF file at all.
fn read(path: &Path) -> Result<Option<Needs>, VmError> {
    let file = tardy_files::open_named(path).map_err(VmError::file("read", path))?;
    let data = ReadCache::new(file);
    let needs = match FileKind::parse(&data) {
        Ok(FileKind::Elf32) => scan::<FileHeader32<Endianness>, _>(&data),
        Ok(FileKind::Elf64) => scan::<FileHeader64<Endianness>, _>(&data),
        _ => return Ok(None),
    };
    needs
        .map(Some)
        .map_err(|error| VmError::Program { path: path.to_owned(), why: error.to_string() })
}

fn scan<'data, Header, Data>(data: Data) -> object::Result<Needs>
where
    Header: FileHeader<Endian = Endianness>,
    Data: ReadRef<'data>,
{
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let machine = Machine { kind: header.e_machine(endian), is_64: header.is_type_64() };
    let mut needs = Needs { interpreter: None, libraries: vec![], paths: vec![], machine };
    let segments = header.program_headers(endian, data)?;
    for segment in segments {
        if let Some(path) = segment.interpreter(endian, data)? {
            needs.interpreter = Some(PathBuf::from(OsStr::from_bytes(path)));
        }
        let Some(entries) = segment.dynamic(endian, data)? else { continue };
        let value_of = |tag: elf::DynamicTag| {
            let mut entries = entries.iter().filter(move |entry| entry.tag(endian) == tag);
            entries.next().map(|entry| entry.val(endian))
        };
        let Some(address) = value_of(elf::DT_STRTAB) else { continue };
        // The table is told by its address; the file has it where that address is loaded from.
        let load = segments.iter().find_map(|load| {
            let (start, bytes) = (load.p_vaddr(endian).into(), load.p_filesz(endian).into());
            let within = address.checked_sub(start).filter(|within| *within < bytes)?;
            (load.p_type(endian) == elf::PT_LOAD)
                .then(|| load.p_offset(endian).into().checked_add(within))?
        });
        let Some(start) = load else { continue };
        let end = start.saturating_add(value_of(elf::DT_STRSZ).unwrap_or(u64::MAX - start));
        let strings = StringTable::new(data, start, end.min(data.len().unwrap_or(end)));
        for entry in entries {
            let text = || {
                let at = u32::try_from(entry.val(endian)).unwrap_or(u32::MAX);
                strings.get(at).map(<[u8]>::to_vec).unwrap_or_default()
            };
            match entry.tag(endian) {
                elf::DT_NEEDED => needs.libraries.push(text()),
                elf::DT_RPATH | elf::DT_RUNPATH => needs.paths = text(),
                _ => {}
            }
        }
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_shell_needs_its_interpreter_and_the_c_library() {
        let shell = Path::new("/bin/sh");
        let files = libraries_of(shell, Path::new("/")).unwrap();
        if files.is_empty() {
            println!("skipped: /bin/sh is static here");
            return;
        }
        let guests: Vec<_> = files.iter().map(|(guest, _)| guest.to_string_lossy()).collect();
        assert!(guests.iter().any(|guest| guest.contains("/ld-")), "{guests:?}");
        assert!(guests.iter().any(|guest| guest.contains("libc.")), "{guests:?}");
        for (guest, here) in &files {
            assert!(guest.is_absolute(), "{}", guest.display());
            assert!(is_elf(here), "{}", here.display());
        }
    }

    #[test]
    fn libraries_of_libraries_belong_to_it_and_none_is_there_twice() {
        let this = std::env::current_exe().unwrap();
        let files = libraries_of(&this, Path::new("/")).unwrap();
        let mut here: Vec<_> = files.iter().map(|(_, here)| here).collect();
        here.sort();
        let all = here.len();
        here.dedup();
        assert_eq!(here.len(), all);
        for file in here {
            for (_, its) in libraries_of(file, Path::new("/")).unwrap() {
                assert!(files.iter().any(|(_, known)| *known == its), "{}", its.display());
            }
        }
    }

    #[test]
    fn what_lacks_a_library_says_which() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("sh");
        fs::copy("/bin/sh", &program).unwrap();
        let words = libraries_of(&program, root.path()).unwrap_err().to_string();
        assert!(words.contains("its interpreter /"), "{words}");
    }

    #[test]
    fn a_script_and_a_damaged_program_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        let words = libraries_of(&file, Path::new("/")).unwrap_err().to_string();
        assert!(words.ends_with("it is not a program but a script"), "{words}");

        let whole = fs::read("/bin/sh").unwrap();
        // A cut anywhere in what tells of libraries, and bytes that are others.
        for length in [5, 20, 64, 100, 200, 600, 2000] {
            fs::write(&file, &whole[..length.min(whole.len())]).unwrap();
            let _ = libraries_of(&file, Path::new("/"));
        }
        let mut random = 1u32;
        for _ in 0..200 {
            let mut damaged = whole[..whole.len().min(20_000)].to_vec();
            for _ in 0..20 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (random >> 8) as usize % 1024.min(damaged.len());
                damaged[at] = random as u8;
            }
            fs::write(&file, damaged).unwrap();
            let _ = libraries_of(&file, Path::new("/"));
        }
    }

    #[test]
    fn links_are_followed_below_the_root_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/file"), "").unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        symlink("/lib/file", root.join("absolute")).unwrap();
        symlink("../../../usr/lib/file", root.join("usr/lib/relative")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let file = Some(root.join("usr/lib/file"));
        assert_eq!(resolve(root, Path::new("/lib/file")), file);
        assert_eq!(resolve(root, Path::new("/absolute")), file);
        assert_eq!(resolve(root, Path::new("/lib/relative")), file);
        assert_eq!(resolve(root, Path::new("/circle")), None);
        assert_eq!(resolve(root, Path::new("/etc/passwd")), None);
    }
}
