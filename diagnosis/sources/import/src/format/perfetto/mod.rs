//! Perfetto's traces.
//!
//! A trace is a row of packets. Those with events hold one CPU's, a stretch of its buffer each, and
//! come in no order between CPUs, while what events mean depends on their order over all CPUs. So the
//! file is read twice: [`index`] notes where each CPU's bundles are, and collects what is said once
//! (clocks, names, the machine); then [`merge`] reads the bundles of all CPUs side by side (and of all data
//! sources, where there are several), one each at a time, and hands events on in order of time. Memory does not grow with the events, but with
//! the bundles: 32 bytes each.
//!
//! Stamps are in `CLOCK_BOOTTIME` where nothing else is said, and expiries in `CLOCK_MONOTONIC`: all
//! are put on the latter by the trace's clock snapshots ([`clocks`]).
//!
//! Not told by such traces: the order in which two CPUs did something within the same nanosecond;
//! which idle states poll; in the compact form of scheduler events, who was current at a waking before
//! the CPU's first switch (that waking is left out) and who left it then (that switch, too).

mod bundle;
mod clocks;
mod compact;
mod duplicates;
mod index;
mod merge;
mod own;
mod plan;
mod source;
mod tasks;

use super::Format;
use crate::{Import, ImportError, Input, Options};
use std::io;
use tardy_perfetto::wire::{Fields, Value, varint};

/// Perfetto's traces.
pub(super) struct Perfetto;

/// The byte before each packet: field 1, with a length.
const PACKET: u8 = 0x0a;

impl Format for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn written_by(&self) -> &'static str {
        "Perfetto (traced, tracebox, Android's system tracing)"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        // Its first byte is an empty line's, and text may look like packets for a while.
        let begins = &head[..head.len().min(TEXT_BYTES_LOOKED_AT)];
        if begins.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
            return false;
        }
        let mut rest = head;
        let mut known = false;
        for _ in 0..PACKETS_LOOKED_AT {
            match packet_begins(&mut rest) {
                Looks::LikeAPacket { known: this } => known |= this,
                Looks::Cut { known: this } => return known || this,
                Looks::Otherwise => return false,
            }
        }
        known
    }

    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError> {
        let path = input.path().to_owned();
        let file = input.into_contents().map_err(|error| match error {
            ImportError::Io { path, source } => {
                let why = "a Perfetto trace needs random access, which a pipe does not allow: \
                           write it to a file first";
                ImportError::Io { path, source: io::Error::new(source.kind(), why) }
            }
            other => other,
        })?;
        Ok(Box::new(source::Trace::open(path, file, options)?))
    }
}

/// Packets that must look like some before a file is taken for a trace.
const PACKETS_LOOKED_AT: usize = 8;

/// A packet has a byte that is no text's before this.
const TEXT_BYTES_LOOKED_AT: usize = 128;

enum Looks {
    /// Like one, and with something in it that every trace has.
    LikeAPacket {
        known: bool,
    },
    /// Like one, as far as there is something to look at.
    Cut {
        known: bool,
    },
    Otherwise,
}

/// Looks at the packet at the beginning of `rest` and moves behind it.
fn packet_begins(rest: &mut &[u8]) -> Looks {
    /// `TracePacket`'s fields are numbered below this, but for one that tests use.
    const FIELDS_MAX: u32 = 2000;
    /// One of the first packets of any trace has one of these: bundles, clocks, a configuration, a
    /// marker, system information, tracks, an identity, the compressed forms.
    const MESSAGES: [u32; 9] = [1, 6, 33, 36, 45, 50, 60, 89, 133];
    /// Trusted ids, stamps, flags.
    const NUMBERS: [u32; 4] = [3, 8, 10, 13];

    let [PACKET, after @ ..] = *rest else {
        return if rest.is_empty() { Looks::Cut { known: false } } else { Looks::Otherwise };
    };
    let mut inside = after;
    let Ok(length) = varint(&mut inside) else { return Looks::Otherwise };
    let is_whole = length <= inside.len() as u64;
    let (packet, behind) = inside.split_at(inside.len().min(length as usize));
    *rest = behind;
    let mut known = false;
    let mut fields = Fields::of(packet);
    loop {
        let before = fields.rest();
        match fields.next() {
            Ok(Some((number, value))) => {
                let is_message = matches!(value, Value::Bytes(_));
                let is_number = matches!(value, Value::Varint(_));
                let is_known = MESSAGES.contains(&number) || NUMBERS.contains(&number);
                let fits = is_message && MESSAGES.contains(&number)
                    || is_number && NUMBERS.contains(&number);
                if number >= FIELDS_MAX || is_known && !fits {
                    return Looks::Otherwise;
                }
                known |= fits;
            }
            Ok(None) if is_whole => return Looks::LikeAPacket { known },
            Ok(None) => return Looks::Cut { known },
            Err(_) if is_whole => return Looks::Otherwise,
            // The last field that is there goes on behind what there is to look at.
            Err(_) => {
                let mut tag = before;
                let field = varint(&mut tag).unwrap_or(0);
                known |= field & 7 == 2 && MESSAGES.contains(&((field >> 3) as u32));
                return Looks::Cut { known };
            }
        }
    }
}

#[cfg(test)]
mod tests;
