//! Sixteen hours of cyclictest on a Zynq 7020 (Jan Altenberg, "hrtimers: delay", 2016): is what a hundredth of them says of
//! the tail true of all of them?
use std::time::Instant;
use tardy_stats::Counted;
use tardy_stats::tail::{Question, tail};

const FILE: &str =
    include_str!("../../sources/import/tests/data/histogram/zynq-2016-timer-load.hist");

/// The values of one thread; a bin stands for times from its µs to below the next.
fn thread(column: usize) -> Counted {
    let lines = FILE.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let number = |text: &str| text.parse::<u64>().unwrap();
    Counted::new(lines.map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        (number(cells[0]) * 1_000, number(cells[1 + column]))
    }))
}

/// Which of `count` are drawn where each is with the chance `share`.
fn thinned(count: u64, share: f64, random: &mut fastrand::Rng) -> u64 {
    const EXACT_MAX: u64 = 200_000;
    if count > EXACT_MAX {
        // Far from the tail: how many they are matters, not by how little they are off.
        let mean = count as f64 * share;
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        return (mean + normal * (mean * (1.0 - share)).sqrt()).round() as u64;
    }
    // From one that is drawn to the next: geometric.
    let mut drawn = 0;
    let mut at = 0.0;
    loop {
        at += (1.0 - random.f64()).ln() / (-share).ln_1p();
        at = at.floor() + 1.0;
        if at > count as f64 {
            return drawn;
        }
        drawn += 1;
    }
}

#[test]
fn explore() {
    for column in [0, 1] {
        let all = thread(column);
        let t = Instant::now();
        let whole = tail(&all, &Question { resolution_ns: 1_000, ..Question::default() });
        match &whole {
            Ok(tail) => {
                for c in &tail.tried {
                    println!("  {c:?}");
                }
                println!("{:?} {:?} {:?}", tail.chosen, tail.shape_low, tail.tried.len());
                for one_in in [1e9, 1e10, 1e11] {
                    println!("{:?}", tail.level(one_in));
                }
                println!("{:?}", tail.maximum_of(all.count()));
            }
            Err(why) => println!("{why}"),
        }
        println!("{:?}", t.elapsed());
        let mut held = 0;
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let drawn = Counted::new(
                all.classes().iter().map(|&(ns, count)| (ns, thinned(count, 0.01, &mut random))),
            );
            let question = Question { resolution_ns: 1_000, ..Question::default() };
            match tail(&drawn, &question) {
                Ok(tail) => {
                    let maximum = tail.maximum_of(all.count() - drawn.count()).unwrap();
                    let level = tail.level(1e9).unwrap();
                    let truth = all.max_ns().unwrap();
                    let ok = maximum.low_ns <= truth && truth <= maximum.high_ns;
                    held += i32::from(ok);
                    println!(
                        "{column} {seed} n {} max {} u {} m {} shape {:.3} ({:.2} {:.2}) scale {:.0} p {:.2} | max {}-{}-{} {ok} | 1e9 {}-{}-{}",
                        drawn.count(),
                        drawn.max_ns().unwrap(),
                        tail.chosen.threshold_ns,
                        tail.chosen.exceedances,
                        tail.chosen.gpd.shape,
                        tail.shape_low,
                        tail.shape_high,
                        tail.chosen.gpd.scale_ns,
                        tail.chosen.p,
                        maximum.low_ns,
                        maximum.median_ns,
                        maximum.high_ns,
                        level.low_ns,
                        level.ns,
                        level.high_ns
                    );
                }
                Err(why) => println!("{column} {seed}: {why}"),
            }
        }
        println!("held {held}");
    }
}
