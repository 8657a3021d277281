//! From an event's record to events of the model.
//!
//! A file per family of events; each has a table of the events it reads, with the fields it needs
//! by name and the function that makes model events of them. A new event is one line there. The
//! decoder must be given records in time order over all CPUs: a timer is armed on one CPU and may
//! expire on another.

mod idle;
mod irq;
mod sched;
mod task;
mod timer;

use crate::format::{Endian, EventFormat, Field};
use std::collections::HashMap;
use tardy_kernel::{ClockOffsets, Definitions, IdleStates, Symbols};
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

/// Makes events of the model from records of one machine.
pub struct Decoder {
    endian: Endian,
    /// What to do with a record, by its `common_type`.
    plans: HashMap<u16, Plan>,
    /// The first two common fields, the same in every event of a kernel.
    common: Option<(Field, Field)>,
    state: State,
    undecoded: u64,
}

/// What all families know together.
struct State {
    clocks: ClockOffsets,
    tick_ns: u64,
    definitions: Definitions,
    idle_states: IdleStates,
    timers: timer::Timers,
    states: sched::StateTable,
    idle_switches: sched::IdleSwitches,
    tasks: task::Tasks,
}

/// How to read one event.
struct Plan {
    variant: u32,
    decode: Handler,
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
    /// Fields, in the order in which the handler counts them.
    fields: &'static [&'static str],
    decode: Handler,
}

/// A record with its place in time, and its fields.
struct Record<'a> {
    time_ns: u64,
    cpu: CpuId,
    current: TaskId,
    variant: u32,
    bytes: &'a [u8],
    endian: Endian,
    fields: &'a [Option<Field>],
}

impl Record<'_> {
    fn number(&self, field: usize) -> Option<u64> {
        self.fields.get(field)?.as_ref()?.number(self.bytes, self.endian)
    }

    fn text(&self, field: usize) -> Option<&[u8]> {
        self.fields.get(field)?.as_ref()?.text(self.bytes, self.endian)
    }

    fn task(&self, field: usize) -> Option<TaskId> {
        Some(TaskId(self.number(field)? as u32))
    }

    /// Bytes of the field's type.
    fn size(&self, field: usize) -> Option<u32> {
        Some(self.fields.get(field)?.as_ref()?.size)
    }

    /// An event of the current task, here and now.
    fn event(&self, kind: impl Into<Kind>) -> Event {
        self.event_of(self.current, kind)
    }

    fn event_of(&self, task: TaskId, kind: impl Into<Kind>) -> Event {
        Event::new(self.time_ns, self.cpu, task, kind.into())
    }
}

/// No kernel ticks more slowly than at 10 Hz.
const TICK_NS_MAX: u64 = 100_000_000;

fn known() -> impl Iterator<Item = &'static Known> {
    [timer::EVENTS, irq::EVENTS, irq::VECTOR_EVENTS, sched::EVENTS, task::EVENTS, idle::EVENTS]
        .into_iter()
        .flatten()
}

/// Every event that can be decoded: group and name, as in `events/GROUP/NAME`.
pub fn wanted() -> impl Iterator<Item = (&'static str, &'static str)> {
    known().map(|known| (known.group, known.event))
}

impl Decoder {
    /// A decoder that knows no event yet, for records of a machine whose clocks are ahead by
    /// `clocks` and tick every `tick_ns`.
    pub fn new(endian: Endian, clocks: ClockOffsets, tick_ns: u64, symbols: Symbols) -> Self {
        Self {
            endian,
            plans: HashMap::new(),
            common: None,
            state: State {
                clocks,
                tick_ns: tick_ns.clamp(1, TICK_NS_MAX),
                definitions: Definitions::new(symbols),
                idle_states: IdleStates::default(),
                timers: timer::Timers::default(),
                states: sched::StateTable::default(),
                idle_switches: sched::IdleSwitches::default(),
                tasks: task::Tasks::default(),
            },
            undecoded: 0,
        }
    }

    /// Learns how `format`, of `events/GROUP`, is to be read. `false` where it is no event that the
    /// model has a place for.
    pub fn learn(&mut self, group: &str, format: &EventFormat) -> bool {
        let found = known().find(|known| known.group == group && known.event == format.name);
        let (Some(known), Some(kind), Some(pid)) =
            (found, format.field("common_type"), format.field("common_pid"))
        else {
            return false;
        };
        self.common.get_or_insert_with(|| (kind.clone(), pid.clone()));
        if format.name == "sched_switch" {
            self.state.states = sched::StateTable::parse(&format.print);
        }
        let fields = known.fields.iter().map(|name| format.field(name).cloned()).collect();
        let plan = Plan { variant: known.variant, decode: known.decode, fields };
        self.plans.insert(format.id, plan);
        true
    }

    /// Adds to `batch` what `bytes`, recorded on `cpu` at `time_ns`, means.
    pub fn decode(&mut self, time_ns: u64, cpu: CpuId, bytes: &[u8], batch: &mut Batch) {
        let number = |field: &Field| field.number(bytes, self.endian);
        let common = self.common.as_ref();
        let plan = common.and_then(|(kind, _)| self.plans.get(&(number(kind)? as u16)));
        let (Some(plan), Some(current)) = (plan, common.and_then(|(_, pid)| number(pid))) else {
            self.undecoded += 1;
            return;
        };
        let record = Record {
            time_ns,
            cpu,
            current: TaskId(current as u32),
            variant: plan.variant,
            bytes,
            endian: self.endian,
            fields: &plan.fields,
        };
        match (plan.decode)(&mut self.state, &record, batch) {
            Some(event) => batch.events.push(event),
            None => self.undecoded += 1,
        }
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

    /// The clocks are ahead by this from now on: somebody may have set the time.
    pub fn set_clocks(&mut self, clocks: ClockOffsets) {
        self.state.clocks = clocks;
    }

    /// Idle states are as these; before, none is taken to poll.
    pub fn set_idle_states(&mut self, states: IdleStates) {
        self.state.idle_states = states;
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

    /// Records that were of no known event, or too short for what they should hold.
    pub fn undecoded(&self) -> u64 {
        self.undecoded
    }
}
