//! A place and the value that it is to have.

use crate::place::{Form, HIERARCHY, Place, shell_word};
use tardy_changes::Scheduling;

/// The most commands that one text holds.
const COMMANDS_MAX: usize = 12;

/// Threads that a command names by number.
const NUMBERS_MAX: usize = 16;

/// What one place is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where.
    pub place: Place,
    /// The value, as the place writes it.
    pub to: String,
}

impl Setting {
    /// What a person types to do the same.
    pub fn command(&self) -> String {
        self.command_for(&self.number(None))
    }

    /// The number of its thread; where that is the one that stands in for another, what stands for that one's.
    fn number(&self, stand_in: Option<(u32, &str)>) -> String {
        let Some(thread) = self.place.thread() else { return String::new() };
        let named = stand_in.filter(|(tid, _)| *tid == thread.tid);
        named.map_or_else(|| thread.tid.to_string(), |(_, word)| word.to_owned())
    }

    /// The same for the thread that a shell knows by this word.
    fn command_for(&self, tid: &str) -> String {
        let to = &self.to;
        match &self.place {
            Place::File { path, form: Form::Beside } => {
                format!("# {path} may change with it; it holds {to} now")
            }
            Place::File { path, .. } => format!("echo {} > {}", shell_word(to), shell_word(path)),
            Place::Text { path } => format!("cat > {} # see below", shell_word(path)),
            Place::Slack(_) => format!("echo {to} > /proc/{tid}/timerslack_ns"),
            Place::Affinity(_) => format!("taskset -cp {to} {tid}"),
            Place::Policy(_) => policy(to, tid),
            Place::Partition { path } => format!(
                "mkdir -p {path} && echo {to} > {path}/cpuset.cpus && echo isolated > {path}/cpuset.cpus.partition"
            ),
            Place::Group(_) => {
                let group = to.trim_end_matches('/');
                let file = format!("{HIERARCHY}{group}/cgroup.procs");
                format!("echo {tid} > {}", shell_word(&file))
            }
        }
    }
}

fn policy(to: &str, tid: &str) -> String {
    match Scheduling::parse(to) {
        Some(Scheduling::Fifo(prio)) => format!("chrt -f -p {prio} {tid}"),
        Some(Scheduling::RoundRobin(prio)) => format!("chrt -r -p {prio} {tid}"),
        Some(Scheduling::Idle) => format!("chrt -i -p 0 {tid}"),
        Some(Scheduling::Batch(nice)) => format!("chrt -b -p 0 {tid} && renice -n {nice} -p {tid}"),
        Some(Scheduling::Other(nice)) => format!("chrt -o -p 0 {tid} && renice -n {nice} -p {tid}"),
        None => String::new(),
    }
}

/// The commands for all of them, a line each; the same for many threads is one loop.
pub fn commands(settings: &[Setting]) -> Vec<String> {
    commands_for(settings, None)
}

/// The same, where a thread stands in for one that does not run yet: its number, and the word for the other's.
pub fn commands_for(settings: &[Setting], stand_in: Option<(u32, &str)>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = settings;
    while let Some(first) = rest.first() {
        // Itself at least.
        let alike = rest.iter().take_while(|one| are_alike(first, one)).count().max(1);
        let of_threads = rest[..alike].iter().filter(|one| one.place.thread().is_some());
        let tids: Vec<String> = of_threads.map(|one| one.number(stand_in)).collect();
        if alike > 1 && tids.len() == alike {
            let (which, remark) = loop_over(&rest[..alike], &tids);
            let command = first.command_for("$id");
            lines.push(format!("for id in {which}; do {command}; done{remark}"));
        } else {
            lines.extend(rest[..alike].iter().map(|one| one.command_for(&one.number(stand_in))));
        }
        rest = &rest[alike..];
    }
    let more = lines.len().saturating_sub(COMMANDS_MAX);
    lines.truncate(COMMANDS_MAX);
    if more > 0 {
        lines.push(format!("# and {more} more of the kind"));
    }
    lines
}

/// What a shell's loop goes over, and a remark behind it: the numbers; of many threads of one name, all that are called
/// so, as nobody reads a line of hundreds of numbers.
fn loop_over(settings: &[Setting], tids: &[String]) -> (String, String) {
    let mut names = settings.iter().filter_map(|one| Some(one.place.thread()?.name.as_str()));
    let name = names.next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_one = !name.is_empty() && name.chars().all(is_plain) && names.all(|it| it == name);
    if tids.len() <= NUMBERS_MAX || !is_one || name.starts_with('-') {
        return (tids.join(" "), String::new());
    }
    let remark = format!("  # {} threads; this is for all that are called so", tids.len());
    (format!("$(pgrep -w -x {name})"), remark)
}

fn are_alike(a: &Setting, b: &Setting) -> bool {
    let kinds = std::mem::discriminant(&a.place) == std::mem::discriminant(&b.place);
    kinds && a.place.thread().is_some() && a.to == b.to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Thread;

    fn thread(tid: u32) -> Thread {
        Thread { tid, start: 1, name: "audio".to_owned() }
    }

    #[test]
    fn many_threads_of_one_name_are_named_by_it() {
        let of = |tid, name: &str| {
            let thread = Thread { tid, start: 1, name: name.to_owned() };
            Setting { place: Place::Policy(thread), to: "idle".to_owned() }
        };
        let mut all: Vec<Setting> = (1..=40).map(|tid| of(tid, "hackbench")).collect();
        assert_eq!(
            commands(&all),
            [
                "for id in $(pgrep -w -x hackbench); do chrt -i -p 0 $id; done  # 40 threads; this is for all that \
                 are called so"
            ]
        );
        all[7] = of(8, "other");
        assert!(commands(&all)[0].starts_with("for id in 1 2 3 4 "), "{:?}", commands(&all));
        assert!(commands(&all[..7])[0].starts_with("for id in 1 2 3 4 5 6 7;"));
    }

    #[test]
    fn a_person_can_type_it() {
        let one = |place, to: &str| Setting { place, to: to.to_owned() };
        let path = "/proc/sys/vm/swappiness".to_owned();
        let all = [
            one(Place::File { path, form: Form::Word }, "1"),
            one(Place::Slack(thread(5)), "1"),
            one(Place::Slack(thread(50)), "1"),
            one(Place::Policy(thread(50)), "fifo:50"),
            one(Place::Policy(thread(5)), "idle"),
            one(Place::Affinity(thread(5)), "0-1,3"),
        ];
        assert_eq!(
            commands(&all),
            [
                "echo 1 > /proc/sys/vm/swappiness",
                "for id in 5 50; do echo 1 > /proc/$id/timerslack_ns; done",
                "chrt -f -p 50 50",
                "chrt -i -p 0 5",
                "taskset -cp 0-1,3 5",
            ]
        );
        let two =
            [one(Place::Policy(thread(50)), "fifo:50"), one(Place::Policy(thread(7)), "fifo:50")];
        assert_eq!(commands(&two), ["for id in 50 7; do chrt -f -p 50 $id; done"]);
    }

    /// Its number may be part of any other one.
    #[test]
    fn who_stands_in_for_another_is_not_named() {
        let place = Place::Policy(thread(50));
        let one = Setting { place, to: "fifo:50".to_owned() };
        let commands = commands_for(std::slice::from_ref(&one), Some((50, "PID")));
        assert_eq!(commands, ["chrt -f -p 50 PID"]);
        assert_eq!(commands_for(&[one], Some((5, "PID"))), ["chrt -f -p 50 50"]);
    }
}
