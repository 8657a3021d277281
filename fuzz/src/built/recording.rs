//! A recording's segment: frames whose lengths, counts and checksums are right, of entries that fit together.
//!
//! Each byte says which frame comes next: names, timers, events, one of a kind that a newer program writes; then how
//! many entries, then what is in them.

use super::Taker;
use tardy_recording::format::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES};

const MAGIC: &[u8] = b"TARDYSEG";
const FRAME_MAGIC: &[u8] = b"TDYF";
const VERSION: u32 = 1;

/// Kinds of frames.
const NAMES: u8 = 1;
const TIMERS: u8 = 2;
const EVENTS: u8 = 3;

/// Entries of a frame at most.
const ENTRIES_MAX: u8 = 32;

/// Builds the first segment of a recording.
pub fn segment(how: &[u8]) -> Vec<u8> {
    let mut how = Taker::new(how);
    let mut out = [MAGIC, &VERSION.to_le_bytes(), &0u32.to_le_bytes()].concat();
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    debug_assert_eq!(out.len(), FILE_HEADER_BYTES);
    let mut now_ns = 0;
    while let Some(choice) = how.more() {
        let count = how.byte() % ENTRIES_MAX;
        let kind = [EVENTS, NAMES, TIMERS, EVENTS, choice][usize::from(choice) % 5];
        let mut payload = Vec::new();
        for _ in 0..count {
            match kind {
                NAMES => {
                    payload.extend((how.number() as u32).to_le_bytes());
                    let name = how.some();
                    payload.extend((name.len() as u16).to_le_bytes());
                    payload.extend(name);
                }
                TIMERS => {
                    payload.extend((how.number() as u32).to_le_bytes());
                    payload.extend((how.number() as u32).to_le_bytes());
                    payload.extend(how.number().to_le_bytes());
                    payload.extend((how.number() as u32).to_le_bytes());
                    payload.extend([how.byte(), 0, 0, 0]);
                }
                EVENTS => payload.extend(super::event(&mut how, &mut now_ns).to_bytes()),
                _ => payload.extend(how.some()),
            }
        }
        out.extend(frame(kind, count.into(), &payload));
    }
    out
}

fn frame(kind: u8, count: u32, payload: &[u8]) -> Vec<u8> {
    let bytes = (payload.len() as u32).to_le_bytes();
    let head = [FRAME_MAGIC, &[kind, 0, 0, 0], &bytes, &bytes, &count.to_le_bytes()].concat();
    let crc = crc32c::crc32c_append(crc32c::crc32c(&head), payload);
    debug_assert_eq!(head.len() + 4, FRAME_HEADER_BYTES);
    [&head[..], &crc.to_le_bytes(), payload].concat()
}
