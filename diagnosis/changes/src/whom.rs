//! Whom a change is for.

use std::fmt;

/// The longest name, bytes: a path of a control group.
const NAME_BYTES_MAX: usize = 4096;

/// Whom a change is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// `victim`: the threads whose lateness it is about.
    Victim,
    /// A thread, or all threads of a process, by number.
    Id(u32),
    /// `irq 24`.
    Irq(u32),
    /// All threads, or the control group, of a name; `*` stands for anything. See [`Whom::means`].
    Name(String),
}

impl Whom {
    /// Reads what stands in the parentheses.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "victim" {
            return Some(Self::Victim);
        }
        if let Some(number) = text.strip_prefix("irq ") {
            return number.trim().parse().ok().map(Self::Irq);
        }
        if let Ok(id) = text.parse() {
            return Some(Self::Id(id));
        }
        let is_name = !text.is_empty()
            && text.len() <= NAME_BYTES_MAX
            && !text.chars().any(|it| it.is_control() || it == '(' || it == ')');
        is_name.then(|| Self::Name(text.to_owned()))
    }

    /// Threads of a name that stands in a trace. `None` where that name, written down, would mean anything else: the
    /// victim, a number, an interrupt, a systemd unit, a control group, or all that begin so. Any program can call itself
    /// so, and what is done to it would be done to others.
    #[must_use]
    pub fn of_trace(name: &str) -> Option<Self> {
        let is_theirs = name.contains('*') || name.starts_with('/') || is_unit(name);
        let whom = Self::parse(name).filter(|_| !is_theirs)?;
        (whom == Self::Name(name.to_owned())).then_some(whom)
    }

    /// Whether a thread is meant, where a name is: the thread's own, with its number or without (`storm` of `storm-12`),
    /// or that of its program, which is the name of the process's first thread. Whoever is late is meant by their
    /// own name alone: of threads that have a victim in their process, no program is told.
    #[must_use]
    pub fn means(&self, thread: &str, program: Option<&str>) -> bool {
        let Self::Name(pattern) = self else { return false };
        let is_it = |name: &str| {
            matches(pattern.as_bytes(), name.as_bytes())
                || matches(pattern.as_bytes(), stem(name).as_bytes())
        };
        is_it(thread) || program.is_some_and(is_it)
    }
}

/// Whether a name is one of systemd's for a group of processes.
#[must_use]
pub fn is_unit(name: &str) -> bool {
    let is_kind = |kind: &str| name.len() > kind.len() && name.ends_with(kind);
    !name.starts_with('/') && [".service", ".scope", ".slice"].iter().any(|kind| is_kind(kind))
}

/// A thread's name without its number: `storm` of `storm-12`. Those that do the same are called by that.
#[must_use]
pub fn stem(name: &str) -> &str {
    let without = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let stem = without.trim_end_matches(['-', '/', ':', '_', '.']);
    if stem.is_empty() || without.len() == name.len() { name } else { stem }
}

/// Whether a name is of a pattern in which `*` stands for anything. Its time is bounded by the product of the
/// lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == name[from] => (at, from) = (at + 1, from + 1),
            _ => match star {
                None => return false,
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    (at, from) = (after, taken + 1);
                }
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Victim => f.write_str("victim"),
            Self::Id(id) => write!(f, "{id}"),
            Self::Irq(number) => write!(f, "irq {number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Whom, stem};

    #[test]
    fn stars_stand_for_anything() {
        let matches = |pattern: &str, name| Whom::Name(pattern.to_owned()).means(name, None);
        assert!(matches("ksoftirqd/*", "ksoftirqd/1"));
        assert!(matches("*bench", "hackbench"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-b-b-d"));
        assert!(!matches("storm-2", "storm-1"));
        assert!(!Whom::Victim.means("victim", None));
    }

    #[test]
    fn a_name_is_a_threads_a_kinds_or_a_programs() {
        let storm = Whom::Name("storm".to_owned());
        assert!(storm.means("storm-1", None) && storm.means("storm", None));
        let rustc = Whom::Name("rustc".to_owned());
        assert!(rustc.means("opt cgu.12", Some("rustc")) && !rustc.means("opt cgu.12", None));
        assert!(!rustc.means("opt cgu.12", Some("rustdoc")));
        assert_eq!(
            ["storm-12", "ktimers/0", "7", "b52", "cpu-"].map(stem),
            ["storm", "ktimers", "7", "b", "cpu-"]
        );
    }

    #[test]
    fn a_name_from_a_trace_means_threads_of_that_name_or_nobody() {
        for name in ["hackbench", "kworker/0:1H", "my program", "a-1"] {
            assert_eq!(Whom::of_trace(name), Some(Whom::Name(name.to_owned())), "{name}");
        }
        let others = [
            "victim",
            " victim",
            "irq 1",
            "1234",
            "sshd.service",
            "init.scope",
            "system.slice",
            "/a",
            "*",
            "stor*",
            "a)b",
            "a\nb",
            "",
        ];
        for name in others {
            assert_eq!(Whom::of_trace(name), None, "{name:?}");
        }
    }
}
