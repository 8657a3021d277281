//! Version 7: sections anywhere, found by options, each perhaps compressed.

use super::data::{Data, Walk};
use super::header::Header;
use super::meta::Meta;
use super::packing::Packing;
use super::recover;
use crate::ImportError;
use std::collections::BTreeSet;

/// Numbers of sections, which are those of the options that announce them.
const OPTIONS: u16 = 0;
pub(super) const BUFFER: u16 = 3;
const HEADERS: u16 = 16;
const FTRACE_FORMATS: u16 = 17;
const FORMATS: u16 = 18;
const KALLSYMS: u16 = 19;
const NAMES: u16 = 21;

/// In a section's flags.
const IS_PACKED: u16 = 1;

/// The most bytes of all sections when they are unpacked: the kernel's symbols are the largest, with
/// 5 to 15 MB.
const SECTIONS_BYTES_MAX: usize = 64 << 20;

/// The most lists of options, each of which says where the next is.
const OPTION_LISTS_MAX: usize = 1 << 12;

pub(super) struct Section {
    id: u16,
    pub(super) is_packed: bool,
    /// Where its contents are.
    pub(super) at: u64,
    bytes: u64,
}

/// Reads all but the events.
pub(super) fn read(
    data: &Data,
    header: &Header,
    packing: Packing,
    options_at: u64,
) -> Result<Meta, ImportError> {
    let mut meta = Meta::default();
    if options_at == 0 {
        return Err(data.broken(
            header.end,
            "it has no options: its recorder was killed before it wrote them, and left its events \
             in FILE.cpu0, FILE.cpu1, …; record again, or use `trace-cmd record --file-version \
             6`, whose parts `trace-cmd restore` can put together",
        ));
    }
    let mut next = options_at;
    let mut seen = BTreeSet::new();
    let mut end = options_at;
    let mut left = SECTIONS_BYTES_MAX;
    while next != 0 {
        if seen.len() == OPTION_LISTS_MAX || !seen.insert(next) {
            return Err(data.broken(next, "its options do not end"));
        }
        match read_options(data, header, packing, next, &mut meta, &mut left) {
            Ok((after, at)) => (end, next) = (end.max(at), after),
            // The table of CPUs stands behind their events: cut off with the file's end.
            Err(error) => {
                let buffer = recover::buffer(data, header, end, &meta.file_options).ok_or(error)?;
                meta.file_options.buffers = vec![buffer];
                meta.file_options.is_recovered = true;
                break;
            }
        }
    }
    for (id, at) in meta.file_options.sections.clone() {
        let read = match id {
            HEADERS => Meta::read_headers,
            FTRACE_FORMATS => Meta::read_ftrace_formats,
            FORMATS => Meta::read_formats,
            KALLSYMS => Meta::read_kallsyms,
            NAMES => Meta::read_names,
            // Texts of `trace_printk`.
            _ => continue,
        };
        let section = Section::find(data, header, at, Some(id))?;
        read(&mut meta, &mut section.walk(data, header, packing, &mut left)?)?;
    }
    for buffer in &mut meta.file_options.buffers {
        if !meta.file_options.is_recovered && buffer.cpus.iter().any(|cpu| cpu.bytes > 0) {
            buffer.is_packed = Section::find(data, header, buffer.at, Some(BUFFER))?.is_packed;
        }
    }
    Ok(meta)
}

/// Reads a list of options. Says where the next one is, and where this one ends.
fn read_options(
    data: &Data,
    header: &Header,
    packing: Packing,
    at: u64,
    meta: &mut Meta,
    left: &mut usize,
) -> Result<(u64, u64), ImportError> {
    if at >= data.bytes() {
        return Err(data.broken(
            at,
            format!(
                "the file is cut short: it has {} bytes, and the table of its events lies behind \
                 its end; copy it again",
                data.bytes()
            ),
        ));
    }
    let section = Section::find(data, header, at, Some(OPTIONS))?;
    let mut walk = section.walk(data, header, packing, left)?;
    let next = meta.file_options.read(&mut walk, true)?;
    let end =
        if section.is_packed { section.at.saturating_add(section.bytes) } else { walk.place() };
    Ok((next, end))
}

impl Section {
    /// The section that begins at `at`.
    pub(super) fn find(
        data: &Data,
        header: &Header,
        at: u64,
        expected: Option<u16>,
    ) -> Result<Self, ImportError> {
        const WHAT: &str = "sections";
        let mut walk = Walk::over_file(data, header.endian, at, data.bytes());
        let (id, flags) = (walk.u16(WHAT)?, walk.u16(WHAT)?);
        walk.u32(WHAT)?;
        let bytes = walk.u64(WHAT)?;
        if expected.is_some_and(|expected| expected != id) {
            return Err(data.broken(at, format!("another section should be here than {id}")));
        }
        Ok(Self { id, is_packed: flags & IS_PACKED != 0, at: walk.place(), bytes })
    }

    /// Over its contents, which may have `left` bytes when they are unpacked; less remain then.
    fn walk<'a>(
        &self,
        data: &'a Data,
        header: &Header,
        packing: Packing,
        left: &mut usize,
    ) -> Result<Walk<'a>, ImportError> {
        const WHAT: &str = "compressed sections";
        // The header's length of a list of options may stand before it was known.
        let end = if self.id == OPTIONS && self.bytes == 0 {
            data.bytes()
        } else {
            self.at.saturating_add(self.bytes)
        };
        let mut walk = Walk::over_file(data, header.endian, self.at, end);
        if !self.is_packed {
            return Ok(walk);
        }
        let (packed, bytes) = (walk.u32(WHAT)?, walk.u32(WHAT)?);
        let packed = walk.take(packed.into(), SECTIONS_BYTES_MAX, WHAT)?;
        let mut unpacked = Vec::new();
        packing
            .unpack(packed, bytes as usize, *left, &mut unpacked)
            .map_err(|why| data.broken(self.at, why.to_string()))?;
        *left -= unpacked.len();
        Ok(Walk::over_unpacked(data, header.endian, unpacked, self.at))
    }
}
