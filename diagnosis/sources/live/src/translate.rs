//! From the kernel side's records to events: most pass through as they are; timers and interrupts
//! get their ids, jiffies and other clocks become `CLOCK_MONOTONIC`.

use crate::ring::Record;
use crate::stacks::RawStack;
use crate::state;
use crate::unhooked::Unhooked;
use std::collections::HashMap;
use tardy_kernel::{
    Abi, Clocks, CpuGroups, Definitions, Groups, IdleStates, Interrupts, Programs, Symbols, futex2,
    tick_ns,
};
use tardy_model::event::{
    Call, ExpireBegin, ExpireEnd, IdleEnter, IrqBegin, IrqEnd, Pack, Payload, Stack, Switch,
    SyscallEnter, TaskGroup, TimerArm, TimerCancel, TimerPending, Waking, WorkBegin, WorkEnd,
};
use tardy_model::{Batch, CpuId, Event, Kind, TaskId, TimerClass};

const DEFINITION_TIMER_LIST: u8 = 1;
const IRQ_VECTOR: u8 = 1;

/// In the flags of an expiry, as in `build.rs`: in the same loop as the one before.
const EXPIRY_SAME_LOOP: u8 = 0x80;

/// In the number of a system call, as in `build.rs`: by the table of programs of 32 bits.
const CALL_COMPAT: u32 = 1 << 29;

/// In the place of a system call's number: it was none, or is not known.
const CALL_NONE: u32 = u32::MAX;

/// In an expiry's definition, in the place of where its thread is woken: it is told by itself, if at
/// all.
const NOT_TOLD: u32 = CALL_NONE;

pub(crate) struct Translator {
    definitions: Definitions,
    interrupts: Interrupts,
    clocks: Clocks,
    jiffies: Jiffies,
    tick_ns: u64,
    idle_states: IdleStates,
    abi: Abi,
    /// Of programs of 32 bits.
    compat: Abi,
    unhooked: Unhooked,
    flight: FlightState,
    groups: Groups,
}

/// What is known in the middle of a flight recorder's records.
#[derive(Debug, Default)]
struct FlightState {
    cpus: Vec<FlightCpu>,
    /// Whose timers are at which addresses.
    owners: HashMap<u64, u32>,
}

#[derive(Clone, Debug, Default)]
struct FlightCpu {
    /// Who is current.
    current: u32,
    /// The end of the last callback.
    unended: Option<Event>,
}

impl FlightState {
    fn cpu(&mut self, cpu: u16) -> &mut FlightCpu {
        let cpu = usize::from(cpu);
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, FlightCpu::default());
        }
        &mut self.cpus[cpu]
    }

    /// Adds what was not written because other records tell it: who was current, and whose timer it is
    /// where nobody was woken.
    fn complete(&mut self, record: &mut Record, definition: Option<&mut Record>) {
        let current = &mut self.cpu(record.cpu).current;
        if record.tag == Switch::TAG {
            *current = record.b;
        } else if Kind::speaks_of_current(record.tag) {
            record.task = *current;
        }
        let Some(definition) = definition else { return };
        let known = self.owners.entry(definition.a).or_default();
        if definition.task == 0 && record.tag == ExpireBegin::TAG {
            definition.task = *known;
        }
        *known = definition.task;
    }
}

impl Translator {
    pub(crate) fn new() -> Self {
        Self {
            definitions: Definitions::new(Symbols::of_this_kernel()),
            interrupts: Interrupts::default(),
            clocks: Clocks::read(),
            jiffies: Jiffies::default(),
            tick_ns: tick_ns(),
            idle_states: IdleStates::read(),
            abi: Abi::of_this_machine(),
            compat: Abi::of_this_machine().compat(),
            unhooked: Unhooked::default(),
            flight: FlightState::default(),
            groups: Groups::default(),
        }
    }

    /// Interrupts of the timer are to be told by what they do first.
    pub(crate) fn timer_interrupts_untold(&mut self, untold: bool) {
        self.unhooked = Unhooked::new(untold);
    }

    /// Nothing defined or known any more, for a stream of its own.
    pub(crate) fn begin_anew(&mut self) {
        self.definitions.begin_anew();
        self.flight = FlightState::default();
        self.groups = Groups::default();
    }

    /// Tells what control groups may use of the CPU.
    pub(crate) fn groups(&mut self, time_ns: u64, batch: &mut Batch) {
        CpuGroups::read().tell(time_ns, &mut self.definitions, batch);
    }

    /// What names the functions.
    pub(crate) fn symbols(&self) -> &Symbols {
        self.definitions.symbols()
    }

    /// The event of a stack; none where it tells nothing.
    pub(crate) fn stack(
        &mut self,
        raw: &RawStack,
        programs: &mut Programs,
        batch: &mut Batch,
    ) -> Option<Event> {
        let symbols = self.definitions.symbols();
        let names: Vec<String> = raw.addresses.iter().map(|at| symbols.name(*at)).collect();
        let folded = tardy_kernel::folded(raw.taken, names.iter().map(String::as_str))?;
        let folded = tardy_kernel::with_program(&folded, &programs.names(raw.of.0, &raw.user));
        let frames = self.definitions.name(&folded, batch);
        let stack = Stack { taken: raw.taken, of: raw.of, late_ns: raw.late_ns, frames };
        Some(Event::new(raw.time_ns, raw.cpu, raw.of, stack.into()))
    }

    /// The event of a record; a timer's needs its definition.
    #[inline]
    pub(crate) fn event(
        &mut self,
        record: Record,
        definition: Option<Record>,
        batch: &mut Batch,
    ) -> Event {
        let mut payload = Payload { flags: record.flags, a: record.a, b: record.b, c: record.c };
        match record.tag {
            TimerArm::TAG | ExpireBegin::TAG => {
                if record.tag == ExpireBegin::TAG {
                    payload.flags &= !EXPIRY_SAME_LOOP;
                }
                if let Some(definition) = definition {
                    self.define(record, definition, &mut payload, batch);
                }
            }
            TimerCancel::TAG | ExpireEnd::TAG | TimerPending::TAG => {
                payload.c = self.definitions.timer_at(record.a).0;
                payload.a = 0;
            }
            IrqBegin::TAG | IrqEnd::TAG if record.flags & IRQ_VECTOR == 0 => {
                let name = || self.interrupts.name(record.b);
                payload.c = self.definitions.line(record.b, name, batch).0;
            }
            IdleEnter::TAG if self.idle_states.polls(record.b) => {
                payload.flags = IdleEnter::POLLS;
            }
            IdleEnter::TAG if self.idle_states.is_without_choice() => {
                payload.flags = IdleEnter::ONLY;
            }
            // A preempted task is runnable whatever state it was about to sleep in.
            Switch::TAG => {
                if record.flags & Switch::PREEMPTED == 0 {
                    payload.flags |= state::of_bits(record.a) as u8;
                }
                payload.a = 0;
            }
            TaskGroup::TAG => {
                payload.c = self.groups.path(record.a, record.task, &mut self.definitions, batch).0;
                payload.a = 0;
            }
            SyscallEnter::TAG => {
                payload.flags = self.call(record.b) as u8;
                payload.b &= !CALL_COMPAT;
                if let Some((op, value)) = futex2(payload.b, [0, u64::from(record.c >> 16)]) {
                    payload = SyscallEnter { op, value, ..SyscallEnter::unpack(payload) }.pack();
                }
            }
            WorkBegin::TAG | WorkEnd::TAG => {
                payload.c = self.definitions.function(record.a, batch).0;
                payload.a = 0;
            }
            _ => {}
        }
        Event::from_parts(
            record.time_ns,
            CpuId(record.cpu),
            TaskId(record.task),
            record.tag,
            payload,
        )
    }

    /// What a number means that the programs told.
    #[inline]
    fn call(&self, number: u32) -> Call {
        match number & CALL_COMPAT {
            0 => self.abi.call(number),
            _ => self.compat.call(number & !CALL_COMPAT),
        }
    }

    /// Who was current on a CPU before its flight recorder's first switch.
    pub(crate) fn first_current(&mut self, cpu: u16, task: u32) {
        self.flight.cpu(cpu).current = task;
    }

    /// The events of a flight recorder's record: a sleeper's waking is in that of its timer, and the
    /// end of a callback is not told. It counts up to the callback that the same loop runs next, and
    /// otherwise for nothing: what is left of it is time of whom it interrupted.
    pub(crate) fn flight_record(
        &mut self,
        mut record: Record,
        mut definition: Option<Record>,
        batch: &mut Batch,
        events: &mut Vec<Event>,
    ) {
        self.flight.complete(&mut record, definition.as_mut());
        let begins = record.tag == ExpireBegin::TAG;
        let same_loop = begins && record.flags & EXPIRY_SAME_LOOP != 0;
        if let Some(mut end) = self.flight.cpu(record.cpu).unended.take() {
            if same_loop {
                end.time_ns = record.time_ns;
            }
            events.push(end);
        }
        let event = self.event(record, definition, batch);
        events.push(event);
        let (Kind::ExpireBegin(begin), Some(definition)) = (event.kind(), definition) else {
            return;
        };
        if !is_hrtimer(definition) {
            return;
        }
        let same_time = |kind| Event::new(event.time_ns, event.cpu, event.task, kind);
        events.extend(woken_by(definition).map(|waking| same_time(Kind::Waking(waking))));
        self.flight.cpu(record.cpu).unended =
            Some(same_time(Kind::ExpireEnd(ExpireEnd { timer: begin.timer })));
    }

    /// The event of a record of a stream, and those that no hook tells of.
    #[inline]
    pub(crate) fn streamed(
        &mut self,
        record: Record,
        definition: Option<Record>,
        batch: &mut Batch,
        out: impl FnMut(Event),
    ) {
        let event = self.event(record, definition, batch);
        let expiry = definition.filter(|it| record.tag == ExpireBegin::TAG && is_hrtimer(*it));
        self.unhooked.event(event, expiry.is_some(), expiry.and_then(woken_by), out);
    }

    fn define(
        &mut self,
        record: Record,
        definition: Record,
        payload: &mut Payload,
        batch: &mut Batch,
    ) {
        let address = definition.a;
        let function = definition.time_ns;
        let owner = TaskId(definition.task);
        let class =
            if is_hrtimer(definition) { TimerClass::Hrtimer } else { TimerClass::TimerList };
        payload.c = self.definitions.timer(address, function, owner, class, batch).0;
        match class {
            TimerClass::Hrtimer => {
                // The slack took both numbers.
                if record.c != 0 {
                    payload.b = u32::MAX;
                }
                let offsets = self.clocks.at(record.time_ns);
                payload.a = offsets.to_monotonic_ns(definition.b, record.a);
                if record.tag == TimerArm::TAG && definition.c != CALL_NONE {
                    let call = self.call(definition.c);
                    *payload = TimerArm { call, ..TimerArm::unpack(*payload) }.pack();
                }
            }
            TimerClass::TimerList => {
                let tick_ns = self.tick_ns;
                payload.a = self.jiffies.expiry_ns(record.time_ns, record.a, definition.b, tick_ns);
                payload.b = (u64::from(record.b) * tick_ns).try_into().unwrap_or(u32::MAX);
            }
        }
    }
}

fn is_hrtimer(definition: Record) -> bool {
    definition.flags & DEFINITION_TIMER_LIST == 0
}

/// Whose waking is told with the expiry that `definition` is of.
fn woken_by(definition: Record) -> Option<Waking> {
    let where_ = Payload { b: definition.task, c: definition.c, ..Payload::default() };
    (definition.c != NOT_TOLD).then(|| Waking::unpack(where_))
}

/// Where jiffies lie in time. The count steps at a tick; the least `time − jiffies × tick` seen so
/// far is the closest to the step itself, so an expiry is placed within what the quietest reading
/// came after its tick: microseconds after a few hundred records.
#[derive(Debug, Default)]
struct Jiffies {
    /// `CLOCK_MONOTONIC` at jiffies 0, as a wrapping number.
    origin_ns: Option<u64>,
}

impl Jiffies {
    /// The time at which jiffies reach `expires`, given their low half now.
    fn expiry_ns(&mut self, now_ns: u64, expires: u64, now_low: u32, tick_ns: u64) -> u64 {
        // The full count now: the one nearest to the expiry with this low half.
        let ahead = i64::from((expires as u32).wrapping_sub(now_low) as i32);
        let now = expires.wrapping_sub(ahead as u64);
        let origin_ns = now_ns.wrapping_sub(now.wrapping_mul(tick_ns));
        let least_ns = match self.origin_ns {
            Some(least_ns) if (origin_ns.wrapping_sub(least_ns) as i64) >= 0 => least_ns,
            _ => origin_ns,
        };
        self.origin_ns = Some(least_ns);
        least_ns.wrapping_add(expires.wrapping_mul(tick_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::Prio;
    use tardy_model::event::TaskName;

    /// HZ = 250; jiffies become 1000 at 4,000,000,000 + 7.
    #[test]
    fn a_jiffy_is_placed_by_the_reading_nearest_to_its_step() {
        let tick_ns = 4_000_000;
        let step_ns = 4_000_000_007;
        let mut jiffies = Jiffies::default();
        let first = jiffies.expiry_ns(step_ns + 900_000, 1003, 1000, tick_ns);
        assert_eq!(first, step_ns + 900_000 + 3 * tick_ns);
        let nearer = jiffies.expiry_ns(step_ns + tick_ns, 1003, 1001, tick_ns);
        assert_eq!(nearer, step_ns + 3 * tick_ns);
        let later = jiffies.expiry_ns(step_ns + 2 * tick_ns + 3_000_000, 1003, 1002, tick_ns);
        assert_eq!(later, step_ns + 3 * tick_ns, "a reading further from its step changes nothing");
    }

    #[test]
    fn jiffies_wrap_at_boot_plus_five_minutes() {
        let mut jiffies = Jiffies::default();
        let expires = 0x1_0000_0002;
        let at = jiffies.expiry_ns(10_000_000, expires, 0xffff_ffff, 4_000_000);
        assert_eq!(at, 10_000_000 + 3 * 4_000_000);
    }

    #[test]
    fn a_slack_of_more_than_four_seconds_is_the_most_that_can_be_told() {
        let (mut translator, mut batch) = (Translator::new(), Batch::default());
        for (b, c, slack_ns) in [(50_000, 0, 50_000), (50_000, 1, u32::MAX)] {
            let armed = Record { b, c, ..record(10, TimerArm::TAG, 0) };
            let event = translator.event(armed, Some(sleeper(7)), &mut batch);
            let Kind::TimerArm(armed) = event.kind() else { panic!("{event:?}") };
            assert_eq!(armed.slack_ns, slack_ns);
        }
    }

    fn record(time_ns: u64, tag: u8, flags: u8) -> Record {
        Record { time_ns, task: 5, cpu: 0, tag, flags, a: 1, b: 0, c: 0 }
    }

    /// The definition of a sleeper's timer, who was woken on CPU 3 at priority 50.
    fn sleeper(owner: u32) -> Record {
        let c = 50 << 16 | 3;
        let address = u64::from(owner);
        Record { time_ns: 0x1000, task: owner, cpu: 0, tag: 0, flags: 0, a: address, b: 1, c }
    }

    #[test]
    fn what_a_flight_recorder_leaves_out_is_told_by_other_records() {
        let mut flight = FlightState::default();
        let mut complete = |tag, task, b, owner: Option<u32>| {
            let mut record = Record { task, b, ..record(10, tag, 0) };
            let mut definition = owner.map(|task| Record { task, ..sleeper(0xaa) });
            flight.complete(&mut record, definition.as_mut());
            (record.task, definition.map(|definition| definition.task))
        };
        assert_eq!(complete(Switch::TAG, 3, 5, None), (3, None), "it tells who ran before");
        assert_eq!(complete(TimerArm::TAG, 0, 0, Some(5)), (5, Some(5)));
        assert_eq!(complete(TaskName::TAG, 8, 0, None), (8, None), "that is about another");
        assert_eq!(complete(Switch::TAG, 5, 6, None), (5, None));
        assert_eq!(complete(ExpireBegin::TAG, 0, 0, Some(0)), (6, Some(5)), "nobody was woken");
        assert_eq!(complete(TimerArm::TAG, 0, 0, Some(0)), (6, Some(0)), "another timer");
        assert_eq!(complete(ExpireBegin::TAG, 0, 0, Some(0)), (6, Some(0)));
    }

    /// A callback lasts until the next one of its loop; the last of a loop lasts for nothing.
    #[test]
    fn a_flight_recorders_expiries_tell_who_was_woken_and_when_they_end() {
        let (mut translator, mut batch) = (Translator::new(), Batch::default());
        let mut events = Vec::new();
        let begin = ExpireBegin::TAG;
        for (record, definition) in [
            (record(10, begin, 0), Some(sleeper(7))),
            (record(15, begin, EXPIRY_SAME_LOOP), Some(sleeper(8))),
            (record(30, begin, 0), Some(Record { c: NOT_TOLD, ..sleeper(9) })),
            (record(40, IrqBegin::TAG, IRQ_VECTOR), None),
        ] {
            translator.flight_record(record, definition, &mut batch, &mut events);
        }
        let told: Vec<(u64, u8)> =
            events.iter().map(|event| (event.time_ns, event.tag())).collect();
        let (waking, end) = (Waking::TAG, ExpireEnd::TAG);
        assert_eq!(told[..3], [(10, begin), (10, waking), (15, end)]);
        assert_eq!(told[3..6], [(15, begin), (15, waking), (15, end)]);
        assert_eq!(told[6..], [(30, begin), (30, end), (40, IrqBegin::TAG)], "nobody was woken");
        let Kind::Waking(woken) = events[1].kind() else { panic!("{:?}", events[1]) };
        let expected = Waking { target: TaskId(7), target_cpu: CpuId(3), prio: Prio(50) };
        assert_eq!(woken, expected);
    }
}
