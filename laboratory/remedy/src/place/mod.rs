//! A place that holds a value which can be read, set, and told from another.

mod partition;
mod policy;
mod thread;

pub(crate) use partition::{HIERARCHY, PARTITION};
pub(crate) use policy::without_time;
pub use thread::Thread;
pub(crate) use thread::{process_of, threads_of};

use crate::durable;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use tardy_changes::CpuList;
use tardy_host::Root;

/// Where a value is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A file of the kernel's: procfs, sysfs, a control group.
    File {
        /// Its path.
        path: String,
        /// How it writes its value.
        form: Form,
    },
    /// A text of tardy's own, for the next boot: there, or not there.
    Text {
        /// Its path.
        path: String,
    },
    /// A thread's timer slack, ns.
    Slack(Thread),
    /// A thread's policy, with what the kernel forgets when it is changed: timer slack, nice value, slice.
    Policy(Thread),
    /// The CPUs that a thread may run on.
    Affinity(Thread),
    /// An isolated partition of tardy's own, by its CPUs: there, or not there.
    Partition {
        /// The path of its control group.
        path: String,
    },
    /// The control group that a process is in, of the unified hierarchy.
    Group(Thread),
}

/// How a file of the kernel's writes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A word or some.
    Word,
    /// All there are, the chosen one in brackets: `always [madvise] never`, `none (full)`.
    Choice,
    /// A list of CPUs.
    Cpus,
    /// A mask of CPUs in hexadecimal words.
    Mask,
    /// Controllers, of which cpuset is one or not: `+cpuset`, `-cpuset`.
    Cpuset,
    /// A word that the kernel changes by itself when another place is changed: it is never set, only put back.
    Beside,
}

impl Place {
    /// The thread that it belongs to, where it is one's.
    pub fn thread(&self) -> Option<&Thread> {
        match self {
            Self::Slack(thread)
            | Self::Policy(thread)
            | Self::Affinity(thread)
            | Self::Group(thread) => Some(thread),
            Self::File { .. } | Self::Text { .. } | Self::Partition { .. } => None,
        }
    }

    /// The same of another thread, where it is what a thread inherits.
    pub(crate) fn of_thread(&self, thread: Thread) -> Option<Self> {
        match self {
            Self::Slack(_) => Some(Self::Slack(thread)),
            Self::Policy(_) => Some(Self::Policy(thread)),
            Self::Affinity(_) => Some(Self::Affinity(thread)),
            _ => None,
        }
    }

    /// Whether setting one changes what the other holds: the policy of a thread and its slack are set by one call.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let has_slack = |place: &Self| matches!(place, Self::Slack(_) | Self::Policy(_));
        self == other || (has_slack(self) && has_slack(other) && self.thread() == other.thread())
    }

    /// All places that overlap this one, itself first.
    pub(crate) fn overlapping(&self) -> Vec<Self> {
        match self {
            Self::Slack(thread) => vec![self.clone(), Self::Policy(thread.clone())],
            Self::Policy(thread) => vec![self.clone(), Self::Slack(thread.clone())],
            _ => vec![self.clone()],
        }
    }

    /// The path of a file.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } | Self::Text { path } | Self::Partition { path } => Some(path),
            _ => None,
        }
    }

    /// Whether the kernel alone changes it, with another place.
    pub fn is_beside(&self) -> bool {
        matches!(self, Self::File { form: Form::Beside, .. })
    }

    /// What of a value is for people: its first line, and of a policy what it is called.
    pub fn shown<'a>(&self, value: &'a str) -> &'a str {
        let line = value.lines().next().unwrap_or_default();
        if matches!(self, Self::Policy(_)) { policy::shown(line) } else { line }
    }

    /// Whether tardy makes it where it is not there.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Partition { .. })
    }

    /// What it holds; `None` where it is not there: a thread that has ended, a text that was not written.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn read(&self, root: &Root) -> io::Result<Option<String>> {
        if self.thread().is_some_and(|thread| !thread.is_there()) {
            return Ok(None);
        }
        match self {
            Self::File { path, form } => match read_text(root, path)? {
                None => Ok(None),
                Some(text) => Ok(Some(form.value(&text))),
            },
            Self::Text { path } => read_text(root, path),
            Self::Slack(thread) => Ok(slack(thread.tid)),
            Self::Policy(thread) => policy::read(thread).map(Some),
            Self::Affinity(thread) => thread.affinity().map(|cpus| Some(cpus.to_string())),
            Self::Partition { path } => Ok(partition::read(root, path)),
            Self::Group(process) => Ok(partition::of(process.tid)),
        }
    }

    /// Sets it; `None` takes away what tardy made.
    ///
    /// # Errors
    /// The kernel refuses, or it is not there any more.
    pub fn write(&self, root: &Root, value: Option<&str>) -> io::Result<()> {
        if self.thread().is_some_and(|thread| !thread.is_there()) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the thread has ended"));
        }
        match (self, value) {
            (Self::Text { path }, None) => durable::remove(&root.path(path)),
            (Self::Text { path }, Some(text)) => write_text(root, path, text),
            (Self::Partition { path }, None) => partition::take_away(root, path),
            (Self::Partition { path }, Some(cpus)) => partition::make(root, path, cpus),
            (_, None) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it must exist")),
            // One write: the kernel takes each as a whole value.
            (Self::File { path, form }, Some(value)) => {
                write_value(root, path, &form.written(value))
            }
            (Self::Slack(thread), Some(value)) => set_slack(thread.tid, value),
            (Self::Policy(thread), Some(value)) => policy::set(thread, value),
            (Self::Affinity(thread), Some(value)) => {
                let cpus = CpuList::parse(value).ok_or_else(|| not_understood(value))?;
                thread.set_affinity(&cpus)
            }
            (Self::Group(process), Some(group)) => partition::join(root, process.tid, group),
        }
    }

    /// Why the kernel does not let it be set to a value, beyond what its error says.
    pub(crate) fn why_not(&self, root: &Root, value: &str, error: &io::Error) -> Option<String> {
        match self {
            Self::Policy(thread) => policy::why_not(root, thread, value, error),
            _ => None,
        }
    }

    /// Whether what it holds is what it was set to.
    pub fn holds(&self, now: Option<&str>, value: Option<&str>) -> bool {
        let (Some(now), Some(value)) = (now, value) else { return now == value };
        match self {
            Self::Policy(_) => policy::holds(now, value),
            Self::File { form: Form::Cpus | Form::Mask, .. } => same_cpus(now, value),
            // What was killed while it was made has none yet.
            Self::Partition { .. } => now.is_empty() || same_cpus(now, value),
            Self::Text { .. } => now == value,
            _ => now.trim() == value.trim(),
        }
    }

    /// Whether it holds what it held before it was set to this. What only tardy's own setting adds is not that.
    pub(crate) fn is_back(&self, now: Option<&str>, old: Option<&str>, new: Option<&str>) -> bool {
        let resets = |value: Option<&str>| value.is_some_and(policy::resets_on_fork);
        let is_added =
            matches!(self, Self::Policy(_)) && resets(new) && resets(now) && !resets(old);
        self.holds(now, old) && !is_added
    }

    /// Whether it holds what its thread made of what it was set to, and could not have got by itself.
    pub(crate) fn is_made_of(
        &self,
        now: Option<&str>,
        old: Option<&str>,
        new: Option<&str>,
    ) -> bool {
        match (self, now.zip(old).zip(new)) {
            (Self::Policy(thread), Some(((now, old), new))) => {
                policy::is_made_of(thread, now, old, new)
            }
            _ => false,
        }
    }

    /// What it is set to where that is only tried.
    pub(crate) fn only_tried(&self, value: &str) -> String {
        match self {
            Self::Policy(_) => policy::only_tried(value),
            _ => value.to_owned(),
        }
    }

    /// The timer slack that threads are to have which were made while it was set to a policy that nobody inherits: the
    /// kernel lets them begin with that of a real-time thread, which is none. `None` where it is no such policy.
    pub(crate) fn slack_of_children(&self, old: Option<&str>, new: Option<&str>) -> Option<String> {
        let is_policy = matches!(self, Self::Policy(_));
        let old = old.filter(|_| is_policy && self.is_kept_from_children(new))?;
        policy::slack_in(old).filter(|slack| *slack != "0").map(str::to_owned)
    }

    /// Whether no child inherits what it is set to.
    pub(crate) fn is_kept_from_children(&self, new: Option<&str>) -> bool {
        matches!(self, Self::Policy(_)) && new.is_some_and(policy::resets_on_fork)
    }

    /// Takes away what was left half written by whom was ended meanwhile.
    ///
    /// # Errors
    /// It is there and stays.
    pub(crate) fn tidy(&self, root: &Root) -> io::Result<()> {
        match self {
            Self::Text { path } if beside(root, path).exists() => {
                durable::remove(&beside(root, path))
            }
            _ => Ok(()),
        }
    }

    /// What it is, in a few words for a person.
    pub fn words(&self) -> String {
        match self {
            Self::File { path, .. } | Self::Text { path } => path.clone(),
            Self::Slack(thread) => format!("the timer slack of {}", thread.words()),
            Self::Policy(thread) => format!("the policy of {}", thread.words()),
            Self::Affinity(thread) => format!("the CPUs of {}", thread.words()),
            Self::Partition { path } => format!("the partition {path}"),
            Self::Group(process) => format!("the control group of {}", process.words()),
        }
    }
}

impl Form {
    fn value(self, text: &str) -> String {
        let text = text.trim();
        match self {
            Self::Word | Self::Cpus | Self::Beside => text.to_owned(),
            Self::Choice => {
                let chosen = text.split_whitespace().find_map(|word| {
                    let word = word.strip_prefix(['[', '('])?;
                    word.strip_suffix([']', ')'])
                });
                chosen.unwrap_or(text).to_owned()
            }
            // Written as a list, so that it is compared as one.
            Self::Mask => CpuList::of_mask(text).map_or(text.to_owned(), |cpus| cpus.to_string()),
            Self::Cpuset if text.split_whitespace().any(|it| it == "cpuset") => {
                "+cpuset".to_owned()
            }
            Self::Cpuset => "-cpuset".to_owned(),
        }
    }

    /// How a value is written to the file.
    fn written(self, value: &str) -> String {
        match (self, CpuList::parse(value)) {
            (Self::Mask, Some(cpus)) => cpus.mask(),
            _ => value.to_owned(),
        }
    }
}

fn same_cpus(now: &str, value: &str) -> bool {
    CpuList::parse(now).is_some_and(|now| CpuList::parse(value) == Some(now))
}

/// A whole file; `None` where there is none.
fn read_text(root: &Root, path: &str) -> io::Result<Option<String>> {
    must_be_a_file(root, path)?;
    match root.text(path) {
        Some(text) => Ok(Some(text)),
        None if !root.exists(path) => Ok(None),
        // Why is the kernel's to say: rights, or a lockdown that holds for root too.
        None => fs::read_to_string(root.path(path)).map(Some),
    }
}

/// What the journal tells of a place may be damaged: nothing waits for a pipe, and no link is followed.
fn must_be_a_file(root: &Root, path: &str) -> io::Result<()> {
    match fs::symlink_metadata(root.path(path)) {
        Ok(about) if !about.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is no file")))
        }
        // That it is not there is for whoever reads it to tell.
        _ => Ok(()),
    }
}

fn write_value(root: &Root, path: &str, value: &str) -> io::Result<()> {
    must_be_a_file(root, path)?;
    let mut file = fs::OpenOptions::new().write(true).truncate(true).open(root.path(path))?;
    file.write_all(value.as_bytes())
}

/// Where a text is until it is whole.
fn beside(root: &Root, path: &str) -> PathBuf {
    root.path(path).with_extension("tardy-new")
}

/// A text appears whole or not at all, and is on disk when this returns.
fn write_text(root: &Root, path: &str, text: &str) -> io::Result<()> {
    let (path, beside) = (root.path(path), beside(root, path));
    if let Some(folder) = path.parent() {
        durable::make_folder(folder)?;
    }
    // Of a process that was killed; a link or a pipe is none of ours either.
    let _ = fs::remove_file(&beside);
    let written = fs::File::create_new(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| durable::rename(&beside, &path));
    if renamed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    renamed
}

fn slack(tid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{tid}/timerslack_ns")).ok()?;
    Some(text.trim().to_owned())
}

fn set_slack(tid: u32, value: &str) -> io::Result<()> {
    write_value(&Root::system(), &format!("/proc/{tid}/timerslack_ns"), value)
}

fn not_understood(value: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{value:?} is not a valid value"))
}

/// In quotes where a shell would take it for something else.
pub fn shell_word(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._+-:@%,=".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_their_value_in_their_own_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (form, text, value, to) in [
            (Form::Word, "950000\n", "950000", "-1"),
            (Form::Choice, "always [madvise] never\n", "madvise", "never"),
            (Form::Choice, "none voluntary (full) lazy \n", "full", "lazy"),
            (Form::Cpus, "0-1\n", "0-1", "1"),
            (Form::Mask, "3\n", "0-1", "1"),
        ] {
            fs::write(folder.path().join("file"), text).unwrap();
            let place = Place::File { path: "/file".to_owned(), form };
            let now = place.read(&root).unwrap();
            assert_eq!(now.as_deref(), Some(value), "{text}");
            assert!(place.holds(now.as_deref(), Some(value)));
            assert!(!place.holds(now.as_deref(), Some(to)));
            place.write(&root, Some(to)).unwrap();
            let now = place.read(&root).unwrap();
            assert!(place.holds(now.as_deref(), Some(to)), "{now:?}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "2");
        let none = Place::File { path: "/none".to_owned(), form: Form::Word };
        assert_eq!(none.read(&root).unwrap(), None);
        assert!(none.write(&root, Some("1")).is_err(), "no file of the kernel's is made");
    }

    #[test]
    fn a_text_comes_and_goes_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let place = Place::Text { path: "/etc/sysctl.d/90-tardy.conf".to_owned() };
        assert_eq!(place.read(&root).unwrap(), None);
        place.write(&root, Some("a = 1\n")).unwrap();
        assert_eq!(place.read(&root).unwrap().as_deref(), Some("a = 1\n"));
        place.write(&root, None).unwrap();
        assert_eq!(place.read(&root).unwrap(), None);
        let left = fs::read_dir(folder.path().join("etc/sysctl.d")).unwrap().count();
        assert_eq!(left, 0);
    }
}
