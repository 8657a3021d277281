//! Stories that are known, each in a small trace of its own, and in one that is nearly it.
#![allow(missing_docs)]

mod trace;

use tardy_explain::{Explanation, Watch};
use trace::DOUBLE_BOOST;

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

#[test]
fn double_boost() {
    assert_eq!(
        words(DOUBLE_BOOST),
        "55000 ns: 1 of 3 wakeups: the owner of a PI lock was put back to its own priority \
         before it had finished its unlock, so high got the user's lock, ran into one inside the \
         kernel that the owner still held, and boosted it a second time; that cost 55.0 µs of 141.0 \
         µs in the worst lock call. The kernel causes this, not the program: use a kernel that \
         wakes before it deboosts, or keep the owner from being preempted in its unlock (a \
         dedicated CPU, or a real-time priority)."
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
        "100 ns: medium (9) ran while high waited for a lock whose holder could not run: 67 % of \
         all lateness, 100 ns of 145 ns in the worst call. Use a mutex with PTHREAD_PRIO_INHERIT, \
         or make sure that no task below the waiters' priority can preempt the holder."
    );
    // The advice is code: nothing that can be set from outside does it. A lock that lends its priority gets none.
    let advises = |trace: &str| {
        let advice = explained(trace).advice;
        advice.iter().any(|it| it.cause.0 == "lock" && it.text.contains("pthread_mutex_init"))
    };
    assert!(advises(trace) && !advises(DOUBLE_BOOST));
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
        "8 ns: In 1 of 1 wakeups 2 other timers (at most 2) ran first in the same interrupt, 35 \
         % of all lateness and up to 8 ns at once: sleep timers of storm-* (2 processes). Let \
         fewer threads sleep on timers that expire together, move them to another CPU, or, on \
         PREEMPT_RT, remove the real-time priority of threads that do not need it, so that their \
         timers expire in softirq."
    );
    let alone = trace.replace("expire+ 3 soft 991", "expire+ 2 soft 991");
    assert_eq!(found(&alone), [] as [&str; 0], "one timer is no stack");
}

const SLACK: &str = "
    task 7 sleeper watched
    timer 1 hrtimer_wakeup owner 7
        20 0 7 switch S 20 120
     48000 0 20 irq+ local_timer
     48001 0 20 expire+ 1 soft 1000 slack 50000
     48003 0 20 waking 7 on 0 prio 120
     48004 0 20 expire- 1
     48005 0 20 irq- local_timer
     48008 0 20 switch R 7 120
";

#[test]
fn default_slack() {
    assert_eq!(
        words(SLACK),
        "47000 ns: In 1 of 1 wakeups the timer fired 47.0 µs late on average, 100 % of all lateness, \
         because it was allowed to: a thread without real-time priority, such as sleeper, has a timer \
         slack of 50 µs by default. Call prctl(PR_SET_TIMERSLACK, 1) in the thread (1 ns \
         is the least), or give it a real-time policy, which has no slack."
    );
    // Somebody chose another slack.
    assert_eq!(found(&SLACK.replace("slack 50000", "slack 49000")), [] as [&str; 0]);
}

/// A spinner of priority 50 is throttled for 50 ms, with others of the fair class taking turns.
const THROTTLED: &str = "
    task 7 cyclic watched
    task 30 spinner
    task 21 make
    task 22 cc1
    timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 30 49
   950000000 0 30 switch R 21 120 49
   960000000 0 21 irq+ local_timer
   960000001 0 21 expire+ 1 soft 960000000 slack 0
   960000002 0 21 waking 7 on 0 prio 19
   960000003 0 21 expire- 1
   960000004 0 21 irq- local_timer
   970000000 0 21 switch R 22 120
   980000000 0 22 switch R 21 120
  1000000000 0 21 switch R 7 19
";

#[test]
fn rt_throttling() {
    assert_eq!(
        words(THROTTLED),
        "39999998 ns: In 1 of 1 wakeups a CPU ran other tasks although a real-time thread waited \
         for it, 100 % of all lateness and up to 40.00 ms at once, when cyclic (real-time priority \
         80) had to wait: the real-time tasks of that CPU had used up their bandwidth, by default \
         950 of every 1000 ms. Find the real-time task that hardly ever sleeps, and make it \
         sleep; if it must not sleep, write -1 to /proc/sys/kernel/sched_rt_runtime_us (since \
         Linux 6.12, 0 to the file runtime of each CPU's fair_server in /sys/kernel/debug/sched)."
    );
    // One task runs on: it was chosen although the spinner could run.
    let runs_on = THROTTLED
        .replace("970000000 0 21 switch R 22 120", "970000000 0 21 irq+ 26")
        .replace("980000000 0 22 switch R 21 120", "980000000 0 21 irq- 26");
    assert!(found(&runs_on).contains(&"rt_throttling"));
    // Nobody was left for it: it may be one that cannot be preempted where it is.
    let runs_on = runs_on.replace("0 30 switch R 21", "0 30 switch S 21");
    assert!(!found(&runs_on).contains(&"rt_throttling"));
    // A thread of the fair class takes its turn after others.
    assert_eq!(found(&THROTTLED.replace("on 0 prio 19", "on 0 prio 120")), [] as [&str; 0]);
    // Passed over for less than a millisecond: it is on its way into the queue.
    let short = THROTTLED
        .replace("0 30 switch R 21", "0 30 switch S 21")
        .replace("970000000", "960100000")
        .replace("980000000", "960200000")
        .replace(" 1000000000", "960900000");
    assert_eq!(found(&short), [] as [&str; 0]);
}

const SOFTIRQ: &str = "
    task 7 poller watched
    task 15 ktimers/0 kernel
    task 20 busy
    timer 1 timerfd_tmrproc owner 7
           1 0 7 switch S 20 89
        1000 0 20 irq+ local_timer
        1001 0 20 raise 8
        1002 0 20 irq- local_timer
        9002 0 20 switch S 15 98 89
        9003 0 15 softirq+ 8
        9004 0 15 expire+ 1 soft 1000 slack 0 softirq
        9005 0 15 waking 7 on 0 prio 19
        9006 0 15 expire- 1
        9007 0 15 switch R 7 19 98
";

#[test]
fn softirq_below() {
    assert_eq!(
        words(SOFTIRQ),
        "8000 ns: In 1 of 1 wakeups busy (20) ran although poller outranks them: its timer expires in a \
         softirq, whose thread had to wait for them (100 % of all lateness, up to 8.0 µs at once). \
         Raise that thread above them (chrt -f -p PRIORITY of ktimers/N, or of ksoftirqd/N where there is \
         none), or sleep with clock_nanosleep under a real-time policy, whose timers need no softirq."
    );
    // What ran outranks the victim as well.
    assert_eq!(found(&SOFTIRQ.replace(" 89", " 9")), [] as [&str; 0]);
    // The victim is of the fair class: there is nobody between.
    assert_eq!(
        found(&SOFTIRQ.replace("prio 19", "prio 120").replace("7 19", "7 120")),
        [] as [&str; 0]
    );
}

const WHEEL: &str = "
    task 7 kthread watched
    timer 1 process_timeout list
    timer 4 tick_nohz_handler
           1 0 7 switch S 20 120
     4000010 0 20 irq+ local_timer
     4000020 0 20 expire+ 4 soft 4000000 slack 0
     4000030 0 20 raise 1
     4000040 0 20 expire- 4
     4000050 0 20 irq- local_timer
     4000050 0 20 softirq+ 1
     4000060 0 20 expire+ 1 soft 1000 slack 0
     4000070 0 20 waking 7 on 0 prio 120
     4000080 0 20 expire- 1
     4000090 0 20 softirq- 1
     4000100 0 20 switch R 7 120
";

#[test]
fn jiffy_timers() {
    assert_eq!(
        words(WHEEL),
        "3999000 ns: In 1 of 1 wakeups the timer (process_timeout) is a timer-wheel timer, which \
         fires only on a tick: it waited 4.00 ms for its tick on average and up to 4.00 ms \
         (kthread), 100 % of all lateness. Use a high-resolution timer instead (clock_nanosleep, \
         timerfd, or usleep_range and schedule_hrtimeout in the kernel); a higher HZ makes the \
         steps smaller."
    );
    let (told, _) = trace::explain(WHEEL, Watch::default());
    assert_eq!(
        told,
        "kthread timer 1000+3999100: coarse_clock 3999000 process_timeout, irq_delay 10 thread 20, \
         interrupts 10 local_timer, stacked_timers 10 tick_nohz_handler, softirq_wait 10 tick_nohz_handler, \
         softirq_wait 10 local_timer, softirq_work 10 TIMER, callback 20 process_timeout, \
         interrupts 10 TIMER, cpu_contention 10 thread 20"
    );
    // Its tick is the one after its expiry: that is as good as a tick can be, and the tick was late.
    let late_tick = WHEEL.replace("soft 4000000", "soft 1000");
    assert_eq!(found(&late_tick), [] as [&str; 0]);
    // A high-resolution timer that is as late.
    assert_eq!(found(&WHEEL.replace("process_timeout list", "hrtimer_wakeup")), [] as [&str; 0]);
}

const DEEP: &str = "
    task 7 cyclic marks
    timer 1 hrtimer_wakeup owner 7
          10 0 7 switch S 0 120
          30 0 0 sleep 3
      101000 0 0 irq+ local_timer
      101100 0 0 expire+ 1 soft 1000 slack 0
      101200 0 0 waking 7 on 0 prio 19
      101300 0 0 expire- 1
      101400 0 0 irq- local_timer
      101500 0 0 awake
      102000 0 0 switch R 7 19
      102100 0 7 mark 1000
";

#[test]
fn deep_idle() {
    assert_eq!(
        words(DEEP),
        "100600 ns: In 1 of 1 wakeups the CPU first had to leave idle state 3, which took 100.6 µs on average \
         and at most 100.6 µs: 100 % of all lateness. A program runs better while cyclictest runs, because \
         cyclictest keeps CPUs out of these states: hold /dev/cpu_dma_latency open with a 0 written to \
         it while latency matters, or disable the states in /sys/devices/system/cpu/cpu*/cpuidle."
    );
    assert_eq!(
        found(&DEEP.replace("sleep 3", "poll 0")),
        [] as [&str; 0],
        "it polls, and is awake"
    );
    let waits = found(&DEEP.replace("sleep 3", "sleep"));
    assert_eq!(waits, [] as [&str; 0], "there is no other state, and nothing to be set");
    // A state was chosen, and nobody wrote down which.
    let unseen = DEEP.replace("30 0 0 sleep 3", "5 0 0 no-idle-states");
    let words = words(&unseen);
    assert!(
        words.contains("first had to leave idle state (not recorded), which took 100.6 µs"),
        "{words}"
    );
    let shallow = DEEP.replace("soft 1000", "soft 97000").replace("mark 1000", "mark 97000");
    assert_eq!(found(&shallow), [] as [&str; 0], "4 µs are not deep");
}

const DEVICE: &str = "
    task 7 cyclic watched
    timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1010 0 20 waking 7 on 0 prio 19
        1010 0 20 expire- 1
        1020 0 20 irq- local_timer
        1020 0 20 irq+ 26
        1320 0 20 irq- 26
        1320 0 20 softirq+ 3
        1420 0 20 softirq- 3
        1500 0 20 switch R 7 19
";

#[test]
fn irq_affinity() {
    assert_eq!(
        words(DEVICE),
        "400 ns: In 1 of 1 wakeups  (irq 26) and softirq NET_RX took the CPU on which the thread \
         was to run, 80 % of all lateness and 400 ns of 500 ns in the worst wakeup, one of \
         cyclic. Keep devices' interrupts off that CPU: write a mask without it to \
         /proc/irq/NUMBER/smp_affinity (and exclude them in irqbalance, which may move them \
         back); softirqs follow the interrupts that raise them."
    );
    // One in sixty wakeups, and short: that is how often a disk is written to.
    let rare: Vec<String> = (0..60)
        .map(|at| {
            let base = 100_000 * (at + 1);
            let device = if at == 0 { "irq+ 26" } else { "irq+ local_timer" };
            format!(
                "{base} 0 20 irq+ local_timer
                 {base} 0 20 expire+ 1 soft {base} slack 0
                 {0} 0 20 waking 7 on 0 prio 19
                 {0} 0 20 expire- 1
                 {1} 0 20 irq- local_timer
                 {1} 0 20 {device}
                 {2} 0 20 {3}
                 {4} 0 20 switch R 7 19
                 {5} 0 7 switch S 20 120\n",
                base + 10,
                base + 20,
                base + 420,
                device.replace('+', "-"),
                base + 500,
                base + 600,
            )
        })
        .collect();
    let head = "task 7 cyclic watched\ntimer 1 hrtimer_wakeup owner 7\n1 0 7 switch S 20 120\n";
    assert_eq!(found(&format!("{head}{}", rare.concat())), [] as [&str; 0]);
    let own = DEVICE.replace("irq+ 26", "irq+ local_timer").replace("irq- 26", "irq- local_timer");
    assert_eq!(
        found(&own.replace("softirq+ 3", "softirq+ 9").replace("softirq- 3", "softirq- 9")),
        [] as [&str; 0]
    );
    let of_clock = DEVICE
        .replace("local_timer", "26")
        .replace("1000 0 20 expire+", "1005 0 20 expire+")
        .replace("softirq+ 3", "softirq+ 9")
        .replace("softirq- 3", "softirq- 9");
    assert_eq!(found(&of_clock), [] as [&str; 0], "where clocks have lines as devices have");
    let of_other = of_clock
        .replace("1020 0 20 irq+ 26", "1020 0 20 irq+ 27")
        .replace("1320 0 20 irq- 26", "1320 0 20 irq- 27");
    assert_eq!(found(&of_other), ["irq_affinity"], "another line is a device's");
}

#[test]
fn an_interrupt_handler_in_a_thread() {
    let threaded = "
        task 7 cyclic watched
        task 30 irq/26-eth0 kernel
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 30 9
        1000 0 30 irq+ local_timer
        1000 0 30 expire+ 1 soft 1000 slack 0
        1010 0 30 waking 7 on 0 prio 19
        1010 0 30 expire- 1
        1020 0 30 irq- local_timer
        1500 0 30 switch S 7 19 9
    ";
    assert!(words(threaded).starts_with("480 ns: In 1 of 1 wakeups irq/26-eth0 (30) took the CPU"));
    // A task of that name is not the kernel's.
    assert_eq!(found(&threaded.replace(" kernel", "")), [] as [&str; 0]);
}

const SPINNER: &str = "
    task 7 cyclic watched
    task 20 spinner
    timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 9
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1010 0 20 waking 7 on 0 prio 19
        1010 0 20 expire- 1
        1020 0 20 irq- local_timer
      400000 0 20 irq+ local_timer
      400100 0 20 irq- local_timer
      700000 0 20 switch S 7 19 9
";

#[test]
fn spinner_above() {
    assert_eq!(
        words(SPINNER),
        "698880 ns: In 1 of 1 wakeups spinner (20) ran first, for 698.9 µs at once on average and \
         at most 698.9 µs, 100 % of all lateness; in the worst one, of cyclic, it had real-time \
         priority 90. Make it sleep or wait for an event instead of polling, or give it a CPU of \
         its own or a priority below the thread's."
    );
    // Two take turns.
    let two = SPINNER
        .replace("400000 0 20 irq+ local_timer", "350000 0 20 switch S 21 9 9")
        .replace("400100 0 20 irq- local_timer", "400100 0 21 switch S 20 9 9");
    assert_eq!(found(&two), [] as [&str; 0]);
    // Of the same priority: first come, first served.
    assert_eq!(found(&SPINNER.replace("20 9", "20 19").replace("19 9", "19 19")), [] as [&str; 0]);
}

/// A timeout that is put off all the time, with a tick each millisecond.
fn storm(moves_apart_ns: u64, ahead_ns: u64) -> String {
    use std::fmt::Write as _;
    let mut trace = String::from(
        "task 9 usb
         timer 4 tick_nohz_handler
         timer 5 tx_timeout
         1 0 9 arm 4 soft 1000000 slack 0
         2 0 9 switch R 9 120\n",
    );
    let mut next_tick_ns = 1_000_000;
    let mut at_ns = 10_000;
    while at_ns < 500_000_000 {
        if at_ns >= next_tick_ns {
            let _ = write!(
                trace,
                "{next_tick_ns} 0 9 irq+ local_timer
                 {next_tick_ns} 0 9 expire+ 4 soft {next_tick_ns} slack 0
                 {0} 0 9 arm 4 soft {1} slack 0
                 {0} 0 9 expire- 4
                 {0} 0 9 irq- local_timer\n",
                next_tick_ns + 100,
                next_tick_ns + 1_000_000,
            );
            next_tick_ns += 1_000_000;
        }
        let _ = write!(
            trace,
            "{at_ns} 0 9 cancel 5
             {at_ns} 0 9 arm 5 soft {} slack 0\n",
            at_ns + ahead_ns
        );
        at_ns += moves_apart_ns;
    }
    trace
}

#[test]
fn device_storm() {
    assert_eq!(
        words(&storm(20_000, 300_000)),
        "0 ns: A timer was moved 24800 times in 0.50 s, 50000 a second, and fired 0 times \
         (tx_timeout timers of usb (9)). That programmed the clock-event device 36000 times a \
         second, 72 % of the moves. High-resolution timers are made to fire, not to be postponed: \
         use the timer wheel in the kernel (mod_timer), in user space move the timeout only when \
         it fires (and check then whether it is due), or arm it once per batch."
    );
    assert_eq!(found(&storm(1_000_000, 30_000_000)), [] as [&str; 0], "a thousand moves a second");
    let sleeps = storm(20_000, 300_000).replace("tx_timeout", "hrtimer_wakeup");
    assert_eq!(found(&sleeps), [] as [&str; 0], "a sleep that ends early is not moved");
    let ticks = storm(20_000, 300_000).replace("tx_timeout", "hrtick");
    assert_eq!(found(&ticks), [] as [&str; 0], "the scheduler's tick is moved at every switch");
}
