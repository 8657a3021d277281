//! The same trace as other programs write it.

use std::fmt::Write as _;

/// Writes a text anew.
type Write = fn(&str) -> String;

/// What writes a dialect, and how.
pub(crate) const DIALECTS: &[(&str, Write)] = &[
    ("trace-cmd report", trace_cmd_report),
    ("trace-cmd report with plugins", with_plugins),
    ("perf script", perf_script),
];

/// A line of ftrace's: `TASK [CPU] FLAGS TIME: EVENT: BODY`.
pub(crate) struct Line<'a> {
    pub(crate) task: &'a str,
    pub(crate) cpu: &'a str,
    pub(crate) time: &'a str,
    pub(crate) event: &'a str,
    pub(crate) body: &'a str,
}

pub(crate) fn line(text: &str) -> Option<Line<'_>> {
    let (task, rest) = text.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let mut words = rest.splitn(3, ' ').filter(|word| !word.is_empty());
    let (_flags, time, rest) = (words.next()?, words.next()?, words.next()?);
    let (event, body) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    Some(Line { task: task.trim_end(), cpu, time: time.strip_suffix(':')?, event, body })
}

/// Columns of `trace-cmd report`: no flags, names of events filled up. Remarks stay: they say what no event
/// of the text tells, the clock.
fn trace_cmd_report(text: &str) -> String {
    written(text, plain_body)
}

fn plain_body(line: &Line<'_>) -> String {
    line.body.strip_prefix("-> ").unwrap_or(line.body).to_owned()
}

/// The same with bodies by libtraceevent's plugins, which write threads in their own way.
fn with_plugins(text: &str) -> String {
    written(text, |line| {
        let field = |key: &str| line.body.split_once(key).map_or("", |(_, rest)| rest);
        let word = |key: &str| field(key).split(' ').next().unwrap_or_default().to_owned();
        let number = |key: &str| word(key).parse::<u32>().map_or(word(key), |n| n.to_string());
        match line.event {
            "sched_switch" => format!(
                "{}:{} [{}] {} ==> {}:{} [{}]",
                word("prev_comm="),
                word("prev_pid="),
                word("prev_prio="),
                word("prev_state="),
                word("next_comm="),
                word("next_pid="),
                word("next_prio="),
            ),
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => format!(
                "{}:{} [{}] CPU:{:0>3}",
                word("comm="),
                word("pid="),
                word(" prio="),
                number("target_cpu="),
            ),
            _ => plain_body(line),
        }
    })
}

fn written(text: &str, body: impl Fn(&Line<'_>) -> String) -> String {
    let line = |line: &Line<'_>| {
        let Line { task, cpu, time, .. } = line;
        let name = format!("{}:", event_name(line));
        format!("{task:>22} [{cpu}] {time}: {name:<21} {}", body(line))
    };
    format!("cpus=4\n{}", each(text, line))
}

/// Columns of `perf script`, which names the group of each event; any will do. Who is current while
/// nobody runs is `swapper`.
fn perf_script(text: &str) -> String {
    each(text, |line| {
        let (name, pid) = line.task.trim().rsplit_once('-').expect("a thread's name and id");
        let name = if name == "<idle>" { "swapper" } else { name };
        let event = format!("group:{}:", event_name(line));
        let Line { cpu, time, .. } = line;
        format!("{name:>16} {pid:>6} [{cpu}] {time}: {event:>32} {}", plain_body(line))
    })
}

/// Every event written anew; remarks and losses stay.
pub(crate) fn each(text: &str, write: impl Fn(&Line<'_>) -> String) -> String {
    let mut out = String::new();
    for text in text.lines() {
        let is_remark = text.starts_with('#') || text.starts_with("CPU:");
        let line = line(text).filter(|_| !is_remark);
        let _ = writeln!(out, "{}", line.map_or(text.to_owned(), |line| write(&line)));
    }
    out
}

/// A single call's own events have names of their own there.
fn event_name(line: &Line<'_>) -> String {
    match line.event.strip_prefix("sys_") {
        None | Some("enter" | "exit") => line.event.to_owned(),
        Some(call) if line.body.starts_with("-> ") => format!("sys_exit_{call}"),
        Some(call) => format!("sys_enter_{call}"),
    }
}
