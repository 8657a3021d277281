//! Events that tell their own names: the kernel's, and what tardy writes of itself.

use super::plan::{Plans, VALUES_MAX, places};
use tardy_ftrace::decode::{EventId, Value};
use tardy_model::event::{
    ClockSet, Current, GroupBandwidth, GroupWeight, IdleState, IpiSend, Loss, Mark, Nmi, Priority,
    Recorded, Section, SectionBegin, SectionEnd, Stack, Stolen, Taken, TaskCpus, TaskGroup,
    TaskInfo,
};
use tardy_model::{CpuId, Kind, NameId, Prio, TaskId};
use tardy_perfetto::own;
use tardy_perfetto::wire::{self, Fields};

/// What such an event says.
pub(super) enum Said<'a> {
    /// An event of the kernel's.
    Kernel(EventId, [Value<'a>; VALUES_MAX]),
    /// An event that is the model's own.
    Event(Kind),
    /// One that has a name, which is still to be put into it.
    Named(Kind, &'a [u8]),
    /// What an arming would say that is not in the trace.
    Armed(EventId, [Value<'a>; VALUES_MAX]),
    /// An idle state only polls.
    Polls(u32),
    /// The clock of the times, by name.
    Clock(&'a [u8]),
    /// Nothing that is of use.
    Nothing,
}

/// Fields of a generic event that are looked at.
const FIELDS_MAX: usize = 16;

/// A generic event's fields, by name.
struct Named<'a> {
    fields: [(&'a [u8], Value<'a>); FIELDS_MAX],
    count: usize,
}

impl<'a> Named<'a> {
    fn get(&self, name: &str) -> Value<'a> {
        let is_it = |(known, _): &&(&[u8], Value<'_>)| *known == name.as_bytes();
        self.fields[..self.count].iter().find(is_it).map_or(Value::Missing, |(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn section(&self) -> Option<Section> {
        let number = self.number(own::SECTION)?;
        Some(if number == 0 { Section::IrqsOff } else { Section::PreemptOff })
    }

    fn with_name(&self, kind: Kind) -> Said<'a> {
        match self.get(own::FUNCTION) {
            Value::Text(name) if !name.is_empty() => Said::Named(kind, name),
            _ => Said::Event(kind),
        }
    }

    /// The values for an event that the decoder knows.
    fn values(&self, event: EventId) -> [Value<'a>; VALUES_MAX] {
        let mut values = [Value::Missing; VALUES_MAX];
        for (value, name) in values.iter_mut().zip(event.fields()) {
            *value = self.get(name);
        }
        values
    }
}

/// Reads a generic event.
pub(super) fn read<'a>(message: &'a [u8], plans: &Plans) -> Said<'a> {
    let mut name: &[u8] = b"";
    let mut named = Named { fields: [(b"", Value::Missing); FIELDS_MAX], count: 0 };
    let mut parts = Fields::of(message);
    while let Ok(Some((part, value))) = parts.next() {
        match part {
            1 => name = value.bytes(),
            2 if named.count < FIELDS_MAX => {
                named.fields[named.count] = field(value.bytes());
                named.count += 1;
            }
            _ => {}
        }
    }
    if let Some(event) = plans.event(name) {
        return Said::Kernel(event, named.values(event));
    }
    if !name.starts_with(b"tardy_") {
        return Said::Nothing;
    }
    own_event(name, &named).unwrap_or(Said::Nothing)
}

fn field(message: &[u8]) -> (&[u8], Value<'_>) {
    let mut field = (&b""[..], Value::Missing);
    let mut parts = Fields::of(message);
    while let Ok(Some((part, value))) = parts.next() {
        match (part, value) {
            (1, _) => field.0 = value.bytes(),
            (3, wire::Value::Bytes(text)) => field.1 = Value::Text(text),
            (4 | 5, _) => field.1 = Value::Number(value.number()),
            _ => {}
        }
    }
    field
}

fn own_event<'a>(name: &[u8], named: &Named<'a>) -> Option<Said<'a>> {
    let event = match std::str::from_utf8(name).ok()? {
        own::MARK => Kind::from(Mark {
            expiry_ns: named.number(own::EXPIRY)?,
            sequence: named.number(own::SEQUENCE)? as u32,
        }),
        own::TASK => TaskInfo {
            process: TaskId(named.number(own::PROCESS)? as u32),
            flags: named.number(own::FLAGS)? as u8,
        }
        .into(),
        own::LOSS => {
            Loss { since_ns: named.number(own::SINCE)?, count: named.number(own::COUNT)? as u32 }
                .into()
        }
        own::PRIORITY => Priority {
            target: TaskId(named.number(own::PID)? as u32),
            old: Prio(named.number(own::OLD_PRIO)? as i16),
            new: Prio(named.number(own::NEW_PRIO)? as i16),
            released: named.number(own::RELEASED)? != 0,
        }
        .into(),
        own::CLOCK_SET => {
            ClockSet { by_ns: named.number(own::BY)? as i64, since_ns: named.number(own::SINCE)? }
                .into()
        }
        own::CURRENT => Current { prio: Prio(named.number(own::NEW_PRIO)? as u16 as i16) }.into(),
        own::STOLEN => Stolen { ns: named.number(own::DURATION)? }.into(),
        own::TASK_CPUS => TaskCpus { cpus: named.number(own::TARGETS)? }.into(),
        own::RECORDED => Recorded { kinds: named.number(own::KINDS)? }.into(),
        own::NMI => {
            let nmi = Nmi { ns: named.number(own::DURATION)?, handler: NameId::NONE };
            return Some(named.with_name(nmi.into()));
        }
        own::IPI => {
            let send = IpiSend {
                targets: named.number(own::TARGETS)?,
                first: CpuId(named.number(own::FIRST)? as u16),
                function: NameId::NONE,
            };
            return Some(named.with_name(send.into()));
        }
        own::SECTION_BEGIN => {
            let begin = SectionBegin { section: named.section()?, caller: NameId::NONE };
            return Some(named.with_name(begin.into()));
        }
        own::SECTION_END => {
            let end = SectionEnd { section: named.section()?, caller: NameId::NONE };
            return Some(named.with_name(end.into()));
        }
        own::IDLE_STATE => {
            let state = IdleState {
                state: named.number(own::STATE)? as u32,
                exit_latency_ns: named.number(own::DURATION)?,
                name: NameId::NONE,
            };
            return Some(named.with_name(state.into()));
        }
        own::GROUP => {
            // Not in files of before it was told.
            let throttled = named.number(own::THROTTLED) == Some(1);
            return Some(named.with_name(TaskGroup { path: NameId::NONE, throttled }.into()));
        }
        own::GROUP_BANDWIDTH => {
            let group = GroupBandwidth {
                path: NameId::NONE,
                quota_ns: named.number(own::DURATION)?,
                period_ns: u32::try_from(named.number(own::PERIOD)?).ok()?,
            };
            return Some(named.with_name(group.into()));
        }
        own::GROUP_WEIGHT => {
            let weight = u32::try_from(named.number(own::WEIGHT)?).ok()?;
            return Some(named.with_name(GroupWeight { path: NameId::NONE, weight }.into()));
        }
        own::STACK => {
            let taken = usize::try_from(named.number(own::TAKEN)?).ok();
            let stack = Stack {
                taken: *taken.and_then(|taken| Taken::ALL.get(taken))?,
                of: TaskId(named.number(own::PID)? as u32),
                late_ns: named.number(own::DURATION)?,
                frames: NameId::NONE,
            };
            return Some(named.with_name(stack.into()));
        }
        own::CLOCK => {
            let Value::Text(name) = named.get(own::FUNCTION) else { return None };
            return Some(Said::Clock(name));
        }
        own::POLLS => return Some(Said::Polls(named.number(own::STATE)? as u32)),
        own::ARMED => return armed(named),
        _ => return None,
    };
    Some(Said::Event(event))
}

/// The event with its name.
pub(super) fn with_name(kind: Kind, name: NameId) -> Kind {
    match kind {
        Kind::Nmi(nmi) => Nmi { handler: name, ..nmi }.into(),
        Kind::IpiSend(send) => IpiSend { function: name, ..send }.into(),
        Kind::SectionBegin(begin) => SectionBegin { caller: name, ..begin }.into(),
        Kind::SectionEnd(end) => SectionEnd { caller: name, ..end }.into(),
        Kind::IdleState(state) => IdleState { name, ..state }.into(),
        Kind::TaskGroup(group) => TaskGroup { path: name, ..group }.into(),
        Kind::GroupBandwidth(group) => GroupBandwidth { path: name, ..group }.into(),
        Kind::GroupWeight(group) => GroupWeight { path: name, ..group }.into(),
        Kind::Stack(stack) => Stack { frames: name, ..stack }.into(),
        kind => kind,
    }
}

fn armed<'a>(named: &Named<'a>) -> Option<Said<'a>> {
    let start = EventId::of("hrtimer_start")?;
    let soft_ns = named.number(own::EXPIRY)?;
    let hard_ns = soft_ns.saturating_add(named.number(own::SLACK)?);
    let mut values = [Value::Missing; VALUES_MAX];
    let wanted = places(start, ["hrtimer", "function", "expires", "softexpires", "mode"]);
    let fields = [
        named.get(own::TIMER),
        named.get(own::FUNCTION),
        Value::Number(hard_ns),
        Value::Number(soft_ns),
        named.get(own::MODE),
    ];
    for (place, value) in wanted.into_iter().zip(fields) {
        values[place] = value;
    }
    Some(Said::Armed(start, values))
}
