//! A trace as a source of events.

use super::clocks::StampClock;
use super::index::{self, Flaws, Index};
use super::merge::Merge;
use crate::{Abi, Closing, Contents, Import, ImportError, Options, Origin};
use std::path::{Path, PathBuf};
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::format::Endian;
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::{Batch, Source, SourceError};

/// From one tick to the next where nothing tells: most kernels have 250 Hz.
const TICK_NS: u64 = 4_000_000;

/// The first kernel whose states of tasks are numbered as today.
const STATES_SINCE: (u32, u32) = (4, 14);

/// A trace that is being read.
pub(super) struct Trace {
    path: PathBuf,
    merge: Merge,
    origin: Origin,
    flaws: Flaws,
    suspensions: usize,
    /// The clock of stamps is known to have been put on `CLOCK_MONOTONIC`.
    on_monotonic: bool,
    has_bundles: bool,
    ended: bool,
}

impl Trace {
    /// Reads the trace for the first time.
    pub(super) fn open(
        path: PathBuf,
        file: Contents,
        options: &Options,
    ) -> Result<Self, ImportError> {
        let wrong = |path: &Path, source| ImportError::Io { path: path.to_owned(), source };
        let index = index::read(&file).map_err(|source| wrong(&path, source))?;
        let Index { cpus, blocks, symbols, plans, clocks, tree, system, tick_ns, flaws } = index;
        if let (Some(at), true) = (flaws.broken_at, cpus.is_empty()) {
            return Err(broken(&path, at));
        }
        let offsets = clocks.offsets().first().map_or(ClockOffsets::default(), |first| first.1);
        let tick_ns = tick_ns.unwrap_or(TICK_NS);
        let mut decoder = Decoder::new(Endian::Little, offsets, tick_ns, Symbols::default());
        decoder.set_abi(options.abi.unwrap_or_else(|| Abi::of_machine(&system.machine)));
        let clock = if flaws.raw_clocks > 0 { StampClock::Raw } else { StampClock::Boot };
        let on_monotonic = clocks.knows(clock) && flaws.local_clocks == 0;
        let origin = Origin {
            clock: match (on_monotonic, clock) {
                (true, _) => "mono",
                (false, StampClock::Raw) => "mono_raw",
                (false, _) if flaws.local_clocks > 0 => "local",
                (false, _) => "boot",
            }
            .to_owned(),
            host: system.host,
            kernel_release: system.kernel_release,
            machine: system.machine,
            cpus: system.cpus.max(cpus.last().map_or(0, |last| u32::from(last.cpu) + 1)),
            hz: 0,
            written_by: system.written_by,
        };
        let suspensions = clocks.suspensions();
        let tasks = tree.into_tasks(&clocks);
        let has_bundles = !cpus.is_empty();
        let merge = Merge::new(file, cpus, blocks, symbols, plans, clocks, tasks, decoder)
            .map_err(|source| wrong(&path, source))?;
        let ended = false;
        Ok(Self { path, merge, origin, flaws, suspensions, on_monotonic, has_bundles, ended })
    }
}

fn broken(path: &Path, at: u64) -> ImportError {
    let why =
        "no packet begins here: the file is damaged or was joined from others; everything before \
               is read"
            .to_owned();
    ImportError::Broken { path: path.to_owned(), format: "perfetto", at, why }
}

impl Source for Trace {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if self.ended {
            return Ok(false);
        }
        let more = self
            .merge
            .next_batch(batch)
            .map_err(|source| ImportError::Io { path: self.path.clone(), source })?;
        if !more {
            self.ended = true;
            if let Some(at) = self.flaws.broken_at {
                return Err(broken(&self.path, at).into());
            }
        }
        Ok(more)
    }
}

impl Import for Trace {
    fn origin(&self) -> Origin {
        let mut origin = self.origin.clone();
        if let Some(clock) = &self.merge.counters.clock {
            clock.clone_into(&mut origin.clock);
        }
        origin
    }

    #[expect(clippy::too_many_lines, reason = "a sentence for each thing that may be wrong")]
    fn closing(&mut self) -> Closing {
        let mut notes = Vec::new();
        let flaws = &self.flaws;
        let counters = &self.merge.counters;
        let mut note = |count: u64, text: &dyn Fn() -> String| {
            if count > 0 {
                notes.push(text());
            }
        };
        if let Some(at) = flaws.cut_at {
            note(1, &|| {
                format!("the file ends within a packet, at byte {at}: the rest is missing")
            });
        }
        if let Some(at) = flaws.full_at {
            note(1, &|| {
                format!("the file has more packets than can be kept: it is read up to byte {at}")
            });
        }
        note(flaws.damaged.count, &|| {
            format!(
                "{} packets are damaged and were skipped, the first at byte {}",
                flaws.damaged.count, flaws.damaged.first_at
            )
        });
        note(flaws.too_long.count, &|| {
            format!(
                "{} packets are longer than {} MB and were skipped, the first at byte {}",
                flaws.too_long.count,
                index::PACKET_BYTES_MAX >> 20,
                flaws.too_long.first_at
            )
        });
        note(counters.damaged, &|| {
            format!("{} events are damaged and were skipped", counters.damaged)
        });
        note(flaws.kernel_pages, &|| {
            format!(
                "{} pages of the kernel's events could not be read by the program that recorded them",
                flaws.kernel_pages
            )
        });
        note(flaws.other_machines, &|| {
            format!(
                "{} bundles of events are from other machines and were left out",
                flaws.other_machines
            )
        });
        note(flaws.other_recorders, &|| {
            format!(
                "more data sources recorded events than tardy can distinguish: {} bundles were \
                    left out",
                flaws.other_recorders
            )
        });
        note(counters.duplicates, &|| {
            format!(
                "several data sources recorded the same CPUs: {} events that occur in more than \
                 one of them count once",
                counters.duplicates
            )
        });
        note(flaws.local_clocks, &|| {
            "timestamps are from each CPU's own clock: events of different CPUs may be in the \
                wrong order"
                .to_owned()
        });
        note(u64::from(self.has_bundles && !self.on_monotonic), &|| {
            format!(
                "no clock snapshot converts timestamps to CLOCK_MONOTONIC: times are from the \
                 trace's clock, {}",
                self.origin.clock
            )
        });
        note(self.suspensions as u64, &|| {
            format!(
                "the machine was suspended {} times: times between a wakeup from suspension and the \
                 next clock snapshot are not exact",
                self.suspensions
            )
        });
        note(counters.late, &|| {
            format!(
                "{} events came after later ones of another CPU, and get their time",
                counters.late
            )
        });
        note(counters.unknown_switches + counters.unknown_wakings, &|| {
            format!(
                "{} switches and {} wakings were left out, because it is not known which task \
                 was on the CPU before: they are the first of their CPU, or the first after a loss",
                counters.unknown_switches, counters.unknown_wakings
            )
        });
        note(u64::from(is_old(&self.origin.kernel_release)), &|| {
            "before Linux 4.14 task states had other numbers: which tasks were preempted and \
             which went to sleep may be wrong"
                .to_owned()
        });
        let missing = if self.has_bundles {
            self.merge.decoder.missing()
        } else {
            vec!["no kernel events at all: the trace was taken without linux.ftrace".to_owned()]
        };
        let (events, silent) =
            (counters.events + counters.silent + counters.duplicates, counters.silent);
        let mut closing = Closing { events, silent, missing, notes };
        closing.notes.extend(closing.of_silent(&[]));
        closing
    }
}

fn is_old(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < STATES_SINCE,
        _ => false,
    }
}
