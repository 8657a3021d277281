//! The options of a file: numbered pieces of what the recorder knew.

use super::data::Walk;
use crate::ImportError;

/// What options told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileOptions {
    /// The trace's clock, as `trace_clock` names it.
    pub(super) clock: String,
    /// `sysname nodename release machine`.
    pub(super) uname: String,
    pub(super) version: String,
    /// To be added to every time.
    pub(super) offset_ns: i64,
    /// Cycles become nanoseconds: times the first, shifted right by the second.
    pub(super) tsc_to_ns: Option<(u32, u32)>,
    pub(super) cpus: u32,
    pub(super) buffers: Vec<Buffer>,
    /// Sections of version 7, by their ids, and where they are.
    pub(super) sections: Vec<(u16, u64)>,
    /// The CPUs of the top instance that had events, by their statistics.
    pub(super) cpus_with_events: Vec<u16>,
    /// The statistics come to those of another instance.
    are_others: bool,
    /// Where CPUs' events are was found without the file's table, which is cut off.
    pub(super) is_recovered: bool,
    /// A guest's trace that can be put on its host's clock.
    pub(super) has_time_shift: bool,
}

/// A trace instance's buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Buffer {
    /// The instance; empty for the top one.
    pub(super) name: String,
    pub(super) clock: String,
    /// Where what describes it is: its section in version 7, its table of CPUs in version 6.
    pub(super) at: u64,
    /// It holds text, as the latency tracers write it.
    pub(super) is_text: bool,
    pub(super) is_packed: bool,
    pub(super) cpus: Vec<CpuData>,
}

/// Where a CPU's pages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuData {
    pub(super) cpu: u16,
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// The most that is read; what says more is broken. Beyond [`BUFFERS_MAX`] instances the rest is left
/// out, and beyond [`ALL_CPUS_MAX`] CPUs of all instances together the events of the rest.
const OPTION_BYTES_MAX: usize = 64 << 20;
const BUFFERS_MAX: usize = 1 << 10;
pub(super) const CPUS_MAX: u32 = 1 << 14;
pub(super) const ALL_CPUS_MAX: usize = 1 << 18;

/// Numbers of options.
const DONE: u16 = 0;
const CPUSTAT: u16 = 2;
const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TIME_SHIFT: u16 = 12;
const TSC2NSEC: u16 = 14;
/// Sections of version 7 are announced by an option of the same number.
const SECTIONS: std::ops::RangeInclusive<u16> = 16..=21;
const BUFFER_TEXT: u16 = 22;

impl FileOptions {
    /// Reads options up to the last, and says where the next ones are (version 7; 0 where these were
    /// the last).
    pub(super) fn read(
        &mut self,
        walk: &mut Walk<'_>,
        has_sections: bool,
    ) -> Result<u64, ImportError> {
        const WHAT: &str = "options";
        loop {
            let id = walk.u16(WHAT)?;
            if id == DONE && !has_sections {
                return Ok(0);
            }
            let (place, bytes) = (walk.place(), u64::from(walk.u32(WHAT)?));
            let data = walk.take(bytes, OPTION_BYTES_MAX, WHAT)?.to_vec();
            let mut option = walk.within(data, place);
            if id == DONE {
                return option.u64(WHAT);
            }
            self.read_one(id, &mut option, bytes, has_sections)?;
        }
    }

    fn read_one(
        &mut self,
        id: u16,
        option: &mut Walk<'_>,
        bytes: u64,
        has_sections: bool,
    ) -> Result<(), ImportError> {
        const WHAT: &str = "options";
        let text = |option: &mut Walk<'_>| -> Result<String, ImportError> {
            let text = String::from_utf8_lossy(option.take(bytes, OPTION_BYTES_MAX, WHAT)?);
            Ok(text.trim_end_matches(['\0', '\n']).to_owned())
        };
        match id {
            TRACECLOCK => self.clock = chosen_clock(&text(option)?),
            UNAME => self.uname = text(option)?,
            VERSION => self.version = text(option)?,
            OFFSET => {
                self.offset_ns = self.offset_ns.wrapping_add(c_number(&text(option)?).unwrap_or(0));
            }
            CPUCOUNT => self.cpus = option.u32(WHAT)?,
            CPUSTAT => self.read_statistics(&text(option)?),
            TIME_SHIFT => self.has_time_shift = true,
            TSC2NSEC => {
                let (mult, shift) = (option.u32(WHAT)?, option.u32(WHAT)?);
                self.tsc_to_ns = (mult != 0).then_some((mult, shift));
            }
            BUFFER | BUFFER_TEXT if self.buffers.len() < BUFFERS_MAX => {
                let buffer = if has_sections {
                    let mut buffer = Buffer::read(option, id == BUFFER_TEXT)?;
                    if self.all_cpus() + buffer.cpus.len() > ALL_CPUS_MAX {
                        buffer.cpus.clear();
                    }
                    buffer
                } else {
                    let at = option.u64(WHAT)?;
                    Buffer { at, name: option.string(WHAT)?, ..Buffer::default() }
                };
                self.buffers.push(buffer);
            }
            // One of each: more would be read in vain.
            id if SECTIONS.contains(&id) && has_sections && !self.has_section(id) => {
                self.sections.push((id, option.u64(WHAT)?));
            }
            // Hooks, maps of processes, and what newer versions add.
            _ => {}
        }
        Ok(())
    }
}

impl FileOptions {
    fn has_section(&self, id: u16) -> bool {
        self.sections.iter().any(|(known, _)| *known == id)
    }

    /// How many CPUs all instances have together.
    pub(super) fn all_cpus(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.cpus.len()).sum()
    }

    /// Lines of `per_cpu/cpu*/stats`, after the CPU's number.
    fn read_statistics(&mut self, text: &str) {
        let value = |key: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
        };
        self.are_others |= text.trim_start().starts_with("Buffer:");
        // Those that had been read then, and those that came to be.
        let events = [value("read events:"), value("entries:")];
        if !self.are_others
            && self.cpus_with_events.len() < CPUS_MAX as usize
            && let Some(cpu) = value("CPU:").and_then(|cpu| u16::try_from(cpu).ok())
            && events.iter().any(|events| events.is_none_or(|events| events > 0))
        {
            self.cpus_with_events.push(cpu);
        }
    }
}

impl Buffer {
    fn read(option: &mut Walk<'_>, is_text: bool) -> Result<Self, ImportError> {
        const WHAT: &str = "buffer option";
        let at = option.u64(WHAT)?;
        let name = option.string(WHAT)?;
        let clock = option.string(WHAT)?;
        let mut buffer = Self { name, clock, at, is_text, ..Self::default() };
        if is_text {
            return Ok(buffer);
        }
        let _page_bytes = option.u32(WHAT)?;
        let cpus = option.u32(WHAT)?;
        if cpus > CPUS_MAX {
            return Err(option.broken(format!("no machine has {cpus} CPUs")));
        }
        for _ in 0..cpus {
            let cpu = option.u32(WHAT)?;
            let cpu = u16::try_from(cpu)
                .map_err(|_| option.broken(format!("no machine has a CPU {cpu}")))?;
            let (at, bytes) = (option.u64(WHAT)?, option.u64(WHAT)?);
            buffer.cpus.push(CpuData { cpu, at, bytes });
        }
        Ok(buffer)
    }
}

/// The clock in brackets: `[local] global mono`.
fn chosen_clock(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text.trim(), |(clock, _)| clock).to_owned()
}

/// A number as C writes it: decimal, or hexadecimal after `0x`.
fn c_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if is_negative { number.wrapping_neg() } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_options() {
        assert_eq!(chosen_clock("local global [mono] mono_raw\n"), "mono");
        assert_eq!(chosen_clock("tsc"), "tsc");
        for (text, number) in
            [("-1500", Some(-1500)), ("0x10", Some(16)), ("+7 ", Some(7)), ("", None), ("x", None)]
        {
            assert_eq!(c_number(text), number, "{text}");
        }
    }
}
