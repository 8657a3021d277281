//! The same trace as other programs write it.

/// What writes a dialect, and how.
pub(crate) const DIALECTS: &[(&str, fn(&str) -> String)] =
    &[("trace-cmd report", trace_cmd_report), ("trace-cmd report with plugins", with_plugins)];

/// A line of ftrace's: `TASK [CPU] FLAGS TIME: EVENT: BODY`.
struct Line<'a> {
    task: &'a str,
    cpu: &'a str,
    time: &'a str,
    event: &'a str,
    body: &'a str,
}

fn line(text: &str) -> Option<Line<'_>> {
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
    written(text, |line| line.body.to_owned())
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
            _ => line.body.to_owned(),
        }
    })
}

fn written(text: &str, body: impl Fn(&Line<'_>) -> String) -> String {
    let mut out = String::from("cpus=4\n");
    for text in text.lines() {
        let is_remark = text.starts_with('#') || text.starts_with("CPU:");
        match line(text).filter(|_| !is_remark) {
            Some(line) => {
                let name = format!("{}:", line.event);
                let Line { task, cpu, time, .. } = line;
                out.push_str(&format!("{task:>22} [{cpu}] {time}: {name:<21} {}\n", body(&line)));
            }
            None => out.push_str(&format!("{text}\n")),
        }
    }
    out
}
