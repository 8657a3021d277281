//! Sixteen hours of cyclictest on a Zynq 7020, two threads of 243 million samples each: does a
//! hundredth of them tell the maximum of all?
//!
//! A histogram has no time, so "the first 1 %" is read as a hundredth drawn by chance, and what is to
//! be told is the maximum of the 99 % that were not drawn.

use tardy_stats::Counted;
use tardy_stats::tail::{Question, Refusal, Tail, tail};

const FILE: &str = include_str!(
    "../../../diagnosis/sources/import/tests/data/histogram/zynq-2016-timer-load.hist"
);

/// The width of its bins.
const BIN_NS: u64 = 1_000;

const DRAWS: u64 = 20;

/// The values of one thread.
fn thread(column: usize) -> Counted {
    let lines = FILE.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let number = |text: &str| text.parse::<u64>().unwrap();
    Counted::new(lines.map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        (number(cells[0]) * BIN_NS, number(cells[1 + column]))
    }))
}

fn estimate(counted: &Counted) -> Result<Tail, Refusal> {
    tail(counted, &Question { resolution_ns: BIN_NS, ..Question::default() })
}

/// Each with the chance `share`: (drawn, not drawn).
fn split(all: &Counted, share: f64, random: &mut fastrand::Rng) -> (Counted, Counted) {
    let drawn: Vec<(u64, u64)> =
        all.classes().iter().map(|&(ns, count)| (ns, binomial(count, share, random))).collect();
    let left = all.classes().iter().zip(&drawn).map(|(all, drawn)| (all.0, all.1 - drawn.1));
    let left = Counted::new(left.collect::<Vec<_>>());
    (Counted::new(drawn), left)
}

fn binomial(count: u64, share: f64, random: &mut fastrand::Rng) -> u64 {
    const EXACT_MAX: u64 = 200_000;
    if count > EXACT_MAX {
        // Such classes are far below any threshold: only their sum matters, and that hardly.
        let mean = count as f64 * share;
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        return (mean + normal * (mean * (1.0 - share)).sqrt()).round() as u64;
    }
    // From one that is drawn to the next: geometric.
    let mut drawn = 0;
    let mut at = 0.0;
    loop {
        at += ((1.0 - random.f64()).ln() / (-share).ln_1p()).floor() + 1.0;
        if at > count as f64 {
            return drawn;
        }
        drawn += 1;
    }
}

#[test]
fn the_figures_are_those_that_cyclictest_told() {
    for (column, n, max_us, mean_us) in [(0, 243_037_975, 164, 26), (1, 243_037_770, 154, 29)] {
        let counted = thread(column);
        assert_eq!(counted.count(), n);
        let (min_ns, max_ns) = (counted.min_ns().unwrap(), counted.max_ns().unwrap());
        assert_eq!((min_ns / 1_000, max_ns / 1_000), (11, max_us));
        assert_eq!((counted.mean_ns() / 1e3) as u64, mean_us);
        for q in [0.999, 0.999_999] {
            let quantile = counted.quantile(q).unwrap();
            let (low_ns, high_ns) = (quantile.low_ns.unwrap(), quantile.high_ns.unwrap());
            assert!(low_ns <= quantile.ns && quantile.ns <= high_ns, "{quantile:?}");
            // Of 243 beyond, a standard deviation is 16: well within 2 µs.
            assert!(high_ns - low_ns <= 2_000, "{quantile:?}");
            println!("thread {column}: {q} is {quantile:?}");
        }
    }
}

#[test]
fn a_hundredth_tells_the_maximum_of_the_rest() {
    for column in [0, 1] {
        let all = thread(column);
        let (mut held, mut refused) = (0, 0);
        for seed in 0..DRAWS {
            let (drawn, left) = split(&all, 0.01, &mut fastrand::Rng::with_seed(seed));
            let truth_ns = left.max_ns().unwrap();
            match estimate(&drawn) {
                Ok(tail) => {
                    let told = tail.maximum_of(left.count()).unwrap();
                    let holds = (told.low_ns..=told.high_ns).contains(&truth_ns);
                    held += u32::from(holds);
                    println!("thread {column}, {seed}: {told:?}, {truth_ns}: {holds}");
                    // An interval that told nothing would hold everything.
                    assert!(told.high_ns < 4 * truth_ns, "{told:?}");
                    assert!(told.low_ns > truth_ns * 2 / 3, "{told:?}");
                }
                Err(why) => {
                    refused += 1;
                    println!("thread {column}, {seed}: {why}");
                }
            }
        }
        println!("thread {column}: {held} of {DRAWS} held, {refused} refused");
        assert!(refused <= 2, "{refused} refused");
        // 95 % of 20 are 19; the chance of fewer than 17 is 1.6 %.
        assert!(held + refused >= 17, "{held} of {DRAWS} held");
    }
}

#[test]
fn all_of_it_bounds_what_another_sixteen_hours_bring() {
    // The longest of two threads on twins of a CPU, under the same load: each is a draw of what the
    // other might have seen, near enough.
    for column in [0, 1] {
        let tail = estimate(&thread(column)).unwrap();
        let told = tail.maximum_of(243_037_000).unwrap();
        let other_ns = thread(1 - column).max_ns().unwrap();
        assert!((told.low_ns..=told.high_ns).contains(&other_ns), "{told:?} {other_ns}");
        let level = tail.level(1e11).unwrap();
        assert!(level.low_ns < level.ns && level.ns < level.high_ns, "{level:?}");
        assert!(matches!(tail.level(1e12), Err(Refusal::TooFar { .. })));
        println!("thread {column}: {told:?} {level:?} from {:?}", tail.chosen);
    }
}
