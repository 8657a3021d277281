//! A guest's first file system: a cpio archive that the kernel unpacks into memory.

use crate::VmError;
use cpio::newc::{Builder, trailer};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const FOLDER: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

/// A guest's first file system, as it is put together.
#[derive(Debug, Default)]
pub(crate) struct Initramfs {
    entries: Vec<(PathBuf, Entry)>,
}

#[derive(Debug)]
enum Entry {
    /// A file of this machine.
    Copy(PathBuf),
    /// A file of these bytes.
    Text(Vec<u8>),
    /// A symbolic link.
    Link(PathBuf),
    Folder,
}

impl Initramfs {
    /// A copy of a file of this machine, links followed, with its permissions.
    pub(crate) fn copy(&mut self, to: impl Into<PathBuf>, from: impl Into<PathBuf>) {
        self.entries.push((to.into(), Entry::Copy(from.into())));
    }

    /// A file of these bytes.
    pub(crate) fn file(&mut self, to: impl Into<PathBuf>, bytes: Vec<u8>) {
        self.entries.push((to.into(), Entry::Text(bytes)));
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, at: impl Into<PathBuf>, to: impl Into<PathBuf>) {
        self.entries.push((at.into(), Entry::Link(to.into())));
    }

    /// An empty folder.
    pub(crate) fn folder(&mut self, at: impl Into<PathBuf>) {
        self.entries.push((at.into(), Entry::Folder));
    }

    /// Writes the archive to a file. Folders come before what is in them; what is given twice is
    /// written once, as given first.
    pub(crate) fn write(&self, path: &Path) -> Result<(), VmError> {
        let file = File::create(path).map_err(VmError::file("write", path))?;
        let mut out = io::BufWriter::new(file);
        let mut written = BTreeSet::new();
        for (at, entry) in &self.entries {
            for folder in folders_of(at) {
                if written.insert(folder.clone()) {
                    put(&mut out, &folder, FOLDER, &[]).map_err(VmError::file("write", path))?;
                }
            }
            if !written.insert(at.clone()) {
                continue;
            }
            match entry {
                Entry::Copy(from) => {
                    let (mode, bytes) = read(from).map_err(VmError::file("read", from))?;
                    put(&mut out, at, REGULAR | mode, &bytes)
                }
                Entry::Text(bytes) => put(&mut out, at, REGULAR | 0o755, bytes),
                Entry::Link(to) => put(&mut out, at, LINK, to.as_os_str().as_encoded_bytes()),
                Entry::Folder => put(&mut out, at, FOLDER, &[]),
            }
            .map_err(VmError::file("write", path))?;
        }
        trailer(out).and_then(|mut out| out.flush()).map_err(VmError::file("write", path))
    }
}

/// The folders above a path, the outermost first.
fn folders_of(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .filter(|path| path.parent().is_some())
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

fn read(path: &Path) -> io::Result<(u32, Vec<u8>)> {
    let mut file = tardy_files::open_named(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok((mode, bytes))
}

fn put(out: &mut impl Write, at: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let name = at.strip_prefix("/").unwrap_or(at).to_string_lossy();
    let size = u32::try_from(bytes.len())
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{name} is too large")))?;
    let mut entry = Builder::new(&name).mode(mode).nlink(1).write(&mut *out, size);
    entry.write_all(bytes)?;
    entry.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;

    #[test]
    fn folders_come_first_and_nothing_comes_twice() {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = Initramfs::default();
        tree.copy("/bin/sh", "/bin/sh");
        tree.file("/usr/lib/text", b"hello".to_vec());
        tree.link("/init", "/bin/sh");
        tree.folder("/proc");
        tree.file("/usr/lib/text", b"again".to_vec());
        let path = folder.path().join("initrd");
        tree.write(&path).unwrap();

        let mut archive = File::open(&path).unwrap();
        let mut found = vec![];
        loop {
            let mut reader = Reader::new(archive).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut bytes = vec![];
            reader.read_to_end(&mut bytes).unwrap();
            let mode = reader.entry().mode();
            found.push((reader.entry().name().to_owned(), mode, bytes));
            archive = reader.finish().unwrap();
        }
        let names: Vec<&str> = found.iter().map(|(name, ..)| &**name).collect();
        assert_eq!(names, ["bin", "bin/sh", "usr", "usr/lib", "usr/lib/text", "init", "proc"]);
        assert_eq!(found[1].2, std::fs::read("/bin/sh").unwrap());
        assert_eq!(found[1].1 & 0o111, 0o111, "a program stays one");
        assert_eq!((found[4].1, &*found[4].2), (0o100_755, &b"hello"[..]));
        assert_eq!((found[5].1, &*found[5].2), (0o120_777, &b"/bin/sh"[..]));
        assert_eq!(found[6].1, 0o040_755);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = Initramfs::default();
        tree.copy("/bin/sh", "/no/such/file");
        let error = tree.write(&folder.path().join("initrd")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /no/such/file: "), "{error}");
    }
}
