//! How a guest ended, told from what it said, and from what it did not.

use crate::channel::Ended;
use std::fmt;
use std::time::Duration;

/// Lines of the console that are told with a guest that broke.
const LINES: usize = 12;

/// The longest line of them, in characters.
const LINE_MAX: usize = 160;

/// How a guest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The command ended, with this status.
    Ended {
        /// Its exit status; none where a signal ended it.
        status: Option<i32>,
        /// The signal.
        signal: Option<i32>,
    },
    /// It was ended early, as asked.
    Stopped,
    /// It broke.
    Broken(Broken),
}

/// A guest that broke: what is known of why, and what its console said last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What happened.
    pub why: Why,
    /// The last lines of the console.
    pub console: Vec<String>,
}

/// What broke.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The kernel panicked: its words.
    Panic(String),
    /// There is no program for the kernel to begin with.
    NoInit(String),
    /// Memory ran out: the kernel's words.
    OutOfMemory(String),
    /// It never came up, for as long as it was given.
    NeverUp(Duration),
    /// It came up, and then nothing was heard of it for so long.
    Hung {
        /// How long it was silent.
        silent: Duration,
        /// Its own time when it was heard of last.
        at_ns: u64,
    },
    /// The command still ran when its time was over.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// How much of its own time had passed.
        at_ns: u64,
    },
    /// It said itself that it cannot go on.
    Trouble(String),
    /// What it sent makes no sense.
    Garbled(String),
    /// QEMU itself failed: its words.
    Qemu(String),
    /// QEMU ended and the guest had said nothing of its end.
    Silent,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |duration: &Duration| duration.as_secs();
        let at = |ns: &u64| *ns as f64 / 1e9;
        match &self.why {
            Why::Panic(words) => write!(f, "the guest's kernel panicked: {words}"),
            Why::NoInit(words) => {
                write!(f, "the guest's kernel found no init program: {words}")
            }
            Why::OutOfMemory(words) => write!(
                f,
                "the guest ran out of memory: {words}; --memory gives it more, a recording is held \
                 in memory there"
            ),
            Why::NeverUp(limit) => {
                write!(f, "the guest did not come up within {} s (--boot-limit)", seconds(limit))
            }
            Why::Hung { silent, at_ns } => write!(
                f,
                "the guest hangs: no sign of life for {} s, the last at {:.1} s of its time",
                seconds(silent),
                at(at_ns)
            ),
            Why::TimedOut { limit, at_ns } => write!(
                f,
                "the guest's time was over after {} s here (--limit), at {:.1} s of its own time",
                seconds(limit),
                at(at_ns)
            ),
            Why::Trouble(words) => write!(f, "the guest cannot go on: {words}"),
            Why::Garbled(words) => write!(f, "what the guest sends is garbled: {words}"),
            Why::Qemu(words) => write!(f, "QEMU failed: {words}"),
            Why::Silent => f.write_str("the guest ended without a message"),
        }?;
        if self.console.is_empty() {
            return f.write_str("\nIts console printed nothing.");
        }
        f.write_str("\nThe last lines of its console:")?;
        for line in &self.console {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

/// Why the host ended a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Killed {
    Boot(Duration),
    Silence(Duration),
    Limit(Duration),
    Asked,
}

/// What is known when QEMU has ended.
#[derive(Debug, Default)]
pub(crate) struct Known<'a> {
    /// What the guest said of its command's end.
    pub(crate) ended: Option<Ended>,
    pub(crate) trouble: Option<String>,
    pub(crate) garbled: Option<String>,
    /// Whether it ever said that it is up.
    pub(crate) is_up: bool,
    pub(crate) last_ns: u64,
    pub(crate) killed: Option<Killed>,
    pub(crate) console: &'a str,
    /// What QEMU wrote to its standard error.
    pub(crate) qemu: &'a str,
    pub(crate) qemu_succeeded: bool,
}

impl Known<'_> {
    /// How it ended.
    pub(crate) fn fate(&self) -> Fate {
        if let Some(Ended { status, signal, .. }) = self.ended {
            // A command that the kernel ended for its memory is no end of the command's own.
            let Some(words) = self.out_of_memory().filter(|_| signal.is_some()) else {
                return Fate::Ended { status, signal };
            };
            return self.broken(Why::OutOfMemory(words));
        }
        if self.killed == Some(Killed::Asked) {
            return Fate::Stopped;
        }
        self.broken(self.why())
    }

    fn why(&self) -> Why {
        if let Some(words) = self.panic() {
            let is_memory =
                words.contains("deadlocked on memory") || words.contains("Out of memory");
            let is_init = ["No working init", "Unable to mount root", "Requested init"];
            let is_init = is_init.iter().any(|mark| words.contains(mark));
            return match self.out_of_memory() {
                _ if is_memory => Why::OutOfMemory(words),
                // The first process is among those that it may end.
                Some(memory) if words.contains("kill init") => Why::OutOfMemory(memory),
                _ if is_init => Why::NoInit(words),
                _ => Why::Panic(words),
            };
        }
        if let Some(words) = &self.trouble {
            return Why::Trouble(words.clone());
        }
        if let Some(words) = &self.garbled {
            return Why::Garbled(words.clone());
        }
        match self.killed {
            Some(Killed::Boot(limit)) => Why::NeverUp(limit),
            Some(Killed::Silence(silent)) => self
                .out_of_memory()
                .map_or(Why::Hung { silent, at_ns: self.last_ns }, Why::OutOfMemory),
            Some(Killed::Limit(limit)) if !self.is_up => Why::NeverUp(limit),
            Some(Killed::Limit(limit)) => Why::TimedOut { limit, at_ns: self.last_ns },
            _ => self.silent(),
        }
    }

    fn silent(&self) -> Why {
        if let Some(words) = line_with(self.console, &["tardy-guest: "]) {
            return Why::Trouble(words);
        }
        let qemu = self.qemu.trim();
        if !self.qemu_succeeded || (!self.is_up && !qemu.is_empty()) {
            let words = if qemu.is_empty() { "it said nothing" } else { qemu };
            return Why::Qemu(words.replace('\n', "; "));
        }
        Why::Silent
    }

    fn panic(&self) -> Option<String> {
        line_with(self.console, &["Kernel panic - not syncing: "])
    }

    fn out_of_memory(&self) -> Option<String> {
        line_with(self.console, &["Out of memory: ", "Memory cgroup out of memory: "])
            .map(|words| {
                format!("the kernel ended {}", words.trim_start_matches("Killed process "))
            })
            .or_else(|| {
                line_with(self.console, &["invoked oom-killer"]).map(|_| "oom-killer".to_owned())
            })
    }

    fn broken(&self, why: Why) -> Fate {
        let lines = self.console.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        // What follows a panic is its stack, as long as it may be.
        let panic = lines.iter().rposition(|line| line.contains("Kernel panic"));
        let last = lines.len().saturating_sub(LINES);
        let from = panic.map_or(last, |panic| panic.saturating_sub(LINES / 2).min(last));
        let told = lines.iter().skip(from).take(LINES);
        let console = told.map(|line| line.chars().take(LINE_MAX).collect()).collect();
        Fate::Broken(Broken { why, console })
    }
}

/// What follows the first of these marks on the last line that has one.
fn line_with(console: &str, marks: &[&str]) -> Option<String> {
    console.lines().rev().find_map(|line| {
        let (_, words) = marks.iter().find_map(|mark| line.split_once(mark))?;
        Some(words.trim().chars().take(LINE_MAX).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(known: &Known<'_>) -> Why {
        match known.fate() {
            Fate::Broken(broken) => broken.why,
            fate => panic!("{fate:?}"),
        }
    }

    const UP: Known<'_> = Known {
        ended: None,
        trouble: None,
        garbled: None,
        is_up: true,
        last_ns: 2_500_000_000,
        killed: None,
        console: "",
        qemu: "",
        qemu_succeeded: true,
    };

    #[test]
    fn a_command_that_ended_ended() {
        let ended = Ended { status: Some(3), signal: None, ran_ns: 5 };
        let known = Known { ended: Some(ended), console: "Out of memory: Killed process 9", ..UP };
        assert_eq!(known.fate(), Fate::Ended { status: Some(3), signal: None });
    }

    #[test]
    fn what_broke_is_told_apart() {
        let panic =
            "[    1.5] Kernel panic - not syncing: sysrq triggered crash\n[    1.5] CPU: 0\n";
        assert_eq!(
            why(&Known { console: panic, ..UP }),
            Why::Panic("sysrq triggered crash".into())
        );

        for words in
            ["No working init found.", "VFS: Unable to mount root fs on unknown-block(0,0)"]
        {
            let init = format!("Kernel panic - not syncing: {words}");
            assert!(matches!(why(&Known { console: &init, is_up: false, ..UP }), Why::NoInit(_)));
        }

        let memory = "[ 3] Out of memory: Killed process 44 (eater) total-vm:9kB, anon-rss:8kB\n";
        let killed = Ended { status: None, signal: Some(9), ran_ns: 5 };
        let found = why(&Known { console: memory, ended: Some(killed), ..UP });
        assert!(matches!(found, Why::OutOfMemory(words) if words.contains("44 (eater)")));

        let dead = "Kernel panic - not syncing: System is deadlocked on memory";
        assert!(matches!(why(&Known { console: dead, ..UP }), Why::OutOfMemory(_)));

        let limit = Duration::from_secs(60);
        let boot = Known { killed: Some(Killed::Boot(limit)), is_up: false, ..UP };
        assert_eq!(why(&boot), Why::NeverUp(limit));
        let silence = Known { killed: Some(Killed::Silence(limit)), ..UP };
        assert_eq!(why(&silence), Why::Hung { silent: limit, at_ns: 2_500_000_000 });
        let late = Known { killed: Some(Killed::Limit(limit)), ..UP };
        assert_eq!(why(&late), Why::TimedOut { limit, at_ns: 2_500_000_000 });

        assert_eq!(why(&UP), Why::Silent);
        let qemu =
            Known { qemu: "qemu: no such file\n", qemu_succeeded: false, is_up: false, ..UP };
        assert_eq!(why(&qemu), Why::Qemu("qemu: no such file".into()));
        let trouble = Known { console: "tardy-guest: cannot mount proc\n", is_up: false, ..UP };
        assert_eq!(why(&trouble), Why::Trouble("cannot mount proc".into()));
        assert_eq!(Known { killed: Some(Killed::Asked), ..UP }.fate(), Fate::Stopped);
    }

    #[test]
    fn the_console_is_told_within_bounds() {
        let lines: Vec<String> =
            (0..100).map(|line| format!("line {line} {}", "x".repeat(500))).collect();
        let console = lines.join("\n");
        let Fate::Broken(broken) = (Known { console: &console, ..UP }).fate() else { panic!() };
        assert_eq!(broken.console.len(), LINES);
        assert!(broken.console[LINES - 1].starts_with("line 99 "));
        let console = format!("before\nKernel panic - not syncing: x\n{console}");
        let Fate::Broken(broken) = (Known { console: &console, ..UP }).fate() else { panic!() };
        assert_eq!(broken.console[..2], ["before", "Kernel panic - not syncing: x"]);
        assert_eq!(broken.console.len(), LINES);
        assert!(broken.to_string().lines().all(|line| line.chars().count() <= LINE_MAX + 2));
    }
}
