//! The same story at another time, on other CPUs, and with fewer events.

use crate::dialect::{each, line};

/// CPUs, renumbered. Names of threads that hold a CPU's number stay: they are names.
pub(crate) fn other_cpus(text: &str) -> String {
    let text = each(text, |line| {
        let keys = ["target_cpu=", "orig_cpu=", "dest_cpu=", "cpu_id=", " cpu=", "swapper/"];
        let mut body = format!(" {}", line.body);
        for key in keys {
            body = with_numbers(&body, key, |cpu| other_cpu(cpu).to_string());
        }
        let cpu = other_cpu(line.cpu.parse().expect("a CPU"));
        let (task, time, event) = (line.task, line.time, line.event);
        format!("{task:>22} [{cpu:03}] d..2. {time}: {event}:{body}")
    });
    with_numbers(&text, "\nCPU:", |cpu| other_cpu(cpu).to_string())
}

/// The CPUs of what is told, renumbered.
pub(crate) fn told_of_other_cpus(told: &str) -> String {
    let told = with_numbers(told, " cpu ", |cpu| other_cpu(cpu).to_string());
    with_numbers(&told, " CPU ", |cpu| other_cpu(cpu).to_string())
}

fn other_cpu(cpu: u64) -> u64 {
    // CPUs of the cases are 0 to 3.
    7 - cpu
}

const NS_PER_US: u64 = 1000;
const US_PER_S: u64 = 1_000_000;

/// Some days later, by a time that is no round number.
const LATER_US: u64 = 345_678_901_234;

/// What `CLOCK_REALTIME` shows is more.
const WALL_NS: u64 = 100_000_000_000_000_000;

/// All times, later; what `CLOCK_REALTIME` shows stays.
pub(crate) fn later(text: &str) -> String {
    each(text, |line| {
        let mut body = format!(" {}", line.body);
        if line.event.starts_with("hrtimer") {
            for key in [" expires=", " softexpires=", " now="] {
                body = with_numbers(&body, key, |ns| {
                    let is_wall = ns >= WALL_NS;
                    (if is_wall { ns } else { ns + LATER_US * NS_PER_US }).to_string()
                });
            }
        }
        let (s, us) = line.time.split_once('.').expect("a time");
        let us = s.parse::<u64>().unwrap() * US_PER_S + us.parse::<u64>().unwrap() + LATER_US;
        let (s, us) = (us / US_PER_S, us % US_PER_S);
        let (task, cpu, event) = (line.task, line.cpu, line.event);
        format!("{task:>22} [{cpu}] d..2. {s}.{us:06}: {event}:{body}")
    })
}

/// What is told, with times put back.
pub(crate) fn told_earlier(told: &str) -> String {
    let lines = told.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["#=", kind, time, rest @ ..] if time.contains('.') => {
                let (s, ns) = time.split_once('.').expect("a time");
                let ns = s.parse::<u64>().unwrap() * US_PER_S * NS_PER_US
                    + ns.parse::<u64>().unwrap()
                    - LATER_US * NS_PER_US;
                let (s, ns) = (ns / (US_PER_S * NS_PER_US), ns % (US_PER_S * NS_PER_US));
                format!("#= {kind} {s}.{ns:09} {}\n", rest.join(" "))
            }
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Without system calls.
pub(crate) fn without_calls(text: &str) -> String {
    let is_call = |text: &&str| {
        !text.starts_with('#') && line(text).is_some_and(|line| line.event.starts_with("sys_"))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_call(line)).collect();
    lines.join("\n") + "\n"
}

/// With the second half of every waking told as well: the thread is in its CPU's queue. `None` where
/// wakings have one, or a thread moves, so that another queue would have to be told.
pub(crate) fn with_wakeups(text: &str) -> Option<String> {
    if ["sched_wakeup: ", "sched_migrate_task: "].iter().any(|event| text.contains(event)) {
        return None;
    }
    let lines = text.lines().map(|line| {
        let second = line.replace(" sched_waking: ", " sched_wakeup: ");
        if second == line || line.starts_with('#') {
            line.to_owned()
        } else {
            format!("{line}\n{second}")
        }
    });
    Some(lines.collect::<Vec<String>>().join("\n") + "\n")
}

/// The number behind each `key`, changed.
fn with_numbers(text: &str, key: &str, change: impl Fn(u64) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let from = at + key.len();
        out.push_str(&rest[..from]);
        rest = &rest[from..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(number) = rest[..digits].parse() {
            out.push_str(&change(number));
            rest = &rest[digits..];
        }
    }
    out + rest
}
