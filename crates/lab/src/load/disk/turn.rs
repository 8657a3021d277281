//! What a thread does with its file.

use super::BLOCK;
use crate::load::team::Member;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Goes on until the team ends or the file fails.
pub(super) fn turn_for_ever(
    file: &File,
    size: u64,
    sync: bool,
    member: &Member<3>,
) -> io::Result<()> {
    let mut block = vec![0x5a; BLOCK as usize];
    // Blocks that differ, for storage that would store the same only once.
    let mut random = fastrand::Rng::with_seed(member.index);
    let [written, read, syncs] = &*member.counts;
    loop {
        for at in (0..size).step_by(BLOCK as usize) {
            if member.is_over() {
                return Ok(());
            }
            let piece = &mut block[..BLOCK.min(size - at) as usize];
            random.fill(piece);
            file.write_all_at(piece, at)?;
            written.add(piece.len() as u64);
            if sync {
                file.sync_data()?;
                syncs.add(1);
            }
        }
        file.sync_all()?;
        syncs.add(1);
        // Only advice: where it is not taken, what is read comes from memory.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        for at in (0..size).step_by(BLOCK as usize) {
            if member.is_over() {
                return Ok(());
            }
            let piece = &mut block[..BLOCK.min(size - at) as usize];
            file.read_exact_at(piece, at)?;
            read.add(piece.len() as u64);
        }
    }
}
