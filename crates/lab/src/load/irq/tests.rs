use super::{Irq, KNOWN};
use crate::load::{Running, Spec};
use std::time::{Duration, Instant};

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

#[test]
fn written_and_read_again() {
    for (text, shown) in [
        ("irq", "irq:1,kind=ipi,rate=1000"),
        ("irq:2,rate=0,kind=tlb", "irq:2,kind=tlb,rate=0"),
        ("irq,kind=timer,cpu=0,cpu=2-3", "irq:1,kind=timer,rate=1000,cpu=0,cpu=2-3"),
        ("irq,cpu=1-1", "irq:1,kind=ipi,rate=1000,cpu=1"),
    ] {
        assert_eq!(spec(text).to_string(), shown);
        assert_eq!(spec(shown).to_string(), shown);
    }
    for (text, said) in [
        ("irq,kind=smi", "no option `kind=smi`"),
        ("irq,kind=timer,rate=0", "from 1 to 1000000"),
        ("irq,cpu=3-1", "from 3 to"),
        ("irq,cpu=99999", "from 0 to"),
        ("irq:65", "from 1 to 64"),
    ] {
        let error = text.parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let error = spec("irq,kind=timer,cpu=1023").start().err().map(|error| error.to_string());
    let error = error.expect("no machine of ours has so many CPUs");
    assert!(error.contains("CPU 1023 is not one of those"), "{error}");
}

/// What all CPUs have counted, of all lines that are about one of `names`; nothing where there is none.
fn counted(names: &[&str]) -> Option<u64> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let text = read("/proc/interrupts") + &read("/proc/softirqs");
    let lines = text.lines().filter(|line| {
        let about =
            |name: &&str| line.ends_with(*name) || line.trim().starts_with(&format!("{name}:"));
        names.iter().any(about)
    });
    let sum = |line: &str| -> u64 {
        let numbers = line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
        numbers.sum()
    };
    lines.map(sum).reduce(|all, one| all + one)
}

fn done(running: &Running) -> u64 {
    running.work()[0][0].count
}

/// Not all that is done interrupts somebody: others use the CPUs too, and then nobody of ours runs
/// there. But many times as much as others cause in that time.
const ONE_IN: u64 = 50;

/// No fewer are looked at, so that what others cause does not count; and where it still is too few after
/// so many, none of them came.
const DONE: std::ops::Range<u64> = 20_000..5_000_000;

#[test]
fn each_kind_raises_the_counter_that_it_says() {
    let irq = Irq { threads: 1, way: &KNOWN[0], rate: 1, cpus: vec![] };
    let cpus = irq.chosen().unwrap();
    for way in KNOWN {
        if counted(way.raises).is_none() {
            println!("skipped: {}: nobody counts {:?} here", way.name, way.raises);
            continue;
        }
        if cpus.len() < 2 && ["ipi", "tlb", "wake"].contains(&way.name) {
            println!("skipped: {}: one CPU has no other to interrupt", way.name);
            continue;
        }
        let rate = if way.rate_least > 0 { 10_000 } else { 0 };
        let running = spec(&format!("irq,kind={},rate={rate}", way.name)).start().unwrap();
        let (before, done_before) = (counted(way.raises).unwrap(), done(&running));
        let begun = Instant::now();
        loop {
            let (done, raised) =
                (done(&running) - done_before, counted(way.raises).unwrap() - before);
            if done >= DONE.start && raised >= done / ONE_IN {
                println!("{}: {done} done, {raised} raised in {:?}", way.name, begun.elapsed());
                break;
            }
            assert!(done < DONE.end, "{}: {done} done, {raised} raised", way.name);
            assert!(begun.elapsed() < Duration::from_secs(120), "{}: {done} done", way.name);
            std::thread::sleep(Duration::from_millis(1));
        }
        let work = running.stop();
        assert_eq!(work[0].len(), 1, "{work:?}");
    }
}
