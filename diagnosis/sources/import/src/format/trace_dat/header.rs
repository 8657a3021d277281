//! The first bytes of a file, the same in every version.

use super::data::{Data, Walk};
use super::packing::Packing;
use crate::ImportError;
use tardy_ftrace::format::Endian;

/// What every such file begins with.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The oldest version that has sections.
const SECTIONS_SINCE: u32 = 7;

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) endian: Endian,
    /// Bytes of `long` in the recorder.
    pub(super) long_bytes: u8,
    pub(super) page_bytes: u32,
    /// In version 7: how it is packed, and where the first options are.
    pub(super) sections: Option<(Packing, u64)>,
    /// Where it goes on.
    pub(super) end: u64,
}

impl Header {
    pub(super) fn read(data: &Data) -> Result<Self, ImportError> {
        const WHAT: &str = "header";
        // No number comes before the byte order is known.
        let mut walk = Walk::over_file(data, Endian::Little, 0, data.bytes());
        if walk.take(MAGIC.len() as u64, MAGIC.len(), WHAT)? != MAGIC {
            return Err(data.broken(0, "it does not begin as trace-cmd's files do"));
        }
        let version = walk.string(WHAT)?;
        let Some(version) = version.parse().ok().filter(|number| matches!(number, 6 | 7)) else {
            return Err(data.broken(
                MAGIC.len() as u64,
                format!(
                    "it has version `{version}`, but tardy reads 6 and 7 (`trace-cmd convert` \
                     converts between them)"
                ),
            ));
        };
        let bytes = walk.take(2, 2, WHAT)?;
        let (order, long_bytes) = (bytes[0], bytes[1]);
        let endian = match order {
            0 => Endian::Little,
            1 => Endian::Big,
            other => return Err(walk.broken(format!("{other} is no byte order"))),
        };
        if !matches!(long_bytes, 4 | 8) {
            return Err(walk.broken(format!("no machine's `long` has {long_bytes} bytes")));
        }
        let mut walk = Walk::over_file(data, endian, walk.place(), data.bytes());
        let page_bytes = walk.u32(WHAT)?;
        let mut sections = None;
        if version >= SECTIONS_SINCE {
            let name = walk.string(WHAT)?;
            walk.string(WHAT)?;
            let packing = Packing::of_name(&name).ok_or_else(|| {
                walk.broken(format!(
                    "it is compressed with `{name}`, but tardy reads zstd and zlib (`trace-cmd \
                     convert --compression zstd` converts it)"
                ))
            })?;
            sections = Some((packing, walk.u64(WHAT)?));
        }
        Ok(Self { endian, long_bytes, page_bytes, sections, end: walk.place() })
    }
}
