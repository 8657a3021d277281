//! `trace.dat` of both versions, with all lengths and offsets right.

/// The page size that the files' headers tell; a small one, so that there can be several.
pub const PAGE_BYTES: usize = 512;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";
const HEADER_PAGE: &str = include_str!("../../../diagnosis/sources/ftrace/tests/data/header_page");

/// What `data` of the kernel's page is called, and how much of it there is.
const DATA_BYTES: &str = "size:4080";

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// Groups with the formats of their events.
    pub formats: Vec<(&'a str, Vec<&'a str>)>,
    /// Addresses and names of functions.
    pub kallsyms: &'a str,
    /// Numbers and names of tasks.
    pub names: &'a [u8],
    /// Other options, with their numbers.
    pub options: Vec<(u16, &'a [u8])>,
    /// Pages of each CPU.
    pub cpus: Vec<Vec<u8>>,
}

/// The clock's option, the system's, the program's.
pub const OPTIONS: [(u16, &[u8]); 3] =
    [(4, b"local global [mono] mono_raw\0"), (5, b"Linux box 6.1.0 x86_64\0"), (9, b"3.1.6\0")];

/// Formats that begin with their group's name, as `Content` has them.
pub fn grouped<'a>(formats: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for format in formats {
        let Some((group, text)) = format.split_once('\n') else { continue };
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((group, vec![text])),
        }
    }
    groups
}

fn beginning(version: &str) -> Vec<u8> {
    let page_bytes = (PAGE_BYTES as u32).to_le_bytes();
    [MAGIC, version.as_bytes(), b"\0\0\x08", &page_bytes].concat()
}

/// What says how pages are laid out.
fn header_page() -> String {
    HEADER_PAGE.replace(DATA_BYTES, &format!("size:{}", PAGE_BYTES - 16))
}

fn headers() -> Vec<u8> {
    let page = header_page();
    let sized = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
    let event = b"# compressed entry header\n\ttype_len    :    5 bits\n";
    [&b"header_page\0"[..], &sized(page.as_bytes()), b"header_event\0", &sized(event)].concat()
}

fn events(groups: &[(&str, Vec<&str>)]) -> Vec<u8> {
    let mut out = (groups.len() as u32).to_le_bytes().to_vec();
    for (group, texts) in groups {
        out.extend(group.as_bytes());
        out.push(0);
        out.extend((texts.len() as u32).to_le_bytes());
        for text in texts {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        }
    }
    out
}

fn option(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

/// As trace-cmd wrote them until 2022.
pub fn version_6(content: &Content<'_>) -> Vec<u8> {
    let Content { formats, kallsyms, names, options, cpus } = content;
    let mut file = beginning("6");
    file.extend(headers());
    file.extend(0u32.to_le_bytes());
    file.extend(events(formats));
    file.extend((kallsyms.len() as u32).to_le_bytes());
    file.extend(kallsyms.as_bytes());
    file.extend(0u32.to_le_bytes());
    file.extend((names.len() as u64).to_le_bytes());
    file.extend(*names);
    file.extend((cpus.len() as u32).to_le_bytes());
    file.extend(b"options  \0");
    for (id, data) in options {
        file.extend(option(*id, data));
    }
    file.extend(0u16.to_le_bytes());
    file.extend(b"flyrecord\0");
    let mut at = (file.len() + 16 * cpus.len()) as u64;
    for pages in cpus {
        file.extend(at.to_le_bytes());
        file.extend((pages.len() as u64).to_le_bytes());
        at += pages.len() as u64;
    }
    file.extend(cpus.concat());
    file
}

/// As it writes them since, packed by `pack` unless `packing` is `none`.
pub fn version_7(content: &Content<'_>, packing: &str, pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let Content { formats, kallsyms, names, options: others, cpus } = content;
    let is_packed = packing != "none";
    let packed = |plain: &[u8]| -> Vec<u8> {
        let packed = pack(plain);
        let sizes = [packed.len() as u32, plain.len() as u32].map(u32::to_le_bytes).concat();
        [sizes, packed].concat()
    };
    let section = |id: u16, flags: u16, content: &[u8]| -> Vec<u8> {
        let bytes = (content.len() as u64).to_le_bytes();
        [&id.to_le_bytes()[..], &flags.to_le_bytes(), &[0; 4], &bytes, content].concat()
    };
    let mut file = beginning("7");
    file.extend(packing.as_bytes());
    file.extend(b"\x001.0\0");
    let options_at = file.len();
    file.extend(0u64.to_le_bytes());
    let kallsyms = [&(kallsyms.len() as u32).to_le_bytes()[..], kallsyms.as_bytes()].concat();
    let names = [&(names.len() as u64).to_le_bytes()[..], names].concat();
    let mut options = Vec::new();
    for (id, content) in [(16, headers()), (18, events(formats)), (19, kallsyms), (21, names)] {
        options.extend(option(id, &(file.len() as u64).to_le_bytes()));
        let content = if is_packed { packed(&content) } else { content };
        file.extend(section(id, u16::from(is_packed), &content));
    }
    let buffer_at = file.len() as u64;
    let lanes: Vec<Vec<u8>> = cpus
        .iter()
        .map(|pages| {
            let in_chunks = || [1u32.to_le_bytes().to_vec(), packed(pages)].concat();
            if is_packed { in_chunks() } else { pages.clone() }
        })
        .collect();
    let mut buffer = [&buffer_at.to_le_bytes()[..], b"\0mono\0"].concat();
    buffer.extend((PAGE_BYTES as u32).to_le_bytes());
    buffer.extend((cpus.len() as u32).to_le_bytes());
    let mut at = buffer_at + 16;
    for (cpu, lane) in (0u32..).zip(&lanes) {
        buffer.extend(cpu.to_le_bytes());
        buffer.extend(at.to_le_bytes());
        buffer.extend((lane.len() as u64).to_le_bytes());
        at += lane.len() as u64;
    }
    file.extend(section(3, u16::from(is_packed), &lanes.concat()));
    options.extend(option(3, &buffer));
    for (id, data) in others {
        options.extend(option(*id, data));
    }
    options.extend(option(0, &0u64.to_le_bytes()));
    let here = file.len() as u64;
    file[options_at..options_at + 8].copy_from_slice(&here.to_le_bytes());
    file.extend(section(0, 0, &options));
    file
}
