//! Storms of timers by every way in which programs ask for one.
//!
//! [`storm`](super::storm) sleeps, relative and with the thread's own slack. "latency induced by
//! hrtimer stacking" (Gratian Crisan, linux-rt-users, 4 January 2017) traced what armed the timers on
//! its system to `clock_nanosleep` *and* to futex calls with a timeout; this load has those and the
//! others, and a timer that is always moved and hardly ever expires. A kind is a file in this folder
//! and a word in the registry, which also declares the file.

use super::amount::duration;
use super::crew::{Crew, Post, Rank};
use super::spec::{Arguments, SpecError};
use super::storm::STORM_THREADS_MAX;
use super::{Kind, Load, LoadError, RunningLoad};
use crate::clock::now_ns;
use crate::rearm::Pace;
use rustix::thread::set_current_timer_slack;
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use tardy_thread_policy::{TIMER_LEVEL_MAX, set_timer_level};

macro_rules! registry {
    ($($(#[$only:meta])? $file:ident),* $(,)?) => {
        $($(#[$only])? mod $file;)*

        const KNOWN: &[Way] = &[$($(#[$only])? $file::WAY),*];
    };
}

registry![
    sleep,
    timerfd,
    futex,
    // Other C libraries cannot send a timer's signal to one thread.
    #[cfg(target_env = "gnu")]
    posix,
    rearm,
];

/// A way to ask the kernel for a timer.
struct Way {
    name: &'static str,
    /// What is counted.
    units: &'static [&'static str],
    /// Called in the thread that uses it.
    make: fn(&Timers) -> io::Result<Box<dyn Arm>>,
}

/// Implemented by the files of this folder; nobody else need do so.
trait Arm {
    /// Arms a timer that is due at `due_ns` of `CLOCK_MONOTONIC`, and waits until it has expired; or
    /// moves one to that time, and waits until it is to be moved again.
    fn arm(&mut self, due_ns: u64) -> io::Result<()>;
}

/// How many threads where no number is given; as in a storm.
const THREADS: u64 = 40;

/// The longest wait where none is given; as in a storm.
const WAIT_MAX_NS: u64 = 1_000_000;

/// Of a timer that is moved: how long after the last move it is due, and how often it is moved. From
/// "Re: [PATCH] hrtimer: Update `softirq_expires_next` correctly after `__hrtimer_get_next_event()`"
/// (Thomas Gleixner, 21 April 2021).
const MOVED_DUE_NS: u64 = 300_000;
const MOVED_EVERY_NS: u64 = 20_000;

/// Of a thread that sleeps between moves: with the 50 µs that threads have by default there would be no
/// moving every 20 µs.
const MOVED_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

/// No wait is longer, so that a load ends about a second after it is told to.
const LONGEST_NS: u64 = 1_000_000_000;

/// The least time between moves: below it there is nothing but system calls.
const EVERY_LEAST_NS: u64 = 1_000;

const USAGE: &str = "timers[:N][,kind=sleep|timerfd|futex|posix|rearm][,max=TIME][,slack=TIME]\
                     [,due=TIME][,every=TIME][,pace=sleep|spin][,level=0…3][,fifo[=PRIO]]\
                     [,seed=S]";

pub(super) const KIND: Kind = Kind {
    name: "timers",
    usage: USAGE,
    summary: "N threads (40) that each arm a timer for a random 0–`max` (1ms) and wait for it, again \
              and again: by clock_nanosleep(2), a timerfd, a futex with a timeout or a POSIX timer's \
              signal; or, `kind=rearm`, have one due in `due` (300us) and move it every `every` (20us), \
              sleeping or spinning (`pace`) between; `slack` is the threads' timer slack (as it is; with \
              kind=rearm 1ns), `level` where their sleeps expire (the kernel `policies`)",
    parse: |arguments| Timers::parse(arguments).map(|timers| Box::new(timers) as Box<dyn Load>),
};

/// Threads that arm timers.
#[derive(Clone, Copy)]
struct Timers {
    threads: u64,
    way: &'static Way,
    /// The longest wait; of a timer that is moved, how long after the move it is due.
    due_ns: u64,
    /// From move to move.
    every_ns: u64,
    pace: Pace,
    /// The timer slack of the threads; without it, that of the thread that starts the load.
    slack_ns: Option<NonZeroU64>,
    /// Where the sleeps of the threads expire, in a kernel that has levels; without it, as of the thread that
    /// starts the load.
    level: Option<u8>,
    fifo_prio: Option<u8>,
    /// Thread n draws its waits from a generator seeded with `seed + n`.
    seed: u64,
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timers({self})")
    }
}

impl Timers {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let mut timers = Self {
            threads: arguments.count("threads", THREADS, STORM_THREADS_MAX)?,
            way: arguments.kind(KNOWN, |way| way.name, USAGE)?,
            due_ns: WAIT_MAX_NS,
            every_ns: MOVED_EVERY_NS,
            pace: Pace::Sleep,
            slack_ns: None,
            level: None,
            fifo_prio: None,
            seed: 0,
        };
        if timers.is_moved() {
            timers.due_ns = MOVED_DUE_NS;
            timers.slack_ns = Some(MOVED_SLACK_NS);
        }
        for &(option, value) in &arguments.options {
            match (option, value, timers.is_moved()) {
                ("kind", ..) => {}
                ("max", Some(value), false) | ("due", Some(value), true) => {
                    timers.due_ns = arguments.duration_ns(option, value, 1, LONGEST_NS)?;
                }
                ("every", Some(value), true) => {
                    let low = EVERY_LEAST_NS;
                    timers.every_ns = arguments.duration_ns(option, value, low, LONGEST_NS)?;
                }
                ("pace", Some("sleep"), true) => timers.pace = Pace::Sleep,
                ("pace", Some("spin"), true) => timers.pace = Pace::Spin,
                ("slack", Some(value), _) => {
                    let slack_ns = arguments.duration_ns(option, value, 1, LONGEST_NS)?;
                    timers.slack_ns = NonZeroU64::new(slack_ns);
                }
                ("level", Some(value), _) => {
                    let level = arguments.number(option, value, 0, TIMER_LEVEL_MAX.into())?;
                    timers.level = u8::try_from(level).ok();
                }
                ("fifo", value, _) => timers.fifo_prio = Some(arguments.fifo_prio(value)?),
                ("seed", Some(value), _) => timers.seed = arguments.seed(value)?,
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        Ok(timers)
    }

    /// Whether this is one timer per thread that is moved, instead of many that expire.
    fn is_moved(&self) -> bool {
        self.way.name == rearm::WAY.name
    }
}

impl fmt::Display for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timers:{},kind={}", self.threads, self.way.name)?;
        let due = duration(self.due_ns);
        if self.is_moved() {
            write!(f, ",due={due},every={}", duration(self.every_ns))?;
            if self.pace == Pace::Spin {
                write!(f, ",pace=spin")?;
            }
        } else if self.due_ns != WAIT_MAX_NS {
            write!(f, ",max={due}")?;
        }
        if let Some(slack_ns) = self.slack_ns {
            write!(f, ",slack={}", duration(slack_ns.get()))?;
        }
        if let Some(level) = self.level {
            write!(f, ",level={level}")?;
        }
        if let Some(prio) = self.fifo_prio {
            write!(f, ",fifo={prio}")?;
        }
        if self.seed != 0 {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

impl Load for Timers {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let timers = *self;
        let posts = (0..self.threads).map(|index| {
            let name = format!("{}-{index:02}", self.way.name);
            Post::new(name, self.way.units, move |duty| {
                if let Some(slack_ns) = timers.slack_ns {
                    set_current_timer_slack(Some(slack_ns))?;
                }
                if let Some(level) = timers.level {
                    set_timer_level(level)?;
                }
                let mut random = fastrand::Rng::with_seed(timers.seed.wrapping_add(index));
                let mut way = (timers.way.make)(&timers)?;
                duty.begin();
                while duty.goes_on() {
                    let after_ns = if timers.is_moved() {
                        timers.due_ns
                    } else {
                        random.u64(0..=timers.due_ns)
                    };
                    way.arm(now_ns() + after_ns)?;
                    duty.did(1);
                }
                Ok(())
            })
        });
        Ok(Box::new(Crew::start(self, Rank::of(self.fifo_prio), posts)?))
    }
}

#[cfg(test)]
mod tests {
    use crate::load::Spec;
    use std::time::{Duration, Instant};

    fn spec(text: &str) -> Spec {
        text.parse().unwrap()
    }

    #[test]
    fn written_and_read_again() {
        for (text, shown) in [
            ("timers", "timers:40,kind=sleep"),
            ("timers:3,kind=futex,max=2ms,slack=50000", "timers:3,kind=futex,max=2ms,slack=50us"),
            ("timers:2,level=3", "timers:2,kind=sleep,level=3"),
            ("timers:1,due=100us,kind=rearm", "timers:1,kind=rearm,due=100us,every=20us,slack=1ns"),
            (
                "timers:1,kind=rearm,pace=spin,fifo,seed=2",
                "timers:1,kind=rearm,due=300us,every=20us,pace=spin,slack=1ns,fifo=1,seed=2",
            ),
        ] {
            assert_eq!(spec(text).to_string(), shown);
            assert_eq!(spec(shown).to_string(), shown);
        }
        for (text, said) in [
            ("timers,kind=hpet", "no option `kind=hpet`"),
            ("timers,kind", "no option `kind`"),
            ("timers,due=1ms", "no option `due`"),
            ("timers,kind=rearm,max=1ms", "no option `max`"),
            ("timers,max=2s", "from 1 to 1000000000"),
            ("timers,slack=0", "from 1 to"),
            ("timers,level=4", "from 0 to 3"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn every_kind_expires_or_moves_and_leaves_no_thread() {
        for way in super::KNOWN {
            let running = spec(&format!("timers:3,kind={}", way.name)).start().unwrap();
            let tids = running.tids();
            assert_eq!(tids.len(), 3);
            let begun = Instant::now();
            while running.work()[0][0].count < 30 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{}: no timer comes", way.name);
                std::thread::sleep(Duration::from_millis(1));
            }
            let work = running.stop();
            assert_eq!((work[0].len(), work[0][0].unit), (1, way.units[0]), "{work:?}");
            for tid in tids {
                // /proc may still have it for a moment after its join.
                let path = format!("/proc/self/task/{tid}");
                while std::fs::exists(&path).unwrap() {
                    assert!(begun.elapsed() < Duration::from_secs(60), "{tid} is still there");
                    std::thread::yield_now();
                }
            }
        }
    }

    #[test]
    fn the_slack_is_the_one_that_was_asked_for() {
        let slack = |tid| {
            let text = std::fs::read_to_string(format!("/proc/{tid}/timerslack_ns"));
            text.ok().map(|text| text.trim().to_owned())
        };
        let running = spec("timers:2,slack=777us").start().unwrap();
        for tid in running.tids() {
            match slack(tid) {
                Some(told) => assert_eq!(told, "777000"),
                None => println!("skipped: this kernel does not tell of other threads' slack"),
            }
        }
        let inherited = spec("timers:1").start().unwrap();
        assert_eq!(slack(inherited.tids()[0]), slack(std::process::id()));
    }
}
