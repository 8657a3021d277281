//! Names for culprits and victims, as they were at the time.

use crate::slots::Slots;
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_followers::Activity;
use tardy_model::event::{Comm, IdleEnter, Irq, Recorded, TaskInfo, softirq};
use tardy_model::{Culprit, NameId, Setting, Tables, TaskId, TimerId};

/// Threads remembered at most; Linux has at most 2^22 thread ids.
const TASKS_MAX: usize = 1 << 22;

/// The name of a CPU's idling where it is in no state that could be another.
pub(crate) const IDLE_LOOP: &str = "idle loop";

/// The same where the stream does not tell which state was chosen.
const UNSEEN_STATE: &str = "state (not recorded)";

/// Idling in no state, or in one that is not known.
const NO_STATE: Culprit = Culprit::IdleState(u32::MAX);

/// A name for a culprit or a victim. Names come from traces: they are data, whatever they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// `task`, `kernel_task`, `tardy`, `timer`, `irq`, `softirq`, `idle_state`, `function`, `setting`,
    /// `bandwidth`, `task_or_interrupt`, `cpu`, or `unknown`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its thread id; for a timer that of the thread that armed it.
    pub pid: Option<u32>,
}

/// A label by number: the same label always has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LabelId(pub(crate) u32);

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    name: Comm,
    /// Grows with every new name, so that labels made from the old one are not used again.
    version: u32,
    info: TaskInfo,
    /// The path of its control group.
    group: NameId,
    /// Its own label, by the name that it has now.
    label: Option<LabelId>,
    /// It has told that it exits, and none has begun with its id since.
    has_exited: bool,
}

/// Everything needed to name a culprit.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) tables: Tables,
    /// Where threads are kept, and what is known of them.
    places: Slots,
    tasks: Vec<Task>,
    known: Vec<Label>,
    /// Whom each of these labels was made for first.
    known_for: Vec<Culprit>,
    /// Processes with threads that were chosen to be explained.
    victims: FxHashSet<TaskId>,
    by_label: FxHashMap<Label, LabelId>,
    by_culprit: FxHashMap<Culprit, Labelled>,
    /// Labels that are found without a search, beside those of threads: by timer, and those of others asked
    /// for lately, by [`place_of`]. The same few come again and again.
    timers: Vec<OfTimer>,
    recent: Vec<(Culprit, Near)>,
    /// Counts whatever may give somebody another label: what is near holds for one of these.
    names_changed: u32,
    /// The stream does not tell which idle state a CPU is in.
    states_unseen: bool,
    /// The process that records.
    recorder: Option<TaskId>,
}

/// A culprit's label, and the version of the task that it names.
#[derive(Clone, Copy, Debug, Default)]
struct Labelled {
    id: LabelId,
    version: u32,
}

/// A label that surely holds until names change again.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    label: Labelled,
    /// One more than [`Labels::names_changed`] was; 0 for none.
    at: u32,
}

/// A timer's labels: with the thread that armed it last, and without one.
#[derive(Clone, Copy, Debug, Default)]
struct OfTimer {
    armed_by: TaskId,
    armed: Near,
    alone: Near,
}

/// Places for labels asked for lately; a power of two.
const RECENT: usize = 256;

/// Where the label of one that is neither a thread nor a timer is among the recent ones.
fn place_of(culprit: Culprit) -> usize {
    let at = match culprit {
        Culprit::SoftirqIn(vector, task) => task.0.wrapping_add(vector << 4),
        Culprit::TaskOrInterrupt(task) => !task.0,
        Culprit::Irq(Irq::Line(number, _)) => number.wrapping_mul(31),
        Culprit::Irq(Irq::Vector(vector)) | Culprit::Ipi(vector, ..) => vector.0.wrapping_add(900),
        Culprit::Softirq(vector) => vector.wrapping_add(920),
        Culprit::IdleState(state) => state.wrapping_add(940),
        Culprit::Polling(state) => state.wrapping_add(960),
        Culprit::Cpu(cpu) => u32::from(cpu.0).wrapping_mul(17),
        Culprit::Nobody | Culprit::Task(_) | Culprit::Timer(..) => 0,
        Culprit::Hypervisor(sure) => 2 + u32::from(sure),
        Culprit::ClockEventDevice => 4,
        Culprit::Nmi(_) | Culprit::Function(_) | Culprit::Setting(_) => 1,
    };
    at as usize % RECENT
}

impl Labels {
    pub(crate) fn rename(&mut self, task: TaskId, name: Comm) {
        if let Some(known) = self.task(task)
            && known.name != name
        {
            known.name = name;
            known.version = known.version.wrapping_add(1);
            known.label = None;
            self.names_changed = self.names_changed.wrapping_add(1);
        }
    }

    /// The source says which kinds of events it records.
    pub(crate) fn recorded(&mut self, recorded: Recorded) {
        let unseen = !recorded.has(IdleEnter::TAG);
        if unseen != self.states_unseen {
            self.states_unseen = unseen;
            self.names_changed = self.names_changed.wrapping_add(1);
            self.by_culprit.remove(&NO_STATE);
            self.recent.clear();
        }
    }

    /// Whether somebody chose that state, seen or not.
    pub(crate) fn is_idle_state(&self, culprit: Culprit) -> bool {
        matches!(culprit, Culprit::IdleState(_)) && (culprit != NO_STATE || self.states_unseen)
    }

    pub(crate) fn inform(&mut self, task: TaskId, info: TaskInfo) {
        if info.has(TaskInfo::OWN) {
            self.recorder = Some(info.process);
        }
        if let Some(known) = self.task(task) {
            known.info = info;
        }
    }

    /// Whether a thread is of the process that records, which starts what it measures.
    pub(crate) fn is_recorder(&self, task: TaskId) -> bool {
        self.recorder.is_some() && self.process(task) == self.recorder
    }

    pub(crate) fn groups_as(&mut self, task: TaskId, path: NameId) {
        if path != NameId::NONE
            && let Some(known) = self.task(task)
        {
            known.group = path;
        }
    }

    /// A thread was chosen to be explained.
    pub(crate) fn is_chosen(&mut self, task: TaskId) {
        if self.victims.len() < TASKS_MAX {
            self.victims.insert(self.process(task).unwrap_or(task));
        }
    }

    /// Whether one of a process' threads was chosen to be explained, by itself or with few others.
    pub(crate) fn is_victims(&self, process: TaskId) -> bool {
        self.victims.contains(&process)
    }

    /// A new thread begins, perhaps with the id of one that is gone.
    pub(crate) fn begins(&mut self, task: TaskId) {
        if let Some(known) = self.task(task) {
            known.has_exited = false;
        }
    }

    pub(crate) fn exits(&mut self, task: TaskId) {
        if let Some(known) = self.task(task) {
            known.has_exited = true;
        }
    }

    pub(crate) fn has_exited(&self, task: TaskId) -> bool {
        self.of(task).is_some_and(|known| known.has_exited)
    }

    /// A thread's process, where that is known.
    pub(crate) fn process(&self, task: TaskId) -> Option<TaskId> {
        Some(self.info(task).process).filter(|process| *process != TaskId::IDLE)
    }

    pub(crate) fn is_kernel(&self, task: TaskId) -> bool {
        let name = self.comm(task).0;
        let named = || KERNEL_THREADS.iter().any(|known| name.starts_with(known.as_bytes()));
        self.info(task).has(TaskInfo::KERNEL) || named()
    }

    fn task(&mut self, task: TaskId) -> Option<&mut Task> {
        let at = if let Some(at) = self.places.get(task) {
            at
        } else if self.tasks.len() < TASKS_MAX {
            self.places.set(task, self.tasks.len());
            self.tasks.push(Task::default());
            self.tasks.len() - 1
        } else {
            return None;
        };
        Some(&mut self.tasks[at])
    }

    #[inline]
    fn of(&self, task: TaskId) -> Option<&Task> {
        self.places.get(task).map(|at| &self.tasks[at])
    }

    pub(crate) fn info(&self, task: TaskId) -> TaskInfo {
        self.of(task).map_or_else(TaskInfo::default, |known| known.info)
    }

    /// A thread's name now; empty where it is not known.
    pub(crate) fn comm(&self, task: TaskId) -> Comm {
        self.of(task).map_or_else(Comm::default, |known| known.name)
    }

    /// The definitions, for who enters some: timers may have other owners after it.
    pub(crate) fn tables_mut(&mut self) -> &mut Tables {
        self.names_changed = self.names_changed.wrapping_add(1);
        &mut self.tables
    }

    /// The number of a culprit's label, as it is named now.
    #[inline]
    pub(crate) fn id(&mut self, culprit: Culprit) -> LabelId {
        self.near(culprit).unwrap_or_else(|| self.look_up(culprit))
    }

    /// The same of a thread.
    #[inline]
    pub(crate) fn id_of_task(&mut self, task: TaskId) -> LabelId {
        let near = self.of(task).and_then(|known| known.label);
        near.unwrap_or_else(|| self.look_up(Culprit::Task(task)))
    }

    /// A culprit's label, where that is found without a search.
    #[expect(
        clippy::inline_always,
        reason = "it is asked of every segment, most of which are of two kinds"
    )]
    #[inline(always)]
    fn near(&self, culprit: Culprit) -> Option<LabelId> {
        let near = match culprit {
            Culprit::Task(task) => return self.of(task)?.label,
            Culprit::Timer(timer, by) => {
                let of = self.timers.get(timer.0 as usize)?;
                match by {
                    TaskId::IDLE => &of.alone,
                    by if of.armed_by == by => &of.armed,
                    _ => return None,
                }
            }
            other => return self.near_lately(other),
        };
        (near.at == self.now()).then_some(near.label.id)
    }

    /// The same of one that is neither a thread nor a timer.
    fn near_lately(&self, culprit: Culprit) -> Option<LabelId> {
        let (known, near) = self.recent.get(place_of(culprit))?;
        (*known == culprit && near.at == self.now()).then_some(near.label.id)
    }

    /// What is near holds while this is the same.
    #[inline]
    fn now(&self) -> u32 {
        self.names_changed.wrapping_add(1)
    }

    /// One that was near before names changed, if they were others'.
    fn still_near(&mut self, culprit: Culprit) -> Option<LabelId> {
        let (version, now) = (self.version(culprit), self.now());
        let near = match culprit {
            Culprit::Task(_) => return None,
            Culprit::Timer(timer, by) => {
                let of = self.timers.get_mut(timer.0 as usize)?;
                match by {
                    TaskId::IDLE => &mut of.alone,
                    by if of.armed_by == by => &mut of.armed,
                    _ => return None,
                }
            }
            other => {
                let (known, near) = self.recent.get_mut(place_of(other))?;
                if *known != other {
                    return None;
                }
                near
            }
        };
        if near.at == 0 || near.label.version != version {
            return None;
        }
        near.at = now;
        Some(near.label.id)
    }

    /// Where [`Labels::near`] looks for it.
    fn keep_near(&mut self, culprit: Culprit, label: Labelled) {
        let (id, label) = (label.id, Near { label, at: self.now() });
        match culprit {
            Culprit::Task(task) => {
                if let Some(at) = self.places.get(task) {
                    self.tasks[at].label = Some(id);
                }
            }
            Culprit::Timer(timer, by) => {
                let at = timer.0 as usize;
                if timer.0 >= Tables::ENTRIES_MAX {
                    return;
                }
                if at >= self.timers.len() {
                    self.timers.resize(at + 1, OfTimer::default());
                }
                let of = &mut self.timers[at];
                if by == TaskId::IDLE {
                    of.alone = label;
                } else {
                    (of.armed_by, of.armed) = (by, label);
                }
            }
            other => {
                if self.recent.is_empty() {
                    self.recent.resize(RECENT, (Culprit::Nobody, Near::default()));
                }
                self.recent[place_of(other)] = (other, label);
            }
        }
    }

    #[cold]
    fn look_up(&mut self, culprit: Culprit) -> LabelId {
        if let Some(id) = self.still_near(culprit) {
            return id;
        }
        let version = self.version(culprit);
        if let Some(known) = self.by_culprit.get(&culprit)
            && known.version == version
        {
            let known = *known;
            self.keep_near(culprit, known);
            return known.id;
        }
        let label = self.made(culprit);
        let id = if let Some(id) = self.by_label.get(&label) {
            *id
        } else {
            let id = LabelId(self.known.len() as u32);
            self.known.push(label.clone());
            self.known_for.push(culprit);
            self.by_label.insert(label, id);
            id
        };
        let known = Labelled { id, version };
        self.by_culprit.insert(culprit, known);
        self.keep_near(culprit, known);
        id
    }

    /// How many culprits have been named.
    pub(crate) fn count(&self) -> usize {
        self.by_culprit.len()
    }

    pub(crate) fn get(&self, id: LabelId) -> &Label {
        &self.known[id.0 as usize]
    }

    /// Whom a label was made for first.
    pub(crate) fn culprit(&self, id: LabelId) -> Culprit {
        self.known_for[id.0 as usize]
    }

    #[inline]
    fn version(&self, culprit: Culprit) -> u32 {
        let task = match culprit {
            Culprit::Task(task) | Culprit::TaskOrInterrupt(task) | Culprit::SoftirqIn(_, task) => {
                task
            }
            Culprit::Timer(timer, armed_by) => self.timer_owner(timer, armed_by),
            _ => return 0,
        };
        self.of(task).map_or(0, |known| known.version)
    }

    pub(crate) fn timer_owner(&self, timer: TimerId, armed_by: TaskId) -> TaskId {
        if armed_by == TaskId::IDLE { self.tables.timer(timer).owner } else { armed_by }
    }

    /// A culprit's name.
    pub(crate) fn label(&self, culprit: Culprit) -> Label {
        // Of a timer nothing is told but what it and its owner are called.
        match self.near(culprit).filter(|_| matches!(culprit, Culprit::Timer(..))) {
            Some(id) => self.get(id).clone(),
            None => self.made(culprit),
        }
    }

    fn made(&self, culprit: Culprit) -> Label {
        let plain = |kind, name: String| Label { kind, name, pid: None };
        match culprit {
            Culprit::Nobody => plain("unknown", String::new()),
            Culprit::Task(task) => self.task_label(task),
            Culprit::TaskOrInterrupt(task) => Label {
                kind: "task_or_interrupt",
                name: format!("{} or an interrupt in it", self.task_name(task)),
                pid: Some(task.0),
            },
            Culprit::Timer(timer, armed_by) => {
                let function = match self.tables.function(timer) {
                    "" => "unknown timer",
                    function => function,
                };
                let owner = self.timer_owner(timer, armed_by);
                if owner == TaskId::IDLE {
                    return plain("timer", function.to_owned());
                }
                let name = format!("{} ({function})", self.task_name(owner));
                Label { kind: "timer", name, pid: Some(owner.0) }
            }
            Culprit::Irq(Irq::Line(number, name)) => {
                plain("irq", format!("{} (irq {number})", self.tables.name(name)))
            }
            Culprit::Irq(Irq::Vector(vector)) => plain("irq", vector.name().to_owned()),
            Culprit::Ipi(vector, by, function) => {
                let what = match self.tables.name(function) {
                    "" => String::new(),
                    function => format!(" for {function}"),
                };
                let name = format!("{} from {}{what}", vector.name(), self.task_name(by));
                Label { kind: "irq", name, pid: (by != TaskId::IDLE).then_some(by.0) }
            }
            Culprit::Nmi(handler) => {
                let name = match self.tables.name(handler) {
                    "" => "NMI".to_owned(),
                    handler => format!("NMI ({handler})"),
                };
                plain("irq", name)
            }
            Culprit::SoftirqIn(vector, task) => {
                let label = self.task_label(task);
                Label { name: format!("{} ({})", label.name, softirq::name(vector)), ..label }
            }
            Culprit::Softirq(vector) => plain("softirq", softirq::name(vector).to_owned()),
            NO_STATE => {
                let name = if self.states_unseen { UNSEEN_STATE } else { IDLE_LOOP };
                plain("idle_state", name.to_owned())
            }
            Culprit::IdleState(state) => plain("idle_state", format!("state {state}")),
            Culprit::Polling(state) => plain("idle_state", format!("state {state} (polling)")),
            Culprit::Function(name) => plain("function", self.tables.name(name).to_owned()),
            Culprit::Setting(Setting::TimerSlack(ns)) => {
                let rounded = one_digit(ns);
                let about = if rounded == ns { "" } else { "about " };
                let us = f64::from(rounded) / 1e3;
                plain("setting", format!("timer slack {about}{us} µs"))
            }
            Culprit::Setting(Setting::PollSlack) => {
                plain("setting", "select/poll slack".to_owned())
            }
            Culprit::Setting(Setting::LowResolution) => {
                plain("setting", "low-resolution mode".to_owned())
            }
            Culprit::Setting(Setting::CfsBandwidth(task)) => {
                let path = self.of(task).map_or(NameId::NONE, |known| known.group);
                let of = match self.tables.name(path) {
                    "" => format!("{}'s control group", self.task_name(task)),
                    path => path.to_owned(),
                };
                plain("bandwidth", format!("CFS bandwidth of {of}"))
            }
            Culprit::Setting(Setting::DeadlineBudget(task)) => Label {
                kind: "bandwidth",
                name: format!("deadline budget of {}", self.task_name(task)),
                pid: Some(task.0),
            },
            Culprit::Setting(Setting::RtBandwidth) => {
                plain("bandwidth", "real-time bandwidth".to_owned())
            }
            Culprit::Cpu(cpu) => plain("cpu", format!("CPU {cpu}")),
            Culprit::ClockEventDevice => {
                plain(CLOCK_EVENT_DEVICE, "the clock-event device".to_owned())
            }
            Culprit::Hypervisor(true) => plain("hypervisor", "the hypervisor".to_owned()),
            Culprit::Hypervisor(false) => {
                plain("hypervisor", "the hypervisor (exact time not known)".to_owned())
            }
        }
    }

    pub(crate) fn activity_label(&self, activity: Activity) -> Label {
        self.label(activity.culprit())
    }

    fn task_name(&self, task: TaskId) -> String {
        if task == TaskId::IDLE {
            return "the idle task".to_owned();
        }
        let name = self.comm(task);
        if name == Comm::default() { format!("thread {task}") } else { name.to_string() }
    }

    fn task_label(&self, task: TaskId) -> Label {
        let info = self.info(task);
        let kind = if info.has(TaskInfo::KERNEL) {
            "kernel_task"
        } else if info.has(TaskInfo::OWN) {
            "tardy"
        } else {
            "task"
        };
        Label { kind, name: self.task_name(task), pid: Some(task.0) }
    }
}

/// The kind of culprit that a clock-event device is.
pub(crate) const CLOCK_EVENT_DEVICE: &str = "clock_event_device";

/// How the names of threads begin that the kernel starts to do others' work: an imported trace does not
/// say which are its own.
const KERNEL_THREADS: [&str; 10] = [
    "kworker/",
    "ksoftirqd/",
    "ktimers/",
    "timer_level",
    "timer_order/",
    "irq/",
    "jbd2/",
    "kswapd",
    "migration/",
    "rcu",
];

/// A slack rounded down to one digit: there may be as many values as timeouts, and each label is kept.
fn one_digit(ns: u32) -> u32 {
    let unit = 10u32.pow(ns.checked_ilog10().unwrap_or(0));
    ns / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_as_it_is_called_now() {
        let (mut labels, task, timer) = (Labels::default(), TaskId(7), TimerId(1));
        let each = [Culprit::Task(task), Culprit::Timer(timer, task), Culprit::SoftirqIn(3, task)];
        let ids = |labels: &mut Labels| each.map(|culprit| labels.id(culprit));
        let unnamed = ids(&mut labels);
        labels.rename(task, Comm::new("before"));
        let before = ids(&mut labels);
        assert_eq!(ids(&mut labels), before, "asked again");
        labels.rename(task, Comm::new("after"));
        let after = ids(&mut labels);
        for at in 0..each.len() {
            assert_ne!(unnamed[at], before[at], "{:?}", each[at]);
            assert!(labels.get(before[at]).name.contains("before"));
            assert!(labels.get(after[at]).name.contains("after"));
        }
        labels.rename(task, Comm::new("before"));
        assert_eq!(ids(&mut labels), before, "the same label has the same number");
    }

    #[test]
    fn who_begins_with_the_id_of_one_that_is_gone_has_not_exited() {
        let mut labels = Labels::default();
        labels.exits(TaskId(7));
        assert!(labels.has_exited(TaskId(7)) && !labels.has_exited(TaskId(8)));
        labels.begins(TaskId(7));
        assert!(!labels.has_exited(TaskId(7)));
    }
}
