//! Streams too long to write down: more timers, switches, slacks and threads than are kept. At a bound less
//! may be said, and then a note tells of it; nothing wrong is.

use crate::explained::Explained;
use std::fmt::Write as _;

const HEADER: &str = "# trace_clock: mono\n# tracer: nop\n";
const NS_PER_US: u64 = 1000;
const US_PER_S: u64 = 1_000_000;

/// A text as it grows. Times are microseconds.
struct Text(String);

impl Text {
    fn new() -> Self {
        Self(HEADER.to_owned())
    }

    /// An event of `task` (`NAME-PID`).
    fn at(&mut self, us: u64, cpu: u16, task: &str, event: &str) -> &mut Self {
        let (s, us) = (us / US_PER_S, us % US_PER_S);
        let _ = writeln!(self.0, "{task:>16} [{cpu:03}] d..2. {s}.{us:06}: {event}");
        self
    }

    /// A switch from and to threads, each `NAME PID PRIO`.
    fn switch(&mut self, us: u64, cpu: u16, from: &str, state: &str, to: &str) -> &mut Self {
        let [prev, prev_pid, prev_prio] = three(from);
        let [next, next_pid, next_prio] = three(to);
        let current = if prev_pid == "0" { "<idle>" } else { prev };
        self.at(
            us,
            cpu,
            &format!("{current}-{prev_pid}"),
            &format!(
                "sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio={prev_prio} \
                 prev_state={state} ==> next_comm={next} next_pid={next_pid} next_prio={next_prio}"
            ),
        )
    }

    fn waking(&mut self, us: u64, cpu: u16, by: &str, target_cpu: u16) -> &mut Self {
        let event =
            format!("sched_waking: comm=victim pid=900 prio=120 target_cpu={target_cpu:03}");
        self.at(us, cpu, by, &event)
    }

    fn start(&mut self, us: u64, cpu: u16, task: &str, timer: &Timer<'_>) -> &mut Self {
        let Timer { address, function, soft_ns, slack_ns } = timer;
        let hard_ns = soft_ns + slack_ns;
        let event = format!(
            "hrtimer_start: hrtimer={address:#x} function={function} expires={hard_ns} \
             softexpires={soft_ns} mode=ABS"
        );
        self.at(us, cpu, task, &event)
    }

    fn cancel(&mut self, us: u64, cpu: u16, task: &str, address: u64) -> &mut Self {
        self.at(us, cpu, task, &format!("hrtimer_cancel: hrtimer={address:#x}"))
    }

    /// A callback of a microsecond, in the idle task's timer interrupt.
    fn callback(&mut self, us: u64, cpu: u16, timer: &Timer<'_>, wakes: bool) -> &mut Self {
        let (address, function, now_ns) = (timer.address, timer.function, us * NS_PER_US - 500);
        let entry =
            format!("hrtimer_expire_entry: hrtimer={address:#x} function={function} now={now_ns}");
        self.at(us, cpu, "<idle>-0", &entry);
        if wakes {
            self.waking(us, cpu, "<idle>-0", cpu);
        }
        self.at(us + 1, cpu, "<idle>-0", &format!("hrtimer_expire_exit: hrtimer={address:#x}"))
    }

    fn explain(&self) -> Explained {
        Explained::of(&self.0)
    }
}

struct Timer<'a> {
    address: u64,
    function: &'a str,
    soft_ns: u64,
    slack_ns: u64,
}

const IDLE: &str = "swapper/1 0 120";
const VICTIM: &str = "victim 900 120";

fn three(thread: &str) -> [&str; 3] {
    let words: Vec<&str> = thread.split(' ').collect();
    words.try_into().expect("name, id and priority")
}

/// Nanoseconds of a cause and a culprit, over all wakeups.
fn sum(explained: &Explained, cause: &str, culprit: &str) -> u64 {
    let all = explained.wakeups.iter().flat_map(|shown| &shown.segments);
    let fitting = all.filter(|(known, _, name)| known == cause && name.contains(culprit));
    fitting.map(|(_, ns, _)| ns).sum()
}

/// Whether a note says that something was too much.
fn tells_of_a_bound(explained: &Explained) -> bool {
    explained.notes.iter().any(|note| note.contains("at most") || note.contains("the limit"))
}

/// A sleep of the victim's on CPU 1, which begins at `us`: another timer's callback comes first in its
/// interrupt.
fn sleep_behind_another(text: &mut Text, us: u64) {
    let soft_ns = (us + 100) * NS_PER_US;
    let first = Timer { address: 0x7000_0000, function: "other_timer", soft_ns, slack_ns: 0 };
    let own = Timer { address: 0x7100_0000, function: "hrtimer_wakeup", soft_ns, slack_ns: 0 };
    text.start(us, 2, "other-700", &first)
        .switch(us + 1, 1, IDLE, "R", VICTIM)
        .start(us + 2, 1, "victim-900", &own)
        .switch(us + 3, 1, VICTIM, "S", IDLE)
        .at(us + 100, 1, "<idle>-0", "local_timer_entry: vector=236")
        .callback(us + 101, 1, &first, false)
        .callback(us + 105, 1, &own, true)
        .at(us + 107, 1, "<idle>-0", "local_timer_exit: vector=236")
        .switch(us + 109, 1, IDLE, "R", VICTIM)
        .switch(us + 200, 1, VICTIM, "S", IDLE);
}

fn hold_sleep_behind_another(explained: &Explained) {
    assert_eq!(explained.wakeups.len(), 1, "{explained}");
    let is_whole = explained.wakeups[0].wakeup.lateness_ns == 9 * NS_PER_US;
    // Another's callback is another's, and the victim's own is no other's; at a bound, nobody's.
    let (stacked, own) = (sum(explained, "stacked_timers", ""), sum(explained, "callback", ""));
    let is_right = (1_000..=3_000).contains(&stacked) && (1_000..=5_000).contains(&own);
    let nobody = sum(explained, "stacked_timers", "hrtimer_wakeup");
    let is_right = is_right && is_whole;
    assert!(nobody == 0 && (is_right || tells_of_a_bound(explained)), "{explained}");
}

/// 2^20 timers can be told apart in a stream.
#[test]
#[ignore = "two million lines: 20 s without optimization"]
fn more_timers_than_ids() {
    let mut text = Text::new();
    let count: u64 = (1 << 20) + 64;
    for n in 0..count {
        let timer = Timer {
            address: 0x10_0000 + n * 64,
            function: "process_timer",
            soft_ns: 900 * US_PER_S * NS_PER_US,
            slack_ns: 0,
        };
        let us = US_PER_S + n;
        text.start(us, 2, "other-700", &timer).cancel(us, 2, "other-700", timer.address);
    }
    sleep_behind_another(&mut text, US_PER_S + count + 10);
    hold_sleep_behind_another(&text.explain());
}

/// 2^18 armed timers are followed by the decoder.
#[test]
#[ignore = "half a million events: some seconds without optimization"]
fn more_armed_timers_than_are_followed() {
    let mut text = Text::new();
    let count = 270_000;
    for n in 0..count {
        let timer = Timer {
            address: 0x10_0000 + n * 64,
            function: "process_timer",
            soft_ns: (900 * US_PER_S + n) * NS_PER_US,
            slack_ns: 0,
        };
        text.start(US_PER_S + n, 2, "other-700", &timer);
    }
    sleep_behind_another(&mut text, US_PER_S + count + 10);
    let explained = text.explain();
    hold_sleep_behind_another(&explained);
    let armed = explained.arms.iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!(armed, count + 2, "{:?}", explained.arms);
}

/// Two threads of higher priority take turns 40,000 times while the victim waits.
#[test]
fn more_switches_in_one_wakeup_than_are_kept() {
    let (hog, spinner) = ("hog 720 20", "spinner 710 20");
    let mut text = Text::new();
    let begin = 100 * US_PER_S;
    text.switch(begin - 10, 1, IDLE, "R", hog).waking(begin, 0, "feeder-801", 1);
    let count = 40_000;
    for n in 1..=count {
        let (from, to) = if n % 2 == 1 { (hog, spinner) } else { (spinner, hog) };
        text.switch(begin + n, 1, from, "S", to);
    }
    text.switch(begin + count + 1, 1, hog, "S", VICTIM);
    let explained = text.explain();
    assert_eq!(explained.wakeups.len(), 1, "{} wakeups", explained.wakeups.len());
    let lateness_ns = (count + 1) * NS_PER_US;
    assert_eq!(explained.wakeups[0].wakeup.lateness_ns, lateness_ns);
    let unexplained = sum(&explained, "unexplained", "");
    assert_eq!(sum(&explained, "higher_priority", "") + unexplained, lateness_ns);
    assert!(unexplained == 0 || tells_of_a_bound(&explained), "{unexplained} ns, and no word");
}

/// A thread that sleeps each time with another slack, as the kernel's polls do.
#[test]
fn as_many_slacks_as_sleeps() {
    let mut text = Text::new();
    let count = 60_000;
    text.switch(US_PER_S, 1, IDLE, "R", VICTIM);
    for n in 0..count {
        let us = US_PER_S + 10 + n * 200;
        let timer = Timer {
            address: 0x7100_0000,
            function: "hrtimer_wakeup",
            soft_ns: (us + 10) * NS_PER_US,
            slack_ns: 1000 + n,
        };
        text.start(us, 1, "victim-900", &timer)
            .switch(us + 1, 1, VICTIM, "S", IDLE)
            .at(us + 80, 1, "<idle>-0", "local_timer_entry: vector=236")
            .callback(us + 81, 1, &timer, true)
            .at(us + 83, 1, "<idle>-0", "local_timer_exit: vector=236")
            .switch(us + 85, 1, IDLE, "R", VICTIM);
    }
    let explained = text.explain();
    assert_eq!(explained.wakeups.len() as u64, count);
    let slack_ns: u64 = (0..count).map(|n| 1000 + n).sum();
    assert_eq!(sum(&explained, "slack", ""), slack_ns);
    // Nobody reads a table of 60,000 rows.
    let settings = explained.culprits.iter().filter(|(kind, ..)| kind == "setting");
    assert!(settings.clone().count() <= 256, "{} settings", settings.count());
    let (told, all) = (explained.culprits.iter().map(|(.., ns)| ns).sum::<u64>(), count * 75_000);
    assert_eq!(told, all);
}

/// `CLOCK_REALTIME` is set back by 3 ms once; the sleeps of the seconds after it are on time.
#[test]
fn a_clock_set_back_long_ago() {
    const WALL_NS: u64 = 1_700_000_000_000_000_000;
    let mut text = Text::new();
    text.switch(US_PER_S, 1, IDLE, "R", VICTIM);
    let count = 20_000;
    for n in 0..count {
        // By the clock as it is then.
        let ahead_ns = WALL_NS - if n < 10_000 { 0 } else { 3_000_000 };
        let us = US_PER_S + 10 + n * 1000;
        let timer = Timer {
            address: 0x7100_0000,
            function: "hrtimer_wakeup",
            soft_ns: ahead_ns + (us + 500) * NS_PER_US,
            slack_ns: 0,
        };
        let (address, now_ns) = (timer.address, ahead_ns + (us + 503) * NS_PER_US);
        let entry = format!(
            "hrtimer_expire_entry: hrtimer={address:#x} function=hrtimer_wakeup now={now_ns}"
        );
        let exit = format!("hrtimer_expire_exit: hrtimer={address:#x}");
        text.start(us, 1, "victim-900", &timer)
            .switch(us + 1, 1, VICTIM, "S", IDLE)
            .at(us + 502, 1, "<idle>-0", "local_timer_entry: vector=236")
            .at(us + 504, 1, "<idle>-0", &entry)
            .waking(us + 505, 1, "<idle>-0", 1)
            .at(us + 506, 1, "<idle>-0", &exit)
            .at(us + 507, 1, "<idle>-0", "local_timer_exit: vector=236")
            .switch(us + 510, 1, IDLE, "R", VICTIM);
    }
    let explained = text.explain();
    assert_eq!(explained.wakeups.len() as u64, count);
    assert_eq!(sum(&explained, "armed_late", ""), 0);
    let latest = explained.wakeups.iter().map(|shown| shown.wakeup.lateness_ns).max();
    assert!(latest <= Some(12_000), "{latest:?}");
}

/// The last of 40,000 threads keeps the victim waiting, and is known by its name.
#[test]
fn more_threads_than_are_kept() {
    let mut text = Text::new();
    let count: u64 = 40_000;
    for n in 0..count {
        let thread = format!("t{n} {} 30", 1000 + n);
        text.switch(US_PER_S + n * 10, 1, IDLE, "R", &thread);
        if n < count - 1 {
            text.switch(US_PER_S + n * 10 + 5, 1, &thread, "S", IDLE);
        }
    }
    let us = US_PER_S + count * 10;
    let last = format!("t{} {} 30", count - 1, 1000 + count - 1);
    text.waking(us, 0, "feeder-801", 1).switch(us + 700, 1, &last, "S", VICTIM);
    let explained = text.explain();
    assert_eq!(explained.wakeups.len(), 1, "{explained}");
    assert_eq!(sum(&explained, "higher_priority", "t39999"), 700_000, "{explained}");
}
