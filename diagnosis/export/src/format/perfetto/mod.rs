//! Perfetto's trace format, for its viewer and its trace processor.
//!
//! Events go into it as the kernel's own (`ftrace_events`), so that a viewer shows who ran where, and an
//! import yields the same events again. What Perfetto has no message for is a generic event of a name of
//! its own ([`tardy_perfetto::own`]). Each wakeup is a slice on a track of its victim, and each segment a
//! slice in it; where a thread is to blame, an arrow leads from that thread to the segment.
//!
//! Stamps are in the trace's boot clock, which is the only one that Perfetto takes for events by
//! default, and a snapshot says that it is the same as `CLOCK_MONOTONIC`: a recording does not tell how
//! long the machine had been suspended.
//!
//! **What an import yields otherwise than it was recorded:**
//! - Ids of names and timers are other ones, and definitions that no event uses are not there. A timer
//!   at an address that is not known has one made up from its id; one that is not known at all is at
//!   address 0 with the function `0x0`.
//! - Which timer a `TimerCancel` or `ExpireEnd` is of is known only where its arming or expiry was in
//!   the trace, and is then the last one at its address. `hrtimer_wakeup`'s timers belong to who armed
//!   them, others to nobody.
//! - Of a timer of the wheel that was armed before the trace, the expiry is when its callback began and
//!   the slack 0; one armed for a time that has passed is armed for now; its mode holds only whether
//!   it is pinned. Of a timer beyond 2^63 ns, expiry and slack are cut to that.
//! - System calls: what a call is for follows from its number, and is not known where the machine is
//!   not; `clock_nanosleep` and `nanosleep` have no argument, and calls that are none in particular no
//!   operation and no value. `TimerArm::call` is known only of threads whose calls were recorded. The
//!   first call of a thread tells that its calls are recorded, if nothing has before.
//! - `TaskState::RtLock` becomes `Uninterruptible`; a task that was preempted was running.
//! - Names are told as of CPU 0. A `TaskInfo` that tells nothing new is not there.
//! - A line's interrupt has the name under which the line was seen first, and the end of one that was
//!   never seen to begin has none.
//! - An idle state that polled once polls from then on.
//! - Vectors beyond those of the model, and events of kinds that this program does not know, are not
//!   there.
//! - Of events of two CPUs in the same nanosecond, either may come first.

mod bundles;
mod event;
mod file;
mod tasks;
mod tracks;

use super::Format;
use crate::{About, Export, ExportError};
use bundles::Bundles;
use file::File;
use std::path::Path;
use tardy_explain::{Explanation, Named};
use tardy_model::event::TaskExit;
use tardy_model::{Batch, Kind, Tables};
use tardy_perfetto::{
    Clock, ClockSnapshot, SystemInfo, TracePacket, TracePacketDefaults, Utsname, clock, sequence,
};
use tasks::Tasks;
use tracks::Tracks;

/// Perfetto's trace format.
pub(super) struct Perfetto;

impl Format for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["pftrace", "perfetto-trace"]
    }

    fn meaning(&self) -> &'static str {
        "events, wakeups and their causes as tracks, for ui.perfetto.dev and trace_processor"
    }

    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError> {
        Ok(Box::new(Trace {
            file: File::create(path)?,
            about: about.clone(),
            tables: Tables::default(),
            tasks: Tasks::default(),
            bundles: Bundles::default(),
            tracks: Tracks::default(),
            begun: false,
        }))
    }
}

/// The sequence of packets with the kernel's events; of [`TRACKS`], the wakeups.
const EVENTS: u32 = 1;
const TRACKS: u32 = 2;

/// A trace that is being written.
struct Trace {
    file: File,
    about: About,
    tables: Tables,
    tasks: Tasks,
    bundles: Bundles,
    tracks: Tracks,
    begun: bool,
}

impl Trace {
    /// What stands before all: the machine, and what clocks show.
    fn begin(&mut self, time_ns: u64) -> Result<(), ExportError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let shown = |clock_id| Clock {
            clock_id: Some(clock_id),
            // A clock that shows 0 shows nothing.
            timestamp: Some(time_ns.max(1)),
            ..Clock::default()
        };
        let snapshot = ClockSnapshot {
            clocks: vec![shown(clock::BOOTTIME), shown(clock::MONOTONIC)],
            primary_trace_clock: Some(clock::MONOTONIC as i32),
        };
        let text = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
        let About {
            host,
            kernel_release,
            machine,
            cpus,
            written_by,
            hz: _,
            clock: _,
            no_formulas: _,
        } = &self.about;
        let system = SystemInfo {
            utsname: Some(Utsname {
                sysname: text("Linux"),
                release: text(kernel_release),
                machine: text(machine),
                ..Utsname::default()
            }),
            tracing_service_version: text(written_by),
            num_cpus: (*cpus != 0).then_some(*cpus),
            machine_name: text(host),
        };
        let begins = |id, defaults| TracePacket {
            trusted_packet_sequence_id: Some(id),
            sequence_flags: Some(sequence::INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: defaults,
            ..TracePacket::default()
        };
        self.file
            .packet(&TracePacket { clock_snapshot: Some(snapshot), ..begins(EVENTS, None) })?;
        self.file.packet(&TracePacket {
            system_info: Some(system),
            trusted_packet_sequence_id: Some(EVENTS),
            ..TracePacket::default()
        })?;
        if self.about.clock_name() != "mono" {
            self.file.packet(&event::of_clock(time_ns, self.about.clock_name(), EVENTS))?;
        }
        let defaults = TracePacketDefaults { timestamp_clock_id: Some(clock::MONOTONIC) };
        self.file.packet(&begins(TRACKS, Some(defaults)))
    }
}

impl Export for Trace {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExportError> {
        batch.define(&mut self.tables);
        for event in &batch.events {
            self.begin(event.time_ns)?;
            let kind = event.kind();
            if let Kind::TaskExit(TaskExit) = kind {
                self.tasks.exit(event.task, event.time_ns, &mut self.file)?;
            }
            self.tasks.take(event.time_ns, event.task, kind);
            self.bundles.event(event, &self.tables, &self.tasks, &mut self.file)?;
            if self.tasks.is_due() {
                self.tasks.write(&mut self.file)?;
            }
        }
        Ok(())
    }

    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.begin(wakeup.wakeup().expiry_ns)?;
        self.tracks.wakeup(wakeup, &self.tables, &self.tasks, &mut self.file)
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        self.begin(0)?;
        self.tasks.write(&mut self.file)?;
        self.bundles.finish(&mut self.file)?;
        self.file.finish()
    }
}
