//! What a guest says to its host, as frames on a virtio-serial port.
//!
//! | bytes | what |
//! |---|---|
//! | 0 | `T` |
//! | 1 | which message |
//! | 2–5 | bytes of the payload, at most [`PAYLOAD_MAX`] |
//! | 6–9 | CRC32C of the payload |
//! | 10– | payload |
//!
//! Numbers are little-endian.

use serde::{Deserialize, Serialize};

/// The most bytes of a payload.
pub(crate) const PAYLOAD_MAX: usize = 64 << 10;

/// The longest path of a file, in bytes.
pub(crate) const PATH_MAX: usize = 512;

/// Files that a guest may send at most; of more it sends the first, and says so.
pub(crate) const FILES_MAX: usize = 10_000;

/// Folders in folders at most.
pub(crate) const DEPTH_MAX: usize = 16;

/// Bytes of all its files together at most.
pub(crate) const FILES_BYTES_MAX: u64 = 16 << 30;

/// The folder beside a guest's files that holds what is the host's: what its console said, and its outputs.
pub(crate) const HOSTS: &str = "vm";

const MAGIC: u8 = b'T';
const HEADER_BYTES: usize = 10;

/// The version of this protocol; both ends must have the same.
pub(crate) const VERSION: u32 = 1;

/// A message of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// It is up.
    Hello(Hello),
    /// The command's standard output.
    Stdout(Vec<u8>),
    /// The command's standard error.
    Stderr(Vec<u8>),
    /// A piece of a file of the output folder. At offset 0 the file begins anew.
    File(Piece),
    /// It lives: its time in ns of `CLOCK_MONOTONIC`.
    Beat(u64),
    /// It cannot do what it is to do: why, in a sentence.
    Trouble(String),
    /// The command has ended, and all its files have been sent.
    Ended(Ended),
}

/// What a guest says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// [`VERSION`] there.
    pub(crate) protocol: u32,
    /// The version of the tardy there.
    pub(crate) tardy: String,
    /// `uname -r`.
    pub(crate) release: String,
    /// How long it took to come up, in ns of its own time.
    pub(crate) up_ns: u64,
}

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Relative to the output folder.
    pub(crate) path: String,
    /// Where in the file.
    pub(crate) offset: u64,
    /// What is there.
    pub(crate) bytes: Vec<u8>,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Its exit status; none where a signal ended it.
    pub(crate) status: Option<i32>,
    /// The signal.
    pub(crate) signal: Option<i32>,
    /// How long it ran, in ns of the guest's time.
    pub(crate) ran_ns: u64,
}

/// Why bytes are no messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of what the guest sent: {why}")]
pub(crate) struct Garbled {
    at: u64,
    why: &'static str,
}

impl Message {
    /// As a frame.
    ///
    /// # Panics
    /// Where a payload is longer than [`PAYLOAD_MAX`]: whoever sends cuts it before.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let (kind, payload) = self.payload();
        assert!(payload.len() <= PAYLOAD_MAX, "cut before it is sent");
        let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
        frame.extend([MAGIC, kind]);
        frame.extend((payload.len() as u32).to_le_bytes());
        frame.extend(crc32c::crc32c(&payload).to_le_bytes());
        frame.extend(payload);
        frame
    }

    fn payload(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Hello(hello) => (0, json(hello)),
            Self::Stdout(bytes) => (1, bytes.clone()),
            Self::Stderr(bytes) => (2, bytes.clone()),
            Self::File(piece) => {
                let path = piece.path.as_bytes();
                let mut payload = Vec::with_capacity(10 + path.len() + piece.bytes.len());
                payload.extend((path.len() as u16).to_le_bytes());
                payload.extend(path);
                payload.extend(piece.offset.to_le_bytes());
                payload.extend(&piece.bytes);
                (3, payload)
            }
            Self::Beat(now_ns) => (4, now_ns.to_le_bytes().to_vec()),
            Self::Trouble(why) => (5, why.as_bytes().to_vec()),
            Self::Ended(ended) => (6, json(ended)),
        }
    }

    fn of(kind: u8, payload: &[u8]) -> Result<Self, &'static str> {
        let text = || String::from_utf8_lossy(payload).into_owned();
        let unreadable = "a message that cannot be read";
        Ok(match kind {
            0 => Self::Hello(serde_json::from_slice(payload).map_err(|_| unreadable)?),
            1 => Self::Stdout(payload.to_vec()),
            2 => Self::Stderr(payload.to_vec()),
            3 => Self::File(Piece::of(payload).ok_or("a file's piece that is too short")?),
            4 => Self::Beat(u64::from_le_bytes(payload.try_into().map_err(|_| "no time")?)),
            5 => Self::Trouble(text()),
            6 => Self::Ended(serde_json::from_slice(payload).map_err(|_| unreadable)?),
            _ => {
                return Err(
                    "a message of an unknown kind: another version of tardy is in the guest",
                );
            }
        })
    }
}

impl Piece {
    fn of(payload: &[u8]) -> Option<Self> {
        let (len, rest) = payload.split_first_chunk::<2>()?;
        let (path, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        let (offset, bytes) = rest.split_first_chunk::<8>()?;
        Some(Self {
            path: std::str::from_utf8(path).ok()?.to_owned(),
            offset: u64::from_le_bytes(*offset),
            bytes: bytes.to_vec(),
        })
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain structures of text and numbers")
}

/// Puts messages together from bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Of the frame that is not whole yet: never more than a frame and what came with it.
    held: Vec<u8>,
    /// Where `held` begins.
    at: u64,
}

impl Reader {
    /// Takes more bytes and hands out what is whole.
    ///
    /// # Errors
    /// Where bytes are no frame; what came before has been handed out.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Message),
    ) -> Result<(), Garbled> {
        self.held.extend(bytes);
        let mut from = 0;
        while let Some((header, rest)) = self.held[from..].split_first_chunk::<HEADER_BYTES>() {
            let garbled = |why| Garbled { at: self.at + from as u64, why };
            let [magic, kind, length @ .., _, _, _, _] = header;
            if *magic != MAGIC {
                return Err(garbled("no frame begins there"));
            }
            let len = u32::from_le_bytes(*length) as usize;
            if len > PAYLOAD_MAX {
                return Err(garbled("a frame longer than frames may be"));
            }
            let Some(payload) = rest.get(..len) else { break };
            let sum = u32::from_le_bytes(header[6..].try_into().expect("four bytes"));
            if crc32c::crc32c(payload) != sum {
                return Err(garbled("a frame whose checksum is wrong"));
            }
            take(Message::of(*kind, payload).map_err(garbled)?);
            from += HEADER_BYTES + len;
        }
        self.held.drain(..from);
        self.at += from as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> Vec<Message> {
        let hello =
            Hello { protocol: 1, tardy: "0.1.0".into(), release: "6.12-rt".into(), up_ns: 7 };
        vec![
            Message::Hello(hello),
            Message::Stdout(b"T: 0\n".to_vec()),
            Message::Stderr(vec![]),
            Message::File(Piece { path: "a/b".into(), offset: 1 << 40, bytes: vec![0; 1000] }),
            Message::Beat(u64::MAX),
            Message::Trouble("no port".into()),
            Message::Ended(Ended { status: None, signal: Some(9), ran_ns: 5 }),
        ]
    }

    fn read(chunks: &[&[u8]]) -> (Vec<Message>, Option<Garbled>) {
        let (mut reader, mut found) = (Reader::default(), vec![]);
        for chunk in chunks {
            if let Err(garbled) = reader.feed(chunk, |message| found.push(message)) {
                return (found, Some(garbled));
            }
        }
        (found, None)
    }

    #[test]
    fn messages_come_back_however_they_are_cut() {
        let bytes: Vec<u8> = messages().iter().flat_map(Message::frame).collect();
        for size in [1, 2, 9, 10, 11, 4096] {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(read(&chunks), (messages(), None), "{size}");
        }
    }

    #[test]
    fn a_changed_byte_is_found_and_what_came_before_is_kept() {
        let first = Message::Beat(1).frame();
        let mut bytes = first.clone();
        bytes.extend(Message::Stdout(b"text".to_vec()).frame());
        *bytes.last_mut().unwrap() ^= 1;
        let (found, garbled) = read(&[&bytes]);
        assert_eq!(found, [Message::Beat(1)]);
        let words = garbled.unwrap().to_string();
        assert!(words.starts_with(&format!("byte {} of", first.len())), "{words}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut framed = vec![MAGIC, bytes.first().copied().unwrap_or(0) % 8];
            framed.extend((bytes.len() as u32).to_le_bytes());
            framed.extend(crc32c::crc32c(&bytes).to_le_bytes());
            framed.extend(&bytes);
            let _ = read(&[&framed]);
            let _ = read(&[&bytes]);
        }
    }
}
