//! The first reading: where each CPU's bundles are, and what is said once.

use super::clocks::{Clocks, Snapshots, StampClock};
use super::plan::Plans;
use super::tasks::Tree;
use super::{PACKET, bundle};
use crate::Contents;
use prost::Message;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use tardy_perfetto::wire::{Fields, VARINT_BYTES_MAX, varint};
use tardy_perfetto::{
    ClockSnapshot, InternedData, ProcessTree, SystemInfo, TracePacketDefaults, clock, own, sequence,
};

/// A packet longer than this is passed over: whole bundles are some hundred kilobytes at most.
pub(super) const PACKET_BYTES_MAX: u64 = 32 << 20;

/// Compressed packets are read up to this length; they are some megabytes.
pub(super) const INFLATED_BYTES_MAX: u64 = 16 << 20;

/// The largest window that is made for zstd, in powers of two: 32 MiB. Its regular levels use at most
/// 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// Bundles of which the place is kept: 64 MB of memory, of a trace of several gigabytes. What comes
/// behind is not read, and a note says so.
const BUNDLES_MAX: usize = 2 << 20;

/// Compressed packets of which the place is kept, 16 bytes each.
const BLOCKS_MAX: usize = 1 << 20;

/// CPUs numbered from here on are passed over.
const CPUS_MAX: u32 = 8192;

/// Writers of packets that are told apart; what others intern is not kept.
const SEQUENCES_MAX: usize = 1 << 14;

/// CPUs by data source; bundles of others are left out, and a note counts them.
const WRITERS_MAX: usize = 1 << 14;

/// Names of functions that are kept, and their bytes; beyond, functions are shown by number.
const SYMBOLS_MAX: usize = 1 << 20;
const SYMBOL_BYTES_MAX: usize = 64 << 20;

/// Events that a trace describes itself, and the bytes of a description; others are passed over.
const DESCRIPTORS_MAX: usize = 4096;
const DESCRIPTOR_BYTES_MAX: usize = 16 << 10;

/// What was found.
#[derive(Debug)]
pub(super) struct Index {
    /// Each CPU's bundles by each data source, in the order of their times.
    pub(super) cpus: Vec<CpuBundles>,
    pub(super) blocks: Vec<Block>,
    pub(super) symbols: Symbols,
    pub(super) plans: Plans,
    pub(super) clocks: Clocks,
    pub(super) tree: Tree,
    pub(super) system: System,
    /// From one tick of the kernel to the next, where timers of the wheel tell.
    pub(super) tick_ns: Option<u64>,
    pub(super) flaws: Flaws,
}

/// One CPU's bundles by one data source.
#[derive(Debug, Default)]
pub(super) struct CpuBundles {
    pub(super) cpu: u16,
    pub(super) bundles: Vec<BundleAt>,
}

/// Where a bundle is.
#[derive(Clone, Copy, Debug)]
pub(super) struct BundleAt {
    /// The stamp of its first event.
    pub(super) first: u64,
    /// Where it begins, in the file or, where it is in a block, in there.
    pub(super) at: u64,
    pub(super) bytes: u32,
    /// The compressed packet that it is in, or [`NO_BLOCK`].
    pub(super) block: u32,
    /// Which symbols hold.
    pub(super) scope: u32,
    /// Packets before it were lost.
    pub(super) after_loss: bool,
}

pub(super) const NO_BLOCK: u32 = u32::MAX;

/// A compressed packet's content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) at: u64,
    pub(super) bytes: u32,
    /// Of what is in it.
    pub(super) inflated_bytes: u32,
    pub(super) compression: Compression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Deflate,
    Zstd,
}

/// The machine, as far as it is told.
#[derive(Debug, Default)]
pub(super) struct System {
    pub(super) host: String,
    pub(super) kernel_release: String,
    pub(super) machine: String,
    pub(super) cpus: u32,
    pub(super) written_by: String,
}

/// What is wrong with the file.
#[derive(Debug, Default)]
pub(super) struct Flaws {
    /// Where the file ends within a packet.
    pub(super) cut_at: Option<u64>,
    /// Where something begins that is no packet.
    pub(super) broken_at: Option<u64>,
    /// Packets that are no messages, or whose content cannot be inflated, and where the first is.
    pub(super) damaged: Damage,
    /// Packets above [`PACKET_BYTES_MAX`].
    pub(super) too_long: Damage,
    /// Where the bound of bundles was reached.
    pub(super) full_at: Option<u64>,
    /// Pages of the kernel's that the recording program could not read.
    pub(super) kernel_pages: u64,
    /// Bundles of other machines.
    pub(super) other_machines: u64,
    /// Bundles of data sources beyond the bound.
    pub(super) other_recorders: u64,
    /// Bundles with stamps of a clock that differs between CPUs.
    pub(super) local_clocks: u64,
    /// Bundles with stamps that are no `CLOCK_BOOTTIME`.
    pub(super) raw_clocks: u64,
}

/// How many, and where the first is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Damage {
    pub(super) count: u64,
    pub(super) first_at: u64,
}

impl Damage {
    pub(super) fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first_at = at;
        }
        self.count += 1;
    }
}

/// Names of functions, by the numbers that packets use for them.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    text: Vec<u8>,
    by_number: FxHashMap<(u32, u64), (u32, u32)>,
}

impl Symbols {
    fn define(&mut self, scope: u32, number: u64, name: &[u8]) {
        let at = self.text.len();
        if self.by_number.len() < SYMBOLS_MAX && at + name.len() <= SYMBOL_BYTES_MAX {
            self.text.extend(name);
            self.by_number.insert((scope, number), (at as u32, name.len() as u32));
        }
    }

    pub(super) fn name(&self, scope: u32, number: u64) -> Option<&[u8]> {
        let (at, bytes) = *self.by_number.get(&(scope, number))?;
        self.text.get(at as usize..(at + bytes) as usize)
    }
}

/// What holds in a sequence of packets by one writer.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    /// Counts up with each time that it begins anew.
    scope: u32,
    default_clock: u32,
    /// How often packets were lost.
    drops: u32,
}

/// One CPU's bundles by one writer.
#[derive(Debug, Default)]
struct Writer {
    bundles: Vec<BundleAt>,
    /// The sequence's, when the last bundle came.
    drops: u32,
    lost: bool,
}

/// Reads all of `file`, from its beginning.
pub(super) fn read(file: &Contents) -> io::Result<Index> {
    let length = file.bytes()?;
    let mut reader = BufReader::with_capacity(length.clamp(1, 1 << 20) as usize, file.reader()?);
    let mut builder = Builder::default();
    let mut packet = Vec::new();
    let mut at = 0;
    while at < length {
        match next_packet(&mut reader, at, length)? {
            Next::Packet { begins, bytes } if bytes > PACKET_BYTES_MAX => {
                builder.flaws.too_long.add(begins);
                reader.seek_relative(bytes as i64)?;
                at = begins + bytes;
            }
            Next::Packet { begins, bytes } => {
                packet.resize(bytes as usize, 0);
                reader.read_exact(&mut packet)?;
                builder.packet(&packet, Place { at: begins, block: NO_BLOCK });
                at = begins + bytes;
            }
            Next::Cut => {
                builder.flaws.cut_at = Some(at);
                break;
            }
            Next::Broken => {
                builder.flaws.broken_at = Some(at);
                break;
            }
        }
        if builder.bundles >= BUNDLES_MAX || builder.blocks.len() >= BLOCKS_MAX {
            builder.flaws.full_at = Some(at);
            break;
        }
    }
    Ok(builder.into_index())
}

enum Next {
    Packet { begins: u64, bytes: u64 },
    Cut,
    Broken,
}

/// Where the packet behind the tag at `at` is.
fn next_packet(reader: &mut impl Read, at: u64, length: u64) -> io::Result<Next> {
    let mut head = [0; 1 + VARINT_BYTES_MAX];
    let mut read = 0;
    // Byte by byte, as nothing behind the length may be taken.
    while read < head.len() && at + (read as u64) < length {
        reader.read_exact(&mut head[read..=read])?;
        read += 1;
        if read > 1 && head[read - 1] < 0x80 {
            break;
        }
    }
    if head[0] != PACKET {
        return Ok(Next::Broken);
    }
    let mut number = &head[1..read];
    let begins = at + read as u64;
    Ok(match varint(&mut number) {
        Ok(bytes) if bytes <= length - begins => Next::Packet { begins, bytes },
        Ok(_) => Next::Cut,
        Err(_) if begins == length => Next::Cut,
        Err(_) => Next::Broken,
    })
}

/// Where bytes are.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    block: u32,
}

#[derive(Default)]
struct Builder {
    writers: HashMap<(u32, u32), Writer>,
    sequences: FxHashMap<u32, Sequence>,
    scopes: u32,
    bundles: usize,
    blocks: Vec<Block>,
    symbols: Symbols,
    descriptors: Vec<(u32, Vec<u8>)>,
    snapshots: Snapshots,
    tree: Tree,
    system: System,
    ticks: Ticks,
    flaws: Flaws,
}

impl Builder {
    fn packet(&mut self, packet: &[u8], place: Place) {
        let mut timestamp = 0;
        let mut clock_id = None;
        let (mut sequence_id, mut flags, mut dropped, mut machine) = (0, 0, false, 0);
        let (mut bundle, mut interned, mut defaults) = (None, None, None);
        let (mut tree, mut snapshot, mut system) = (None, None, None);
        let mut blocks: Vec<(&[u8], u64, Compression)> = Vec::new();
        let mut fields = Fields::of(packet);
        loop {
            let (number, value) = match fields.next() {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(_) => {
                    // What stands before the damage is not to be trusted either.
                    self.flaws.damaged.add(place.at);
                    return;
                }
            };
            let bytes = value.bytes();
            let at = place.at + (packet.len() - fields.rest().len() - bytes.len()) as u64;
            match number {
                1 => bundle = Some((bytes, at)),
                2 => tree = Some(bytes),
                6 => snapshot = Some(bytes),
                8 => timestamp = value.number(),
                10 => sequence_id = value.number() as u32,
                12 => interned = Some(bytes),
                13 => flags = value.number() as u32,
                42 => dropped = value.number() != 0,
                45 => system = Some(bytes),
                50 => blocks.push((bytes, at, Compression::Deflate)),
                58 => clock_id = Some(value.number() as u32),
                59 => defaults = Some(bytes),
                98 => machine = value.number(),
                133 => blocks.push((bytes, at, Compression::Zstd)),
                _ => {}
            }
        }
        if machine != 0 {
            self.flaws.other_machines += u64::from(bundle.is_some());
            return;
        }
        let sequence = self.sequence(sequence_id, flags, dropped, defaults);
        if let Some(message) = interned.and_then(|bytes| InternedData::decode(bytes).ok()) {
            for symbol in &message.kernel_symbols {
                self.symbols.define(sequence.scope, symbol.iid(), symbol.str());
            }
        }
        if let Some(message) = snapshot.and_then(|bytes| ClockSnapshot::decode(bytes).ok()) {
            self.snapshots.take(&message);
        }
        if let Some(message) = system.and_then(|bytes| SystemInfo::decode(bytes).ok()) {
            self.system.take(&message);
        }
        if let Some(message) = tree.and_then(|bytes| ProcessTree::decode(bytes).ok()) {
            let clock = match clock_id.unwrap_or(sequence.default_clock) {
                0 | clock::BOOTTIME => StampClock::Boot,
                clock::MONOTONIC => StampClock::Monotonic,
                clock::MONOTONIC_RAW => StampClock::Raw,
                _ => StampClock::Other,
            };
            self.tree.take(&message, clock, timestamp);
        }
        if let Some((bytes, at)) = bundle {
            self.bundle(bytes, Place { at, ..place }, sequence_id, sequence);
        }
        // Nothing is compressed twice.
        if place.block == NO_BLOCK {
            for (bytes, at, compression) in blocks {
                self.block(bytes, at, compression);
            }
        }
    }

    fn sequence(
        &mut self,
        id: u32,
        flags: u32,
        dropped: bool,
        defaults: Option<&[u8]>,
    ) -> Sequence {
        let is_new = !self.sequences.contains_key(&id);
        if is_new && self.sequences.len() >= SEQUENCES_MAX {
            return Sequence::default();
        }
        let sequence = self.sequences.entry(id).or_default();
        if is_new || flags & sequence::INCREMENTAL_STATE_CLEARED != 0 {
            self.scopes += 1;
            *sequence = Sequence { scope: self.scopes, default_clock: 0, ..*sequence };
        }
        // The first packet of each says so too, of what never was.
        sequence.drops += u32::from(dropped && !is_new);
        if let Some(defaults) = defaults.and_then(|bytes| TracePacketDefaults::decode(bytes).ok()) {
            sequence.default_clock = defaults.timestamp_clock_id();
        }
        *sequence
    }

    fn bundle(&mut self, bytes: &[u8], place: Place, sequence_id: u32, sequence: Sequence) {
        let Some(glance) = bundle::glance(bytes, &mut self.ticks) else {
            self.flaws.damaged.add(place.at);
            return;
        };
        self.flaws.kernel_pages += glance.page_errors;
        for (number, descriptor) in glance.descriptors {
            if self.descriptors.len() < DESCRIPTORS_MAX && descriptor.len() <= DESCRIPTOR_BYTES_MAX
            {
                self.descriptors.push((number, descriptor.to_vec()));
            }
        }
        if glance.cpu >= CPUS_MAX || self.bundles >= BUNDLES_MAX {
            return;
        }
        let key = (glance.cpu, sequence_id);
        if self.writers.len() >= WRITERS_MAX && !self.writers.contains_key(&key) {
            self.flaws.other_recorders += 1;
            return;
        }
        let writer = self.writers.entry(key).or_default();
        let is_first = writer.bundles.is_empty() && !writer.lost;
        writer.lost |= glance.lost || (!is_first && writer.drops != sequence.drops);
        writer.drops = sequence.drops;
        let Some(first) = glance.first else { return };
        match glance.clock {
            bundle::BundleClock::Boot => {}
            bundle::BundleClock::Raw | bundle::BundleClock::Global => self.flaws.raw_clocks += 1,
            bundle::BundleClock::Local => self.flaws.local_clocks += 1,
        }
        writer.bundles.push(BundleAt {
            first,
            at: place.at,
            bytes: bytes.len() as u32,
            block: place.block,
            scope: sequence.scope,
            after_loss: std::mem::take(&mut writer.lost),
        });
        self.bundles += 1;
    }

    fn block(&mut self, compressed: &[u8], at: u64, compression: Compression) {
        let block = self.blocks.len() as u32;
        let (inflated, is_whole) = inflate(compressed, compression);
        let (bytes, inflated_bytes) = (compressed.len() as u32, inflated.len() as u32);
        self.blocks.push(Block { at, bytes, inflated_bytes, compression });
        if !is_whole {
            self.flaws.damaged.add(at);
        }
        let mut packets = Fields::of(&inflated);
        while let Ok(Some((number, value))) = packets.next() {
            let bytes = value.bytes();
            let inner_at = (inflated.len() - packets.rest().len() - bytes.len()) as u64;
            if number == 1 {
                self.packet(bytes, Place { at: inner_at, block });
            }
        }
    }

    fn into_index(self) -> Index {
        let mut plans = Plans::new();
        for (number, descriptor) in &self.descriptors {
            plans.describe(*number, descriptor);
        }
        let mut cpus: Vec<CpuBundles> = self
            .writers
            .into_iter()
            .filter(|(_, writer)| !writer.bundles.is_empty())
            .map(|((cpu, _), writer)| {
                let mut bundles = writer.bundles;
                bundles.sort_by_key(|bundle| bundle.first);
                CpuBundles { cpu: cpu as u16, bundles }
            })
            .collect();
        cpus.sort_by_key(|bundles| (bundles.cpu, bundles.bundles[0].at));
        Index {
            cpus,
            blocks: self.blocks,
            symbols: self.symbols,
            plans,
            clocks: self.snapshots.into_clocks(),
            tree: self.tree,
            system: self.system,
            tick_ns: self.ticks.tick_ns(),
            flaws: self.flaws,
        }
    }
}

/// Packets inflate to this many times their bytes at most, and [`INFLATED_BYTES_FREE`]: those of recorders do to five
/// to ten times, and what does to more was made to.
const INFLATED_TIMES_MAX: u64 = 40;

/// Bytes beside that, for packets of a few bytes.
const INFLATED_BYTES_FREE: u64 = 16 << 10;

/// The content of a compressed packet, as far as it can be had, and whether that is all.
pub(super) fn inflate(compressed: &[u8], compression: Compression) -> (Vec<u8>, bool) {
    let most = INFLATED_BYTES_FREE + compressed.len() as u64 * INFLATED_TIMES_MAX;
    let most = most.min(INFLATED_BYTES_MAX);
    let mut inflated = Vec::new();
    let read = match compression {
        Compression::Deflate => {
            flate2::read::ZlibDecoder::new(compressed).take(most).read_to_end(&mut inflated)
        }
        Compression::Zstd => {
            zstd::stream::read::Decoder::new(compressed).and_then(|mut decoder| {
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                decoder.take(most).read_to_end(&mut inflated)
            })
        }
    };
    let is_whole = read.is_ok() && (inflated.len() as u64) < most;
    (inflated, is_whole)
}

impl System {
    fn take(&mut self, message: &SystemInfo) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let uname = message.utsname.clone().unwrap_or_default();
        *self = Self {
            host: text(message.machine_name()),
            kernel_release: text(uname.release()),
            machine: text(uname.machine()),
            cpus: message.num_cpus(),
            written_by: text(message.tracing_service_version()),
        };
    }
}

/// How long a tick is, by two timers of the wheel that say how many ticks had passed.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    first: Option<(u64, u64)>,
    tick_ns: Option<f64>,
}

/// Ticks between two readings that tell the length of one well enough.
const TICKS_APART: u64 = 250;

/// What kernels can be configured to, in Hz.
const FREQUENCIES: [u64; 14] =
    [24, 48, 60, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 1024, 1200];

impl Ticks {
    /// Whether that is not known yet.
    pub(super) fn is_open(&self) -> bool {
        self.tick_ns.is_none()
    }

    /// At `stamp_ns` there had been `ticks`.
    pub(super) fn take(&mut self, stamp_ns: u64, ticks: u64) {
        if ticks == stamp_ns.wrapping_add(own::TICKS_AHEAD) {
            self.tick_ns = Some(1.0);
            return;
        }
        let (first_ns, first_ticks) = *self.first.get_or_insert((stamp_ns, ticks));
        let (passed_ns, passed) = (stamp_ns.abs_diff(first_ns), ticks.abs_diff(first_ticks));
        if passed >= TICKS_APART && passed_ns > 0 {
            self.tick_ns = Some(passed_ns as f64 / passed as f64);
        }
    }

    /// The nearest length that a kernel can have; what is far from all of them is taken as it is.
    fn tick_ns(&self) -> Option<u64> {
        let measured = self.tick_ns?;
        let lengths = FREQUENCIES.map(|hz| 1e9 / hz as f64);
        let off = |length: f64| (length / measured - 1.0).abs();
        let nearest =
            lengths.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(measured);
        let length = if off(nearest) < 0.02 { nearest } else { measured };
        Some((length.round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_tick() {
        for (passed_ns, ticks, expected_ns) in [
            (4_003_000_000, 1000, Some(4_000_000)),
            (9_999_000_000, 1000, Some(10_000_000)),
            (3_333_000_000, 1000, Some(3_333_333)),
            (5_000_000_000, 5_000_000_000, Some(1)),
            (100_000_000, 100, None),
        ] {
            let mut seen = Ticks::default();
            seen.take(7_000_000_000, 4_294_937_296);
            seen.take(7_000_000_000 + passed_ns, 4_294_937_296 + ticks);
            assert_eq!(seen.tick_ns(), expected_ns, "{passed_ns} {ticks}");
        }
    }
}
