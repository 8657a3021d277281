//! A bounded ring that another thread fills: busy polling beside pollers with vacations.
//!
//! `cargo run --release -p tardy-timers --example poller_ring -- [ITEMS_PER_SECOND] [MS_PER_ROW]`
//!
//! The sender spins, so that it is exact: it takes a CPU of its own. Latency is from the push to the
//! pop.

mod shared;

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_queue::ArrayQueue;
use tardy_timers::clock::now_ns;

/// Items that the ring holds; a push into a full one is dropped, as a network card does.
const RING_ITEMS: usize = 4096;

fn main() {
    let (rate, row) = shared::arguments(50_000, 250);
    println!("a ring of {RING_ITEMS}, {rate} items/s at random times");
    shared::print_header();
    for watcher in shared::WATCHERS {
        let ring = ArrayQueue::new(RING_ITEMS);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let end_ns = now_ns() + row.as_nanos() as u64;
                let mut send_ns = now_ns();
                let mut dropped = 0;
                while send_ns < end_ns {
                    send_ns = shared::next_ns(send_ns, rate);
                    while now_ns() < send_ns {
                        std::hint::spin_loop();
                    }
                    dropped += u64::from(ring.push(now_ns()).is_err());
                }
                done.store(true, Ordering::Release);
                if dropped > 0 {
                    println!("{dropped} items dropped, the ring was full, in:");
                }
            });
            watcher.watch(|latencies_ns| {
                let finished = done.load(Ordering::Acquire);
                match ring.pop() {
                    Some(pushed_ns) => {
                        latencies_ns.push(now_ns() - pushed_ns);
                        Some(1)
                    }
                    None if finished => None,
                    None => Some(0),
                }
            });
        });
    }
}
