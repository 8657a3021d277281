//! Experiments of the mailing lists with made-up results: a seeded generator draws latencies
//! of about the size that such machines have.

use std::time::Duration;
use tardy_experiment::{
    Block, Comparisons, Experiment, Figure, Fit, Fitness, Results, Run, Series, SystemState,
    compare,
};
use tardy_stats::ab::Question;
use tardy_stats::{Counted, Latencies};

/// Results with their comparisons.
pub(crate) struct Made {
    pub(crate) results: Results,
    pub(crate) comparisons: Comparisons,
}

/// All of them, in the order of their threads; curves last.
pub(crate) fn all() -> Vec<Made> {
    vec![stacking(), pi(), staircase(), sleep(), rearm(), curve()]
}

/// One series of one block.
struct Drawn {
    name: String,
    latencies: Counted,
    figures: Vec<(&'static str, f64)>,
}

/// How latencies are spread: most around `middle_us`, a share of them in a tail whose mean is
/// `tail_us` longer.
#[derive(Clone, Copy)]
struct Spread {
    least_us: f64,
    middle_us: f64,
    tail_share: f64,
    tail_us: f64,
}

impl Spread {
    fn draw(self, count: usize, random: &mut fastrand::Rng) -> Counted {
        let mut latencies = Latencies::default();
        for _ in 0..count {
            // The sum of three is about normal.
            let about = (0..3).map(|_| random.f64()).sum::<f64>() / 1.5;
            let mut us = self.least_us + (self.middle_us - self.least_us) * about;
            if random.f64() < self.tail_share {
                us -= self.tail_us * libm::log(1.0 - random.f64());
            }
            latencies.record((us * 1_000.0) as u64);
        }
        Counted::from(&latencies)
    }

    /// The same, as a block of a machine that is a little slower or faster just then.
    fn in_block(self, random: &mut fastrand::Rng) -> Self {
        let factor = 1.0 + (random.f64() - 0.5) * 0.04;
        Self { middle_us: self.least_us + (self.middle_us - self.least_us) * factor, ..self }
    }
}

/// Results of an experiment written in TOML: every round a block of each condition that `draw` knows.
fn make(
    written: &str,
    rounds: u32,
    seed: u64,
    mut draw: impl FnMut(&str, &mut fastrand::Rng) -> Vec<Drawn>,
) -> Results {
    let experiment: Experiment = toml::from_str(written).expect("the fixture is an experiment");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut blocks = Vec::new();
    for round in 0..rounds {
        for (condition, of) in experiment.conditions.iter().enumerate() {
            let drawn = draw(&of.name, &mut random);
            if drawn.is_empty() {
                continue;
            }
            let figures = drawn.iter().flat_map(|one| {
                let figure = |&(name, value): &(&str, f64)| Figure {
                    of: one.name.clone(),
                    name: name.to_owned(),
                    value,
                };
                one.figures.iter().map(figure)
            });
            blocks.push(Block {
                index: blocks.len(),
                condition,
                round,
                begun_unix_s: 1_790_000_000 + blocks.len() as u64 * 3,
                length: Duration::from_millis(experiment.default.block_ms),
                figures: figures.collect(),
                series: drawn
                    .into_iter()
                    .filter(|one| !one.name.is_empty())
                    .map(|one| Series { name: one.name, latencies: one.latencies })
                    .collect(),
                notes: vec![],
                before: SystemState::default(),
                after: SystemState::default(),
            });
        }
    }
    Results {
        experiment,
        run: Run {
            tardy_version: "0.1.0".to_owned(),
            seed,
            kernel: "6.18.1-rt1".to_owned(),
            host: "bench-3".to_owned(),
            architecture: "x86_64".to_owned(),
            clock: "tsc".to_owned(),
            cpus: 2,
            ..Run::default()
        },
        planned: blocks.len(),
        blocks,
        fitness: Fitness { fit: Fit::Fit, why: vec![] },
        notes: vec![],
    }
}

fn compared(results: Results) -> Made {
    let comparisons = compare(&results, &Question { resamples: 400, ..Question::default() });
    Made { results, comparisons }
}

fn thread(name: &str, latencies: Counted) -> Drawn {
    Drawn { name: name.to_owned(), latencies, figures: vec![] }
}

pub(crate) fn stacking() -> Made {
    let mut results = make(
        r#"
        name = "stacking"
        title = "Latency induced by hrtimer stacking"
        source = "Gratian Crisan, latency induced by hrtimer stacking, linux-rt-users, 4 January 2017"
        question = "Do short sleeps of many ordinary threads make a real-time thread late?"
        table = "min-avg-max"
        measure = { kind = "cyclic", interval = "237us", prio = 98, cpus = "each" }
        default = { rounds = 8, block-ms = 2000, warm-up-ms = 300 }
        full = { rounds = 315, block-ms = 60000, warm-up-ms = 1000 }
        condition = [
            { name = "idle" },
            { name = "storm", load = "storm:40" },
            { name = "hackbench", load = "hackbench" },
            { name = "storm-hard-irq", load = "storm:40,fifo=1", needs = ["preempt-rt"] },
        ]
        [reported.storm]
        min_us = 11
        mean_us = 27.5
        max_us = 164
        "cyclic-0.max_us" = 164
        "cyclic-1.max_us" = 154
        load_average = 40
        [reported."storm, deferred"]
        max_us = 101
        "#,
        8,
        1,
        |condition, random| {
            let (middle_us, tail_share, tail_us) = match condition {
                "idle" => (13.0, 0.01, 2.5),
                "storm" => (26.0, 0.10, 11.0),
                "hackbench" => (13.2, 0.02, 6.0),
                _ => return vec![],
            };
            let spread = Spread { least_us: 9.0, middle_us, tail_share, tail_us };
            (0..2)
                .map(|cpu| {
                    let spread = spread.in_block(random);
                    thread(&format!("cyclic-{cpu}"), spread.draw(3_000, random))
                })
                .collect()
        },
    );
    results.run.left_out = vec![(
        "storm-hard-irq".to_owned(),
        "it needs a kernel with PREEMPT_RT, and this one has none".to_owned(),
    )];
    compared(results)
}

pub(crate) fn pi() -> Made {
    let mut results = make(
        r#"
        name = "pi"
        title = "A lock that is lent its priority twice"
        source = "ARMv7 futex latency spike, linux-rt-users, 2015"
        question = "Do mutexes with priority inheritance make spikes, and how often is the holder boosted?"
        table = "spikes"
        measure = { kind = "pi", rounds = 1000 }
        default = { rounds = 8, block-ms = 2000, warm-up-ms = 100 }
        full = { rounds = 100, block-ms = 20000, warm-up-ms = 100 }
        condition = [
            { name = "inherit" },
            { name = "none", measure = { protocol = "none" } },
            { name = "protect", measure = { protocol = "protect" } },
        ]
        [reported.inherit]
        "round.max_us" = 120
        "#,
        8,
        2,
        |condition, random| {
            let (middle_us, tail_share, tail_us, boosts) = match condition {
                "inherit" => (9.0, 0.02, 12.0, 0.312),
                "none" => (8.8, 0.004, 60.0, 0.0),
                _ => (9.3, 0.001, 8.0, 0.0),
            };
            let round = Spread { least_us: 6.0, middle_us, tail_share, tail_us };
            let lock = Spread { least_us: 0.4, middle_us: middle_us - 7.5, ..round };
            let boosts = boosts * (0.95 + random.f64() * 0.1);
            let drawn = round.in_block(random).draw(2_500, random);
            let lock = lock.in_block(random).draw(2_500, random);
            let figures = vec![("boosts_per_lock", boosts)];
            vec![
                thread("round", drawn),
                Drawn { name: "lock".to_owned(), latencies: lock, figures },
            ]
        },
    );
    results.fitness = Fitness {
        fit: Fit::Doubtful,
        why: vec![
            "In 3 of 24 blocks the hypervisor gave CPU time to others (up to 2.1 %), about as \
             much in all conditions. To help: run it when the host is quiet, or on dedicated CPUs."
                .to_owned(),
        ],
    };
    results.run.hypervisor = Some("KVM".to_owned());
    compared(results)
}

pub(crate) fn staircase() -> Made {
    let mut results = make(
        r#"
        name = "staircase"
        title = "High resolution timers and bottom halves"
        source = "Thomas Gleixner, High resolution timers and BH processing on -RT, linux-kernel, 28 January 2005"
        question = "How far do cyclic threads of falling priority stray from their timeline?"
        table = "deviations"
        measure = { kind = "staircase", threads = 5, interval = "1ms", prio = 60 }
        default = { rounds = 8, block-ms = 2500, warm-up-ms = 300 }
        full = { rounds = 60, block-ms = 60000, warm-up-ms = 1000 }
        condition = [
            { name = "idle" },
            { name = "network", load = "net" },
            { name = "network and storm", load = "net+storm:10" },
        ]
        [reported."all in ksoftirqd"]
        "T0.max_us" = 2123
        "T1.max_us" = 2556
        "T2.max_us" = 2882
        "T3.max_us" = 2993
        "T4.max_us" = 2888
        [reported.network]
        "T0.max_us" = 423
        "T4.max_us" = 1208
        [reported."top half"]
        "T0.max_us" = 84
        "T1.max_us" = 114
        "T2.max_us" = 120
        "T3.max_us" = 117
        "T4.max_us" = 158
        "#,
        8,
        3,
        |condition, random| {
            let (tail_share, tail_us) = match condition {
                "idle" => (0.01, 3.0),
                "network" => (0.05, 14.0),
                _ => (0.12, 30.0),
            };
            (0..5u32)
                .map(|at| {
                    let own = f64::from(at + 1);
                    let spread = Spread {
                        least_us: 6.0,
                        middle_us: 9.0 + own,
                        tail_share,
                        tail_us: tail_us * (0.6 + own * 0.4),
                    };
                    let count = 2_400 / (at as usize + 1);
                    let latencies = spread.in_block(random).draw(count, random);
                    thread(&format!("T{at}"), latencies)
                })
                .collect()
        },
    );
    results.fitness = Fitness {
        fit: Fit::Unfit,
        why: vec![
            "Unevenly, a CPU ran below its highest frequency: 41.0 % in the median block of network, 2.0 % \
             in that of idle; a difference between them may be that. To help: set the governor to \
             performance."
                .to_owned(),
        ],
    };
    results.notes = vec!["Memory could not be locked.".to_owned()];
    compared(results)
}

pub(crate) fn sleep() -> Made {
    let results = make(
        r#"
        name = "sleep"
        title = "Sleeps that ask for the same time"
        source = "Thomas Gleixner, Re: [PATCH] kernel/time: Feedback reply for hr_sleep syscall, a fine-grained sleep service, linux-kernel, 7 April 2021"
        question = "How long do different ways to sleep for 50 µs take, and how much of it is the timer slack?"
        table = "shares"
        measure = { kind = "sleep", request = "50us" }
        default = { rounds = 8, block-ms = 3500, warm-up-ms = 0 }
        full = { rounds = 40, block-ms = 25000, warm-up-ms = 0 }
        condition = [
            { name = "ordinary" },
            { name = "fifo", measure = { prio = 50 } },
        ]
        [reported."clock_nanosleep, 2 GHz"]
        mean_us = 54
        share_53_us = 0.0002
        share_54_us = 0.9754
        share_55_us = 0.0167
        share_56_us = 0.0058
        share_57_us = 0.0014
        share_58_us = 0.0001
        "#,
        8,
        4,
        |condition, random| {
            const METHODS: [(&str, f64); 5] = [
                ("nanosleep", 50.0),
                ("nanosleep, slack 1 ns", 0.0),
                ("clock_nanosleep absolute, slack 1 ns", -0.05),
                ("timerfd+read", 0.6),
                ("futex wait, slack 1 ns", 0.3),
            ];
            let slack = if condition == "ordinary" { 1.0 } else { 0.0 };
            METHODS
                .iter()
                .map(|&(name, own_us)| {
                    let own_us = if own_us > 10.0 { own_us * slack } else { own_us };
                    let spread = Spread {
                        least_us: 53.6 + own_us,
                        middle_us: 54.2 + own_us,
                        tail_share: 0.05,
                        tail_us: 1.0,
                    };
                    let latencies = spread.in_block(random).draw(1_500, random);
                    let cpu_ns = 1_900.0 + random.f64() * 60.0;
                    let figures = vec![("cpu_mean_ns", cpu_ns)];
                    Drawn { name: name.to_owned(), latencies, figures }
                })
                .collect()
        },
    );
    compared(results)
}

pub(crate) fn rearm() -> Made {
    let mut results = make(
        r#"
        name = "rearm"
        title = "A timer that is moved before it expires"
        source = "Thomas Gleixner, Re: [PATCH] hrtimer: Update softirq_expires_next correctly after __hrtimer_get_next_event(), linux-kernel, 21 April 2021"
        question = "What does it cost to move a timeout, and how often does that program the clock-event device?"
        table = "programmings"
        measure = { kind = "rearm", timeout = "300us", every = "20us" }
        default = { rounds = 8, block-ms = 7500, warm-up-ms = 0 }
        full = { rounds = 40, block-ms = 36000, warm-up-ms = 0 }
        condition = [
            { name = "busy", measure = { pace = "spin" } },
            { name = "sleeping", measure = { pace = "sleep" } },
        ]
        [reported."arm64 phone, hrtimer"]
        programmings_per_move = 0.9006
        "#,
        8,
        5,
        |condition, random| {
            const METHODS: [(&str, f64, f64); 5] = [
                ("timerfd", 0.62, 1.85),
                ("POSIX timer", 0.75, 1.84),
                ("futex, eager", 0.9, 1.6),
                ("futex, lazy", 0.05, 0.075),
                ("Wheel queue", 0.09, 0.08),
            ];
            let is_busy = condition == "busy";
            let mut drawn: Vec<Drawn> = METHODS
                .iter()
                .map(|&(name, call_us, per_move)| {
                    let spread = Spread {
                        least_us: call_us * 0.8,
                        middle_us: if is_busy { call_us } else { call_us * 1.6 },
                        tail_share: 0.01,
                        tail_us: 2.0,
                    };
                    let latencies = spread.in_block(random).draw(1_000, random);
                    let per_move = per_move * if is_busy { 1.0 } else { 0.6 };
                    let programmings = (per_move * (0.97 + random.f64() * 0.06) * 900.0).round();
                    let figures = vec![
                        ("moves", 1_000.0),
                        ("recorded_moves", 900.0),
                        ("programmings", programmings),
                        ("programmings_per_move", programmings / 900.0),
                        ("mover_cpu_ns_per_move", call_us * 900.0),
                    ];
                    Drawn { name: name.to_owned(), latencies, figures }
                })
                .collect();
            let figures = vec![("hz", 250.0)];
            drawn.push(Drawn { name: String::new(), latencies: Counted::default(), figures });
            drawn
        },
    );
    // Ended early, in the middle of a round.
    results.blocks.pop();
    compared(results)
}

pub(crate) fn curve() -> Made {
    let mut results = make(
        r#"
        name = "stacking-curve"
        title = "Latency over the number of sleeping threads"
        source = "Gratian Crisan, latency induced by hrtimer stacking, linux-rt-users, 4 January 2017"
        question = "How late do the sleeps of other threads make a real-time thread?"
        table = "curve"
        measure = { kind = "cyclic", interval = "1ms", prio = 98 }
        kernel-threads = { ktimers = "fifo:1" }
        default = { rounds = 8, block-ms = 1000, warm-up-ms = 100 }
        full = { rounds = 20, block-ms = 10000, warm-up-ms = 500 }
        condition = [
            { name = "idle", at = { threads = 0 } },
            { name = "hard-5", load = "storm:5,fifo=1", at = { threads = 5, context = "hard irq" } },
            { name = "hard-10", load = "storm:10,fifo=1", at = { threads = 10, context = "hard irq" } },
            { name = "hard-40", load = "storm:40,fifo=1", at = { threads = 40, context = "hard irq" } },
            { name = "deferred-5", load = "storm:5", at = { threads = 5, context = "deferred" } },
            { name = "deferred-10", load = "storm:10", at = { threads = 10, context = "deferred" } },
            { name = "deferred-40", load = "storm:40", at = { threads = 40, context = "deferred" }, kernel-threads = { ktimers = "fifo:2" } },
        ]
        [reported.hard-40]
        min_us = 11
        mean_us = 27.5
        max_us = 164
        "#,
        8,
        6,
        |condition, random| {
            let (context, threads) = condition.split_once('-').unwrap_or((condition, "0"));
            let threads: f64 = threads.parse().expect("a number of threads");
            let each = if context == "hard" { 0.18 } else { 0.05 };
            let spread = Spread {
                least_us: 5.0,
                middle_us: 7.2 + threads * each,
                tail_share: 0.02,
                tail_us: 0.5 + threads * each,
            };
            vec![thread("cyclic-0", spread.in_block(random).draw(1_000, random))]
        },
    );
    "counted, 500 MIPS".clone_into(&mut results.run.clock);
    results.run.cpus = 1;
    compared(results)
}
