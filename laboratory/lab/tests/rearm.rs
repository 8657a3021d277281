//! Does a timeout that is moved come when it must, and only then?

use std::time::Duration;
use tardy_lab::rearm::{KNOWN, Pace, Plan, RearmError, start};

#[test]
fn each_pause_brings_its_timeout_and_no_move_does() {
    for pace in [Pace::Spin, Pace::Sleep] {
        let plan = Plan { duration: Duration::from_millis(150), pace, ..Plan::default() };
        let measurement = start(&plan).unwrap().finish().unwrap();
        assert_eq!(measurement.methods.len(), KNOWN.len());
        for method in &measurement.methods {
            assert!(method.moves > 0 && method.pauses > 0, "{}", method.name);
            assert_eq!(method.call.count(), method.moves);
            assert!(method.delivered_as_expected(), "{method:?}");
            assert!(method.waiter != measurement.mover && method.waiter > 0, "{method:?}");
            let turned: u64 = method.turns.iter().map(|turn| turn.moves).sum();
            assert_eq!(turned, method.moves, "each move is in a turn of {}", method.name);
            assert!((1..=method.moves).contains(&method.mover_cpu.samples), "{method:?}");
        }
        let mut turns: Vec<_> = measurement.methods.iter().flat_map(|it| &it.turns).collect();
        turns.sort_unstable_by_key(|turn| turn.start_ns);
        let apart = turns.windows(2).all(|two| two[0].end_ns <= two[1].start_ns);
        assert!(apart, "while one method has its turn no other one moves");
        let timers = |name: &str| {
            let method = measurement.methods.iter().find(|method| method.name == name);
            method.map_or((0, 0), |method| (method.kernel_timers.unwrap_or(0), method.moves))
        };
        for name in ["timerfd", "POSIX timer"] {
            let (timers_asked, moves) = timers(name);
            assert_eq!(timers_asked, moves, "each move of {name} is a system call");
        }
        for name in ["futex, lazy", "LazyRearm queue", "Wheel queue"] {
            let (lazy, moves) = timers(name);
            assert!(0 < lazy && lazy < moves, "{lazy} timers for {moves} moves: {name}");
        }
    }
}

#[test]
fn stopped_it_keeps_what_is_there() {
    let plan = Plan { duration: Duration::from_secs(3600), ..Plan::default() };
    let running = start(&plan).unwrap();
    assert!(!running.wait(Duration::from_millis(200)));
    running.stop();
    let measurement = running.finish().unwrap();
    assert!(measurement.methods.iter().any(|method| method.moves > 0));
}

#[test]
fn times_that_do_not_fit_are_refused() {
    for (timeout_ns, every_ns) in [(300_000, 0), (300_000, 300_000), (2_000_000_000, 20_000)] {
        let plan = Plan { timeout_ns, every_ns, ..Plan::default() };
        assert!(matches!(start(&plan).err(), Some(RearmError::Times { .. })));
    }
}
