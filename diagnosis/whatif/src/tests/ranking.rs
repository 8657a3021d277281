//! Systems made up at random, each with one or several reasons to be late. Every change that is offered is also made
//! in the system itself, which is simulated again: what truly helps most has to come first.

use super::known::{Known, kernel, truth};
use super::{GRID, system};
use crate::{Figures, WhatIf, rank};
use tardy_changes::{Change, Scheduling, Whom};
use tardy_sim::{Cost, Device, Entity, IdleState, Operation, Policy, Stream, System, Thread};

/// Recorded for so long.
const SPAN_NS: u64 = 6_000_000_000;

/// The truth is simulated for so many times as long: a p99.9 of a recording's length says little.
const TRUTH_TIMES: u64 = 6;

/// Two changes whose true gains are nearer than this are equally good.
const EQUAL: f64 = 0.03;

/// Systems in every test, and where nobody says how many.
const SYSTEMS: u64 = 3;
const SYSTEMS_MANY: u64 = 30;

struct Maker(Stream);

impl Maker {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    /// A thread that runs and sleeps.
    fn busy(&mut self, name: &str, cpu: u64, policy: Policy) -> Thread {
        let run_ns = self.between(100_000, 3_000_000) as f64;
        let sleep_ns = run_ns * self.between(2, 9) as f64;
        let run = Cost::Exponential { mean_ns: run_ns };
        let work = if self.one_in(3) { Operation::Kernel(run) } else { Operation::Run(run) };
        Thread {
            name: name.to_owned(),
            cpus: 1 << cpu,
            policy,
            program: vec![work, Operation::Sleep(Cost::Exponential { mean_ns: sleep_ns })],
            slack_ns: 50_000,
            ..Thread::default()
        }
    }

    fn storm(&mut self) -> Vec<Thread> {
        let to_ns = self.between(500_000, 2_000_000);
        let one = |at: u64| Thread {
            name: format!("storm-{at}"),
            program: vec![
                Operation::Sleep(Cost::Uniform { from_ns: 0, to_ns }),
                Operation::Run(Cost::Constant(500)),
            ],
            slack_ns: 50_000,
            ..Thread::default()
        };
        (0..self.between(5, 40)).map(one).collect()
    }

    /// A system of a seed: the victim on CPU 0, and others.
    fn system(mut self) -> System {
        let mut known = Known::of(&system(GRID, "")).system;
        let is_fifo = self.one_in(2);
        let victim = &mut known.workload.threads[0];
        victim.slack_ns = if is_fifo || self.one_in(2) { 0 } else { 50_000 };
        if is_fifo {
            victim.policy = Policy::Fifo(50);
        }
        // There is always a reason to be late.
        let first = self.0.below(5);
        for kind in 0..5 {
            if kind != first && !self.one_in(3) {
                continue;
            }
            match kind {
                0 => known.workload.threads.extend(self.storm()),
                1 => {
                    let above = if is_fifo { Policy::Fifo(60) } else { Policy::Other { nice: 0 } };
                    let hog = self.busy("hog", 0, above);
                    known.workload.threads.push(hog);
                }
                2 => {
                    let far = self.busy("far", 1, Policy::Other { nice: 0 });
                    known.workload.threads.push(far);
                }
                3 => known.workload.devices.push(Device {
                    name: "eth0".to_owned(),
                    cpu: 0,
                    every: Some(Cost::Exponential {
                        mean_ns: self.between(50_000, 400_000) as f64,
                    }),
                    handler: Cost::Uniform { from_ns: 2_000, to_ns: self.between(10_000, 60_000) },
                    softirq: None,
                }),
                _ => known.machine.idle_states.push(IdleState {
                    name: "C6".to_owned(),
                    exit: Cost::Uniform { from_ns: 20_000, to_ns: 120_000 },
                    after: Vec::new(),
                    latency_ns: 120_000,
                    residency_ns: 100_000,
                    polls: false,
                }),
            }
        }
        known
    }
}

/// Whether a change is for a thread.
fn is_for(whom: Option<&Whom>, thread: &Thread) -> bool {
    match whom {
        Some(Whom::Victim) => thread.watched,
        Some(whom) => {
            let stem = thread.name.split('-').next().unwrap_or_default();
            whom.means(&thread.name, Some(stem))
        }
        None => false,
    }
}

/// The change made in the system itself; `None` where that is not how a change is made there.
fn made(change: &Change, system: &System) -> Option<System> {
    let mut system = system.clone();
    let threads = &mut system.workload.threads;
    let cpus = change.cpus().map(|list| list.iter().fold(0, |mask, cpu| mask | 1_u64 << cpu));
    match change.name() {
        "slack" => {
            let slack_ns = change.time_ns()?;
            let meant = threads.iter_mut().filter(|thread| is_for(change.whom(), thread));
            meant.for_each(|thread| thread.slack_ns = slack_ns);
        }
        "prio" => {
            let policy = match change.scheduling()? {
                Scheduling::Fifo(prio) => Policy::Fifo(prio),
                Scheduling::Other(nice) => Policy::Other { nice },
                _ => return None,
            };
            for thread in threads.iter_mut().filter(|thread| is_for(change.whom(), thread)) {
                thread.policy = policy;
                if matches!(policy, Policy::Fifo(_)) {
                    thread.slack_ns = 0;
                } else if thread.slack_ns == 0 {
                    thread.slack_ns = 50_000;
                }
            }
        }
        "remove" => match change.whom()? {
            Whom::Irq(_) => system.workload.devices.clear(),
            whom => threads.retain(|thread| !is_for(Some(whom), thread)),
        },
        "affinity" => match change.whom()? {
            Whom::Irq(_) => system.workload.devices[0].cpu = cpus?.trailing_zeros() as u16,
            whom => {
                let meant = threads.iter_mut().filter(|thread| is_for(Some(whom), thread));
                meant.for_each(|thread| thread.cpus = cpus.unwrap_or(u64::MAX));
            }
        },
        "isolate" => {
            let others = !cpus?;
            for thread in threads.iter_mut().filter(|thread| !thread.watched) {
                thread.cpus &= others;
                if thread.cpus.trailing_zeros() > 1 {
                    thread.cpus = others;
                }
            }
            for device in &mut system.workload.devices {
                device.cpu = 1;
            }
        }
        "idle-latency" => {
            let limit_ns = change.time_ns()?;
            let states = &mut system.machine.idle_states;
            states.retain(|state| state.polls || state.latency_ns <= limit_ns);
        }
        "timers" => change.word().clone_into(&mut system.kernel.timers),
        _ => return None,
    }
    Some(system)
}

/// The gain as the ranking understands it: the mean of the shares by which p99.9 and the worst 1 % fall.
fn gain(before: &Figures, after: &Figures) -> f64 {
    let fall = |before: f64, after: f64| if before > 0.0 { 1.0 - after / before } else { 0.0 };
    f64::midpoint(
        fall(before.p999_ns, after.p999_ns),
        fall(before.worst_percent_ns, after.worst_percent_ns),
    )
}

/// At which place what truly helps most, or as much as that, was put. `None` where nothing truly helps.
fn place_of_best(seed: u64) -> Option<usize> {
    let system = Maker(Stream::new(seed, Entity::Maker, 0)).system();
    let system = System { seed, ..system };
    let known = Known { system, span_ns: SPAN_NS };
    let observed = known.observed();
    let whatif = match WhatIf::new(&observed, &kernel(&known.system)) {
        Ok(whatif) => whatif,
        Err(why) => panic!("system {seed} cannot be told: {why}"),
    };
    let changes: Vec<Vec<Change>> = whatif.candidates().into_iter().map(|it| vec![it]).collect();
    let tried = rank(&whatif, &observed, &changes, 2, &|_| {});
    let truly = |system: &System| {
        let known = Known { system: system.clone(), span_ns: SPAN_NS * TRUTH_TIMES };
        truth(&known, seed + 1_000_000)
    };
    let before = truly(&known.system);
    let ranked: Vec<(String, f64, f64)> = tried
        .iter()
        .filter_map(|tried| {
            let predicted = tried.gain()?;
            let after = truly(&made(&tried.changes[0], &known.system)?);
            Some((tried.name(), predicted, gain(&before, &after)))
        })
        .collect();
    let best = ranked.iter().map(|(_, _, truly)| *truly).fold(0.0, f64::max);
    println!("system {seed}: p99.9 {:.1} us", before.p999_ns / 1e3);
    for (name, predicted, truly) in ranked.iter().take(5) {
        println!(
            "  {name:28} {:+5.0} % predicted, {:+5.0} % truly",
            -predicted * 100.0,
            -truly * 100.0
        );
    }
    if best < 2.0 * EQUAL {
        return None;
    }
    ranked.iter().position(|(_, _, truly)| *truly >= best - EQUAL)
}

fn hold(systems: u64) {
    let places: Vec<usize> = (1..=systems).filter_map(place_of_best).collect();
    let within = |places_max: usize| places.iter().filter(|place| **place < places_max).count();
    let (n, first, third) = (places.len(), within(1), within(3));
    println!("{first} of {n} first, {third} among the first three");
    assert!(n as u64 * 2 > systems, "too few systems in which anything helps: {n}");
    assert!(first * 10 >= n * 9, "{first} of {n} first");
    assert!(third * 100 >= n * 99, "{third} of {n} among the first three");
}

#[test]
fn what_truly_helps_most_is_first() {
    hold(SYSTEMS);
}

/// As many as one likes:
/// `TARDY_RANKED_SYSTEMS=100 cargo test --release -p tardy-whatif ranking -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn what_truly_helps_most_is_first_in_many() {
    let asked = std::env::var("TARDY_RANKED_SYSTEMS").ok().and_then(|text| text.parse().ok());
    hold(asked.unwrap_or(SYSTEMS_MANY));
}
