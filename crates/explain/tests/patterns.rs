//! Stories that are known, each in a small trace of its own, and in one that is nearly it.
#![allow(missing_docs)]

mod trace;

use tardy_explain::{Explanation, Watch};

fn explained(trace: &str) -> Explanation {
    trace::explain(trace, Watch::default()).1
}

/// The names of what is found.
fn found(trace: &str) -> Vec<&'static str> {
    explained(trace).patterns.iter().map(|finding| finding.name).collect()
}

/// What a trace's only finding says, with how much it says it of.
fn words(trace: &str) -> String {
    let explanation = explained(trace);
    let [finding] = explanation.patterns.as_slice() else {
        panic!("{:?}", explanation.patterns);
    };
    format!("{} ns: {}", finding.found.ns, finding.words)
}

const DOUBLE_BOOST: &str = "
    task 12 high syscalls
    task 11 low
    task 8 trace-cmd
    task 13 busy
    229000 1 12 futex LOCK_PI 11524
    230000 0 11 switch R 8 120
    248000 1 12 boost 11 120 40
    266000 1 12 switch S 13 41 40
    268000 0 8 switch R 11 40
    280000 0 11 futex UNLOCK_PI 11524
    295000 0 11 waking 12 on 1 prio 40
    300000 0 11 unboost 11 40 120
    301000 1 13 switch R 12 40 41
    316000 0 11 switch R 8 120
    321000 1 12 boost 11 120 40
    337000 1 12 switch D 13 41 40
    340000 0 8 switch R 11 40
    352000 0 11 waking 12 on 1 prio 40
    356000 0 11 unboost 11 40 120
    356000 1 13 switch R 12 40 41
    370000 1 12 return
";

#[test]
fn double_boost() {
    assert_eq!(
        words(DOUBLE_BOOST),
        "55000 ns: 1 of 1 wakeups: the owner of a PI lock was put back to its own priority before it \
         had finished its unlock, so high got the user's lock, ran into one inside the kernel that the \
         owner still held, and boosted it a second time; that cost 55.0 µs of 141 µs in the worst lock \
         call. It is the kernel's doing, not the program's: use a kernel that wakes before it deboosts, \
         or keep the owner from being preempted in its unlock (a CPU of its own, or a real-time \
         priority)."
    );
}

#[test]
fn boosts_that_are_no_double_boost() {
    // Boosted further by a second waiter while it holds the same lock.
    let twice_by_others = "
        task 12 high syscalls
        task 11 low
          1 0 0 switch R 11 120
          2 1 0 switch R 12 40
        100 1 12 futex LOCK_PI 4096
        101 1 12 boost 11 120 40
        110 1 12 switch S 14 30
        115 1 14 boost 11 40 30
        120 1 14 switch S 0 120
        150 0 11 waking 12 on 1 prio 40
        152 0 11 unboost 11 30 120
        155 1 0 switch R 12 40
        160 1 12 return
    ";
    assert_eq!(found(twice_by_others), [] as [&str; 0]);
    // Two calls, each with its own boost.
    let one_each = "
        task 12 high syscalls
        task 11 low
          1 0 0 switch R 11 120
          2 1 0 switch R 12 40
        100 1 12 futex LOCK_PI 4096
        101 1 12 boost 11 120 40
        110 1 12 switch S 0 120
        150 0 11 waking 12 on 1 prio 40
        152 0 11 unboost 11 40 120
        155 1 0 switch R 12 40
        160 1 12 return
        200 1 12 futex LOCK_PI 4096
        201 1 12 boost 11 120 40
        210 1 12 switch S 0 120
        250 0 11 waking 12 on 1 prio 40
        252 0 11 unboost 11 40 120
        255 1 0 switch R 12 40
        260 1 12 return
    ";
    assert_eq!(found(one_each), [] as [&str; 0]);
    // The lock was lost to another: the owner took it again, in user space, outside any unlock.
    let stolen = DOUBLE_BOOST
        .replace("280000 0 11 futex UNLOCK_PI 11524", "280000 0 11 futex WAKE 11524")
        .replace("switch D 13", "switch S 13");
    assert_eq!(found(&stolen), [] as [&str; 0]);
}

#[test]
fn inversion() {
    let trace = "
        task 12 high syscalls
        task 11 low
        task 9 medium
          1 0 0 switch R 11 120
          2 1 0 switch R 12 40
         10 1 12 futex WAIT 4096 2
         12 1 12 switch S 0 120
         20 0 11 switch R 9 80
        120 0 9 switch S 11 120
        140 0 11 futex WAKE 4096
        145 0 11 waking 12 on 1 prio 40
        150 1 0 switch R 12 40
        155 1 12 return
    ";
    assert_eq!(
        words(trace),
        "100 ns: medium ran while high waited for a lock whose holder could not run: 69 % of \
         all lateness, 0.10 µs of 0.14 µs in the worst call. Make it a mutex with PTHREAD_PRIO_INHERIT, \
         or hold it only where nobody of lower priority than the waiters can interrupt."
    );
    // A condition is waited for, not a lock.
    assert_eq!(found(&trace.replace("WAIT 4096 2", "WAIT 4096 7")), [] as [&str; 0]);
}

#[test]
fn stacking() {
    let trace = "
        task 7 cyclic marks
        task 21 storm-1
        task 22 storm-2
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
        timer 3 hrtimer_wakeup owner 22
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1002 0 20 expire+ 2 soft 990 slack 0
        1007 0 20 expire- 2
        1007 0 20 expire+ 3 soft 991 slack 0
        1010 0 20 expire- 3
        1010 0 20 expire+ 1 soft 1000 slack 0
        1012 0 20 waking 7 on 0 prio 19
        1013 0 20 expire- 1
        1018 0 20 irq- local_timer
        1021 0 20 switch R 7 19
        1023 0 7 mark 1000
    ";
    assert_eq!(
        words(trace),
        "8 ns: In 1 of 1 wakeups 2 other timers (at most 2) ran first in the same interrupt, 35 % of \
         all lateness and up to 0.01 µs at once; they belong to storm-1 (hrtimer_wakeup) and storm-2 \
         (hrtimer_wakeup). Have fewer threads sleep on timers that expire together, move them to \
         another CPU, or, on PREEMPT_RT, take real-time priority from those that need none, so that \
         their timers expire in softirq."
    );
    let alone = trace.replace("expire+ 3 soft 991", "expire+ 2 soft 991");
    assert_eq!(found(&alone), [] as [&str; 0], "one timer is no stack");
}
