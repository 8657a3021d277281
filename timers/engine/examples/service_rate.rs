//! How many timers two threads can arm and cancel in a second, and how late precise ones fire.
//! A round is one arm and one cancel.
//!
//! `cargo run --release -p tardy-timers --example service_rate`. It prints, and judges nothing.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;
use tardy_timers::service::{Delivery, Firing, Request, Service, Target};
use tardy_timers::{Expiry, Kind, Level};

const THREADS: u64 = 2;
const ROUNDS: u64 = 2_000_000;
const WAKEUPS: usize = 2_000;

struct Nothing;

impl Target for Nothing {
    fn fire(&self, _: &Firing) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Service::start()?;
    for note in service.notes() {
        println!("{note}");
    }
    let far_ns = service.now_ns() + 3_600_000_000_000;
    let target = Arc::new(Nothing);
    each("arm + cancel, an hour ahead", &service, |round| {
        let request = Request::at(far_ns + round).kind(Kind::Coarse);
        service.cancel(service.arm(request, Arc::clone(&target)).unwrap()).unwrap();
    });
    each("arm + cancel, 1 ms ahead", &service, |_| {
        let request = Request::at(service.now_ns() + 1_000_000);
        // Where the thread is held up for a millisecond, it has fired.
        let _ = service.cancel(service.arm(request, Arc::clone(&target)).unwrap());
    });
    each("the same with a boxed closure", &service, |round| {
        let time_ns = service.now_ns() + 1_000_000;
        let timer = service.call(Request::at(time_ns), move |_| assert!(round < ROUNDS)).unwrap();
        let _ = service.cancel(timer);
    });
    each("arm + rearm later + cancel", &service, |round| {
        let timer = service.arm(Request::at(far_ns), Arc::clone(&target)).unwrap();
        service.rearm(timer, Expiry::at(far_ns + round)).unwrap();
        service.cancel(timer).unwrap();
    });
    each("64 armed, then all of them cancelled", &service, |round| {
        if round % 64 == 0 {
            let timers: [_; 64] = std::array::from_fn(|n| {
                service.arm(Request::at(far_ns + n as u64), Arc::clone(&target)).unwrap()
            });
            for timer in timers {
                service.cancel(timer).unwrap();
            }
        }
    });
    fire_all(&service)?;
    lateness(&service)
}

/// Runs `act` in all threads and prints how often a second.
fn each(what: &str, service: &Service, act: impl Fn(u64) + Sync) {
    let woken = || Level::all().map(|level| service.report(level).woken).sum::<u64>();
    let before = woken();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(&act));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let millions = (THREADS * ROUNDS) as f64 / seconds / 1e6;
    println!("{what}: {millions:.2} M/s from {THREADS} threads, {} woken", woken() - before);
}

/// Timers that are due at once, from arm to fire.
fn fire_all(service: &Service) -> Result<(), Box<dyn std::error::Error>> {
    let (tell, told) = channel();
    let start = Instant::now();
    let mut refused = 0_u64;
    let mut arm = |time_ns, mut delivery: Delivery| {
        while let Err(error) = service.arm(Request::at(time_ns), delivery) {
            delivery = error.into_delivery();
            refused += 1;
            thread::yield_now();
        }
    };
    let target = Arc::new(Nothing);
    for time_ns in 0..200_000 {
        arm(time_ns, Arc::clone(&target).into());
    }
    arm(service.now_ns(), Delivery::call(move |_| tell.send(()).unwrap_or_default()));
    told.recv()?;
    let millions = 0.2 / start.elapsed().as_secs_f64();
    println!("armed and fired at once: {millions:.2} M/s from 1 thread, {refused} times full");
    Ok(())
}

/// A precise timer at a time, as it is seen by a callback.
fn lateness(service: &Service) -> Result<(), Box<dyn std::error::Error>> {
    let (tell, told) = channel();
    let mut late_ns = Vec::with_capacity(WAKEUPS);
    for _ in 0..WAKEUPS {
        let tell = tell.clone();
        let time_ns = service.now_ns() + 237_000;
        service.call(Request::at(time_ns).level(Level::HIGHEST), move |firing| {
            let _ = tell.send(firing.lateness_ns());
        })?;
        late_ns.push(told.recv()?);
    }
    late_ns.sort_unstable();
    println!(
        "lateness of {WAKEUPS} timers, ns: p50 {} p90 {} p99 {} max {}",
        late_ns[WAKEUPS / 2],
        late_ns[WAKEUPS * 9 / 10],
        late_ns[WAKEUPS * 99 / 100],
        late_ns[WAKEUPS - 1]
    );
    Ok(())
}
