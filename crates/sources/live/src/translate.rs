//! From the kernel side's records to events: most pass through as they are; timers and interrupts
//! get their ids, jiffies and other clocks become `CLOCK_MONOTONIC`.

use crate::ring::Record;
use tardy_kernel::{Abi, Clocks, Definitions, IdleStates, Interrupts, Symbols};
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleEnter, IrqBegin, IrqEnd, Pack, Payload, SyscallEnter, TimerArm,
    TimerCancel, WorkBegin, WorkEnd,
};
use tardy_model::{Batch, CpuId, Event, TaskId, TimerClass};

const DEFINITION_TIMER_LIST: u8 = 1;
const IRQ_VECTOR: u8 = 1;

/// In the place of a system call's number: it was none, or is not known.
const CALL_NONE: u32 = u32::MAX;

pub(crate) struct Translator {
    definitions: Definitions,
    interrupts: Interrupts,
    clocks: Clocks,
    jiffies: Jiffies,
    idle_states: IdleStates,
    abi: Abi,
}

impl Translator {
    pub(crate) fn new() -> Self {
        Self {
            definitions: Definitions::new(Symbols::of_this_kernel()),
            interrupts: Interrupts::default(),
            clocks: Clocks::read(),
            jiffies: Jiffies::default(),
            idle_states: IdleStates::read(),
            abi: Abi::of_this_machine(),
        }
    }

    /// What names the functions.
    pub(crate) fn symbols(&self) -> &Symbols {
        self.definitions.symbols()
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
                if let Some(definition) = definition {
                    self.define(record, definition, &mut payload, batch);
                }
            }
            TimerCancel::TAG | ExpireEnd::TAG => {
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
            SyscallEnter::TAG => payload.flags = self.abi.call(record.b) as u8,
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
        let class = if definition.flags & DEFINITION_TIMER_LIST == 0 {
            TimerClass::Hrtimer
        } else {
            TimerClass::TimerList
        };
        payload.c = self.definitions.timer(address, function, owner, class, batch).0;
        match class {
            TimerClass::Hrtimer => {
                let offsets = self.clocks.at(record.time_ns);
                payload.a = offsets.to_monotonic_ns(definition.b, record.a);
                if record.tag == TimerArm::TAG && definition.c != CALL_NONE {
                    let call = self.abi.call(definition.c);
                    *payload = TimerArm { call, ..TimerArm::unpack(*payload) }.pack();
                }
            }
            TimerClass::TimerList => {
                let tick_ns = 1_000_000_000 / u64::from(definition.c.max(1));
                payload.a = self.jiffies.expiry_ns(record.time_ns, record.a, definition.b, tick_ns);
                payload.b = (u64::from(record.b) * tick_ns).try_into().unwrap_or(u32::MAX);
            }
        }
    }
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
}
