//! Which queue is the quicker, by the number of timers and the time between two that fire.
//!
//! A table of nanoseconds per timer that fires and is set anew, to a time uniform over as much as
//! makes the gap; the least of seven passes of each queue in turn. From it come the bounds in
//! `queue/auto.rs`.
//!
//!     cargo run --release -p tardy-timers --example queue_grid

use fastrand::Rng;
use std::time::Instant;
use tardy_timers::Expiry;
use tardy_timers::queue::{Auto, Precise, Queue, Wheel};

const PASSES: usize = 7;
const CALLS_MIN: usize = 100_000;

fn main() {
    println!("{:>9} {:>9} {:>9} {:>9} {:>9}", "timers", "gap ns", "precise", "wheel", "auto");
    for timers in [16, 100, 1_000, 10_000, 100_000, 1_000_000] {
        for gap_ns in [10, 100, 1_000, 10_000, 100_000] {
            let mut queues: [Box<dyn Pass>; 3] = [
                Box::new(Filled::new(Precise::with_capacity(timers), timers, gap_ns)),
                Box::new(Filled::new(Wheel::with_capacity(timers), timers, gap_ns)),
                Box::new(Filled::new(Auto::with_capacity(timers), timers, gap_ns)),
            ];
            let mut least_ns = [f64::MAX; 3];
            for _ in 0..PASSES {
                for (queue, least_ns) in queues.iter_mut().zip(&mut least_ns) {
                    *least_ns = least_ns.min(queue.pass_ns(timers.max(CALLS_MIN)));
                }
            }
            let [precise, wheel, auto] = least_ns;
            println!("{timers:9} {gap_ns:9} {precise:9.1} {wheel:9.1} {auto:9.1}");
        }
    }
}

trait Pass {
    /// Nanoseconds per timer that fires and is set anew.
    fn pass_ns(&mut self, calls: usize) -> f64;
}

struct Filled<Q> {
    queue: Q,
    span_ns: u64,
    rng: Rng,
}

impl<Q: Queue<u32>> Filled<Q> {
    fn new(mut queue: Q, timers: usize, gap_ns: u64) -> Self {
        let span_ns = 2 * gap_ns * timers as u64;
        let mut rng = Rng::with_seed(1);
        for number in 0..timers as u32 {
            queue.insert(Expiry::at(rng.u64(0..span_ns)), number).expect("there is room");
        }
        Self { queue, span_ns, rng }
    }
}

impl<Q: Queue<u32>> Pass for Filled<Q> {
    fn pass_ns(&mut self, calls: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..calls {
            let fired = self.queue.pop_expired(u64::MAX).expect("as many are set as fire");
            let expiry = Expiry::at(fired.expiry.hard_ns() + self.rng.u64(0..self.span_ns));
            self.queue.insert(expiry, fired.payload).expect("one has fired");
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    }
}
