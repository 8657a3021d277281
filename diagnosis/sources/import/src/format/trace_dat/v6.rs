//! Version 6: one part after the other, each at its place.

use super::data::{Data, Walk};
use super::header::Header;
use super::meta::Meta;
use super::options::{ALL_CPUS_MAX, Buffer, CPUS_MAX, CpuData};
use crate::ImportError;

/// What to do about a file that has no events because its recorder did not come to write them.
const RESTORE: &str = "a recorder that was killed leaves its events in FILE.cpu0, FILE.cpu1, …: \
                       `trace-cmd restore` puts them together";

const WHAT: &str = "table of CPUs";

/// Reads all but the events.
pub(super) fn read(data: &Data, header: &Header) -> Result<Meta, ImportError> {
    let mut walk = Walk::over_file(data, header.endian, header.end, data.bytes());
    let mut meta = Meta::default();
    meta.read_headers(&mut walk)?;
    meta.read_ftrace_formats(&mut walk)?;
    meta.read_formats(&mut walk)?;
    meta.read_kallsyms(&mut walk)?;
    Meta::skip_printk(&mut walk)?;
    meta.read_names(&mut walk)?;
    if walk.left() == 0 {
        return Err(walk.broken(format!("it ends before its events: {RESTORE}")));
    }
    let cpus = walk.u32(WHAT)?;
    meta.file_options.cpus = cpus;
    let mut kind = kind(&mut walk)?;
    if kind.starts_with("options") {
        meta.file_options.read(&mut walk, false)?;
        kind = self::kind(&mut walk)?;
    }
    let instances = std::mem::take(&mut meta.file_options.buffers);
    meta.file_options.buffers.push(buffer(&mut walk, &kind, Buffer::default(), cpus)?);
    for instance in instances {
        let mut walk = Walk::over_file(data, header.endian, instance.at, data.bytes());
        // Cut before it: it has no events that can be read, and the top one may have.
        let cpus = meta.file_options.cpus;
        if meta.file_options.all_cpus() + cpus as usize > ALL_CPUS_MAX {
            break;
        }
        let read =
            self::kind(&mut walk).and_then(|kind| buffer(&mut walk, &kind, instance.clone(), cpus));
        meta.file_options.buffers.push(read.unwrap_or(instance));
    }
    Ok(meta)
}

/// Ten bytes that say what follows.
fn kind(walk: &mut Walk<'_>) -> Result<String, ImportError> {
    if walk.left() == 0 {
        return Err(walk.broken(format!("it ends before its events: {RESTORE}")));
    }
    let kind = walk.take(10, 10, WHAT)?;
    Ok(String::from_utf8_lossy(kind).trim_end_matches('\0').to_owned())
}

fn buffer(
    walk: &mut Walk<'_>,
    kind: &str,
    buffer: Buffer,
    cpus: u32,
) -> Result<Buffer, ImportError> {
    if kind.starts_with("latency") {
        return Ok(Buffer { is_text: true, ..buffer });
    }
    if !kind.starts_with("flyrecord") {
        return Err(walk.broken(format!("`{kind}` is no kind of data: {RESTORE}")));
    }
    if cpus > CPUS_MAX {
        return Err(walk.broken(format!("no machine has {cpus} CPUs")));
    }
    let mut all = Vec::new();
    for cpu in 0..cpus {
        let (at, bytes) = (walk.u64(WHAT)?, walk.u64(WHAT)?);
        all.push(CpuData { cpu: cpu as u16, at, bytes });
    }
    Ok(Buffer { cpus: all, ..buffer })
}
