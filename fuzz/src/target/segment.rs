//! A recording of one segment.
//!
//! Its checksums are put right first, as otherwise nearly every change to an input would end there.
//! One input in sixteen is left as it is. Others are built.

use super::Target;
use crate::built;
use crate::drain::drain;
use std::fs;
use std::path::Path;
use tardy_files::Folder;
use tardy_recording::Recording;
use tardy_recording::format::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES};
use tempfile::TempDir;

pub(super) struct Segment;

impl Target for Segment {
    fn name(&self) -> &'static str {
        "segment"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        let mut bytes = built::file(bytes, built::segment).into_owned();
        if !crc32c::crc32c(&bytes).is_multiple_of(16) {
            put_right(&mut bytes);
        }
        read_recording(None, Some(&bytes)).unwrap_or(0)
    }
}

/// Where the checksums are, in a file's header and in a frame's.
const FILE_CRC: usize = 16;
const FRAME_CRC: usize = 20;
const FRAME_BYTES: usize = 8;

fn put_right(bytes: &mut [u8]) {
    if bytes.len() < FILE_HEADER_BYTES {
        return;
    }
    let crc = crc32c::crc32c(&bytes[..FILE_CRC]);
    bytes[FILE_CRC..FILE_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    let mut rest = &mut bytes[FILE_HEADER_BYTES..];
    while let Some((head, behind)) = rest.split_first_chunk_mut::<FRAME_HEADER_BYTES>() {
        let length = u32::from_le_bytes([
            head[FRAME_BYTES],
            head[FRAME_BYTES + 1],
            head[FRAME_BYTES + 2],
            head[FRAME_BYTES + 3],
        ]);
        let Some((payload, next)) = behind.split_at_mut_checked(length as usize) else { break };
        let crc = crc32c::crc32c_append(crc32c::crc32c(&head[..FRAME_CRC]), payload);
        head[FRAME_CRC..].copy_from_slice(&crc.to_le_bytes());
        rest = next;
    }
}

/// Reads a recording with this manifest and this segment, where they are given; how many events it
/// has, where it can be opened.
pub(super) fn read_recording(manifest: Option<&[u8]>, segment: Option<&[u8]>) -> Option<usize> {
    thread_local! {
        static HELD: (TempDir, Folder) = folder();
    }
    HELD.with(|(folder, held)| {
        let folder = folder.path();
        let write = |name: &str, bytes: Option<&[u8]>| {
            let path = folder.join(name);
            if let Some(bytes) = bytes {
                fs::write(path, bytes).expect("room for an input");
            }
        };
        write("manifest.json", manifest);
        write("events/000000.seg", segment);
        match Recording::open_in(held, folder) {
            Ok(mut recording) => {
                let events = drain(&mut recording, false);
                let length = segment.map_or(0, <[u8]>::len) as u64;
                if let Some(torn) = recording.stopped_at() {
                    assert!(torn.byte <= length, "{torn}: there is no such byte");
                    assert!(!torn.to_string().is_empty());
                }
                Some(events)
            }
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
                None
            }
        }
    })
}

/// In memory, where there is such a place: a disk has better to do. Held open, as going there takes longer than reading
/// what is in it.
fn folder() -> (TempDir, Folder) {
    let memory = Path::new("/dev/shm");
    let folder = tempfile::Builder::new()
        .prefix("tardy-fuzz-")
        .tempdir_in(memory)
        .or_else(|_| tempfile::tempdir())
        .expect("a folder for inputs");
    fs::create_dir(folder.path().join("events")).expect("a folder in an empty one");
    let held = Folder::open(folder.path()).expect("the folder is ours");
    (folder, held)
}
