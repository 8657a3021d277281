//! Sends a folder's files while they grow, so that a guest that breaks leaves what it had.

use super::port::Port;
use crate::channel::{DEPTH_MAX, FILES_MAX, HOSTS, Message, PATH_MAX, PAYLOAD_MAX, Piece};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a piece. Every piece is an interrupt on its way out.
const PIECE_BYTES: usize = PAYLOAD_MAX - PATH_MAX - 16;

/// Files up to this many bytes are sent again at once where they were changed without having grown;
/// what else was changed in place is sent again at the end.
const REWRITTEN_MAX: u64 = 1 << 20;

/// Names of which it is said that they cannot be sent, at most.
const REFUSED_MAX: usize = 100;

/// Follows the files of a folder.
pub(super) struct Follower {
    folder: PathBuf,
    sent: HashMap<PathBuf, Sent>,
    /// Those of which it was said that they cannot be sent.
    refused: BTreeSet<PathBuf>,
    /// Whether it was said that there are too many.
    is_full: bool,
}

/// What of a file has been sent.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sent {
    inode: u64,
    bytes: u64,
    /// The CRC32C of these.
    crc: u32,
    /// When it was changed last, s and ns.
    changed: (i64, i64),
}

impl Follower {
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            sent: HashMap::new(),
            refused: BTreeSet::new(),
            is_full: false,
        }
    }

    /// Sends what is new for the last time, and again whole what was changed behind what had been sent:
    /// many write a file's head when its length is known.
    pub(super) fn finish(&mut self, port: &Port) {
        self.send_new(port);
        for (path, sent) in &self.sent {
            if crc_of(path, sent.bytes).is_some_and(|crc| crc != sent.crc) {
                send_file(&self.folder, path, None, port);
            }
        }
    }

    /// Sends what is new: what files have grown by, and small ones that were written anew in place.
    pub(super) fn send_new(&mut self, port: &Port) {
        let mut files = vec![];
        collect(&self.folder, DEPTH_MAX, &mut files);
        for path in files {
            if !self.sent.contains_key(&path) && self.sent.len() >= FILES_MAX {
                if !self.is_full {
                    self.is_full = true;
                    let why = format!("more than {FILES_MAX} files: the rest stays in the guest");
                    port.send(&Message::Stderr(format!("tardy-guest: {why}\n").into_bytes()));
                }
                continue;
            }
            if name_of(&self.folder, &path).is_none() {
                if self.refused.len() < REFUSED_MAX && self.refused.insert(path.clone()) {
                    let name = path.to_string_lossy();
                    let why = format!(
                        "{name:?} stays in the guest: a name is UTF-8, of {PATH_MAX} bytes at most, and not below {HOSTS}/"
                    );
                    port.send(&Message::Stderr(format!("tardy-guest: {why}\n").into_bytes()));
                }
                continue;
            }
            // Files come and go.
            if let Some(sent) = send_file(&self.folder, &path, self.sent.get(&path), port) {
                self.sent.insert(path, sent);
            }
        }
    }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    // In order of names, so that equal guests say equal things.
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() && depth > 0 => collect(&path, depth - 1, files),
            Ok(found) if found.is_file() => files.push(path),
            _ => {}
        }
    }
}

/// By which a file is sent; none where it has no name that can be.
fn name_of<'a>(folder: &Path, path: &'a Path) -> Option<&'a str> {
    let name = path.strip_prefix(folder).ok()?;
    let is_hosts = name.starts_with(HOSTS);
    name.to_str().filter(|name| name.len() <= PATH_MAX && !is_hosts)
}

/// Sends what is new of a file. None where it is gone, or has no name that can be sent.
fn send_file(folder: &Path, path: &Path, before: Option<&Sent>, port: &Port) -> Option<Sent> {
    let name = name_of(folder, path)?;
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let found = Sent {
        inode: metadata.ino(),
        bytes: 0,
        crc: 0,
        changed: (metadata.mtime(), metadata.mtime_nsec()),
    };
    let is_new = before.is_none_or(|before| {
        let grown = metadata.len().checked_sub(before.bytes);
        before.inode != found.inode
            || grown.is_none()
            || (grown == Some(0)
                && before.changed != found.changed
                && metadata.len() <= REWRITTEN_MAX)
    });
    let (mut offset, mut crc) =
        before.filter(|_| !is_new).map_or((0, 0), |before| (before.bytes, before.crc));
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let len = file.read(&mut buffer).ok()?;
        // An empty file is one too.
        if len > 0 || (offset == 0 && is_new) {
            let bytes = buffer[..len].to_vec();
            port.send(&Message::File(Piece { path: name.to_owned(), offset, bytes }));
        }
        offset += len as u64;
        crc = crc32c::crc32c_append(crc, &buffer[..len]);
        if len == 0 {
            return Some(Sent { bytes: offset, crc, ..found });
        }
    }
}

/// The CRC32C of a file's first bytes. None where it cannot be read.
fn crc_of(path: &Path, bytes: u64) -> Option<u32> {
    let mut file = File::open(path).ok()?.take(bytes);
    let (mut crc, mut buffer) = (0, vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(crc),
            len => crc = crc32c::crc32c_append(crc, &buffer[..len]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::received::Received;
    use std::os::unix::fs::FileExt as _;
    use tempfile::TempDir;

    /// A guest's folder, its port, and what the host has made of what came through that.
    struct Both {
        root: TempDir,
        follower: Follower,
        port: Port,
        received: Received,
    }

    impl Both {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let at = |name: &str| root.path().join(name);
            fs::create_dir(at("guest")).unwrap();
            fs::create_dir(at("host")).unwrap();
            let port = Port::from(File::create(at("port")).unwrap());
            let received = Received::new(&at("port"), &at("host")).unwrap();
            let follower = Follower::of(&at("guest"));
            Self { root, follower, port, received }
        }

        fn guest(&self, name: &str) -> PathBuf {
            self.root.path().join("guest").join(name)
        }

        fn host(&self, name: &str) -> Vec<u8> {
            fs::read(self.root.path().join("host").join(name)).unwrap()
        }

        /// Bytes that a round puts on the port.
        fn round(&mut self, send: impl Fn(&mut Follower, &Port)) -> u64 {
            let bytes = |root: &TempDir| fs::metadata(root.path().join("port")).unwrap().len();
            let before = bytes(&self.root);
            send(&mut self.follower, &self.port);
            self.received.look(&mut |_| {}).unwrap();
            bytes(&self.root) - before
        }
    }

    #[test]
    fn what_grows_is_sent_once_and_what_is_written_anew_again() {
        let mut both = Both::new();
        fs::create_dir(both.guest("in")).unwrap();
        fs::write(both.guest("in/grows"), vec![7; 200_000]).unwrap();
        fs::write(both.guest("empty"), "").unwrap();
        fs::write(both.guest("small"), "one").unwrap();
        assert!(both.round(Follower::send_new) > 200_000);
        assert_eq!(both.round(Follower::send_new), 0);

        let mut grown = vec![7; 200_000];
        grown.extend([8; 10]);
        fs::write(both.guest("in/grows"), &grown).unwrap();
        fs::write(both.guest("small"), "two").unwrap();
        // Another time of change, whatever the file system's clock does.
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        File::options().write(true).open(both.guest("small")).unwrap().set_modified(later).unwrap();
        assert!(both.round(Follower::send_new) < 200);
        assert_eq!((both.host("in/grows"), both.host("small")), (grown, b"two".to_vec()));
        assert_eq!(both.host("empty"), b"");
    }

    #[test]
    fn a_head_that_is_written_last_arrives() {
        let mut both = Both::new();
        let bytes = REWRITTEN_MAX as usize + 1000;
        fs::write(both.guest("data"), vec![0; bytes]).unwrap();
        both.round(Follower::send_new);
        let file = File::options().write(true).open(both.guest("data")).unwrap();
        file.write_all_at(b"tail", bytes as u64).unwrap();
        file.write_all_at(b"head", 0).unwrap();
        assert!(both.round(Follower::finish) > bytes as u64);
        let mut expected = vec![0; bytes];
        expected[..4].copy_from_slice(b"head");
        expected.extend(b"tail");
        assert!(both.host("data") == expected);
        assert_eq!(both.round(Follower::send_new), 0, "what is as it was is not sent again");
    }

    #[test]
    fn links_and_what_is_too_deep_stay_there() {
        let mut both = Both::new();
        std::os::unix::fs::symlink("/etc/passwd", both.guest("link")).unwrap();
        let deep = both.guest(&"d/".repeat(DEPTH_MAX + 1));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "deep").unwrap();
        assert_eq!(both.round(Follower::send_new), 0);
    }
}
