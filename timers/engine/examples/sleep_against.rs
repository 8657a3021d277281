//! Sleeps beside their peers: error and CPU time per sleep, in one run, in random order.
//!
//! `cargo run --release -p tardy-timers --example sleep_against -- [SLEEP_US] [ROUNDS]`
//!
//! The error of a sleep is the time at which it returned less the time at which it should have, both
//! by `CLOCK_MONOTONIC`; a negative one is early. CPU time is the thread's own
//! (`CLOCK_THREAD_CPUTIME_ID`).

use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::thread::set_current_timer_slack;
use tardy_timers::clock::{now_ns, thread_cpu_ns};
use tardy_timers::sleep::{Precision, Sleeper, sleep_for};

/// Sleeps of one peer in a row: enough that a peer's own habits show, and few enough that all peers
/// meet the same load.
const IN_A_ROW: usize = 20;

/// Makes a peer's sleep, on the peer's own thread: the timer slack is a thread's, and a sleeper that
/// lives would flatter the others.
type Make = fn() -> Box<dyn FnMut(Duration)>;

const PEERS: [(&str, Make); 9] = [
    ("std::thread::sleep", || Box::new(std::thread::sleep)),
    ("the same, slack 1 ns", || {
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Box::new(std::thread::sleep)
    }),
    ("spin_sleep default", || Box::new(spin_sleep::sleep)),
    ("tardy sleep_for", || Box::new(|duration| _ = sleep_for(duration))),
    ("tardy Cpu", || sleeper(Precision::Cpu)),
    ("tardy p50", || sleeper(Precision::quantile(0.5).unwrap_or_default())),
    ("tardy Balanced", || sleeper(Precision::Balanced)),
    ("tardy p90", || sleeper(Precision::quantile(0.9).unwrap_or_default())),
    ("tardy Exact", || sleeper(Precision::Exact)),
];

fn sleeper(precision: Precision) -> Box<dyn FnMut(Duration)> {
    let mut sleeper = Sleeper::new(precision);
    Box::new(move |duration| _ = sleeper.sleep_for(duration))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (Ok(sleep_us), Ok(rounds)) = (number(50), number(200)) else {
        eprintln!("usage: sleep_against [SLEEP_US] [ROUNDS], both numbers");
        std::process::exit(2);
    };
    let duration = Duration::from_micros(sleep_us);
    let mut peers: Vec<Peer> =
        PEERS.iter().map(|(name, make)| Peer::start(name, *make, duration)).collect();
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..peers.len()).collect();
        fastrand::shuffle(&mut order);
        for peer in order {
            peers[peer].run();
        }
    }
    println!("sleeps of {sleep_us} us; error and CPU time per sleep in us");
    println!(
        "{:<22} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "n", "min", "mean", "p50", "p99", "p99.9", "max", "CPU"
    );
    for peer in &mut peers {
        peer.show();
    }
}

struct Peer {
    name: &'static str,
    go: Sender<()>,
    rows: Receiver<Row>,
    errors_ns: Vec<i64>,
    cpu_ns: u64,
}

struct Row {
    errors_ns: [i64; IN_A_ROW],
    cpu_ns: u64,
}

impl Peer {
    /// Its thread ends when the peer is dropped.
    fn start(name: &'static str, make: Make, duration: Duration) -> Self {
        let ((go, gone), (finished, rows)) = (channel(), channel());
        std::thread::spawn(move || {
            let mut sleep = make();
            while gone.recv().is_ok() {
                if finished.send(Row::sleep(&mut sleep, duration)).is_err() {
                    return;
                }
            }
        });
        Self { name, go, rows, errors_ns: Vec::new(), cpu_ns: 0 }
    }

    fn run(&mut self) {
        if self.go.send(()).is_ok()
            && let Ok(row) = self.rows.recv()
        {
            self.errors_ns.extend(row.errors_ns);
            self.cpu_ns += row.cpu_ns;
        }
    }

    fn show(&mut self) {
        self.errors_ns.sort_unstable();
        let n = self.errors_ns.len();
        let Some(last) = n.checked_sub(1) else { return };
        let quantile = |q: f64| self.errors_ns[((n as f64 * q) as usize).min(last)] as f64 / 1e3;
        println!(
            "{:<22} {n:>7} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
            self.name,
            quantile(0.0),
            self.errors_ns.iter().sum::<i64>() as f64 / n as f64 / 1e3,
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            quantile(1.0),
            self.cpu_ns as f64 / n as f64 / 1e3,
        );
    }
}

impl Row {
    fn sleep(sleep: &mut impl FnMut(Duration), duration: Duration) -> Self {
        let cpu_before_ns = thread_cpu_ns();
        let errors_ns = std::array::from_fn(|_| {
            let start_ns = now_ns();
            sleep(duration);
            (now_ns() - start_ns) as i64 - duration.as_nanos() as i64
        });
        Self { errors_ns, cpu_ns: thread_cpu_ns() - cpu_before_ns }
    }
}
