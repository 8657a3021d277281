//! What a trace is wrapped in: gzip, atrace's zlib, pages; and the format of what is in there.

use super::Target;
use crate::drain;
use std::path::Path;
use tardy_import::{Input, Options, read};

pub(super) struct Wrapped;

impl Target for Wrapped {
    fn name(&self) -> &'static str {
        "wrapped"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        let input = Input::from_bytes(Path::new("input"), bytes.to_vec()).unwrapped();
        let import = input.and_then(|input| read(input, &Options::default()));
        match import {
            Ok((_, mut import)) => drain::drain(&mut *import, true),
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
                0
            }
        }
    }

    /// Deflate makes at most 1032 bytes of one, and a format that goes back and forth holds them.
    fn memory_max(&self, bytes: usize) -> u64 {
        (64 << 20) + 4 * 1032 * bytes as u64
    }
}
