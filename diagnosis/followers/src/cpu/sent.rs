//! Interrupts that other CPUs send to one: whose interrupt it is that comes.

use crate::Activity;
use tardy_model::event::Vector;
use tardy_model::{NameId, TaskId};

/// An interrupt that was sent longer ago than this is another.
const SENT_NS_MAX: u64 = 10_000_000;

const SCHEDULE: usize = 0;
const CALL: usize = 1;

/// An interrupt sent by another CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) time_ns: u64,
    pub(crate) by: TaskId,
    pub(crate) function: NameId,
}

/// The first interrupt that was sent and has not come: one that makes the CPU schedule, and one that has it
/// call a function.
#[derive(Debug, Default)]
pub(super) struct Senders([Option<Sent>; 2]);

impl Senders {
    /// One is sent. Of several that have not come, the first is the one whose interrupt comes.
    pub(super) fn send(&mut self, sent: Sent, calls: bool) {
        let waiting = &mut self.0[if calls { CALL } else { SCHEDULE }];
        match waiting {
            Some(waits) if sent.time_ns.saturating_sub(waits.time_ns) <= SENT_NS_MAX => {}
            _ => *waiting = Some(sent),
        }
    }

    /// What was sent, if the interrupt that comes is of a vector that CPUs send.
    pub(super) fn take(&mut self, time_ns: u64, vector: Vector) -> Option<Activity> {
        let which = match vector {
            Vector::RESCHEDULE => SCHEDULE,
            Vector::CALL_FUNCTION | Vector::CALL_FUNCTION_SINGLE => CALL,
            _ => return None,
        };
        let sent = self.0[which].take()?;
        let is_it = time_ns.saturating_sub(sent.time_ns) <= SENT_NS_MAX;
        is_it.then_some(Activity::Ipi(vector, sent.by, sent.function))
    }
}
