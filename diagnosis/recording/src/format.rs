//! How the bytes of a segment file lie.
//!
//! A segment is a file header and then frames, one after the other, to the end of the file. A file
//! that ends inside a frame was being written when its writer died. All numbers are little-endian,
//! all checksums CRC32C (Castagnoli).
//!
//! File header, [`FILE_HEADER_BYTES`] bytes:
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0–7 | `magic` | `TARDYSEG` |
//! | 8–11 | `version` | format version, [`VERSION`] |
//! | 12–15 | `segment` | the segment's number, the one in its name; 0 is the first |
//! | 16–19 | `crc` | of bytes 0–15 |
//!
//! Frame, a header of [`FRAME_HEADER_BYTES`] bytes and its payload:
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0–3 | `magic` | `TDYF` |
//! | 4 | `kind` | 1 names, 2 timers, 3 events; a reader passes over one it does not know |
//! | 5 | `encoding` | 0 plain, 1 zstd (one zstd frame) |
//! | 6–7 | `reserved` | 0 |
//! | 8–11 | `payload_len` | bytes of the payload in the file, at most [`FRAME_BYTES_MAX`] |
//! | 12–15 | `plain_len` | bytes of the payload once decoded, at most [`FRAME_BYTES_MAX`] |
//! | 16–19 | `count` | entries in the payload |
//! | 20–23 | `crc` | of bytes 0–19 and the payload as it lies in the file |
//! | 24– | `payload` | `payload_len` bytes |
//!
//! Payload, decoded: `count` entries without gaps.
//!
//! | kind | entry |
//! |---|---|
//! | names | `id` u32, `len` u16 (at most [`NAME_BYTES_MAX`]), `len` bytes of UTF-8 |
//! | timers | `id` u32, `function` (a name's id) u32, `address` u64, `owner` (thread id) u32, `class` u8 (0 hrtimer, 1 `timer_list`), 3 bytes 0 |
//! | events | the 32 bytes described in [`tardy_model::event`] |
//!
//! A definition's frame lies before every event that uses it, in the same stream, so that no crash
//! can part them.
//!
//! Limits: a frame's payload [`FRAME_BYTES_MAX`]; a segment [`SEGMENT_BYTES_MAX`], then the next
//! file begins; segments per recording 2³².

use crate::torn::Flaw;

/// The version of this format. A reader refuses a higher one.
pub const VERSION: u32 = 1;

/// The most bytes of one frame's payload, encoded or not.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// The most bytes of one segment file.
pub const SEGMENT_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a file header.
pub const FILE_HEADER_BYTES: usize = 20;

/// Bytes of a frame header.
pub const FRAME_HEADER_BYTES: usize = 24;

/// The most bytes of one name; a writer cuts longer ones at a character.
pub const NAME_BYTES_MAX: usize = 4096;

/// Bytes of a timer's definition.
pub const TIMER_BYTES: usize = 24;

const FILE_MAGIC: [u8; 8] = *b"TARDYSEG";
const FRAME_MAGIC: [u8; 4] = *b"TDYF";

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Names,
    Timers,
    Events,
    /// One that a newer program writes.
    Unknown(u8),
}

/// How a frame's payload lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Zstd,
}

/// A frame header whose lengths are within their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) kind: FrameKind,
    pub(crate) encoding: Encoding,
    pub(crate) payload_len: usize,
    pub(crate) plain_len: usize,
    pub(crate) count: u32,
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            Self::Names => 1,
            Self::Timers => 2,
            Self::Events => 3,
            Self::Unknown(code) => code,
        }
    }

    fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Names,
            2 => Self::Timers,
            3 => Self::Events,
            other => Self::Unknown(other),
        }
    }
}

impl FrameHeader {
    /// The header's bytes, with the checksum over it and `payload`.
    pub(crate) fn encode(&self, payload: &[u8]) -> [u8; FRAME_HEADER_BYTES] {
        assert!(payload.len() == self.payload_len && self.payload_len <= FRAME_BYTES_MAX);
        assert!(self.plain_len <= FRAME_BYTES_MAX);
        let mut out = [0; FRAME_HEADER_BYTES];
        out[0..4].copy_from_slice(&FRAME_MAGIC);
        out[4] = self.kind.code();
        out[5] = u8::from(self.encoding == Encoding::Zstd);
        out[8..12].copy_from_slice(&(self.payload_len as u32).to_le_bytes());
        out[12..16].copy_from_slice(&(self.plain_len as u32).to_le_bytes());
        out[16..20].copy_from_slice(&self.count.to_le_bytes());
        let crc = frame_crc(&out, payload);
        out[20..24].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a header; what it says is only true once [`FrameHeader::check`] has seen the payload.
    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER_BYTES]) -> Result<Self, Flaw> {
        if bytes[0..4] != FRAME_MAGIC {
            return Err(Flaw::NoFrame);
        }
        let header = Self {
            kind: FrameKind::from_code(bytes[4]),
            encoding: match bytes[5] {
                0 => Encoding::Plain,
                1 => Encoding::Zstd,
                other => return Err(Flaw::Encoding(other)),
            },
            payload_len: u32_at(bytes, 8) as usize,
            plain_len: u32_at(bytes, 12) as usize,
            count: u32_at(bytes, 16),
        };
        let longest = header.payload_len.max(header.plain_len);
        if longest > FRAME_BYTES_MAX {
            return Err(Flaw::TooLong { bytes: longest });
        }
        if header.encoding == Encoding::Plain && header.payload_len != header.plain_len {
            return Err(Flaw::Lengths);
        }
        Ok(header)
    }

    /// Whether the checksum in a header's bytes is that of header and payload.
    pub(crate) fn check(bytes: &[u8; FRAME_HEADER_BYTES], payload: &[u8]) -> Result<(), Flaw> {
        if frame_crc(bytes, payload) == u32_at(bytes, 20) { Ok(()) } else { Err(Flaw::Checksum) }
    }
}

/// The file header of segment `number`.
pub(crate) fn encode_file_header(number: u32) -> [u8; FILE_HEADER_BYTES] {
    let mut out = [0; FILE_HEADER_BYTES];
    out[0..8].copy_from_slice(&FILE_MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&number.to_le_bytes());
    let crc = crc32c::crc32c(&out[..16]);
    out[16..20].copy_from_slice(&crc.to_le_bytes());
    out
}

/// Checks that `bytes` are the file header of segment `number` in a version that is known here.
pub(crate) fn check_file_header(bytes: &[u8; FILE_HEADER_BYTES], number: u32) -> Result<(), Flaw> {
    if bytes[0..8] != FILE_MAGIC {
        return Err(Flaw::NoSegment);
    }
    if crc32c::crc32c(&bytes[..16]) != u32_at(bytes, 16) {
        return Err(Flaw::Checksum);
    }
    match (u32_at(bytes, 8), u32_at(bytes, 12)) {
        (version, _) if version > VERSION => Err(Flaw::Newer { version }),
        (_, found) if found != number => Err(Flaw::OtherSegment { found }),
        _ => Ok(()),
    }
}

/// The name of segment `number`'s file.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:06}.seg")
}

/// The inverse of [`segment_name`]; `None` for any other name.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".seg")?.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}

fn frame_crc(header: &[u8; FRAME_HEADER_BYTES], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..20]), payload)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_lie_as_the_table_says() {
        let payload = [7u8; 32];
        let header = FrameHeader {
            kind: FrameKind::Events,
            encoding: Encoding::Plain,
            payload_len: 32,
            plain_len: 32,
            count: 1,
        };
        let bytes = header.encode(&payload);
        assert_eq!(bytes[..20], *b"TDYF\x03\0\0\0\x20\0\0\0\x20\0\0\0\x01\0\0\0");
        let crc = crc32c::crc32c(&[&bytes[..20], &payload[..]].concat());
        assert_eq!(bytes[20..], crc.to_le_bytes());
        assert_eq!(FrameHeader::decode(&bytes), Ok(header));
        assert_eq!(encode_file_header(3)[..16], *b"TARDYSEG\x01\0\0\0\x03\0\0\0");
    }

    #[test]
    fn lengths_beyond_the_limit_are_refused() {
        let header = FrameHeader {
            kind: FrameKind::Names,
            encoding: Encoding::Zstd,
            payload_len: 0,
            plain_len: FRAME_BYTES_MAX,
            count: 0,
        };
        let mut bytes = header.encode(&[]);
        assert_eq!(FrameHeader::decode(&bytes), Ok(header));
        bytes[12..16].copy_from_slice(&(FRAME_BYTES_MAX as u32 + 1).to_le_bytes());
        let too_long = Flaw::TooLong { bytes: FRAME_BYTES_MAX + 1 };
        assert_eq!(FrameHeader::decode(&bytes), Err(too_long));
    }

    #[test]
    fn segment_names_go_both_ways() {
        assert_eq!(segment_name(7), "000007.seg");
        for number in [0, 999_999, 1_000_000, u32::MAX] {
            assert_eq!(segment_number(&segment_name(number)), Some(number));
        }
        for other in ["7.seg", "000007.seg.tmp", "+00007.seg", "000007"] {
            assert_eq!(segment_number(other), None, "{other}");
        }
    }
}
