//! Events, gathered by CPU.

use super::EVENTS;
use super::event::{Armed, Context, encode};
use super::file::{File, put};
use super::tasks::Tasks;
use crate::ExportError;
use prost::Message;
use rustc_hash::FxHashMap;
use tardy_model::{CpuId, Event, Kind, NameId, Tables};
use tardy_perfetto::{
    FtraceEvent, FtraceEventBundle, InternedData, InternedString, TracePacket, sequence,
};

/// Bytes of events of a CPU that are gathered.
const BUNDLE_BYTES: usize = 32 << 10;

/// Bytes of all of them; beyond it all are written.
const GATHERED_BYTES_MAX: usize = 16 << 20;

/// The tag of an event in a bundle.
const EVENT: u8 = 0x12;

/// What has been gathered of each CPU.
#[derive(Default)]
pub(super) struct Bundles {
    cpus: FxHashMap<CpuId, Gathered>,
    gathered_bytes: usize,
    symbols: Symbols,
    armed: Armed,
    /// Idle states of which it has been told that they poll.
    polls: Vec<u32>,
    events: Vec<FtraceEvent>,
}

#[derive(Default)]
struct Gathered {
    events: Vec<u8>,
    /// The bundle begins with a loss, which began then.
    lost_since_ns: Option<u64>,
}

/// Names of functions that events use by number.
#[derive(Default)]
pub(super) struct Symbols {
    known: Vec<bool>,
    new: Vec<InternedString>,
}

impl Symbols {
    /// The number of a function; 0 where it has no name.
    pub(super) fn number(&mut self, name: NameId, tables: &Tables) -> u64 {
        let (at, text) = (name.0 as usize, tables.name(name));
        if text.is_empty() {
            return 0;
        }
        if at >= self.known.len() {
            self.known.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.known[at], true) {
            let (iid, str) = (Some(name.0.into()), Some(text.as_bytes().to_vec()));
            self.new.push(InternedString { iid, str });
        }
        name.0.into()
    }
}

impl Bundles {
    /// Takes an event, and writes its CPU's bundle where that is full.
    pub(super) fn event(
        &mut self,
        event: &Event,
        tables: &Tables,
        tasks: &Tasks,
        file: &mut File,
    ) -> Result<(), ExportError> {
        if let Kind::Loss(loss) = event.kind() {
            self.write(event.cpu, file)?;
            self.cpus.entry(event.cpu).or_default().lost_since_ns = Some(loss.since_ns);
        }
        let Self { symbols, armed, polls, events, .. } = self;
        encode(event, &mut Context { tables, tasks, symbols, armed, polls }, events);
        let gathered = self.cpus.entry(event.cpu).or_default();
        let before = gathered.events.len();
        for event in self.events.drain(..) {
            gathered.events.push(EVENT);
            put(event.encode_length_delimited(&mut gathered.events));
        }
        let bytes = gathered.events.len();
        self.gathered_bytes += bytes - before;
        if bytes >= BUNDLE_BYTES {
            self.write(event.cpu, file)?;
        }
        if self.gathered_bytes >= GATHERED_BYTES_MAX {
            self.finish(file)?;
        }
        Ok(())
    }

    /// Writes all bundles.
    pub(super) fn finish(&mut self, file: &mut File) -> Result<(), ExportError> {
        let mut cpus: Vec<CpuId> = self.cpus.keys().copied().collect();
        cpus.sort_unstable();
        cpus.into_iter().try_for_each(|cpu| self.write(cpu, file))
    }

    fn write(&mut self, cpu: CpuId, file: &mut File) -> Result<(), ExportError> {
        let Some(gathered) = self.cpus.get_mut(&cpu).filter(|cpu| !cpu.events.is_empty()) else {
            return Ok(());
        };
        let lost_since_ns = gathered.lost_since_ns.take();
        let head = FtraceEventBundle {
            cpu: Some(cpu.0.into()),
            lost_events: lost_since_ns.map(|_| true),
            previous_bundle_end_timestamp: lost_since_ns,
            ..FtraceEventBundle::default()
        };
        let new = std::mem::take(&mut self.symbols.new);
        let interned = InternedData { kernel_symbols: new, ..InternedData::default() };
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(EVENTS),
            sequence_flags: Some(sequence::NEEDS_INCREMENTAL_STATE),
            interned_data: (!interned.kernel_symbols.is_empty()).then_some(interned),
            ..TracePacket::default()
        };
        file.bundle(&packet, [&head.encode_to_vec(), &gathered.events])?;
        self.gathered_bytes -= gathered.events.len();
        gathered.events.clear();
        Ok(())
    }
}
