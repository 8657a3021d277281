//! How fast a system that comes with the program is simulated: steps a second on one core of this machine, and how many
//! times faster than real time.
//!
//! `cargo run --release -p tardy-sim --example system_rate [system] [policy] [seconds]`
//!
//! Under `valgrind --tool=callgrind` it counts instructions instead, which are the same on any day.
#![allow(clippy::print_stdout)]

use std::time::Instant;
use tardy_sim::file::{Template, Values, known_system};
use tardy_sim::{Observer, START_NS, Simulation, ThreadAt};

/// Wakeups, and their sum, so that they are not left out.
#[derive(Default)]
struct Seen {
    wakeups: u64,
    sum_ns: u64,
}

impl Observer for Seen {
    const EVENTS: bool = false;
    const STATES: bool = false;

    fn late(&mut self, _: u64, _: ThreadAt, lateness_ns: u64) {
        self.wakeups += 1;
        self.sum_ns += lateness_ns;
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "zynq-storm".to_owned());
    let policy = arguments.next().unwrap_or_else(|| "hardirq".to_owned());
    let seconds: u64 = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(10);
    let known = known_system(&name).expect("a system that comes with the program");
    let template = Template::parse(known.text).expect("it can be");
    let condition = template.conditions.last().expect("there is one");
    let file = template.file(condition, &Values::new()).expect("it can be");
    let begin = Instant::now();
    let mut simulation =
        Simulation::new(&file.system_of(&policy, 0), Seen::default()).expect("it can be");
    simulation.run_until(START_NS + seconds * 1_000_000_000);
    let took = begin.elapsed().as_secs_f64();
    let steps = simulation.steps();
    let Seen { wakeups, sum_ns } = simulation.into_observer();
    println!(
        "{:.2} M steps a second, {} steps and {} sleeps per simulated second, {:.1} × real time; mean {} ns",
        steps as f64 / took / 1e6,
        steps / seconds.max(1),
        wakeups / seconds.max(1),
        seconds as f64 / took,
        sum_ns / wakeups.max(1),
    );
}
