//! Waits for locks, and what led to a wakeup: small traces with what must be told of them.
#![allow(missing_docs)]

mod trace;

use std::fmt::Write as _;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_model::{BlockedOn, Culprit, StretchKind};

/// Explains a trace and tells, of each wakeup, its balance by stretches, its boosts and its wakers.
fn told(trace: &str) -> String {
    let watch = Watch::default();
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, Deep::default());
    explainer.batch(&trace::text::parse(trace));
    let (_, deep) = explainer.finish();
    deep.0.trim_end().to_owned()
}

#[derive(Default)]
struct Deep(String);

impl Sink for Deep {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        let out = &mut self.0;
        let name = |culprit| named.label(culprit).name;
        let kind = wakeup.kind.name();
        let _ = write!(out, "{} {kind} {}:", named.victim().name, wakeup.lateness_ns);
        for (at, stretch) in wakeup.stretches.iter().enumerate() {
            let _ = write!(out, " | {}", stretch.kind.name());
            if let StretchKind::Blocked { state, on, holder } = stretch.kind {
                let on = match on {
                    BlockedOn::Unknown => "?".to_owned(),
                    BlockedOn::Futex(address) => format!("futex {address}"),
                    BlockedOn::KernelLock => "kernel".to_owned(),
                    BlockedOn::Page => "page".to_owned(),
                };
                let holder = name(Culprit::Task(holder));
                let _ = write!(out, " {} on {on} of {holder}", state.letter());
            }
            let _ = write!(out, " {}:", stretch.ns);
            let mut sum = 0;
            for (segment, label) in named.segments().filter(|(s, _)| s.stretch == at as u16) {
                let _ = write!(out, " {} {} {},", segment.cause.0, segment.ns, label.name);
                sum += segment.ns;
            }
            assert_eq!(sum, stretch.ns, "a stretch is the sum of its segments");
        }
        for boost in &wakeup.boosts {
            let how = if boost.released { "releases" } else { "boosts" };
            let target = name(Culprit::Task(boost.target));
            let _ = write!(out, " @{} {how} {target} {}>{}", boost.time_ns, boost.from, boost.to);
            if boost.in_unlock {
                out.push_str(" in unlock");
            }
            if let Some(instead) = boost.instead {
                let _ = write!(out, " while {} runs", name(Culprit::Task(instead)));
            }
        }
        for link in &wakeup.chain {
            let _ = write!(out, " <- {} at {}", name(link.by), link.time_ns);
            let work = name(Culprit::Function(link.work));
            if !work.is_empty() {
                let _ = write!(out, " for {work}");
            }
        }
        out.push('\n');
    }
}

macro_rules! stories {
    ($($name:ident: $trace:expr => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(told($trace), $expected);
        }
    )*};
}

stories! {
    a_second_boost_within_one_lock_call: trace::DOUBLE_BOOST => "high task 6000: <- low at 295000\n\
          high task 4000: <- low at 352000\n\
          high lock 141000: | kernel 37000: own_kernel_work 37000 high, \
          | blocked S on futex 11524 of low 35000: lock 2000 trace-cmd, lock 27000 low, not_preemptible 6000 busy, \
          | kernel 36000: own_kernel_work 36000 high, \
          | blocked D on kernel of low 19000: lock 3000 trace-cmd, lock 12000 low, not_preemptible 4000 busy, \
          | kernel 14000: own_kernel_work 14000 high, \
          @248000 boosts low 120>40 while trace-cmd runs @300000 releases low 40>120 in unlock \
          @321000 boosts low 120>40 in unlock while trace-cmd runs @356000 releases low 40>120 in unlock <- low at 352000";

    a_lock_that_is_free_is_no_wakeup: "
        task 12 high syscalls
        229 1 12 futex LOCK_PI 11524
        240 1 12 return
    " => "";

    // Its first wakeup ends where it ran, or its waits for locks would be that one's.
    a_thread_that_somebody_started_waits_for_a_lock: "
        task 12 high syscalls
        task 11 low
          1 0 0 switch R 11 120
          2 0 11 new 12 on 1 prio 40
          5 1 0 switch R 12 40
          9 1 12 return
        100 1 12 futex LOCK_PI 4096
        101 1 12 boost 11 120 40
        110 1 12 switch S 0 120
        120 0 11 waking 12 on 1 prio 40
        125 1 0 switch R 12 40
        130 1 12 return
    " => "high new 3: <- low at 2\n\
          high task 5: <- low at 120\n\
          high lock 30: | kernel 10: own_kernel_work 10 high, \
          | blocked S on futex 4096 of low 15: lock 10 low, idle_exit 5 idle loop, \
          | kernel 5: own_kernel_work 5 high, @101 boosts low 120>40 <- low at 120";

    // 12 waits for 11, which waits for 10; 10 is kept from its CPU by 8.
    a_chain_of_holders: "
        task 12 high syscalls
        task 11 middle
        task 10 low
        task 8 hog
          1 0 10 switch R 8 120
          2 1 0 switch R 11 120
          5 1 11 boost 10 120 110
          6 1 11 switch S 12 40
        100 1 12 futex LOCK_PI 4096
        101 1 12 boost 11 110 40
        102 1 12 boost 10 110 40
        110 1 12 switch S 0 120 40
        130 0 8 switch R 10 40
        150 0 10 waking 11 on 1 prio 40
        155 1 0 switch R 11 40
        160 1 11 waking 12 on 1 prio 40
        163 1 11 switch R 12 40 40
        170 1 12 return
    " => "high task 3: <- middle at 160 <- low at 150\n\
          high lock 70: | kernel 10: own_kernel_work 10 high, \
          | blocked S on futex 4096 of middle 53: lock 20 hog, lock 20 low, lock 10 middle, \
          cpu_contention 3 middle, | kernel 7: own_kernel_work 7 high, \
          @101 boosts middle 110>40 @102 boosts low 110>40 while hog runs <- middle at 160 <- low at 150";

    // The same, but the middle one comes to wait only after the first does.
    a_chain_that_grows: "
        task 12 high syscalls
        task 11 middle
        task 10 low
          1 0 0 switch R 11 120
          2 1 0 switch R 12 40
        100 1 12 futex LOCK_PI 4096
        101 1 12 boost 11 120 40
        110 1 12 switch S 10 120 40
        120 0 11 boost 10 120 40
        121 0 11 switch S 0 120
        140 1 10 waking 11 on 0 prio 40
        145 0 0 switch R 11 40
        150 0 11 waking 12 on 1 prio 40
        152 1 10 switch R 12 40 40
        160 1 12 return
    " => "high task 2: <- middle at 150 <- low at 140\n\
          high lock 60: | kernel 10: own_kernel_work 10 high, \
          | blocked S on futex 4096 of middle 42: lock 11 middle, lock 19 low, lock 10 middle, \
          cpu_contention 2 low, | kernel 8: own_kernel_work 8 high, \
          @101 boosts middle 120>40 @120 boosts low 120>40 <- middle at 150 <- low at 140";

    // No inheritance: the holder is who ends the wait, and somebody of lower priority than the waiter ran instead.
    a_plain_mutex_inverted: "
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
    " => "high task 5: <- low at 145\n\
          high lock 145: | kernel 2: own_kernel_work 2 high, \
          | blocked S on futex 4096 of low 138: lock 8 low, lock 100 medium, lock 25 low, \
          idle_exit 5 idle loop, \
          | kernel 5: own_kernel_work 5 high, <- low at 145";

    // Waiting for a condition is nobody's fault; waiting for its lock is.
    a_condition_that_goes_with_a_lock: "
        task 12 high syscalls
        task 11 low syscalls
          1 0 0 switch R 11 120
          2 1 0 switch R 12 40
         10 1 12 futex WAIT_REQUEUE_PI 4096
         12 1 12 switch S 0 120
        900 0 11 futex CMP_REQUEUE_PI 4096
        902 0 11 return
        940 0 11 futex UNLOCK_PI 8192
        945 0 11 waking 12 on 1 prio 40
        950 1 0 switch R 12 40
        955 1 12 return
    " => "high task 5: <- low at 945\n\
          high lock 55: | blocked S on futex 4096 of low 50: lock 45 low, idle_exit 5 idle loop, \
          | kernel 5: own_kernel_work 5 high, <- low at 945";

    a_timer_wakes_a_kworker_that_wakes_the_victim: "
        task 7 reader watched
        task 30 kworker/0:1 kernel
        timer 1 delayed_work_timer_fn list
        timer 2 flush_to_ldisc
          1 0 0 irq+ local_timer
          2 0 0 softirq+ 1
          3 0 0 expire+ 1 soft 1 slack 0 softirq
          4 0 0 waking 30 on 0 prio 120
          5 0 0 expire- 1
          6 0 0 softirq- 1
          7 0 0 irq- local_timer
          9 0 0 switch R 30 120
         10 0 30 work 1002
         20 0 30 waking 7 on 0 prio 120
         21 0 30 work-done
         25 0 30 switch S 7 120
    " => "reader task 5: <- kworker/0:1 at 20 for flush_to_ldisc <- delayed_work_timer_fn at 4";

    a_page_that_was_not_there: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 0 120
        1000 0 0 irq+ local_timer
        1000 0 0 expire+ 1 soft 1000 slack 0
        1000 0 0 waking 7 on 0 prio 19
        1000 0 0 expire- 1
        1000 0 0 irq- local_timer
        1000 0 0 switch R 7 19
        1004 0 7 fault 4096
        1010 0 7 switch D 0 120
        1100 0 0 irq+ 26
        1101 0 0 waking 7 on 0 prio 19
        1102 0 0 irq- 26
        1105 0 0 switch R 7 19
        1107 0 7 mark 1000
    " => "cyclic timer 107: | kernel 10: own_kernel_work 4 cyclic, page_fault 6 cyclic, \
          | blocked D on page of the idle task 95: page_fault 91 , interrupts 1  (irq 26), idle_exit 3 idle loop, \
          | kernel 2: own_kernel_work 2 cyclic,";
}
