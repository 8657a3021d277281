//! What a thread does with its file.

use super::{BLOCK, Disk};
use crate::load::crew::Duty;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is counted, and the places in it.
pub(super) const UNITS: [&str; 3] = ["bytes written", "bytes read", "syncs"];
const WRITTEN: usize = 0;
const READ: usize = 1;
const SYNCS: usize = 2;

/// Goes on until it is told to stop or the file fails. `seed` chooses what is written.
pub(super) fn turn_for_ever(file: &File, seed: u64, disk: &Disk, duty: &Duty) -> io::Result<()> {
    let Disk { size, sync, .. } = *disk;
    let mut block = vec![0x5a; BLOCK as usize];
    // Blocks that differ, for storage that would store the same only once.
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        for at in (0..size).step_by(BLOCK as usize) {
            if !duty.goes_on() {
                return Ok(());
            }
            let piece = &mut block[..BLOCK.min(size - at) as usize];
            random.fill(piece);
            file.write_all_at(piece, at)?;
            duty.did_of(WRITTEN, piece.len() as u64);
            if sync {
                file.sync_data()?;
                duty.did_of(SYNCS, 1);
            }
        }
        file.sync_all()?;
        duty.did_of(SYNCS, 1);
        // Only advice: where it is not taken, what is read comes from memory.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        for at in (0..size).step_by(BLOCK as usize) {
            if !duty.goes_on() {
                return Ok(());
            }
            let piece = &mut block[..BLOCK.min(size - at) as usize];
            file.read_exact_at(piece, at)?;
            duty.did_of(READ, piece.len() as u64);
        }
    }
}
