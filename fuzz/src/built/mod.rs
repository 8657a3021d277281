//! Files whose frame is always right, made of any bytes: structure-aware fuzzing.
//!
//! A change to a byte of a file that holds lengths, checksums and offsets mostly breaks one of those, and the reader
//! goes no further. So an input that begins with [`BUILT`] is no file but says how to build one: its bytes choose
//! which parts there are and what is in them, and whatever they are, lengths and checksums come out right. The inputs
//! of a target are of both kinds, and changes lead from the one to the other.

pub mod dat_file;
mod events;
mod perfetto;
mod recording;
mod trace_dat;

pub use events::{EVENTS_MAX, stream};
pub use perfetto::{CLOSE, ODD, PACKET, perfetto};
pub use recording::segment;
pub use trace_dat::trace_dat;

use events::event;
use std::borrow::Cow;

/// How an input begins that says how to build a file; no file of these formats does.
pub const BUILT: u8 = 0xff;

/// No built file is larger: what is long in it says nothing new.
const BYTES_MAX: usize = 64 << 10;

/// The file that an input is or says.
pub(crate) fn file(input: &[u8], build: fn(&[u8]) -> Vec<u8>) -> Cow<'_, [u8]> {
    match input.split_first() {
        Some((&BUILT, how)) => build(how).into(),
        _ => input.into(),
    }
}

/// Takes values from bytes; behind their end it takes zeros.
struct Taker<'a> {
    rest: &'a [u8],
}

impl<'a> Taker<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte; `None` at the end.
    fn more(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn byte(&mut self) -> u8 {
        self.more().unwrap_or(0)
    }

    fn two(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number: below 0xe0 it is itself, else as many bytes follow as the rest says, of which there are 8 at most.
    fn number(&mut self) -> u64 {
        let first = self.byte();
        if first < 0xe0 {
            return first.into();
        }
        let mut bytes = [0; 8];
        for byte in bytes.iter_mut().take(usize::from(first & 7) + 1) {
            *byte = self.byte();
        }
        u64::from_le_bytes(bytes)
    }

    /// As many bytes as the next one says, fewer at the end.
    fn some(&mut self) -> &'a [u8] {
        let bytes = usize::from(self.byte()).min(self.rest.len());
        let (some, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken() {
        let mut taker = Taker::new(&[7, 0xe1, 1, 2, 2, b'a', b'b', 9, b'c']);
        assert_eq!((taker.number(), taker.number()), (7, 0x201));
        assert_eq!((taker.some(), taker.some()), (&b"ab"[..], &b"c"[..]));
        assert_eq!((taker.more(), taker.byte(), taker.number()), (None, 0, 0));
    }

    #[test]
    fn what_is_no_plan_is_the_file() {
        let build = |how: &[u8]| [b"built: ", how].concat();
        assert_eq!(file(b"ab", build), &b"ab"[..]);
        assert_eq!(file(&[BUILT, b'a'], build), &b"built: a"[..]);
    }
}
