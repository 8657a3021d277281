//! Sends a folder's files while they grow, so that a guest that breaks leaves what it had.

use super::port::Port;
use crate::channel::{Message, PATH_MAX, PAYLOAD_MAX, Piece};
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a piece. Every piece is an interrupt on its way out.
const PIECE_BYTES: usize = PAYLOAD_MAX - PATH_MAX - 16;

/// Files up to this many bytes are sent again where they were changed without having grown.
const REWRITTEN_MAX: u64 = 1 << 20;

/// The most files that are followed; more are not sent, which is said.
const FILES_MAX: usize = 10_000;

/// How deep folders go.
const DEPTH_MAX: usize = 16;

/// Follows the files of a folder.
pub(super) struct Follower {
    folder: PathBuf,
    sent: HashMap<PathBuf, Sent>,
    /// Whether it was said that there are too many.
    is_full: bool,
}

/// What of a file has been sent.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sent {
    inode: u64,
    bytes: u64,
    /// When it was changed last, s and ns.
    changed: (i64, i64),
}

impl Follower {
    pub(super) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), sent: HashMap::new(), is_full: false }
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

/// Sends what is new of a file. None where it is gone, or has no name that can be sent.
fn send_file(folder: &Path, path: &Path, before: Option<&Sent>, port: &Port) -> Option<Sent> {
    let name = path.strip_prefix(folder).ok()?.to_str().filter(|name| name.len() <= PATH_MAX)?;
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let found = sent(&metadata, 0);
    let is_new = before.is_none_or(|before| {
        let grown = metadata.len().checked_sub(before.bytes);
        before.inode != found.inode
            || grown.is_none()
            || (grown == Some(0)
                && before.changed != found.changed
                && metadata.len() <= REWRITTEN_MAX)
    });
    let from = before.filter(|_| !is_new).map_or(0, |before| before.bytes);
    let mut offset = from;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let len = file.read(&mut buffer).ok()?;
        // An empty file is one too.
        if len > 0 || (offset == 0 && is_new) {
            let bytes = buffer[..len].to_vec();
            port.send(&Message::File(Piece { path: name.to_owned(), offset, bytes }));
        }
        offset += len as u64;
        if len == 0 {
            return Some(Sent { bytes: offset, ..found });
        }
    }
}

fn sent(metadata: &Metadata, bytes: u64) -> Sent {
    Sent { inode: metadata.ino(), bytes, changed: (metadata.mtime(), metadata.mtime_nsec()) }
}
