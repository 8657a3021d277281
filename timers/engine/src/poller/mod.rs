//! Polling without burning a CPU: a thread that sleeps between looks at its queue, and only as long as
//! the items in it can wait.
//!
//! A thread that busy-polls a queue uses a whole CPU, also where nothing comes. Metronome (Faltelli,
//! Belocchi, Quaglia, Pontarelli, Bianchi, "Metronome: adaptive and precise intermittent packet
//! retrieval in DPDK", `CoNEXT` 2020) showed that a packet ring can be left alone for some microseconds
//! at a time, a *vacation*, where the sleep is exact enough and its length follows the load. Exact
//! sleeps are [`sleep`](crate::sleep)'s business; [`Law`] is how the length follows the load.
//!
//! - [`Poller`]: the thread's loop, with clock and sleep.
//! - [`Law`]: the control law alone, numbers in and numbers out, to simulate or to drive otherwise.

mod law;
mod live;
mod statistics;

pub use law::{BadBounds, Law, Target, VACATION_MAX_NS, VACATION_MIN_NS};
pub use live::{Poller, Vacation};
pub use statistics::Statistics;
