//! Counts that a load's processes keep where the one who started them can read them at any time,
//! also after they are gone: a file in memory, eight bytes for each counter.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

const SLOT_BYTES: u64 = 8;

/// A counter for each thread or process of a load.
#[derive(Debug)]
pub(super) struct Board {
    file: File,
}

impl Board {
    /// One with all counters at zero.
    pub(super) fn new(slots: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("tardy-counts", MemfdFlags::CLOEXEC)?);
        file.set_len(slots * SLOT_BYTES)?;
        Ok(Self { file })
    }

    /// The one that somebody else made.
    pub(super) fn received(file: OwnedFd) -> Self {
        Self { file: File::from(file) }
    }

    /// Sets a counter, whose only writer is the caller. It costs a system call, about half a
    /// microsecond. A count that cannot be written is lost; the load itself goes on.
    pub(super) fn set(&self, slot: u64, count: u64) {
        let _ = self.file.write_all_at(&count.to_ne_bytes(), slot * SLOT_BYTES);
    }

    /// The sum of all counters.
    pub(super) fn sum(&self) -> u64 {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; length as usize];
        if self.file.read_exact_at(&mut bytes, 0).is_err() {
            return 0;
        }
        bytes.as_chunks().0.iter().map(|chunk| u64::from_ne_bytes(*chunk)).sum()
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_counts_another_reads() {
        let board = Board::new(3).unwrap();
        assert_eq!(board.sum(), 0);
        let other = Board::received(board.as_fd().try_clone_to_owned().unwrap());
        other.set(0, 5);
        other.set(2, u64::from(u32::MAX) + 1);
        other.set(0, 7);
        assert_eq!(board.sum(), u64::from(u32::MAX) + 8);
        drop(other);
        assert_eq!(board.sum(), u64::from(u32::MAX) + 8);
    }
}
