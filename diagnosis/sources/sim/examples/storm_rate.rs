//! How fast a storm of sleeping threads is simulated: steps a second on one core of this machine.
//!
//! `cargo run --release -p tardy-sim --example storm_rate [threads] [seconds] [policy]`
#![allow(clippy::print_stdout)]

use std::time::Instant;
use tardy_sim::{
    Cost, Kernel, Machine, Operation, Policy, Recorder, START_NS, Simulation, System, Thread,
    Workload,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|it| it.parse().ok()).unwrap_or(default);
    let (threads, seconds) = (number(40_u64), number(20));
    let timers = arguments.next().unwrap_or_else(|| "hardirq".to_owned());
    let system = storm(threads, &timers);
    let end_ns = START_NS + seconds * 1_000_000_000;
    let begin = Instant::now();
    let mut simulation = Simulation::new(&system, ()).expect("it can be");
    simulation.run_until(end_ns);
    rate("alone", simulation.steps(), seconds, begin);
    let begin = Instant::now();
    let mut simulation = Simulation::new(&system, Recorder::default()).expect("it can be");
    let mut events = 0;
    while simulation.now_ns() < end_ns {
        simulation.run_until(simulation.now_ns() + 10_000_000);
        events += simulation.observer_mut().take().count();
    }
    rate("with events", simulation.steps(), seconds, begin);
    rate("  events", events as u64, seconds, begin);
}

fn rate(what: &str, steps: u64, seconds: u64, begin: Instant) {
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{what:<12} {:>7.2} M a second, {:>9} per simulated second, {:.0} × real time",
        steps as f64 / took / 1e6,
        steps / seconds.max(1),
        seconds as f64 / took,
    );
}

/// One CPU: a cyclic thread, and others that sleep for up to a millisecond.
fn storm(threads: u64, timers: &str) -> System {
    let own = Thread {
        policy: Policy::Fifo(98),
        program: vec![Operation::SleepGrid { period_ns: 237_000, phase: Cost::ZERO, from_ns: 0 }],
        ..Thread::default()
    };
    let other = Thread {
        program: vec![Operation::Sleep(Cost::Uniform { from_ns: 0, to_ns: 1_000_000 })],
        ..Thread::default()
    };
    let mut all = vec![own];
    all.extend((0..threads).map(|_| other.clone()));
    let constant = Cost::Constant;
    System {
        machine: Machine {
            program: constant(300),
            irq_entry: constant(500),
            irq_exit: constant(300),
            queue_operation: constant(150),
            callback: constant(200),
            tick: constant(1_000),
            softirq_entry: constant(200),
            wakeup: constant(400),
            switch: constant(700),
            syscall_entry: constant(100),
            syscall_exit: constant(100),
            idle_entry: constant(300),
            ..Machine::default()
        },
        kernel: Kernel { timers: timers.to_owned(), tells_sections: false, ..Kernel::default() },
        workload: Workload { threads: all, ..Workload::default() },
        seed: 1,
    }
}
