//! What measuring costs, and what is taken from a measurement while it runs. Nothing here asserts a time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tardy_lab::ThreadUsage;
use tardy_lab::cyclic::{Part, Plan, prepare};
use tardy_model::{Event, Kind};

/// Memory is locked for the whole process, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn after_the_warm_up_ten_thousand_cycles_fault_no_page() {
    let _alone = alone();
    let plan = Plan {
        interval_ns: 200_000,
        loops: Some(10_000),
        histogram_us: Some(1000),
        marks: true,
        ..Plan::default()
    };
    let prepared = prepare(&plan).unwrap();
    let is_locked = !prepared.notes().iter().any(|note| note.contains("could not be locked"));
    let measurement = prepared.start().finish();
    for thread in &measurement.threads {
        let usage = thread.usage.expect("this kernel tells");
        assert_eq!(thread.latencies.count(), 10_000);
        let cost = thread.own_cost.expect("it was calibrated");
        assert!(cost.samples > 0 && cost.min_ns <= cost.median_ns, "{cost:?}");
        if is_locked {
            assert_eq!(usage.faults(), 0, "{}: {usage:?}", thread.name);
        }
    }
    if is_locked {
        assert!(!measurement.notes.iter().any(|note| note.contains("page fault")));
    } else {
        println!("skipped: memory may not be locked here");
    }
}

#[test]
fn each_wait_is_a_voluntary_switch() {
    let _alone = alone();
    let plan = Plan { loops: Some(100), ..Plan::default() };
    for thread in prepare(&plan).unwrap().start().finish().threads {
        let Some(ThreadUsage { voluntary_switches, .. }) = thread.usage else { continue };
        // An expiry that comes while the thread goes to sleep needs no switch.
        assert!((1..=101).contains(&voluntary_switches), "{:?}", thread.usage);
    }
}

#[test]
fn the_parts_of_all_cuts_are_the_samples_in_their_order() {
    const CUTS: usize = 25;
    let _alone = alone();
    let plan = Plan { interval_ns: 250_000, marks: true, ..Plan::default() };
    let mut prepared = prepare(&plan).unwrap();
    let mut marks = prepared.take_marks();
    let mut running = prepared.start();
    let mut cuts: Vec<Vec<Part>> = vec![];
    while cuts.len() < CUTS {
        // Some hold many samples, some the one that changed them over.
        std::thread::sleep(Duration::from_millis(cuts.len() as u64 % 5));
        cuts.push(running.cut());
    }
    running.stop();
    assert!(running.wait(Duration::from_secs(60)));
    cuts.push(running.cut());
    assert!(running.cut().iter().all(|part| part.latencies.count() == 0), "nothing is left");
    let measurement = running.finish();
    for (index, thread) in measurement.threads.iter().enumerate() {
        let mut events: Vec<Event> = vec![];
        marks[index].drain(&mut events);
        let mut marked = events.iter().map(|event| {
            let Kind::Mark(mark) = event.kind() else { panic!("{event:?}") };
            event.time_ns - mark.expiry_ns
        });
        let mut overruns = 0;
        for (cut, parts) in cuts.iter().enumerate() {
            let Part { latencies, overruns: missed, blocking } = &parts[index];
            assert_eq!(blocking.count(), latencies.count());
            assert!(latencies.count() > 0 || cut == CUTS, "a cut waits for a return");
            let all_ns: Vec<u64> = marked.by_ref().take(latencies.count() as usize).collect();
            assert_eq!(all_ns.len() as u64, latencies.count());
            assert_eq!(all_ns.iter().map(|&ns| u128::from(ns)).sum::<u128>(), latencies.sum_ns());
            assert_eq!(all_ns.iter().max().copied().unwrap_or(0), latencies.max_ns());
            overruns += missed;
        }
        assert_eq!(marked.next(), None, "every sample is in a part");
        assert_eq!(events.len() as u64, thread.latencies.count(), "and in the whole");
        assert_eq!(thread.overruns, overruns);
        assert_eq!(thread.blocking.count(), thread.latencies.count());
    }
}

#[test]
fn a_cut_of_threads_that_end_by_themselves_comes_back() {
    let _alone = alone();
    let plan = Plan { loops: Some(3), threads: Some(2), ..Plan::default() };
    let mut running = prepare(&plan).unwrap().start();
    let mut whole = [0, 0];
    for _ in 0..5 {
        for (sum, part) in whole.iter_mut().zip(running.cut()) {
            *sum += part.latencies.count();
        }
    }
    assert_eq!(whole, [3, 3]);
    assert!(running.finish().threads.iter().all(|thread| thread.latencies.count() == 3));
}
