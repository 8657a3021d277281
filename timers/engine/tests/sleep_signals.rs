//! Signals do not shorten a sleep. A program of its own, since the kernel hands a process's signal to
//! its first thread where it can, and the test harness does not run tests there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use tardy_timers::clock::now_ns;
use tardy_timers::sleep::{Precision, Sleeper};

const SIGNALS: usize = 20;

fn main() {
    let handled = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&handled))
        .expect("a handler can be set");
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while sent.fetch_add(1, Ordering::Relaxed) < SIGNALS {
                std::thread::sleep(Duration::from_millis(1));
                kill_process(getpid(), Signal::USR1).expect("one may signal oneself");
            }
        });
        for precision in [Precision::Cpu, Precision::Exact] {
            let mut sleeper = Sleeper::new(precision);
            let deadline_ns = now_ns() + 30_000_000;
            let slept = sleeper.sleep_until(deadline_ns);
            assert!(now_ns() >= deadline_ns, "{precision:?}");
            // Or else a signal ended the kernel's part, and the rest was spun.
            assert!(precision != Precision::Cpu || slept.spun_ns == 0);
        }
    });
    assert!(handled.load(Ordering::Relaxed), "no signal came");
    println!("signals do not shorten a sleep: ok");
}
