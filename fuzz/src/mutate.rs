//! Changes to inputs, the same ones for the same seed.

use crate::Inputs;
use fastrand::Rng;

/// A changed input is at most this long.
pub const BYTES_MAX: usize = 64 << 10;

/// The most changes to one input.
const CHANGES_MAX: usize = 6;

/// Numbers at which things change.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, 1 << 63, u64::MAX];

/// One of the inputs with some changes, which may include a part of another.
pub fn mutated(inputs: &Inputs, random: &mut Rng) -> Vec<u8> {
    let Some((_, seed)) = random.choice(&inputs.files) else { return Vec::new() };
    let mut bytes = seed.clone();
    for _ in 0..random.usize(1..=CHANGES_MAX) {
        change(&mut bytes, inputs, random);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, inputs: &Inputs, random: &mut Rng) {
    if bytes.is_empty() {
        bytes.push(random.u8(..));
    }
    let at = random.usize(..bytes.len());
    let some = random.usize(1..=16).min(bytes.len() - at);
    match random.u8(..9) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes[at] = random.u8(..),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + some)),
        4 => {
            let again = bytes[at..at + some].to_vec();
            insert(bytes, at, &again);
        }
        5 => {
            let edge = random.choice(EDGES).unwrap_or_default();
            let width = 1 << random.u8(..4);
            let number =
                if random.bool() { edge.to_le_bytes() } else { edge.rotate_left(32).to_be_bytes() };
            overwrite(bytes, at, &number[..width]);
        }
        6 | 7 => {
            let Some(word) = random.choice(&inputs.words) else { return };
            if random.bool() { insert(bytes, at, word) } else { overwrite(bytes, at, word) }
        }
        _ => {
            // The rest of it is another's.
            let Some((_, other)) = random.choice(&inputs.files) else { return };
            let from = random.usize(..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.splice(at..at, new.iter().copied());
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (byte, new) in bytes[at..].iter_mut().zip(new) {
        *byte = *new;
    }
}
