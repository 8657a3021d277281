//! `trace.dat` of both versions.

use super::{Error, KALLSYMS, PAGE_BYTES, Record, header_page, one_of_each, pages};
use flate2::Compression;
use flate2::read::ZlibEncoder;
use std::io::Read;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";
const NAMES: &[u8] = b"1 systemd\n7 ksoftirqd/0\n";
const CLOCK: &[u8] = b"local global [mono] mono_raw\0";
const UNAME: &[u8] = b"Linux box 6.1.0 x86_64\0";

/// Every file, with its name.
pub(super) fn files(
    formats: &[&str],
    cpus: &[Vec<Record>; 2],
) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let cpus = cpus.each_ref().map(|records| pages(&one_of_each(records, 2)));
    let many = "x".repeat(60 << 20);
    let zeros = [vec![0; 60 << 20], vec![0; 60 << 20]];
    Ok(vec![
        ("v6", version_6(formats, &cpus)),
        ("v7-none", version_7(formats, KALLSYMS, &cpus, "none", |bytes| Ok(bytes.to_vec()))?),
        ("v7-zstd", version_7(formats, KALLSYMS, &cpus, "zstd", zstd)?),
        ("v7-zlib", version_7(formats, KALLSYMS, &cpus, "zlib", zlib)?),
        ("large/broken-pages-of-60-mb", version_7(formats, KALLSYMS, &zeros, "zstd", zstd)?),
        ("large/symbols-of-60-mb", version_7(formats, &many, &cpus, "zstd", zstd)?),
    ])
}

fn zstd(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(zstd::bulk::compress(bytes, 3)?)
}

fn zlib(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    ZlibEncoder::new(bytes, Compression::best()).read_to_end(&mut out)?;
    Ok(out)
}

fn beginning(version: &str) -> Vec<u8> {
    let page_bytes = (PAGE_BYTES as u32).to_le_bytes();
    [MAGIC, version.as_bytes(), b"\0\0\x08", &page_bytes].concat()
}

fn headers() -> Vec<u8> {
    let page = header_page();
    let sized = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
    let event = b"# compressed entry header\n\ttype_len    :    5 bits\n";
    [&b"header_page\0"[..], &sized(page.as_bytes()), b"header_event\0", &sized(event)].concat()
}

/// Formats of events, group by group.
fn events(formats: &[&str]) -> Vec<u8> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for format in formats {
        let Some((group, text)) = format.split_once('\n') else { continue };
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((group, vec![text])),
        }
    }
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

fn version_6(formats: &[&str], cpus: &[Vec<u8>; 2]) -> Vec<u8> {
    let mut file = beginning("6");
    file.extend(headers());
    file.extend(0u32.to_le_bytes());
    file.extend(events(formats));
    file.extend((KALLSYMS.len() as u32).to_le_bytes());
    file.extend(KALLSYMS.as_bytes());
    file.extend(0u32.to_le_bytes());
    file.extend((NAMES.len() as u64).to_le_bytes());
    file.extend(NAMES);
    file.extend((cpus.len() as u32).to_le_bytes());
    file.extend(b"options  \0");
    for (id, data) in [(4, CLOCK), (5, UNAME), (9, b"3.1.6\0"), (7, b"0x10\0")] {
        file.extend(option(id, data));
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

fn version_7(
    formats: &[&str],
    kallsyms: &str,
    cpus: &[Vec<u8>; 2],
    packing: &str,
    pack: impl Fn(&[u8]) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let is_packed = packing != "none";
    let packed = |plain: &[u8]| -> Result<Vec<u8>, Error> {
        let packed = pack(plain)?;
        let sizes = [packed.len() as u32, plain.len() as u32].map(u32::to_le_bytes).concat();
        Ok([sizes, packed].concat())
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
    let names = [&(NAMES.len() as u64).to_le_bytes()[..], NAMES].concat();
    let mut options = Vec::new();
    for (id, content) in [(16, headers()), (18, events(formats)), (19, kallsyms), (21, names)] {
        options.extend(option(id, &(file.len() as u64).to_le_bytes()));
        let content = if is_packed { packed(&content)? } else { content };
        file.extend(section(id, u16::from(is_packed), &content));
    }
    let buffer_at = file.len() as u64;
    let mut lanes = Vec::new();
    for pages in cpus {
        lanes.push(if is_packed {
            [1u32.to_le_bytes().to_vec(), packed(pages)?].concat()
        } else {
            pages.clone()
        });
    }
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
    for (id, data) in [(4, CLOCK), (5, UNAME), (9, b"3.1.6\0"), (8, &2u32.to_le_bytes())] {
        options.extend(option(id, data));
    }
    options.extend(option(0, &0u64.to_le_bytes()));
    let here = file.len() as u64;
    file[options_at..options_at + 8].copy_from_slice(&here.to_le_bytes());
    file.extend(section(0, 0, &options));
    Ok(file)
}
