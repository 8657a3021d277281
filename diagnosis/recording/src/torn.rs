//! Where a recording stops being good, and why.

use std::fmt;
use std::path::PathBuf;

/// The end of what can be read of a recording that is not whole. Everything before it is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The segment file, relative to the recording's folder.
    pub file: PathBuf,
    /// The offset in it of the first frame (or file header) that is not good.
    pub byte: u64,
    /// What is wrong there.
    pub why: Flaw,
}

/// What is wrong with the bytes of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The file ends inside a header or a payload: what a killed writer leaves.
    #[error("the file ends in the middle of a frame: its writer was stopped there")]
    EndsEarly,
    /// The bytes do not begin with a frame's magic.
    #[error("no frame begins here")]
    NoFrame,
    /// The file does not begin with a segment's magic.
    #[error("this is not a segment file")]
    NoSegment,
    /// Another segment's file under this name.
    #[error("the file says that it is segment {found}")]
    OtherSegment {
        /// The number in the file.
        found: u32,
    },
    /// Written by a newer program.
    #[error("format version {version} is newer than this program: update tardy")]
    Newer {
        /// The version in the file.
        version: u32,
    },
    /// The file does not exist, though later ones may.
    #[error("the file is missing")]
    Missing,
    /// The checksum is not that of the bytes.
    #[error("the checksum does not match: the file was damaged")]
    Checksum,
    /// A length above the format's limit.
    #[error("a frame of {bytes} bytes, more than the format allows")]
    TooLong {
        /// The length in the file.
        bytes: usize,
    },
    /// Lengths or counts that contradict each other.
    #[error("the frame's lengths contradict each other")]
    Lengths,
    /// An encoding that is not known here.
    #[error("encoding {0} is not known to this program: update tardy")]
    Encoding(u8),
    /// The payload does not decode, though its checksum is good.
    #[error("the frame's content cannot be decoded")]
    Content,
    /// A sealed recording yields fewer events than its manifest counted.
    #[error("{missing} events that the manifest counts are missing at the end")]
    EventsMissing {
        /// How many.
        missing: u64,
    },
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, byte {}: {}", self.file.display(), self.byte, self.why)
    }
}
