//! Puts events of several CPUs into order where a text has them slightly out of it.
//!
//! A reader of the kernel's buffers writes what it finds, and an event may become visible on one CPU
//! after a later one on another. So the last few hundred events are held back and sorted. What comes
//! later than that is left out and is a loss, as any event that is not there.

use super::fields::{FIELDS_MAX, Fields};
use super::own;
use crate::stamps::Stamps;
use std::collections::VecDeque;
use std::sync::LazyLock;
use tardy_ftrace::decode::{Decoder, EventId, Value};
use tardy_model::event::Loss;
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

/// How many events are held back.
pub(crate) const EVENTS_HELD_MAX: usize = 512;

/// How many are at the beginning, so that it is known from the first one on where the trace's clock
/// stands: some tenths of a second of a busy machine, and some 10 MB.
pub(crate) const FIRST_EVENTS_HELD_MAX: usize = 1 << 15;

/// Longer names and texts in fields are cut; the kernel's own names are not longer (`KSYM_NAME_LEN`).
pub(super) const TEXT_BYTES_MAX: usize = 512;

/// An event's values where the line that they stood in is gone.
#[derive(Clone, Copy, Debug, Default)]
enum Stored {
    #[default]
    Missing,
    Number(u64),
    /// Where its text ends; it begins where the one before ended.
    Text(u16),
}

#[derive(Debug)]
struct Slot {
    time_ns: u64,
    cpu: CpuId,
    task: TaskId,
    what: What,
    /// Bytes of `texts` that are the task's name; none where it tells nothing new.
    name_bytes: u16,
    values: [Stored; FIELDS_MAX],
    texts: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Event(EventId),
    /// What an event of this id would tell; it is taken note of, and told to nobody.
    Armed(EventId),
    Lost {
        since_ns: u64,
        count: u32,
    },
    /// An event of the model's that the kernel has none for.
    Own(Kind),
}

/// The place and time of what is put into the window; the time is as the text has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) time_ns: u64,
    pub(crate) cpu: CpuId,
    pub(crate) task: TaskId,
}

/// Events held back, in order.
#[derive(Debug, Default)]
pub(crate) struct Window {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots by time. A line alone can hold more than 2¹⁶ events.
    order: VecDeque<u32>,
    /// The time of the last event that has been let go.
    last_ns: u64,
    reordered: u64,
    late: u64,
    late_max_ns: u64,
    /// Something has been let go.
    has_begun: bool,
    /// What came too late, until it can be told.
    lost: Option<(CpuId, u64, u32)>,
    /// What the text's times are in nanoseconds.
    stamps: Stamps,
}

impl Window {
    /// Events that were put before others that stood before them.
    pub(crate) fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Events that came too late, and by how much the latest did.
    pub(crate) fn late(&self) -> (u64, u64) {
        (self.late, self.stamps.to_ns(self.late_max_ns))
    }

    /// Takes an event; `name` is the task's, empty where it is not known.
    #[inline]
    pub(crate) fn push(&mut self, place: Place, id: EventId, name: &[u8], fields: &Fields<'_>) {
        let at = self.take(place, What::Event(id));
        self.fill(at, name, fields);
    }

    /// Takes what an event would say of an arming that is not in the trace.
    pub(crate) fn push_armed(&mut self, place: Place, id: EventId, fields: &Fields<'_>) {
        let at = self.take(place, What::Armed(id));
        self.fill(at, b"", fields);
    }

    #[inline]
    fn fill(&mut self, at: u32, name: &[u8], fields: &Fields<'_>) {
        let slot = &mut self.slots[at as usize];
        let name = &name[..name.len().min(TEXT_BYTES_MAX)];
        slot.texts.extend_from_slice(name);
        slot.name_bytes = name.len() as u16;
        for (stored, value) in slot.values.iter_mut().zip(&fields.values) {
            *stored = match value {
                Value::Missing => Stored::Missing,
                Value::Number(number) => Stored::Number(*number),
                Value::Text(text) => {
                    slot.texts.extend_from_slice(&text[..text.len().min(TEXT_BYTES_MAX)]);
                    Stored::Text(slot.texts.len() as u16)
                }
            };
        }
    }

    /// Takes a loss of events on a CPU.
    pub(crate) fn push_loss(&mut self, place: Place, since_ns: u64, count: u32) {
        self.take(place, What::Lost { since_ns, count });
    }

    /// Takes an event that the text tells as the model has it, and the name that belongs to it.
    pub(crate) fn push_own(&mut self, place: Place, kind: Kind, name: &[u8]) {
        let at = self.take(place, What::Own(kind));
        self.slots[at as usize].texts.extend(&name[..name.len().min(TEXT_BYTES_MAX)]);
    }

    /// A slot at its place in the order. It goes behind others of the same time.
    fn take(&mut self, place: Place, what: What) -> u32 {
        let Place { time_ns, cpu, task } = place;
        let at = if let Some(at) = self.free.pop() {
            at
        } else {
            self.slots.push(Slot {
                time_ns,
                cpu,
                task,
                what,
                name_bytes: 0,
                values: [Stored::Missing; FIELDS_MAX],
                texts: Vec::new(),
            });
            (self.slots.len() - 1) as u32
        };
        let slot = &mut self.slots[at as usize];
        (slot.time_ns, slot.cpu, slot.task, slot.what) = (time_ns, cpu, task, what);
        slot.name_bytes = 0;
        slot.texts.clear();
        let slots = &self.slots;
        let is_later = |other: &u32| slots[*other as usize].time_ns > time_ns;
        if self.order.back().is_none_or(|last| !is_later(last)) {
            self.order.push_back(at);
        } else {
            let place = self.order.partition_point(|other| !is_later(other));
            self.order.insert(place, at);
            self.reordered += 1;
        }
        at
    }

    /// Whether something must be let go.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let max = if self.has_begun { EVENTS_HELD_MAX } else { FIRST_EVENTS_HELD_MAX };
        self.order.len() > max
    }

    /// The kernel's readings of its clocks in what is held, each behind its event's time, in order.
    pub(crate) fn readings(&self) -> Vec<(u64, i64)> {
        let held = self.order.iter().map(|at| &self.slots[*at as usize]);
        held.filter_map(|slot| Some((slot.time_ns, slot.reading_ns()?))).collect()
    }

    /// What goes on from here has its times told in nanoseconds by these.
    pub(crate) fn count_by(&mut self, stamps: Stamps) {
        self.stamps = stamps;
    }

    /// Lets go what need not be held any more.
    #[inline]
    pub(crate) fn release(&mut self, decoder: &mut Decoder, batch: &mut Batch) {
        if self.is_full() {
            self.has_begun = true;
            while self.is_full() {
                self.release_first(decoder, batch);
            }
        }
    }

    /// Lets everything go.
    pub(crate) fn release_all(&mut self, decoder: &mut Decoder, batch: &mut Batch) {
        while !self.order.is_empty() {
            self.release_first(decoder, batch);
        }
        self.tell_lost(batch);
    }

    fn release_first(&mut self, decoder: &mut Decoder, batch: &mut Batch) {
        let Some(at) = self.order.pop_front() else { return };
        self.free.push(at);
        let slot = &self.slots[at as usize];
        let Slot { time_ns, cpu, .. } = *slot;
        let Some(late_ns) = self.last_ns.checked_sub(time_ns).filter(|late_ns| *late_ns > 0) else {
            self.last_ns = time_ns;
            if self.lost.is_some() {
                self.tell_lost(batch);
            }
            self.slots[at as usize].tell(self.stamps, decoder, batch);
            return;
        };
        self.late_max_ns = self.late_max_ns.max(late_ns);
        self.late += 1;
        match &mut self.lost {
            Some((lost_cpu, since_ns, count)) if *lost_cpu == cpu => {
                *since_ns = time_ns.min(*since_ns);
                *count = count.saturating_add(1).min(u32::MAX - 1);
            }
            _ => {
                self.tell_lost(batch);
                self.lost = Some((cpu, time_ns, 1));
            }
        }
    }

    fn tell_lost(&mut self, batch: &mut Batch) {
        if let Some((cpu, since_ns, count)) = self.lost.take() {
            let loss = Loss { since_ns: self.stamps.to_ns(since_ns), count };
            let time_ns = self.stamps.to_ns(self.last_ns);
            batch.events.push(Event::new(time_ns, cpu, TaskId::IDLE, loss.into()));
        }
    }
}

/// The event that carries a reading, and where among its fields.
static READING: LazyLock<(EventId, usize)> = LazyLock::new(|| {
    let event = EventId::of("hrtimer_expire_entry").expect("an event of the decoder");
    let field = event.fields().iter().position(|field| *field == "now");
    (event, field.expect("the clock's reading is a field of it"))
});

impl Slot {
    fn reading_ns(&self) -> Option<i64> {
        let (event, field) = *READING;
        match (self.what, self.values[field]) {
            (What::Event(id), Stored::Number(reading_ns)) if id == event => Some(reading_ns as i64),
            _ => None,
        }
    }

    #[inline]
    fn tell(&self, stamps: Stamps, decoder: &mut Decoder, batch: &mut Batch) {
        let Self { cpu, task, .. } = *self;
        let time_ns = stamps.to_ns(self.time_ns);
        let id = match self.what {
            What::Event(id) | What::Armed(id) => id,
            What::Lost { since_ns, count } => {
                let loss = Loss { since_ns: stamps.to_ns(since_ns).min(time_ns), count };
                batch.events.push(Event::new(time_ns, cpu, task, loss.into()));
                decoder.lost(cpu, time_ns);
                return;
            }
            What::Own(kind) => {
                let kind = if self.texts.is_empty() {
                    kind
                } else {
                    let name = String::from_utf8_lossy(&self.texts);
                    own::named(kind, decoder.define_name(&name, batch))
                };
                let event = Event::new(time_ns, cpu, task, kind);
                decoder.introduce(&[event]);
                batch.events.push(event);
                return;
            }
        };
        let mut start = usize::from(self.name_bytes);
        if start > 0 {
            decoder.name_unnamed_task(time_ns, task, &self.texts[..start], batch);
        }
        let values = self.values.map(|stored| match stored {
            Stored::Missing => Value::Missing,
            Stored::Number(number) => Value::Number(number),
            Stored::Text(end) => {
                let text = &self.texts[start..usize::from(end)];
                start = usize::from(end);
                Value::Text(text)
            }
        });
        let before = batch.events.len();
        decoder.decode_values(time_ns, cpu, task, id, &values, batch);
        if matches!(self.what, What::Armed(_)) {
            batch.events.truncate(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_ftrace::format::Endian;
    use tardy_kernel::{ClockOffsets, Symbols};

    /// Plays interrupts of these times on CPUs 0 and 1 in turn; yields times, CPUs and losses.
    fn play(times_ns: impl IntoIterator<Item = u64>) -> (Vec<(u64, u16, Option<Loss>)>, Window) {
        let id = EventId::of("local_timer_entry").unwrap();
        let mut window = Window::default();
        let mut batch = Batch::default();
        let mut decoder =
            Decoder::new(Endian::Little, ClockOffsets::default(), 1, Symbols::default());
        for (at, time_ns) in times_ns.into_iter().enumerate() {
            let place = Place { time_ns, cpu: CpuId(at as u16 & 1), task: TaskId(7) };
            window.push(place, id, b"", &Fields::default());
            window.release(&mut decoder, &mut batch);
        }
        window.release_all(&mut decoder, &mut batch);
        let told = batch.events.iter().map(|event| {
            let loss = match event.kind() {
                Kind::Loss(loss) => Some(loss),
                _ => None,
            };
            (event.time_ns, event.cpu.0, loss)
        });
        (told.collect(), window)
    }

    #[test]
    fn what_is_slightly_out_of_order_is_put_in_order() {
        let (told, window) = play([10, 30, 20, 20, 40]);
        let expected = [(10, 0), (20, 0), (20, 1), (30, 1), (40, 0)];
        assert_eq!(told, expected.map(|(time_ns, cpu)| (time_ns, cpu, None)));
        assert_eq!((window.reordered(), window.late()), (2, (0, 0)));
    }

    #[test]
    fn what_comes_too_late_is_lost() {
        let all = FIRST_EVENTS_HELD_MAX as u64 + 100;
        // As many as let most of them go, then two that belong before those, and one more.
        let times = (0..all).map(|at| 1000 + at).chain([7, 5, 1_000_000]);
        let (told, window) = play(times);
        let last_ns = 1000 + all - 1 - EVENTS_HELD_MAX as u64;
        assert_eq!(window.late(), (2, last_ns - 5));
        let losses: Vec<_> =
            told.iter().filter_map(|(_, cpu, loss)| Some((*cpu, (*loss)?))).collect();
        // 7 was on CPU 0, 5 on CPU 1; the order in which they are found is by time.
        assert_eq!(
            losses,
            [(0, Loss { since_ns: 7, count: 1 }), (1, Loss { since_ns: 5, count: 1 })]
        );
        assert!(told.is_sorted_by_key(|(time_ns, ..)| *time_ns));
        assert_eq!(told.len() as u64, all + 1 + 2);
    }

    #[test]
    fn one_line_can_hold_very_many_events() {
        let id = EventId::of("local_timer_entry").unwrap();
        let mut window = Window::default();
        let mut batch = Batch::default();
        let mut decoder =
            Decoder::new(Endian::Little, ClockOffsets::default(), 1, Symbols::default());
        for time_ns in 0..70_000 {
            let place = Place { time_ns, cpu: CpuId(0), task: TaskId(7) };
            window.push(place, id, b"", &Fields::default());
        }
        window.release_all(&mut decoder, &mut batch);
        assert!(batch.events.iter().map(|event| event.time_ns).eq(0..70_000));
    }

    #[test]
    fn what_stands_for_a_name_can_be_very_long() {
        let id = EventId::of("sched_process_exit").unwrap();
        let mut fields = Fields::default();
        fields.set(0, Value::Number(7));
        for field in 1..FIELDS_MAX {
            fields.set(field, Value::Text(&[b'x'; 2 * TEXT_BYTES_MAX]));
        }
        for bytes in [65_000, 65_536, 70_000] {
            let mut window = Window::default();
            let mut batch = Batch::default();
            let mut decoder =
                Decoder::new(Endian::Little, ClockOffsets::default(), 1, Symbols::default());
            let place = Place { time_ns: 1, cpu: CpuId(0), task: TaskId(8) };
            window.push(place, id, &vec![b'n'; bytes], &fields);
            window.release_all(&mut decoder, &mut batch);
            assert!(batch.names.iter().all(|(_, name)| name.len() <= TEXT_BYTES_MAX), "{bytes}");
        }
    }
}
