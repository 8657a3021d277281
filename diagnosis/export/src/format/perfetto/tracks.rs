//! Wakeups, as slices on tracks of their victims.

use super::TRACKS;
use super::file::File;
use super::tasks::Tasks;
use crate::ExportError;
use rustc_hash::FxHashMap;
use tardy_explain::{Label, Named};
use tardy_model::{Segment, Tables, TaskId, Wakeup, WakeupKind};
use tardy_perfetto::{
    CounterDescriptor, DebugAnnotation, DebugAnnotationName, EventCategory, EventName,
    InternedData, ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent, UNIT_TIME_NS,
    sequence, track_event,
};

/// Threads whose tracks are remembered. Beyond it all are forgotten, and described anew when they come
/// again; a viewer puts tracks of one thread together.
const THREADS_MAX: usize = 1 << 16;

/// Rows for wakeups of one victim that overlap: a thread that is later than its period is long. Of a
/// wakeup that finds none free only the lateness is shown, as a counter.
const ROWS_MAX: usize = 8;

/// What wakeups and segments belong to, for who filters by it.
const CATEGORY: &str = "tardy";

/// What a thread did that a segment is laid at the door of.
const HELD_UP: &str = "held up a wakeup";

/// The tracks that there are.
#[derive(Default)]
pub(super) struct Tracks {
    /// By thread and process: a thread's id may come again in another.
    threads: FxHashMap<(TaskId, TaskId), ThreadTracks>,
    /// Numbers of names that have been told. There are as many as stand in this program.
    names: FxHashMap<(Use, &'static str), u64>,
    /// Names that the next packet has to tell.
    new_names: InternedData,
    tracks: u64,
    arrows: u64,
}

/// A thread's own track, and those of its wakeups.
#[derive(Clone, Default)]
struct ThreadTracks {
    thread: u64,
    /// 0 where there is none yet.
    counter: u64,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    track: u64,
    /// The last slice on it ends then.
    until_ns: u64,
}

/// What a name is used for: each has its own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    Category,
    Event,
    Annotation,
}

/// A remark's value.
enum Remark<'a> {
    Number(u64),
    Signed(i64),
    Text(&'a str),
    Bool(bool),
}

impl Tracks {
    /// Writes a wakeup.
    pub(super) fn wakeup(
        &mut self,
        named: &Named<'_>,
        tables: &Tables,
        tasks: &Tasks,
        file: &mut File,
    ) -> Result<(), ExportError> {
        let wakeup = named.wakeup();
        let end_ns = wakeup.expiry_ns.saturating_add(wakeup.lateness_ns);
        let victim = (wakeup.task, tasks.process(wakeup.task));
        self.thread(victim, &named.victim().name, file)?;
        if let Some(row) = self.row(victim, wakeup.expiry_ns, end_ns, file)? {
            let slice = self.slice(wakeup, tables);
            self.event(file, wakeup.expiry_ns, row, track_event::SLICE_BEGIN, slice)?;
            for (segment, culprit) in named.segments() {
                let arrow = self.arrow(named, segment, culprit, tasks, file)?;
                let slice = TrackEvent {
                    terminating_flow_ids: arrow.into_iter().collect(),
                    ..self.segment(segment, culprit)
                };
                self.event(file, segment.start_ns, row, track_event::SLICE_BEGIN, slice)?;
                let end_ns = segment.start_ns.saturating_add(segment.ns);
                let nothing = TrackEvent::default();
                self.event(file, end_ns, row, track_event::SLICE_END, nothing)?;
            }
            self.event(file, end_ns, row, track_event::SLICE_END, TrackEvent::default())?;
        }
        let counter = self.counter(victim, file)?;
        let lateness_ns = wakeup.lateness_ns.min(i64::MAX as u64) as i64;
        let value = TrackEvent { counter_value: Some(lateness_ns), ..TrackEvent::default() };
        self.event(file, end_ns, counter, track_event::COUNTER, value)
    }

    /// The slice of a whole wakeup.
    fn slice(&mut self, wakeup: &Wakeup, tables: &Tables) -> TrackEvent {
        let name = match wakeup.kind {
            WakeupKind::Timer => "wakeup by a timer",
            WakeupKind::Task => "wakeup by a task",
            WakeupKind::Preempted => "wait after losing the CPU",
            WakeupKind::Irq => "wakeup by an interrupt",
            WakeupKind::Softirq => "wakeup by a softirq",
            WakeupKind::New => "first run",
            WakeupKind::Lock => "wait for a lock",
            WakeupKind::MarkOnly => "wakeup, by its own mark",
        };
        let mut slice = self.named(name);
        let mut remarks = vec![
            self.remark("lateness_ns", &Remark::Number(wakeup.lateness_ns)),
            self.remark("prio", &Remark::Signed(wakeup.prio.0.into())),
            self.remark("cpu", &Remark::Number(wakeup.cpu.0.into())),
            self.remark("to_user", &Remark::Bool(wakeup.to_user)),
            self.remark("touched_by_loss", &Remark::Bool(wakeup.touched_by_loss)),
        ];
        let function = tables.function(wakeup.timer);
        if !function.is_empty() {
            remarks.push(self.remark("timer", &Remark::Text(function)));
        }
        slice.debug_annotations = remarks;
        slice
    }

    /// The slice of a segment.
    fn segment(&mut self, segment: &Segment, culprit: &Label) -> TrackEvent {
        let mut slice = self.named(segment.cause.0);
        let mut remarks = vec![
            self.remark("culprit", &Remark::Text(&culprit.name)),
            self.remark("culprit_kind", &Remark::Text(culprit.kind)),
            self.remark("ns", &Remark::Number(segment.ns)),
        ];
        if let Some(pid) = culprit.pid {
            remarks.push(self.remark("culprit_pid", &Remark::Number(pid.into())));
        }
        slice.debug_annotations = remarks;
        slice
    }

    /// Begins an arrow at the thread that is to blame for a segment, if it is another than the victim.
    fn arrow(
        &mut self,
        named: &Named<'_>,
        segment: &Segment,
        culprit: &Label,
        tasks: &Tasks,
        file: &mut File,
    ) -> Result<Option<u64>, ExportError> {
        let victim = named.wakeup().task;
        let Some(pid) = culprit.pid.map(TaskId).filter(|pid| *pid != victim) else {
            return Ok(None);
        };
        if pid == TaskId::IDLE {
            // There is one for each CPU, and none of them decides anything.
            return Ok(None);
        }
        let name = tasks.name(pid).unwrap_or_default();
        let name = String::from_utf8_lossy(&name);
        let track = self.thread((pid, tasks.process(pid)), &name, file)?;
        self.arrows += 1;
        let mut instant = self.named(HELD_UP);
        instant.debug_annotations = vec![
            self.remark("victim", &Remark::Text(&named.victim().name)),
            self.remark("victim_pid", &Remark::Number(victim.0.into())),
            self.remark("cause", &Remark::Text(segment.cause.0)),
            self.remark("ns", &Remark::Number(segment.ns)),
        ];
        instant.flow_ids = vec![self.arrows];
        self.event(file, segment.start_ns, track, track_event::INSTANT, instant)?;
        Ok(Some(self.arrows))
    }

    /// The track of a thread.
    fn thread(
        &mut self,
        thread: (TaskId, TaskId),
        name: &str,
        file: &mut File,
    ) -> Result<u64, ExportError> {
        if let Some(tracks) = self.threads.get(&thread) {
            return Ok(tracks.thread);
        }
        if self.threads.len() >= THREADS_MAX {
            self.threads.clear();
        }
        let (task, process) = thread;
        let descriptor = ThreadDescriptor {
            pid: Some(process.0 as i32),
            tid: Some(task.0.into()),
            thread_name: (!name.is_empty()).then(|| name.as_bytes().to_vec()),
        };
        let track = self.describe(
            file,
            TrackDescriptor { thread: Some(descriptor), ..TrackDescriptor::default() },
        )?;
        self.threads.insert(thread, ThreadTracks { thread: track, ..ThreadTracks::default() });
        Ok(track)
    }

    /// The track of a victim's latenesses, below its own.
    fn counter(&mut self, victim: (TaskId, TaskId), file: &mut File) -> Result<u64, ExportError> {
        let tracks = self.threads.get(&victim).cloned().unwrap_or_default();
        if tracks.counter != 0 {
            return Ok(tracks.counter);
        }
        let track = self.describe(
            file,
            TrackDescriptor {
                parent_uuid: Some(tracks.thread),
                name: Some(b"lateness".to_vec()),
                counter: Some(CounterDescriptor { unit: Some(UNIT_TIME_NS) }),
                ..TrackDescriptor::default()
            },
        )?;
        self.threads.entry(victim).or_default().counter = track;
        Ok(track)
    }

    /// A track below the victim's own on which nothing is going on from `from_ns`: it is taken until
    /// `until_ns`.
    fn row(
        &mut self,
        victim: (TaskId, TaskId),
        from_ns: u64,
        until_ns: u64,
        file: &mut File,
    ) -> Result<Option<u64>, ExportError> {
        let tracks = self.threads.entry(victim).or_default();
        if let Some(row) = tracks.rows.iter_mut().find(|row| row.until_ns <= from_ns) {
            row.until_ns = until_ns;
            return Ok(Some(row.track));
        }
        if tracks.rows.len() >= ROWS_MAX {
            return Ok(None);
        }
        let parent_uuid = Some(tracks.thread);
        let name = Some(b"wakeups".to_vec());
        let descriptor = TrackDescriptor { parent_uuid, name, ..TrackDescriptor::default() };
        let track = self.describe(file, descriptor)?;
        self.threads.entry(victim).or_default().rows.push(Row { track, until_ns });
        Ok(Some(track))
    }

    fn describe(
        &mut self,
        file: &mut File,
        descriptor: TrackDescriptor,
    ) -> Result<u64, ExportError> {
        self.tracks += 1;
        let descriptor = TrackDescriptor { uuid: Some(self.tracks), ..descriptor };
        file.packet(&TracePacket {
            track_descriptor: Some(descriptor),
            trusted_packet_sequence_id: Some(TRACKS),
            ..TracePacket::default()
        })?;
        Ok(self.tracks)
    }

    fn event(
        &mut self,
        file: &mut File,
        time_ns: u64,
        track: u64,
        kind: i32,
        event: TrackEvent,
    ) -> Result<(), ExportError> {
        let names = std::mem::take(&mut self.new_names);
        file.packet(&TracePacket {
            timestamp: Some(time_ns),
            track_event: Some(TrackEvent { track_uuid: Some(track), r#type: Some(kind), ..event }),
            interned_data: (names != InternedData::default()).then_some(names),
            sequence_flags: Some(sequence::NEEDS_INCREMENTAL_STATE),
            trusted_packet_sequence_id: Some(TRACKS),
            ..TracePacket::default()
        })
    }

    /// An event with a name.
    fn named(&mut self, name: &'static str) -> TrackEvent {
        TrackEvent {
            category_iids: vec![self.number(Use::Category, CATEGORY)],
            name_iid: Some(self.number(Use::Event, name)),
            ..TrackEvent::default()
        }
    }

    fn remark(&mut self, name: &'static str, value: &Remark<'_>) -> DebugAnnotation {
        let name_iid = Some(self.number(Use::Annotation, name));
        let remark = DebugAnnotation { name_iid, ..DebugAnnotation::default() };
        match *value {
            Remark::Number(value) => DebugAnnotation { uint_value: Some(value), ..remark },
            Remark::Signed(value) => DebugAnnotation { int_value: Some(value), ..remark },
            Remark::Bool(value) => DebugAnnotation { bool_value: Some(value), ..remark },
            Remark::Text(value) => {
                DebugAnnotation { string_value: Some(value.as_bytes().to_vec()), ..remark }
            }
        }
    }

    fn number(&mut self, used_as: Use, name: &'static str) -> u64 {
        if let Some(number) = self.names.get(&(used_as, name)) {
            return *number;
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert((used_as, name), number);
        let (iid, name) = (Some(number), Some(name.as_bytes().to_vec()));
        let new = &mut self.new_names;
        match used_as {
            Use::Category => new.event_categories.push(EventCategory { iid, name }),
            Use::Event => new.event_names.push(EventName { iid, name }),
            Use::Annotation => {
                new.debug_annotation_names.push(DebugAnnotationName { iid, name });
            }
        }
        number
    }
}
