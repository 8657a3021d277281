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
    /// All threads, or the control group, of a name; `*` stands for anything.
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

    /// Whether a thread of this name is meant, where a name is.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(pattern) if matches(pattern.as_bytes(), name.as_bytes()))
    }
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
    use super::Whom;

    #[test]
    fn stars_stand_for_anything() {
        let matches = |pattern: &str, name| Whom::Name(pattern.to_owned()).matches_name(name);
        assert!(matches("ksoftirqd/*", "ksoftirqd/1"));
        assert!(matches("*bench", "hackbench"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-b-b-d"));
        assert!(!matches("storm", "storm-1"));
        assert!(!Whom::Victim.matches_name("victim"));
    }
}
