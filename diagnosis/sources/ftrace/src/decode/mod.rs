//! From an event's fields to events of the model.
//!
//! A file per family of events; each has a table of the events it reads, with the fields it needs
//! by name and the function that makes model events of them. A new event is one line there. The
//! decoder must be given events in time order over all CPUs: a timer is armed on one CPU and may
//! expire on another.
//!
//! Fields come packed, as the kernel wrote them ([`Decoder::decode`]), or one by one from a text or a
//! message ([`Decoder::decode_values`]); what they mean is the same.

mod armed;
mod clock;
mod idle;
mod ipi;
mod irq;
mod missing;
mod nmi;
mod recorded;
mod sched;
mod section;
mod stack;
mod syscall;
mod task;
mod tick;
mod timer;
mod value;
mod work;

pub use clock::TraceClock;
pub use recorded::recorded;
pub use timer::POLICY_GROUP;
pub use value::Value;

use crate::format::{Endian, EventFormat, Field};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use tardy_kernel::{Abi, ClockOffsets, CpuGroups, Definitions, IdleStates, Symbols};
use tardy_model::event::IdleState;
use tardy_model::{Batch, CpuId, Event, Kind, NameId, TaskId};
use value::Values;

/// Makes events of the model from records of one machine.
pub struct Decoder {
    endian: Endian,
    /// What to do with a record, by its `common_type`.
    plans: Vec<Option<Plan>>,
    /// The first two common fields, the same in every event of a kernel.
    common: Option<(Field, Field)>,
    state: State,
    /// How many there were of each event, by its place in [`known`].
    seen: Vec<u64>,
    /// Records of events that were not learned.
    unknown: u64,
    undecoded: u64,
}

/// What all families know together.
struct State {
    clocks: clock::Alignment,
    entered: clock::Entered,
    abi: Abi,
    definitions: Definitions,
    idle_states: IdleStates,
    timers: timer::Timers,
    states: sched::StateTable,
    idle_switches: sched::IdleSwitches,
    tasks: task::Tasks,
    syscalls: syscall::Syscalls,
    /// `sched_waking` is in the trace, so `sched_wakeup` does not begin a wakeup.
    has_waking: bool,
    /// The handler had nothing to tell, and nothing is wrong with the record.
    nothing_new: bool,
}

/// How to read one event.
struct Plan {
    id: EventId,
    known: &'static Known,
    fields: Vec<Option<Field>>,
}

/// Makes an event of a record; events and definitions that must come before it go to the batch.
/// `None` where the record has not what it takes, or there is nothing to tell.
type Handler = fn(&mut State, &Record<'_>, &mut Batch) -> Option<Event>;

/// An event that can be decoded.
struct Known {
    group: &'static str,
    event: &'static str,
    /// The handler's own, to tell apart events that share one.
    variant: u32,
    /// Fields, in the order in which the handler counts them; `name[n]` is an array's element.
    fields: &'static [&'static str],
    decode: Handler,
}

/// An event that can be decoded, by its place among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(u16);

impl EventId {
    /// The event of this name; names are the same in no two groups.
    pub fn of(event: &str) -> Option<Self> {
        BY_NAME.get(event).copied()
    }

    /// Every event.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..known().count()).map(|at| Self(at as u16))
    }

    /// The fields that are read of it, in the order in which [`Decoder::decode_values`] takes them.
    /// Some stand in one generation of kernels only; `name[n]` is an array's element.
    pub fn fields(self) -> &'static [&'static str] {
        self.known().fields
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.known().event
    }

    /// Its group, as in `events/GROUP/NAME`.
    pub fn group(self) -> &'static str {
        self.known().group
    }

    fn known(self) -> &'static Known {
        let mut at = usize::from(self.0);
        for table in TABLES {
            match table.get(at) {
                Some(known) => return known,
                None => at -= table.len(),
            }
        }
        unreachable!("an id is a place in the tables")
    }
}

/// The families. A recording through tracefs switches on the first [`LIVE_TABLES`].
const TABLES: [&[Known]; 17] = [
    timer::EVENTS,
    timer::POLICY_EVENTS,
    irq::EVENTS,
    irq::VECTOR_EVENTS,
    sched::EVENTS,
    task::EVENTS,
    idle::EVENTS,
    work::EVENTS,
    ipi::EVENTS,
    nmi::EVENTS,
    work::IMPORTED_EVENTS,
    sched::IMPORTED_EVENTS,
    irq::IMPORTED_EVENTS,
    task::IMPORTED_EVENTS,
    section::IMPORTED_EVENTS,
    stack::IMPORTED_EVENTS,
    syscall::EVENTS,
];
const LIVE_TABLES: usize = 10;

/// A record with its place in time, and its fields.
struct Record<'a> {
    time_ns: u64,
    cpu: CpuId,
    current: TaskId,
    variant: u32,
    values: Values<'a>,
}

impl Record<'_> {
    fn number(&self, field: usize) -> Option<u64> {
        self.values.number(field)
    }

    fn text(&self, field: usize) -> Option<&[u8]> {
        self.values.text(field)
    }

    fn task(&self, field: usize) -> Option<TaskId> {
        Some(TaskId(self.number(field)? as u32))
    }

    /// Bytes of the field's type, where the source tells.
    fn size(&self, field: usize) -> Option<u32> {
        self.values.size(field)
    }

    /// An event of the current task, here and now.
    fn event(&self, kind: impl Into<Kind>) -> Event {
        self.event_of(self.current, kind)
    }

    fn event_of(&self, task: TaskId, kind: impl Into<Kind>) -> Event {
        Event::new(self.time_ns, self.cpu, task, kind.into())
    }
}

impl State {
    /// The function in a field: its address, or what stands for it where only its name is told.
    fn function(&mut self, record: &Record<'_>, field: usize, batch: &mut Batch) -> Option<u64> {
        match record.text(field) {
            Some(name) => {
                let name = std::str::from_utf8(name).ok()?;
                Some(self.definitions.function_called(name, batch))
            }
            None => record.number(field),
        }
    }
}

/// The events by name: a trace with many formats would search for long.
static BY_NAME: LazyLock<FxHashMap<&str, EventId>> = LazyLock::new(|| {
    let ids = known().enumerate().map(|(at, known)| (known.event, EventId(at as u16)));
    ids.collect()
});

fn known() -> impl Iterator<Item = &'static Known> {
    TABLES.into_iter().flatten()
}

/// Every event that a recording wants: group and name, as in `events/GROUP/NAME`.
pub fn wanted() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES[..LIVE_TABLES].iter().copied().flatten().map(|known| (known.group, known.event))
}

/// Adds to `batch` what a record means; one that has not what it takes is counted.
#[inline]
fn tell(
    known: &Known,
    record: &Record<'_>,
    state: &mut State,
    undecoded: &mut u64,
    batch: &mut Batch,
) {
    match (known.decode)(state, record, batch) {
        Some(event) => batch.events.push(event),
        None => *undecoded += u64::from(!std::mem::take(&mut state.nothing_new)),
    }
}

/// How to read a record, and the task that it says was current.
#[inline]
fn find_plan<'a>(
    plans: &'a [Option<Plan>],
    common: Option<&(Field, Field)>,
    endian: Endian,
    bytes: &[u8],
) -> Option<(&'a Plan, TaskId)> {
    let (kind, pid) = common?;
    let kind = kind.number(bytes, endian)? as u16;
    let plan = plans.get(usize::from(kind))?.as_ref()?;
    Some((plan, TaskId(pid.number(bytes, endian)? as u32)))
}

impl Decoder {
    /// A decoder that knows no event yet, for records of a machine whose clocks are ahead by
    /// `clocks` (where that is not known, [`ClockOffsets::default`]: then it is found out from the
    /// events) and that ticks every `tick_ns`.
    pub fn new(endian: Endian, clocks: ClockOffsets, tick_ns: u64, symbols: Symbols) -> Self {
        Self {
            endian,
            plans: Vec::new(),
            common: None,
            state: State {
                clocks: clock::Alignment::new(clocks),
                entered: clock::Entered::default(),
                abi: Abi::Unknown,
                definitions: Definitions::new(symbols),
                idle_states: IdleStates::default(),
                timers: timer::Timers::new(tick_ns),
                states: sched::StateTable::default(),
                idle_switches: sched::IdleSwitches::default(),
                tasks: task::Tasks::default(),
                syscalls: syscall::Syscalls::default(),
                has_waking: false,
                nothing_new: false,
            },
            seen: vec![0; known().count()],
            unknown: 0,
            undecoded: 0,
        }
    }

    /// Learns how `format`, of `events/GROUP`, is to be read. `false` where it is no event that the
    /// model has a place for.
    pub fn learn(&mut self, group: &str, format: &EventFormat) -> bool {
        let found = EventId::of(&format.name).filter(|id| id.group() == group);
        let (Some(id), Some(kind), Some(pid)) =
            (found, format.field("common_type"), format.field("common_pid"))
        else {
            return false;
        };
        self.common.get_or_insert_with(|| (kind.clone(), pid.clone()));
        if format.name == "sched_switch" {
            self.state.states = sched::StateTable::parse(&format.print);
        }
        let fields = id.fields().iter().map(|name| format.field_or_element(name)).collect();
        let at = usize::from(format.id);
        if self.plans.len() <= at {
            self.plans.resize_with(at + 1, || None);
        }
        self.plans[at] = Some(Plan { id, known: id.known(), fields });
        true
    }

    /// Adds to `batch` what `bytes`, recorded on `cpu` at `time_ns`, means.
    pub fn decode(&mut self, time_ns: u64, cpu: CpuId, bytes: &[u8], batch: &mut Batch) {
        let Some((plan, current)) =
            find_plan(&self.plans, self.common.as_ref(), self.endian, bytes)
        else {
            self.unknown += 1;
            return;
        };
        let known = plan.known;
        let values = Values::Packed { bytes, endian: self.endian, fields: &plan.fields };
        let record = Record { time_ns, cpu, current, variant: known.variant, values };
        self.seen[usize::from(plan.id.0)] += 1;
        tell(known, &record, &mut self.state, &mut self.undecoded, batch);
    }

    /// The kernel's reading of a clock that a record carries, in nanoseconds of that clock, where it
    /// is an `hrtimer_expire_entry`.
    pub fn clock_reading(&self, bytes: &[u8]) -> Option<i64> {
        let common = self.common.as_ref();
        let (plan, current) = find_plan(&self.plans, common, self.endian, bytes)?;
        if plan.known.event != "hrtimer_expire_entry" {
            return None;
        }
        let values = Values::Packed { bytes, endian: self.endian, fields: &plan.fields };
        timer::reading(&Record { time_ns: 0, cpu: CpuId(0), current, variant: 0, values })
    }

    /// Finds out where the trace's clock stands from readings that lie ahead, of which each comes
    /// with its event's time: so that it is known from the first event on. To be told before any
    /// event is decoded, in time order.
    pub fn learn_clock(&mut self, readings: &[(u64, i64)]) {
        self.state.clocks.look_ahead(readings);
    }

    /// Adds to `batch` what an event means whose fields are known one by one, in the order of
    /// [`EventId::fields`]; those at the end may be left out.
    pub fn decode_values(
        &mut self,
        time_ns: u64,
        cpu: CpuId,
        current: TaskId,
        event: EventId,
        values: &[Value<'_>],
        batch: &mut Batch,
    ) {
        let known = event.known();
        let values = Values::Given(values);
        let record = Record { time_ns, cpu, current, variant: known.variant, values };
        self.seen[usize::from(event.0)] += 1;
        tell(known, &record, &mut self.state, &mut self.undecoded, batch);
    }

    /// Tells the name of a task that a trace shows beside an event (the current one's), where it is
    /// new.
    pub fn name_task(&mut self, time_ns: u64, task: TaskId, name: &[u8], batch: &mut Batch) {
        self.state.tasks.name_at(time_ns, task, name, batch);
    }

    /// The same where the name may be an older or a newer one than the task's at that time, or cut
    /// short, as those that texts show beside events: tells it only of a task that has none yet.
    pub fn name_unnamed_task(
        &mut self,
        time_ns: u64,
        task: TaskId,
        name: &[u8],
        batch: &mut Batch,
    ) {
        if !self.state.tasks.is_named(task) {
            self.state.tasks.name_at(time_ns, task, name, batch);
        }
    }

    /// System calls are numbered as in this table; without it, it is guessed from their arguments.
    pub fn set_abi(&mut self, abi: Abi) {
        self.state.abi = abi;
    }

    /// The table of system calls, as far as it is known by now.
    pub fn abi(&self) -> Abi {
        self.state.abi
    }

    /// How many there have been of an event.
    pub fn seen(&self, event: EventId) -> u64 {
        self.seen[usize::from(event.0)]
    }

    /// What the events seen so far cannot show, and what an explanation lacks for it: a sentence
    /// each.
    pub fn missing(&self) -> Vec<String> {
        missing::sentences(|event| EventId::of(event).is_some_and(|id| self.seen(id) > 0))
    }

    /// Takes note of what `events` say of tasks, which are told by somebody else.
    pub fn introduce(&mut self, events: &[Event]) {
        for event in events {
            self.state.tasks.introduce(event);
        }
    }

    /// New threads of these processes are watched; where `children_of` is given, so are the processes
    /// that this one starts, and those that they start.
    pub fn watch(
        &mut self,
        processes: impl IntoIterator<Item = TaskId>,
        children_of: Option<TaskId>,
    ) {
        self.state.tasks.watch(processes.into_iter().collect(), children_of);
    }

    /// Events of `cpu` are missing until `time_ns`.
    pub fn lost(&mut self, cpu: CpuId, time_ns: u64) {
        self.state.timers.lost(cpu, time_ns);
        self.state.entered.lost(cpu);
    }

    /// The clocks are ahead by this from now on: somebody may have set the time.
    pub fn set_clocks(&mut self, clocks: ClockOffsets) {
        self.state.clocks.set_told(clocks);
    }

    /// Events' times are of this clock.
    pub fn set_trace_clock(&mut self, clock: TraceClock) {
        self.state.clocks.set_clock(clock);
    }

    /// The kernel ticks every `tick_ns`.
    pub fn set_tick(&mut self, tick_ns: u64) {
        self.state.timers.tick.set_told(tick_ns);
    }

    /// The tick's period that this was made with is a guess, to be replaced by what the events tell.
    pub fn guess_tick(&mut self) {
        self.state.timers.tick.set_guess();
    }

    /// What a reader of the trace should know of how it was read: a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let state = &self.state;
        let mut notes: Vec<String> =
            [state.clocks.note(), state.timers.tick.note()].into_iter().flatten().collect();
        notes.extend(self.bounds_reached());
        notes.extend(self.silent_idle_cpus().into_iter().map(|cpu| {
            format!(
                "the traced kernel records no switches from the idle task of CPU {cpu}: it is \
                 not known when a thread begins to run there after idling"
            )
        }));
        if self.undecoded > 0 {
            notes.push(format!("{} records could not be read", self.undecoded));
        }
        notes
    }

    /// Tells what idle states there are, as they were set.
    pub fn tell_idle_states(&mut self, time_ns: u64, batch: &mut Batch) {
        let State { idle_states, definitions, .. } = &mut self.state;
        for (number, name, exit_latency_ns) in idle_states.all() {
            let name = definitions.name(name, batch);
            let state = IdleState { state: number, exit_latency_ns, name };
            batch.events.push(Event::new(time_ns, CpuId(0), TaskId::IDLE, state.into()));
        }
    }

    /// Tells what control groups may use of the CPU.
    pub fn tell_groups(&mut self, time_ns: u64, groups: &CpuGroups, batch: &mut Batch) {
        groups.tell(time_ns, &mut self.state.definitions, batch);
    }

    /// Which bounds were reached, and what is not known for it: a sentence each.
    pub fn bounds_reached(&self) -> impl Iterator<Item = String> {
        let state = &self.state;
        [state.timers.note(), state.definitions.note()].into_iter().flatten()
    }

    /// Idle states are as these; before, none is taken to poll.
    pub fn set_idle_states(&mut self, states: IdleStates) {
        self.state.idle_states = states;
    }

    /// The id of a name.
    pub fn define_name(&mut self, name: &str, batch: &mut Batch) -> NameId {
        self.state.definitions.name(name, batch)
    }

    /// What names the functions.
    pub fn symbols(&self) -> &Symbols {
        self.state.definitions.symbols()
    }

    /// CPUs that switched to their idle task often and never from it: their kernel does not tell of
    /// it (seen on guests), and a thread that is woken there begins to run unseen.
    pub fn silent_idle_cpus(&self) -> Vec<CpuId> {
        self.state.idle_switches.silent()
    }

    /// How many events there were, those of kinds that tell nothing too; and how many of these.
    pub fn events(&self) -> (u64, u64) {
        (self.seen.iter().sum::<u64>() + self.unknown, self.unknown)
    }

    /// Records that were of no known event, or too short for what they should hold.
    pub fn undecoded(&self) -> u64 {
        self.unknown + self.undecoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_found_by_its_name() {
        for event in EventId::all() {
            assert_eq!(EventId::of(event.name()), Some(event), "{} is in two groups", event.name());
        }
    }
}
