//! Which field of a message is which value that the decoder asks for.
//!
//! The decoder names an event's fields as the kernel does, and Perfetto's schema has the same names;
//! so what is read here follows from both, and no event is named.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use tardy_ftrace::decode::{EventId, Value};
use tardy_perfetto::wire::{self, Fields};
use tardy_perfetto::{Described, FtraceEvent};

/// Values that an event has at most; the longest has 7.
pub(super) const VALUES_MAX: usize = 8;

/// Fields of a message that can be read: those below this number.
const NUMBERS_MAX: usize = 64;

/// Events that a trace may describe itself; beyond it they are passed over.
const DESCRIBED_MAX: usize = 4096;

/// How an event's message is read.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) event: EventId,
    /// By a field's number: where its value goes, and 1 more than that; 0 where it is not asked for.
    slots: [u8; NUMBERS_MAX],
    /// The place of a repeated field's first value, and how many are asked for.
    array: Option<(usize, usize)>,
    /// The value that is a function: an address, or the number of a symbol.
    pub(super) function: Option<usize>,
}

impl Plan {
    /// For an event, by the numbers and names of a message's fields.
    fn new<'a>(event: EventId, fields: impl Iterator<Item = (u32, &'a [u8])>) -> Self {
        let wanted = event.fields();
        let mut slots = [0; NUMBERS_MAX];
        let mut array = None;
        for (number, name) in fields {
            let of_array = |wanted: &&str| {
                wanted.strip_suffix("[0]").is_some_and(|base| base.as_bytes() == name)
            };
            let is_array = wanted.iter().any(of_array);
            let slot =
                wanted.iter().position(|wanted| wanted.as_bytes() == name || of_array(wanted));
            if let (Some(slot), Some(place)) = (slot, slots.get_mut(number as usize)) {
                *place = slot as u8 + 1;
                if is_array {
                    let count =
                        wanted[slot..].iter().filter(|wanted| wanted.ends_with(']')).count();
                    array = Some((slot, count));
                }
            }
        }
        let function = wanted.iter().position(|wanted| matches!(*wanted, "function" | "caller"));
        Self { event, slots, array, function }
    }

    /// The values of a message, in the order in which the decoder asks for them. Where the message is
    /// damaged, those before.
    #[inline]
    pub(super) fn read<'a>(&self, message: &'a [u8]) -> [Value<'a>; VALUES_MAX] {
        let mut values = [Value::Missing; VALUES_MAX];
        let mut fields = Fields::of(message);
        let mut times = 0;
        while let Ok(Some((number, value))) = fields.next() {
            let Some(slot) = self.slots.get(number as usize).and_then(|slot| slot.checked_sub(1))
            else {
                continue;
            };
            let slot = usize::from(slot);
            if let Some((first, count)) = self.array
                && first == slot
            {
                let _ = wire::numbers(value, |number| {
                    if times < count {
                        values[slot + times] = Value::Number(number);
                        times += 1;
                    }
                });
                continue;
            }
            values[slot] = match value {
                wire::Value::Bytes(text) => Value::Text(text),
                value => Value::Number(value.number()),
            };
        }
        values
    }
}

/// Plans for all events that the decoder knows.
#[derive(Clone, Debug)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    /// Places in `plans` and 1 more, by the number of an event's field in `FtraceEvent`.
    by_number: Vec<u16>,
    /// The same for those that the trace describes.
    described: FxHashMap<u32, u16>,
    by_name: FxHashMap<&'static [u8], EventId>,
}

/// What is in an event, by the number of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The plan's place.
    Planned(u16),
    /// A message that tells its own names.
    Generic,
}

/// The field of `FtraceEvent` that holds a generic event.
const GENERIC: u32 = 327;

/// Numbers of events that traces describe themselves are from here on.
const DESCRIBED_MIN: u32 = 65536;

/// Made once: with a search for each of hundreds of events it takes longer than a small trace.
static PLANS: LazyLock<Plans> = LazyLock::new(Plans::of_schema);

impl Plans {
    pub(super) fn new() -> Self {
        PLANS.clone()
    }

    fn of_schema() -> Self {
        let mut plans = Self {
            plans: Vec::new(),
            by_number: Vec::new(),
            described: FxHashMap::default(),
            by_name: EventId::all().map(|event| (event.name().as_bytes(), event)).collect(),
        };
        for field in FtraceEvent::MESSAGE.map_or(&[][..], |message| message.fields) {
            let (Some(message), Some(event)) = (field.message, EventId::of(field.name)) else {
                continue;
            };
            let fields = message.fields.iter().map(|field| (field.number, field.name.as_bytes()));
            plans.plans.push(Plan::new(event, fields));
            let number = field.number as usize;
            if plans.by_number.len() <= number {
                plans.by_number.resize(number + 1, 0);
            }
            plans.by_number[number] = plans.plans.len() as u16;
        }
        plans
    }

    /// Takes note of an event that the trace describes by a `google.protobuf.DescriptorProto`.
    pub(super) fn describe(&mut self, number: u32, descriptor: &[u8]) {
        const NAME: u32 = 1;
        const FIELD: u32 = 2;
        const FIELD_NAME: u32 = 1;
        const FIELD_NUMBER: u32 = 3;
        if number < DESCRIBED_MIN
            || self.described.len() >= DESCRIBED_MAX
            || self.described.contains_key(&number)
        {
            return;
        }
        let mut name: &[u8] = b"";
        let mut fields: Vec<(u32, &[u8])> = Vec::new();
        let mut parts = Fields::of(descriptor);
        while let Ok(Some((part, value))) = parts.next() {
            match part {
                NAME => name = value.bytes(),
                FIELD if fields.len() < NUMBERS_MAX => {
                    let mut field = (0, &b""[..]);
                    let mut inner = Fields::of(value.bytes());
                    while let Ok(Some((part, value))) = inner.next() {
                        match part {
                            FIELD_NAME => field.1 = value.bytes(),
                            FIELD_NUMBER => field.0 = value.number() as u32,
                            _ => {}
                        }
                    }
                    fields.push(field);
                }
                _ => {}
            }
        }
        if let Some(event) = self.event(name) {
            self.plans.push(Plan::new(event, fields.into_iter()));
            self.described.insert(number, self.plans.len() as u16);
        }
    }

    /// What the message in field `number` of an event is, if anything is to be read of it.
    #[inline]
    pub(super) fn what(&self, number: u32) -> Option<What> {
        let place = match self.by_number.get(number as usize) {
            Some(0) if number == GENERIC => return Some(What::Generic),
            Some(place) => *place,
            None => self.described.get(&number).copied()?,
        };
        place.checked_sub(1).map(What::Planned)
    }

    #[inline]
    pub(super) fn plan(&self, place: u16) -> &Plan {
        &self.plans[usize::from(place)]
    }

    /// An event by name.
    pub(super) fn event(&self, name: &[u8]) -> Option<EventId> {
        self.by_name.get(name).copied()
    }
}

/// Where the decoder wants the values of `names`, in their order.
pub(super) fn places<const COUNT: usize>(event: EventId, names: [&str; COUNT]) -> [usize; COUNT] {
    names.map(|name| {
        let place = event.fields().iter().position(|field| *field == name);
        place.expect("the decoder reads these fields")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use tardy_perfetto::{HrtimerStart, SysEnter};

    /// What Perfetto has no message for: these come as generic events, if at all.
    const GENERIC_ONLY: [&str; 10] = [
        "timer_pending",
        "page_fault_user",
        "ipi_send_cpu",
        "ipi_send_cpumask",
        "nmi_handler",
        "irq_disable",
        "irq_enable",
        "preempt_disable",
        "preempt_enable",
        "kernel_stack",
    ];

    #[test]
    fn every_event_of_the_schema_is_one_that_the_decoder_knows_and_has_its_fields() {
        let plans = Plans::new();
        let planned: Vec<EventId> = plans.plans.iter().map(|plan| plan.event).collect();
        for event in EventId::all() {
            let is_vector =
                event.group() == "irq_vectors" && !event.name().starts_with("local_timer");
            let is_generic = GENERIC_ONLY.contains(&event.name()) || is_vector;
            assert_eq!(planned.contains(&event), !is_generic, "{}", event.name());
        }
        let message = FtraceEvent::MESSAGE.unwrap();
        for plan in &plans.plans {
            let of_event = |field: &&tardy_perfetto::Field| field.name == plan.event.name();
            let fields = message.fields.iter().find(of_event).unwrap().message.unwrap().fields;
            for wanted in plan.event.fields() {
                let base = wanted.split('[').next().unwrap();
                // Only text has the first; entry and exit share one list of fields.
                let is_elsewhere = *wanted == "timeout" || plan.event.name() == "irq_handler_exit";
                let has = fields.iter().any(|field| field.name == base) || is_elsewhere;
                assert!(has, "{}.{wanted}", plan.event.name());
            }
        }
    }

    #[test]
    fn every_event_has_room_for_its_values() {
        assert!(EventId::all().all(|event| event.fields().len() <= VALUES_MAX));
    }

    #[test]
    fn values_in_the_decoders_order() {
        let plans = Plans::new();
        let plan = |name| {
            let event = EventId::of(name).unwrap();
            plans.plans.iter().find(|plan| plan.event == event).unwrap()
        };
        let start = HrtimerStart {
            hrtimer: Some(7),
            expires: Some(-1),
            softexpires: Some(9),
            ..HrtimerStart::default()
        };
        let bytes = start.encode_to_vec();
        let values = plan("hrtimer_start").read(&bytes);
        let number = Value::Number;
        let expected = [number(7), Value::Missing, number(u64::MAX), number(9), Value::Missing];
        assert_eq!(values[..5], expected);
        let enter = SysEnter { id: Some(202), args: vec![1, 2, 3, 4, 5, 6] };
        let expected = [number(202), number(1), number(2), number(3), Value::Missing];
        assert_eq!(plan("sys_enter").read(&enter.encode_to_vec())[..5], expected);
        // The same arguments in one value.
        let packed = [0x08, 5, 0x12, 4, 1, 2, 3, 4];
        let expected = [number(5), number(1), number(2), number(3), Value::Missing];
        assert_eq!(plan("sys_enter").read(&packed)[..5], expected);
    }

    #[test]
    fn an_event_that_the_trace_describes() {
        let mut plans = Plans::new();
        // name: "page_fault_user", field { name: "address" number: 3 }
        let mut descriptor = vec![0x0a, 15];
        descriptor.extend(b"page_fault_user");
        descriptor.extend([0x12, 11, 0x0a, 7]);
        descriptor.extend(b"address");
        descriptor.extend([0x18, 3]);
        plans.describe(70_000, &descriptor);
        plans.describe(5, &descriptor);
        assert_eq!(plans.what(5), None, "numbers of the schema's own are not for the trace to say");
        let Some(What::Planned(place)) = plans.what(70_000) else { panic!("not described") };
        assert_eq!(plans.plan(place).read(&[0x18, 42])[0], Value::Number(42));
    }
}
