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

/// Not all that is done interrupts somebody: where others use the CPUs too, nobody of ours runs there
/// most of the time. This much of it does, beyond what others cause;
const ONE_IN: f64 = 50.0;
/// or it is so many times what others cause.
const TIMES: f64 = 3.0;
/// No fewer are looked at.
const RAISED: f64 = 1_000.0;

/// How long others are watched.
const OTHERS: Duration = Duration::from_millis(500);

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
        let (before, begun) = (counted(way.raises).unwrap(), Instant::now());
        std::thread::sleep(OTHERS);
        let others = (counted(way.raises).unwrap() - before) as f64 / begun.elapsed().as_secs_f64();

        let rate = if way.rate_least > 0 { 10_000 } else { 0 };
        let running = spec(&format!("irq,kind={},rate={rate}", way.name)).start().unwrap();
        let (before, begun) = (counted(way.raises).unwrap(), Instant::now());
        let done_before = done(&running);
        loop {
            std::thread::sleep(Duration::from_millis(10));
            let done = (done(&running) - done_before) as f64;
            let raised = (counted(way.raises).unwrap() - before) as f64;
            let others = others * begun.elapsed().as_secs_f64();
            let ours = raised - others;
            if ours >= RAISED && (ours >= done / ONE_IN || raised >= TIMES * others) {
                println!("{}: {done} done, {raised} raised, others {others:.0}", way.name);
                break;
            }
            let seconds = begun.elapsed().as_secs();
            assert!(seconds < 120, "{}: {done} done, {raised} raised, others {others}", way.name);
        }
        let work = running.stop();
        assert_eq!(work[0].len(), 1, "{work:?}");
    }
}
