//! Functions of an ELF file, by its symbol tables. The file is a stranger's: no length in it is trusted, and no more is
//! read than the bounds here say.

/// Sections that a file may have; of one with more nothing is known.
const SECTIONS_MAX: u16 = 4096;

/// Segments that a file may have; the same.
const SEGMENTS_MAX: u16 = 256;

/// Bytes of one symbol table that are read; symbols beyond are not known.
const SYMBOLS_BYTES_MAX: u64 = 16 << 20;

/// Bytes of the names of one symbol table that are read; names beyond are not known.
const NAMES_BYTES_MAX: u64 = 16 << 20;

/// Bytes of one name.
const NAME_BYTES_MAX: usize = 256;

/// A function of which no size is told is no longer than this.
const UNSIZED_BYTES_MAX: u64 = 4096;

/// Where bytes come from.
pub trait Bytes {
    /// Fills `into` from an offset on; whether there are so many.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool;
    /// How many there are.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Bytes for &[u8] {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        let from = usize::try_from(offset).ok();
        let found = from.and_then(|from| self.get(from..from.checked_add(into.len())?));
        found.map(|found| into.copy_from_slice(found)).is_some()
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

/// The functions of a file.
#[derive(Debug, Default)]
pub struct Functions {
    segments: Vec<Segment>,
    /// By address.
    functions: Vec<Function>,
    names: Vec<u8>,
}

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    address: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    address: u64,
    bytes: u64,
    name: u32,
}

/// Where fields are, in files for 32 and for 64 bits.
struct Layout {
    is_64: bool,
}

impl Functions {
    /// Reads them; `None` where it is no ELF file that is known, or a broken one.
    pub fn read(file: &impl Bytes) -> Option<Self> {
        const LITTLE_ENDIAN: u8 = 1;
        let mut head = [0; 64];
        let head_bytes = file.len().min(64) as usize;
        if head_bytes < 52 || !file.read_at(0, &mut head[..head_bytes]) {
            return None;
        }
        if head[..4] != *b"\x7fELF" || head[5] != LITTLE_ENDIAN {
            return None;
        }
        let layout = match head[4] {
            1 => Layout { is_64: false },
            2 if head_bytes == 64 => Layout { is_64: true },
            _ => return None,
        };
        let mut functions = Self { segments: layout.segments(file, &head)?, ..Self::default() };
        let sections = layout.sections(file, &head).unwrap_or_default();
        functions.read_symbols(&layout, file, &sections);
        Some(functions)
    }

    /// The functions of the fuller of the tables that are there.
    fn read_symbols(&mut self, layout: &Layout, file: &impl Bytes, sections: &[Section]) {
        const SYMTAB: u32 = 2;
        const DYNSYM: u32 = 11;
        let of = |kind| sections.iter().find(|section| section.kind == kind);
        let Some(table) = of(SYMTAB).or_else(|| of(DYNSYM)) else { return };
        let Some(names) = sections.get(table.link as usize) else { return };
        let Some(symbols) = read_part(file, table.offset, table.bytes.min(SYMBOLS_BYTES_MAX))
        else {
            return;
        };
        let names_bytes = names.bytes.min(NAMES_BYTES_MAX);
        self.names = read_part(file, names.offset, names_bytes).unwrap_or_default();
        let functions = symbols.chunks_exact(layout.symbol_bytes());
        self.functions = functions.filter_map(|symbol| layout.function(symbol)).collect();
        self.functions.shrink_to_fit();
        // Of several at one address the first that has a size.
        self.functions.sort_by_key(|function| (function.address, function.bytes == 0));
        self.functions.dedup_by_key(|function| function.address);
    }

    /// The name of the function of which there is an instruction at an offset in the file.
    pub fn name_at(&self, offset: u64) -> Option<&[u8]> {
        let holds = |segment: &&Segment| {
            offset.checked_sub(segment.offset).is_some_and(|within| within < segment.bytes)
        };
        let segment = self.segments.iter().find(holds)?;
        let address = segment.address.checked_add(offset - segment.offset)?;
        let after = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let within = address - function.address;
        let bytes = if function.bytes == 0 { UNSIZED_BYTES_MAX } else { function.bytes };
        if within >= bytes {
            return None;
        }
        let name = self.names.get(function.name as usize..)?;
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        (end > 0).then_some(&name[..end])
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        self.names.capacity() + self.functions.capacity() * size_of::<Function>()
    }
}

/// A section's header.
#[derive(Clone, Copy, Debug)]
struct Section {
    kind: u32,
    link: u32,
    offset: u64,
    bytes: u64,
}

impl Layout {
    fn symbol_bytes(&self) -> usize {
        if self.is_64 { 24 } else { 16 }
    }

    /// A number as wide as addresses are.
    fn word(&self, bytes: &[u8], at_32: usize, at_64: usize) -> u64 {
        if self.is_64 { number::<8>(bytes, at_64) } else { number::<4>(bytes, at_32) }
    }

    fn segments(&self, file: &impl Bytes, head: &[u8]) -> Option<Vec<Segment>> {
        const LOAD: u64 = 1;
        let from = self.word(head, 28, 32);
        let (at, entry) = if self.is_64 { (54, 56) } else { (42, 32) };
        let headers = headers(file, head, at, (from, entry), SEGMENTS_MAX)?;
        let loaded = headers.chunks_exact(entry).filter(|header| number::<4>(header, 0) == LOAD);
        let segment = |header: &[u8]| Segment {
            offset: self.word(header, 4, 8),
            address: self.word(header, 8, 16),
            bytes: self.word(header, 16, 32),
        };
        Some(loaded.map(segment).collect())
    }

    fn sections(&self, file: &impl Bytes, head: &[u8]) -> Option<Vec<Section>> {
        let from = self.word(head, 32, 40);
        let (at, entry) = if self.is_64 { (58, 64) } else { (46, 40) };
        let headers = headers(file, head, at, (from, entry), SECTIONS_MAX)?;
        let section = |header: &[u8]| Section {
            kind: number::<4>(header, 4) as u32,
            link: number::<4>(header, if self.is_64 { 40 } else { 24 }) as u32,
            offset: self.word(header, 16, 24),
            bytes: self.word(header, 20, 32),
        };
        Some(headers.chunks_exact(entry).map(section).collect())
    }

    /// A symbol, where it is a function that is in the file.
    fn function(&self, symbol: &[u8]) -> Option<Function> {
        const FUNCTION: u8 = 2;
        const CHOSEN_FUNCTION: u8 = 10;
        let (info, place) = if self.is_64 { (4, 6) } else { (12, 14) };
        let kind = symbol[info] & 0xf;
        let is_there = number::<2>(symbol, place) != 0;
        (is_there && matches!(kind, FUNCTION | CHOSEN_FUNCTION)).then(|| Function {
            address: self.word(symbol, 4, 8),
            bytes: self.word(symbol, 8, 16),
            name: number::<4>(symbol, 0) as u32,
        })
    }
}

/// A table of headers, of which the file's own tells how long each is and how many they are.
fn headers(
    file: &impl Bytes,
    head: &[u8],
    at: usize,
    (from, entry): (u64, usize),
    most: u16,
) -> Option<Vec<u8>> {
    let (said, count) = (number::<2>(head, at), number::<2>(head, at + 2));
    if said != entry as u64 || count == 0 || count > most.into() {
        return None;
    }
    read_part(file, from, count * entry as u64)
}

/// A part of the file, of which the caller bounds the length.
fn read_part(file: &impl Bytes, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let there = file.len().checked_sub(offset)?;
    let mut part = vec![0; usize::try_from(bytes.min(there)).ok()?];
    file.read_at(offset, &mut part).then_some(part)
}

/// A number of so many bytes, the lowest first.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    if let Some(found) = bytes.get(at..at + BYTES) {
        wide[..BYTES].copy_from_slice(found);
    }
    u64::from_le_bytes(wide)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file for 64 bits: its code is at 0x1000 of it and at 0x401000 of memory.
    pub(crate) fn file(symbols: &[(&str, u64, u64, u8)]) -> Vec<u8> {
        let mut names = vec![0];
        let mut table = vec![0; 24];
        for (name, address, bytes, kind) in symbols {
            table.extend((names.len() as u32).to_le_bytes());
            table.extend([*kind, 0, 1, 0]);
            table.extend(address.to_le_bytes());
            table.extend(bytes.to_le_bytes());
            names.extend(name.bytes().chain([0]));
        }
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        let segments = 64u64;
        let sections = segments + 56;
        put(32, &segments.to_le_bytes());
        put(40, &sections.to_le_bytes());
        put(54, &[56, 0, 1, 0, 64, 0, 3, 0]);
        let mut segment = [0u8; 56];
        segment[0] = 1;
        segment[8..16].copy_from_slice(&0x1000u64.to_le_bytes());
        segment[16..24].copy_from_slice(&0x40_1000u64.to_le_bytes());
        segment[32..40].copy_from_slice(&0x1000u64.to_le_bytes());
        file.extend(segment);
        let data = sections + 3 * 64;
        let mut section = |kind: u32, link: u32, offset: u64, bytes: u64| {
            let mut header = [0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&offset.to_le_bytes());
            header[32..40].copy_from_slice(&bytes.to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            file.extend(header);
        };
        section(0, 0, 0, 0);
        section(2, 2, data, table.len() as u64);
        section(3, 0, data + table.len() as u64, names.len() as u64);
        file.extend(table.iter().chain(&names));
        file
    }

    fn name(file: &[u8], offset: u64) -> Option<String> {
        let functions = Functions::read(&file)?;
        functions.name_at(offset).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    #[test]
    fn a_functions_instructions_have_its_name() {
        let file = file(&[
            ("data", 0x40_1000, 0x100, 1),
            ("last", 0x40_1800, 0, 2),
            ("first", 0x40_1010, 0x20, 2),
            ("another_name_of_first", 0x40_1010, 0, 2),
        ]);
        assert_eq!(name(&file, 0x1000), None, "before all functions");
        assert_eq!(name(&file, 0x1010).as_deref(), Some("first"));
        assert_eq!(name(&file, 0x102f).as_deref(), Some("first"));
        assert_eq!(name(&file, 0x1030), None, "behind it");
        assert_eq!(name(&file, 0x1801).as_deref(), Some("last"));
        assert_eq!(name(&file, 0x2000), None, "in no segment");
        assert_eq!(name(&file, 0), None);
    }

    #[test]
    fn a_broken_file_has_no_functions_and_takes_no_memory() {
        let whole = file(&[("first", 0x40_1010, 0x20, 2)]);
        for end in 0..whole.len() {
            let _ = name(&whole[..end], 0x1010);
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            if let Some(functions) = Functions::read(&&broken[..]) {
                let _ = functions.name_at(0x1010);
                assert!(functions.bytes() <= 2 * whole.len() + 64, "byte {at}");
            }
        }
        // A table that says it is as long as can be said.
        let mut long = whole.clone();
        long[64 + 56 + 64 + 32..][..8].fill(0xff);
        assert!(Functions::read(&&long[..]).is_some_and(|found| found.bytes() < 2 * long.len()));
    }

    /// What the compiler and the linker of this very test wrote.
    #[test]
    fn functions_of_this_program_are_found() {
        let own = std::fs::read("/proc/self/exe").expect("its own file");
        let functions = Functions::read(&&own[..]).expect("an ELF file");
        let main = functions.functions.iter().find(|function| {
            let name = functions.names.get(function.name as usize..).unwrap_or_default();
            name.starts_with(b"main\0")
        });
        let main = main.expect("every program has one");
        let inside = |segment: &&Segment| {
            main.address.checked_sub(segment.address).is_some_and(|at| at < segment.bytes)
        };
        let segment = functions.segments.iter().find(inside).expect("it is loaded");
        let offset = main.address - segment.address + segment.offset;
        assert_eq!(functions.name_at(offset), Some(&b"main"[..]));
    }
}
