//! How parts of the file are compressed.

use flate2::read::{GzDecoder, ZlibDecoder};
use std::cell::RefCell;
use std::io::Read;

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Zstd,
    /// zlib's stream, or gzip's: they begin differently.
    Zlib,
}

/// Why something cannot be unpacked.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnpackError {
    #[error("it says that it is {0} bytes when unpacked, and {1} are the most that is read")]
    TooLarge(usize, usize),
    #[error("it cannot be unpacked: {0}")]
    Broken(String),
    #[error("{0} bytes came out of it instead of {1}")]
    WrongSize(usize, usize),
}

impl Packing {
    /// By the name that stands in the file.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "none" | "" => Some(Self::None),
            "zstd" => Some(Self::Zstd),
            "zlib" | "gzip" => Some(Self::Zlib),
            _ => None,
        }
    }

    /// Unpacks to `bytes` bytes, which take the place of what is in `out`. `out` grows by what comes,
    /// not by what is promised. (zstd itself takes as much as a window, at most [`ZSTD_WINDOW_LOG_MAX`].)
    pub(super) fn unpack(
        self,
        packed: &[u8],
        bytes: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), UnpackError> {
        if bytes > bytes_max {
            return Err(UnpackError::TooLarge(bytes, bytes_max));
        }
        out.clear();
        // As it grows, memory is taken twice; less so where what is promised can be true.
        out.reserve_exact(bytes.min(RATIO_MAX.saturating_mul(packed.len())).saturating_add(1));
        // One more, to see where there is too much.
        let limit = bytes as u64 + 1;
        let read = match self {
            Self::None => packed.take(limit).read_to_end(out),
            Self::Zstd => {
                zstd::stream::read::Decoder::with_buffer(packed).and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                    decoder.take(limit).read_to_end(out)
                })
            }
            Self::Zlib if packed.starts_with(&[0x1f, 0x8b]) => {
                GzDecoder::new(packed).take(limit).read_to_end(out)
            }
            Self::Zlib => ZlibDecoder::new(packed).take(limit).read_to_end(out),
        };
        read.map_err(|error| UnpackError::Broken(error.to_string()))?;
        if out.len() == bytes { Ok(()) } else { Err(UnpackError::WrongSize(out.len(), bytes)) }
    }
}

/// The largest window that is made for zstd, in powers of two: 32 MiB. What is packed by any of its
/// regular levels needs at most 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// Memory is taken ahead for parts that shrank to no less than this share; pages shrink to a fifth.
const RATIO_MAX: usize = 256;

/// Unpacks many small parts of one file.
#[derive(Default)]
pub(super) struct Unpacker {
    /// Its tables are larger than most parts: made once.
    zstd: RefCell<Option<zstd::bulk::Decompressor<'static>>>,
}

impl Unpacker {
    /// As [`Packing::unpack`], and faster where what is promised can be true.
    pub(super) fn unpack(
        &self,
        packing: Packing,
        packed: &[u8],
        bytes: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), UnpackError> {
        if packing != Packing::Zstd || bytes / RATIO_MAX > packed.len() {
            return packing.unpack(packed, bytes, bytes_max, out);
        }
        if bytes > bytes_max {
            return Err(UnpackError::TooLarge(bytes, bytes_max));
        }
        let broken = |error: std::io::Error| UnpackError::Broken(error.to_string());
        let mut zstd = self.zstd.borrow_mut();
        let zstd = match &mut *zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(broken)?),
        };
        out.clear();
        out.reserve_exact(bytes);
        zstd.decompress_to_buffer(packed, out).map_err(broken)?;
        if out.len() == bytes { Ok(()) } else { Err(UnpackError::WrongSize(out.len(), bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::{GzEncoder, ZlibEncoder};

    #[test]
    fn every_packing_gives_back_what_it_was_given_and_no_more() {
        let plain: Vec<u8> = (0..10_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let all = |mut reader: Box<dyn Read + '_>| {
            let mut out = Vec::new();
            reader.read_to_end(&mut out).unwrap();
            out
        };
        let level = Compression::best();
        for (packing, packed) in [
            (Packing::None, plain.clone()),
            (Packing::Zstd, zstd::bulk::compress(&plain, 3).unwrap()),
            (Packing::Zlib, all(Box::new(ZlibEncoder::new(&plain[..], level)))),
            (Packing::Zlib, all(Box::new(GzEncoder::new(&plain[..], level)))),
        ] {
            let mut out = vec![9];
            let mut unpack = |packed: &[u8], bytes| {
                packing.unpack(packed, bytes, 1 << 20, &mut out).map(|()| out.clone())
            };
            assert_eq!(unpack(&packed, plain.len()).as_ref(), Ok(&plain), "{packing:?}");
            assert_eq!(unpack(&packed, 100), Err(UnpackError::WrongSize(101, 100)));
            let more = plain.len() + 1;
            assert_eq!(unpack(&packed, more), Err(UnpackError::WrongSize(plain.len(), more)));
            assert!(unpack(&packed[..packed.len() / 2], plain.len()).is_err());
            assert!(matches!(unpack(&packed, 2 << 20), Err(UnpackError::TooLarge(..))));

            let unpacker = Unpacker::default();
            let mut unpack = |packed: &[u8], bytes| {
                unpacker.unpack(packing, packed, bytes, 1 << 20, &mut out).map(|()| out.clone())
            };
            assert_eq!(unpack(&packed, plain.len()).as_ref(), Ok(&plain), "{packing:?}");
            assert!(unpack(&packed, 100).is_err());
            assert!(unpack(&packed[..packed.len() / 2], plain.len()).is_err());
            assert!(matches!(unpack(&packed, 2 << 20), Err(UnpackError::TooLarge(..))));
            assert_eq!(unpack(&packed, plain.len()).as_ref(), Ok(&plain), "after failures");
            let zeros = vec![0; 1 << 20];
            let packed = zstd::bulk::compress(&zeros, 3).unwrap();
            if packing == Packing::Zstd {
                assert_eq!(unpack(&packed, zeros.len()), Ok(zeros), "few bytes can be many");
            }
        }
    }

    #[test]
    fn what_is_only_promised_takes_no_memory() {
        let packed = zstd::bulk::compress(b"a few bytes", 3).unwrap();
        let mut out = Vec::new();
        for unpacked in [
            Unpacker::default().unpack(Packing::Zstd, &packed, 16 << 20, 16 << 20, &mut out),
            Packing::Zstd.unpack(&packed, 16 << 20, 16 << 20, &mut out),
        ] {
            assert_eq!(unpacked, Err(UnpackError::WrongSize(11, 16 << 20)));
        }
        assert!(out.capacity() < 1 << 20, "{}", out.capacity());
    }
}
