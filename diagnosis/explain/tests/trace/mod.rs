//! What is told of the wakeups in a trace.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod text;

use std::fmt::Write as _;
use tardy_explain::{Explainer, Explanation, Named, Options, Sink, Watch};
use text::parse;

/// A thread with a period that is held up beyond its next time, for which it then asks too late.
pub(crate) const HELD_UP: &str = "
    task 7 loop watched
    task 8 hog
    timer 1 hrtimer_wakeup owner 7
     500 0 0 switch S 7 120
    1200 0 7 switch R 8 120
    1700 0 8 switch R 7 120
    1800 0 7 arm 1 soft 1000 slack 0
    1801 0 7 irq+ local_timer
    1801 0 7 expire+ 1 soft 1000 slack 0
    1801 0 7 waking 7 on 0 prio 120
    1801 0 7 woken 7 on 0 prio 120
    1801 0 7 expire- 1
    1801 0 7 irq- local_timer
";

/// "`ARMv7` futex latency spike" (linux-rt-users), in ns from 12165.412 on: the wait within one call for a
/// lock that its author could not tell.
pub(crate) const DOUBLE_BOOST: &str = "
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

/// Explains a trace and tells each wakeup in one line:
/// `NAME KIND EXPIRY+LATENESS[ to user][ touched]: CAUSE NS CULPRIT, …`.
pub(crate) fn told(trace: &str) -> String {
    explain(trace, Watch::default()).0
}

pub(crate) fn explain(trace: &str, watch: Watch) -> (String, Explanation) {
    let mut explainer =
        Explainer::new(Options { watch, ..Options::default() }, TextSink(String::new()));
    explainer.batch(&parse(trace));
    let (explanation, told) = explainer.finish();
    (told.0.trim_end().to_owned(), explanation)
}

struct TextSink(String);

/// Each test is a trace and what is told of it.
#[allow(unused_macros, reason = "not every test binary has such tests")]
macro_rules! stories {
    ($($name:ident: $trace:expr => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(crate::trace::told($trace), $expected);
        }
    )*};
}

impl Sink for TextSink {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        let segments: Vec<String> = named
            .segments()
            .map(|(segment, culprit)| {
                let line = format!("{} {} {}", segment.cause.0, segment.ns, culprit.name);
                line.trim_end().to_owned()
            })
            .collect();
        let _ = writeln!(
            self.0,
            "{} {} {}+{}{}{}: {}",
            named.victim().name,
            wakeup.kind.name(),
            wakeup.expiry_ns,
            wakeup.lateness_ns,
            if wakeup.to_user { " to user" } else { "" },
            if wakeup.touched_by_loss { " touched" } else { "" },
            segments.join(", "),
        );
    }
}
