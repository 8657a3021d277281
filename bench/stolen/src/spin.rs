//! A thread that would notice any stop of its CPU.

use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::error::Error;
use tardy_thread_policy::Policy;

/// Jumps that are kept: room is taken before the first one.
const JUMPS_MAX: usize = 1 << 16;

const PRIO: u8 = 50;

/// `jumps`: every jump of the clock of `least_ns` or more between two readings, from when to when (`CLOCK_MONOTONIC`);
/// `looked`: from when to when it read.
pub(crate) fn spin(cpu: u16, seconds: u32, least_ns: u64) -> Result<Value, Box<dyn Error>> {
    let mut set = CpuSet::new();
    set.set(cpu.into());
    sched_setaffinity(None, &set)?;
    let own = gettid().as_raw_nonzero().get() as u32;
    tardy_thread_policy::set(own, Policy::Fifo { prio: PRIO })?;
    let mut jumps = Vec::with_capacity(JUMPS_MAX);
    let mut before_ns = now_ns();
    let begin_ns = before_ns;
    let end_ns = before_ns + u64::from(seconds) * 1_000_000_000;
    while before_ns < end_ns && jumps.len() < JUMPS_MAX {
        let now_ns = now_ns();
        if now_ns - before_ns >= least_ns {
            jumps.push((before_ns, now_ns));
        }
        before_ns = now_ns;
    }
    Ok(json!({ "jumps": jumps, "looked": (begin_ns, before_ns) }))
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
