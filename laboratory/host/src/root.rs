//! Where the system's files are read from: `/`, or a folder that looks like it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The most that is read of a text. `/proc/cpuinfo` and `/proc/timer_list` of machines with
/// hundreds of CPUs stay below it or are cut, which their checks survive.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The most characters of a single value.
const WORD_CHARS_MAX: usize = 256;

/// The most entries of a folder.
const NAMES_MAX: usize = 16_384;

/// The folder that stands for `/`. All reads are bounded, and a file that cannot be read is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    base: PathBuf,
}

impl Root {
    /// This system.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A folder with `proc`, `sys` and so on in it.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// Where a file of the system is found.
    pub fn path(&self, path: &str) -> PathBuf {
        // `join` would let an absolute path replace the base.
        self.base.join(path.trim_start_matches('/'))
    }

    /// Up to `bytes_max` bytes from the start of a file.
    pub(crate) fn bytes(&self, path: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        read_up_to(&self.path(path), bytes_max, &mut bytes)?;
        Some(bytes)
    }

    /// A whole file as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path, TEXT_BYTES_MAX)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line without the space around it, of bounded length; `None` where that is empty.
    pub fn word(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path, 4 * WORD_CHARS_MAX as u64)?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().next()?.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let word: String = line.chars().take(WORD_CHARS_MAX).collect();
        (!word.is_empty()).then_some(word)
    }

    /// A file that holds one number.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.word(path)?.parse().ok()
    }

    /// Whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The names in a folder, in order; none where it cannot be read.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(NAMES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}

fn read_up_to(path: &Path, bytes_max: u64, bytes: &mut Vec<u8>) -> Option<()> {
    // A fixture may hold anything; a pipe or a device would block for ever.
    let kind = std::fs::metadata(path).ok()?.file_type();
    let is_dma_latency = path.ends_with("dev/cpu_dma_latency");
    if !kind.is_file() && !is_dma_latency {
        return None;
    }
    File::open(path).ok()?.take(bytes_max).read_to_end(bytes).ok()?;
    Some(())
}
