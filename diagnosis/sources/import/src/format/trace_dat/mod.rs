//! `trace.dat`, as trace-cmd writes it: versions 6 and 7.
//!
//! The file holds what a machine of any byte order and word size says of its events, and per CPU the
//! pages of the kernel's ring buffer as they were. [`v6`] and [`v7`] find them, [`lane`] reads a CPU's
//! pages a few at a time, [`merge`] makes one stream of them. What records mean is known elsewhere
//! (`tardy_ftrace`).
//!
//! The layout of the file is described by trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).
//!
//! What is left out: all instances' buffers but one; text of the latency tracers; the shift by which a
//! guest's trace is put on its host's clock; the offset to the time of day (`DATE`), since events stay
//! on the clock of timers.

mod data;
mod header;
mod lane;
mod look_ahead;
mod merge;
mod meta;
mod options;
mod packing;
mod recover;
mod v6;
mod v7;

use crate::format::Format;
use crate::{Closing, Import, ImportError, Input, Options, Origin};
use data::Data;
use header::{Header, MAGIC};
use lane::Lane;
use merge::Merge;
use meta::Meta;
use options::{Buffer, FileOptions};
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::page::PageLayout;
use tardy_kernel::{Abi, ClockOffsets};
use tardy_model::{Batch, Source, SourceError, TaskId};

const NAME: &str = "trace.dat";

/// The format.
pub(super) struct TraceDat;

impl Format for TraceDat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn written_by(&self) -> &'static str {
        "trace-cmd record"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError> {
        let path = input.path().to_owned();
        let data = Data::new(input.into_contents()?, &path)?;
        Ok(Box::new(Reader::open(data, options)?))
    }
}

/// The most events in a batch; one more record may add a few.
const BATCH_EVENTS: usize = 8192;

/// What a machine's tick is taken to be until its trace tells: 250 Hz is what most distributions set.
const TICK_GUESS_NS: u64 = 4_000_000;

/// A file being read.
struct Reader {
    data: Data,
    merge: Merge,
    decoder: Decoder,
    /// Names of tasks that are told before the first event.
    names: Vec<(u32, Vec<u8>)>,
    origin: Origin,
    notes: Vec<String>,
}

impl Reader {
    fn open(data: Data, options: &Options) -> Result<Self, ImportError> {
        let header = Header::read(&data)?;
        let meta = match header.sections {
            None => v6::read(&data, &header)?,
            Some((packing, options_at)) => v7::read(&data, &header, packing, options_at)?,
        };
        let Meta { header_page, formats, symbols, names, file_options } = meta;
        let mut notes = Vec::new();
        if symbols.is_empty() {
            notes.push(
                "functions are shown by the last digits of their addresses: the file has no \
                 kernel symbols, or the kernel hid them (run trace-cmd as root, or set \
                 kernel.kptr_restrict to 0)"
                    .to_owned(),
            );
        }
        let layout = layout(&data, &header, &header_page)?;
        let mut decoder =
            Decoder::new(header.endian, ClockOffsets::default(), TICK_GUESS_NS, symbols);
        decoder.guess_tick();
        let uname: Vec<&str> = file_options.uname.split_whitespace().collect();
        let word = |at: usize| uname.get(at).copied().unwrap_or_default().to_owned();
        let machine = word(uname.len().saturating_sub(1));
        decoder.set_abi(options.abi.unwrap_or_else(|| Abi::of_machine(&machine)));
        for ((group, _), format) in &formats {
            decoder.learn(group, format);
        }

        let lanes = |buffer: &Buffer| -> Vec<Lane> {
            let packing = header.sections.map(|(packing, _)| packing);
            let packing = packing.filter(|_| buffer.is_packed);
            let packing = packing.map(|packing| {
                (packing, lane::chunk_bytes_max(layout.page_bytes, buffer.cpus.len()))
            });
            let lane = |cpu| Lane::new(&data, header.endian, layout, packing, cpu);
            buffer.cpus.iter().copied().map(lane).collect()
        };
        let buffer = choose(&data, &file_options, &mut notes)?;
        // The file's own clock is the top instance's.
        let clocks = [&file_options.clock, &buffer.clock];
        let clock = match (clocks, buffer.name.is_empty()) {
            ([file, own], true) if !file.is_empty() || own.is_empty() => file,
            ([file, own], false) if own.is_empty() => file,
            ([_, own], _) => own,
        };
        let readings = look_ahead::readings(&data, &decoder, || lanes(buffer))?;
        let stamps = readings.stamps(&data, clock, &file_options, &mut notes)?;
        let clock_is = readings.clock(clock, stamps, &mut notes);
        decoder.set_trace_clock(clock_is);
        decoder.learn_clock(&readings.first_in_ns(stamps));
        if file_options.is_recovered {
            notes.push(format!(
                "the file is cut short: it ends at byte {}, and the table of its CPUs' events is \
                 missing; events of {} of {} CPUs were found without it",
                data.bytes(),
                buffer.cpus.len(),
                file_options.cpus_with_events.len()
            ));
        }
        if file_options.has_time_shift {
            notes.push("this is a guest's trace: its times are left on its own clock".to_owned());
        }

        let origin = Origin {
            clock: clock.clone(),
            host: word(1),
            kernel_release: word(2),
            machine: if uname.len() >= 4 { machine } else { String::new() },
            cpus: file_options.cpus.max(u32::try_from(buffer.cpus.len()).unwrap_or(u32::MAX)),
            hz: 0,
            written_by: format!("trace-cmd {}", file_options.version).trim_end().to_owned(),
        };
        let merge = Merge::new(&data, lanes(buffer), stamps)?;
        Ok(Self { data, merge, decoder, names, origin, notes })
    }
}

/// How pages are laid out. Kernels before 2.6.30 did not tell: then as theirs were.
fn layout(data: &Data, header: &Header, header_page: &str) -> Result<PageLayout, ImportError> {
    if header_page.is_empty() {
        let word = usize::from(header.long_bytes);
        return Ok(PageLayout {
            endian: header.endian,
            commit_offset: 8,
            commit_bytes: word,
            data_offset: 8 + word,
            page_bytes: (header.page_bytes as usize).clamp(4096, 1 << 16),
        });
    }
    PageLayout::parse(header_page, header.endian)
        .map_err(|why| data.broken(header.end, why.to_string()))
}

/// The top instance's buffer, or the first that has events.
fn choose<'a>(
    data: &Data,
    file_options: &'a FileOptions,
    notes: &mut Vec<String>,
) -> Result<&'a Buffer, ImportError> {
    let bytes = |buffer: &Buffer| -> u64 {
        let is_there = |cpu: &options::CpuData| data.bytes().saturating_sub(cpu.at).min(cpu.bytes);
        buffer.cpus.iter().map(is_there).fold(0, u64::saturating_add)
    };
    let told_bytes = |buffer: &Buffer| -> u64 {
        buffer.cpus.iter().map(|cpu| cpu.bytes).fold(0, u64::saturating_add)
    };
    let shown = |buffer: &Buffer| match buffer.name.as_str() {
        "" => "the top one".to_owned(),
        name => format!("`{name}`"),
    };
    let mut with_events: Vec<&Buffer> =
        file_options.buffers.iter().filter(|buffer| bytes(buffer) > 0).collect();
    // The top one first; the others stay in the file's order.
    with_events.sort_by_key(|buffer| !buffer.name.is_empty());
    let Some((chosen, others)) = with_events.split_first() else {
        let end = data.bytes();
        return Err(if file_options.buffers.iter().any(|buffer| buffer.is_text) {
            data.broken(
                end,
                "it has the text of a latency tracer, not events; read the output of `trace-cmd \
                 report` instead",
            )
        } else if file_options.buffers.iter().any(|buffer| told_bytes(buffer) > 0) {
            data.broken(end, "the file is cut short before its first event; copy it again")
        } else {
            data.broken(end, "no event is in it: nothing was recorded, or the recorder was killed")
        });
    };
    // What is at hand of each is then never more than the file has.
    let mut parts: Vec<_> = chosen.cpus.iter().filter(|cpu| cpu.bytes > 0).collect();
    parts.sort_by_key(|cpu| cpu.at);
    if let Some(pair) =
        parts.windows(2).find(|pair| pair[0].at.saturating_add(pair[0].bytes) > pair[1].at)
    {
        return Err(data.broken(
            pair[1].at,
            format!(
                "the events of CPU {} and CPU {} overlap in the file",
                pair[0].cpu, pair[1].cpu
            ),
        ));
    }
    if !chosen.name.is_empty() || !others.is_empty() {
        let left_out: Vec<String> = others.iter().map(|buffer| shown(buffer)).collect();
        let left_out = if left_out.is_empty() {
            "no other has events".to_owned()
        } else {
            format!("left out are {}", left_out.join(", "))
        };
        notes.push(format!("of the file's trace instances {} was read; {left_out}", shown(chosen)));
    }
    Ok(chosen)
}

impl Source for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if let Some(first_ns) = self.merge.next_ns() {
            for (task, name) in std::mem::take(&mut self.names) {
                // Every CPU's idle task has the id 0.
                if task != TaskId::IDLE.0 {
                    self.decoder.name_task(first_ns, TaskId(task), &name, batch);
                }
            }
        }
        let events_max = batch.events.len() + BATCH_EVENTS;
        self.merge.fill(&self.data, &mut self.decoder, batch, events_max)?;
        Ok(!batch.is_empty())
    }
}

impl Import for Reader {
    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn closing(&mut self) -> Closing {
        let mut notes = self.notes.clone();
        let lanes = self.merge.lanes();
        let cut_bytes = lanes.iter().map(|lane| lane.cut_bytes).fold(0, u64::saturating_add);
        if cut_bytes > 0 {
            let cut = lanes.iter().filter(|lane| lane.cut_bytes > 0).count();
            notes.push(format!(
                "the file is cut short: it ends at byte {}, {cut_bytes} bytes before the end of the \
                 events of {cut} of {} CPUs",
                self.data.bytes(),
                lanes.len()
            ));
        }
        for lane in lanes {
            if let Some((at, count)) = lane.broken {
                notes.push(format!(
                    "CPU {}: {count} compressed parts cannot be unpacked, the first at byte {at}; \
                     their events count as lost",
                    lane.cpu
                ));
            }
        }
        if self.merge.late() > 0 {
            notes.push(format!(
                "{} events come after later ones of their CPU; they count as lost",
                self.merge.late()
            ));
        }
        notes.extend(self.decoder.notes());
        let (events, silent) = self.decoder.events();
        let mut closing = Closing { events, silent, missing: self.decoder.missing(), notes };
        closing.notes.extend(closing.of_silent(&[]));
        closing
    }
}
