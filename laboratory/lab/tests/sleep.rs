//! Does the comparison of sleeps keep its promises on a live kernel?

use rustix::thread::current_timer_slack;
use tardy_lab::sleep::{KNOWN, Kind, MethodMeasurement, Plan, SleepError, compare, start};

#[test]
fn every_method_sleeps_once_a_round_and_never_too_short() {
    let plan = Plan { rounds: 50, request_ns: 20_000, ..Plan::default() };
    let slack_ns = current_timer_slack().unwrap();
    let measurement = start(&plan).unwrap().finish().unwrap();
    assert_eq!(current_timer_slack().unwrap(), slack_ns, "ours is not the measuring thread's");
    assert_eq!((measurement.rounds, measurement.slack_ns), (50, slack_ns));
    let (absent, present): (Vec<&Kind>, Vec<&Kind>) = KNOWN.iter().partition(|kind| {
        let left_out = format!("{} was left out", kind.name);
        measurement.notes.iter().any(|note| note.starts_with(&left_out))
    });
    let of_patched_kernels = ["nanosleep_u64", "hr_sleep"];
    assert!(
        absent.iter().all(|kind| of_patched_kernels.contains(&kind.name)),
        "{:?}",
        measurement.notes
    );
    let methods: usize = present.iter().map(|kind| kind.slacks.len()).sum();
    assert_eq!(measurement.methods.len(), methods);
    for method in &measurement.methods {
        assert_eq!((method.elapsed.count(), method.cpu.count()), (50, 50));
        assert_eq!(method.series.len(), 50);
        assert_eq!(method.micros.iter().map(|&(_, count)| count).sum::<u64>(), 50);
        assert!(method.elapsed.min_ns() >= 20_000, "{} came early", method.name());
        assert_eq!(method.early, 0, "{}", method.name());
    }
    let pairs = compare(&measurement).pairs;
    assert_eq!(pairs.len(), methods * (methods - 1) / 2);
}

#[test]
fn chosen_methods_alone_are_measured() {
    let names = |methods: &[&str]| {
        let methods = methods.iter().map(|&name| name.to_owned()).collect();
        let plan = Plan { rounds: 2, request_ns: 1000, methods, ..Plan::default() };
        let measurement = start(&plan)?.finish()?;
        Ok::<_, SleepError>(measurement.methods.iter().map(MethodMeasurement::name).collect())
    };
    let chosen: Vec<String> = names(&["futex timeout", "nanosleep"]).unwrap();
    assert_eq!(chosen, ["nanosleep", "nanosleep, slack 1 ns", "futex timeout"]);
    let chosen: Vec<String> = names(&["nanosleep, slack 1 ns"]).unwrap();
    assert_eq!(chosen, ["nanosleep, slack 1 ns"]);

    let error = names(&["nanosleep", "doze"]).unwrap_err().to_string();
    assert!(error.contains("\"doze\""), "{error}");
    assert!(error.contains("; nanosleep, slack 1 ns; "), "{error}");
}

#[test]
fn stopped_it_keeps_what_is_there() {
    let plan = Plan { rounds: 1_000_000, ..Plan::default() };
    let running = start(&plan).unwrap();
    while running.rounds() < 3 {
        std::thread::yield_now();
    }
    running.stop();
    let measurement = running.finish().unwrap();
    assert!((3..1_000_000).contains(&measurement.rounds));
    for method in &measurement.methods {
        assert_eq!(method.elapsed.count(), measurement.rounds);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (plan, named) in [
        (Plan { request_ns: 0, ..Plan::default() }, "0 ns"),
        (Plan { request_ns: 2_000_000_000, ..Plan::default() }, "2000000000 ns"),
        (Plan { rounds: 0, ..Plan::default() }, "0 rounds"),
    ] {
        let error: SleepError = start(&plan).err().unwrap();
        assert!(error.to_string().contains(named), "{error}");
    }
    let nowhere = Plan { cpu: Some(1000), rounds: 1, ..Plan::default() };
    let error = start(&nowhere).unwrap().finish().unwrap_err();
    assert!(matches!(error, SleepError::Cpu { cpu: 1000, .. }), "{error}");
}
