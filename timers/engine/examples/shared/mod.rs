//! What the pollers' examples have in common: who receives, and the table of how it went.

use std::time::Duration;

use tardy_timers::clock::{now_ns, thread_cpu_ns};
use tardy_timers::poller::{Poller, Target};
use tardy_timers::sleep::Precision;

/// A way to watch a queue.
#[derive(Clone, Copy)]
pub(crate) struct Watcher {
    name: &'static str,
    vacations: Option<(u64, Precision)>,
}

/// Busy polling, and pollers of several mean waits.
pub(crate) const WATCHERS: [Watcher; 4] = [
    Watcher { name: "busy polling", vacations: None },
    Watcher { name: "20 us, Balanced", vacations: Some((20, Precision::Balanced)) },
    Watcher { name: "50 us, Balanced", vacations: Some((50, Precision::Balanced)) },
    Watcher { name: "50 us, Cpu", vacations: Some((50, Precision::Cpu)) },
];

impl Watcher {
    /// Watches until `drain` says `None`, as [`Poller::run`] does, and prints a row. `drain` appends
    /// the latency in ns of every item that it drains.
    pub(crate) fn watch(self, mut drain: impl FnMut(&mut Vec<u64>) -> Option<usize>) {
        let mut latencies_ns = Vec::new();
        let (begin_ns, cpu_before_ns) = (now_ns(), thread_cpu_ns());
        let statistics = if let Some((wait_us, precision)) = self.vacations {
            let mut poller = Poller::new(Target::Mean(Duration::from_micros(wait_us)), precision);
            poller.run(|| drain(&mut latencies_ns));
            Some(poller.statistics())
        } else {
            while drain(&mut latencies_ns).is_some() {
                std::hint::spin_loop();
            }
            None
        };
        let share = (thread_cpu_ns() - cpu_before_ns) as f64 / (now_ns() - begin_ns) as f64;
        latencies_ns.sort_unstable();
        let n = latencies_ns.len();
        let at = |q: f64| {
            let rank = ((n as f64 * q) as usize).min(n.saturating_sub(1));
            latencies_ns.get(rank).map_or(0.0, |ns| *ns as f64 / 1e3)
        };
        let mean = latencies_ns.iter().sum::<u64>() as f64 / n.max(1) as f64 / 1e3;
        print!(
            "{:<17} {n:>7} {mean:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>6.1}",
            self.name,
            at(0.5),
            at(0.99),
            at(1.0),
            share * 100.0,
        );
        match statistics {
            Some(s) => println!(
                " {:>7} {:>9.2} {:>8.2} {:>8}",
                s.polls,
                s.vacation_mean_ns() as f64 / 1e3,
                s.backlog_mean(),
                s.backlog_max
            ),
            None => println!(),
        }
    }
}

/// The columns of [`Watcher::watch`]'s rows.
pub(crate) fn print_header() {
    println!(
        "{:<17} {:>7} {:>8} {:>8} {:>8} {:>9} {:>6} {:>7} {:>9} {:>8} {:>8}",
        "latency in us",
        "items",
        "mean",
        "p50",
        "p99",
        "max",
        "CPU %",
        "polls",
        "vacation",
        "backlog",
        "max"
    );
}

/// When a sender that sends `rate` items a second at random is to send the next after `last_ns`:
/// exponential gaps.
pub(crate) fn next_ns(last_ns: u64, rate: u64) -> u64 {
    let gap_ns = -(1.0 - fastrand::f64()).ln() * 1e9 / rate as f64;
    last_ns + gap_ns as u64
}

/// Items a second and milliseconds per row from the command line.
pub(crate) fn arguments(rate: u64, row_ms: u64) -> (u64, Duration) {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        None => Some(default),
        Some(text) => text.parse().ok().filter(|number| *number > 0),
    };
    let (Some(rate), Some(row_ms)) = (number(rate), number(row_ms)) else {
        eprintln!("usage: [ITEMS_PER_SECOND] [MS_PER_ROW], both numbers above 0");
        std::process::exit(2);
    };
    (rate, Duration::from_millis(row_ms))
}
