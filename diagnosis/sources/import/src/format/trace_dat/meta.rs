//! What the file says beside the events: how they are laid out, names, options.

use super::data::Walk;
use super::options::FileOptions;
use crate::ImportError;
use std::collections::BTreeMap;
use tardy_ftrace::decode::EventId;
use tardy_ftrace::format::EventFormat;
use tardy_kernel::Symbols;

/// All of it.
#[derive(Default)]
pub(super) struct Meta {
    /// The text of `events/header_page`; empty where the kernel had none.
    pub(super) header_page: String,
    /// Formats of the events that can be decoded, by group and name.
    pub(super) formats: BTreeMap<(&'static str, &'static str), EventFormat>,
    pub(super) symbols: Symbols,
    /// Names of tasks.
    pub(super) names: Vec<(u32, Vec<u8>)>,
    pub(super) file_options: FileOptions,
}

/// The most that is read of each; what says that it is more is broken.
const HEADER_TEXT_BYTES_MAX: usize = 64 << 10;
const FORMAT_BYTES_MAX: usize = 1 << 20;
const GROUPS_MAX: u32 = 1 << 16;
/// Ids have 16 bits.
const FORMATS_MAX: u32 = 1 << 16;
const KALLSYMS_BYTES_MAX: usize = 256 << 20;
/// As many tasks as Linux can have, with their names.
const NAMES_BYTES_MAX: usize = 128 << 20;
const NAMES_MAX: usize = 1 << 22;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

impl Meta {
    /// `header_page` and `header_event`.
    pub(super) fn read_headers(&mut self, walk: &mut Walk<'_>) -> Result<(), ImportError> {
        for (name, is_page) in [("header_page", true), ("header_event", false)] {
            let found = walk.string("ring buffer's headers")?;
            if found != name {
                return Err(walk.broken(format!("`{name}` should stand here")));
            }
            let bytes = walk.u64("ring buffer's headers")?;
            let header = walk.take(bytes, HEADER_TEXT_BYTES_MAX, "ring buffer's headers")?;
            if is_page {
                self.header_page = text(header);
            }
        }
        Ok(())
    }

    /// Events of ftrace itself, of which stacks are read.
    pub(super) fn read_ftrace_formats(&mut self, walk: &mut Walk<'_>) -> Result<(), ImportError> {
        const WHAT: &str = "formats of ftrace's events";
        let count = walk.u32(WHAT)?;
        for _ in 0..count.min(FORMATS_MAX) {
            let bytes = walk.u64(WHAT)?;
            let format = text(walk.take(bytes, FORMAT_BYTES_MAX, WHAT)?);
            self.read_format("ftrace", &format);
        }
        Ok(())
    }

    pub(super) fn read_formats(&mut self, walk: &mut Walk<'_>) -> Result<(), ImportError> {
        let groups = walk.u32("formats of events")?;
        if groups > GROUPS_MAX {
            return Err(walk.broken(format!("no kernel has {groups} groups of events")));
        }
        for _ in 0..groups {
            let group = walk.string("formats of events")?;
            let events = walk.u32("formats of events")?;
            if events > FORMATS_MAX {
                return Err(walk.broken(format!("no kernel has {events} events in a group")));
            }
            for _ in 0..events {
                let bytes = walk.u64("formats of events")?;
                let format = walk.take(bytes, FORMAT_BYTES_MAX, "formats of events")?;
                self.read_format(&group, &text(format));
            }
        }
        Ok(())
    }

    /// Keeps a format whose event can be decoded.
    fn read_format(&mut self, group: &str, format: &str) {
        if let Ok(format) = EventFormat::parse(format)
            && let Some(id) = EventId::of(&format.name)
            && id.group() == group
        {
            self.formats.insert((id.group(), id.name()), format);
        }
    }

    pub(super) fn read_kallsyms(&mut self, walk: &mut Walk<'_>) -> Result<(), ImportError> {
        let bytes = walk.u32("kernel's symbols")?;
        let symbols = walk.take(bytes.into(), KALLSYMS_BYTES_MAX, "kernel's symbols")?;
        // Whether it is text is quickly seen; looking for what is none takes longer.
        self.symbols = match std::str::from_utf8(symbols) {
            Ok(text) => Symbols::from_text(text),
            Err(_) => Symbols::from_text(&String::from_utf8_lossy(symbols)),
        };
        Ok(())
    }

    pub(super) fn skip_printk(walk: &mut Walk<'_>) -> Result<(), ImportError> {
        let bytes = walk.u32("texts of trace_printk")?;
        walk.skip(bytes.into(), "texts of trace_printk")
    }

    pub(super) fn read_names(&mut self, walk: &mut Walk<'_>) -> Result<(), ImportError> {
        let bytes = walk.u64("names of tasks")?;
        let names = walk.take(bytes, NAMES_BYTES_MAX, "names of tasks")?;
        for line in names.split(|byte| *byte == b'\n').take(NAMES_MAX) {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
            let task = std::str::from_utf8(&line[..space]).ok().and_then(|id| id.parse().ok());
            let name = &line[space + 1..];
            // The kernel's own word for a name it does not know.
            if let Some(task) = task
                && !name.is_empty()
                && name != b"<...>"
            {
                self.names.push((task, name.to_owned()));
            }
        }
        Ok(())
    }
}
