//! A file of version 7 whose end is missing: the table that says where each CPU's events are stands
//! behind them, so they are found by walking, where it can be told for sure which CPU's they are.
//!
//! The section of the top instance's buffer follows the first options. In it, each CPU's events begin
//! at a whole page of the file, and CPUs follow each other in the order of their statistics, which are
//! among the first options and say who had events at all. Compressed events say themselves where they
//! end; of others the next CPU's begin where pages go back in time.

use super::data::{Data, Walk};
use super::header::Header;
use super::options::{Buffer, CpuData, FileOptions};
use super::v7::{BUFFER, Section};
use tardy_ftrace::page::PAGE_BYTES_MAX;

/// Looks for the top instance's buffer at `at`. `None` where there is none, or nothing is sure.
pub(super) fn buffer(
    data: &Data,
    header: &Header,
    at: u64,
    file_options: &FileOptions,
) -> Option<Buffer> {
    let page_bytes = u64::from(header.page_bytes);
    if !page_bytes.is_power_of_two() || page_bytes > PAGE_BYTES_MAX as u64 {
        return None;
    }
    let section = Section::find(data, header, at, Some(BUFFER)).ok()?;
    let mut cpus = Vec::new();
    let mut at = section.at.checked_next_multiple_of(page_bytes)?;
    for (order, &cpu) in file_options.cpus_with_events.iter().enumerate() {
        if at >= data.bytes() {
            break;
        }
        let end = if section.is_packed {
            end_of_chunks(data, header, at)?
        } else {
            let is_last = order + 1 == file_options.cpus_with_events.len();
            end_of_pages(data, header, at, page_bytes, is_last)?
        };
        cpus.push(CpuData { cpu, at, bytes: end - at });
        at = end.checked_next_multiple_of(page_bytes)?;
    }
    let is_packed = section.is_packed;
    (!cpus.is_empty()).then(|| Buffer { at: section.at, is_packed, cpus, ..Buffer::default() })
}

/// Where a CPU's chunks end that begin at `at`; the file's end where they are cut.
fn end_of_chunks(data: &Data, header: &Header, at: u64) -> Option<u64> {
    const WHAT: &str = "compressed events";
    let mut walk = Walk::over_file(data, header.endian, at, data.bytes());
    let Ok(chunks) = walk.u32(WHAT) else { return Some(data.bytes()) };
    if chunks == 0 {
        // The number is written last: it was not.
        return None;
    }
    for _ in 0..chunks {
        let (Ok(packed), Ok(_)) = (walk.u32(WHAT), walk.u32(WHAT)) else {
            return Some(data.bytes());
        };
        if walk.skip(packed.into(), WHAT).is_err() {
            return Some(data.bytes());
        }
    }
    Some(walk.place())
}

/// Where a CPU's pages end that begin at `at`: where time goes back, or at the file's end.
fn end_of_pages(
    data: &Data,
    header: &Header,
    at: u64,
    page_bytes: u64,
    is_last: bool,
) -> Option<u64> {
    let mut last = 0;
    let mut page_at = at;
    let mut stamp = Vec::new();
    while !is_last && page_at + 8 <= data.bytes() {
        data.read(page_at, 8, &mut stamp).ok()?;
        let time = header.endian.number(&stamp)?;
        if time < last {
            return Some(page_at);
        }
        last = time;
        page_at += page_bytes;
    }
    Some(data.bytes())
}
