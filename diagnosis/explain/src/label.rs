//! Names for culprits and victims, as they were at the time.

use rustc_hash::FxHashMap;
use tardy_followers::Activity;
use tardy_model::event::{Comm, Irq, TaskInfo, softirq};
use tardy_model::{Culprit, NameId, Setting, Tables, TaskId};

/// Threads remembered at most; Linux has at most 2^22 thread ids.
const PEOPLE_MAX: usize = 1 << 22;

/// The name of a CPU's idling where it is in no state that could be another.
pub(crate) const IDLE_LOOP: &str = "idle loop";

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
struct Person {
    name: Comm,
    /// Grows with every new name, so that labels made from the old one are not used again.
    version: u32,
    info: TaskInfo,
    /// The path of its control group.
    group: NameId,
}

/// Everything needed to name a culprit.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) tables: Tables,
    people: FxHashMap<TaskId, Person>,
    known: Vec<Label>,
    by_label: FxHashMap<Label, LabelId>,
    by_culprit: FxHashMap<Culprit, Labelled>,
    /// Grows with anybody's new name.
    renames: u32,
}

/// A culprit's label, and when it was known to be right.
#[derive(Clone, Copy, Debug)]
struct Labelled {
    id: LabelId,
    /// The version of the person that it names.
    version: u32,
    /// How many renames there had been.
    renames: u32,
}

impl Labels {
    pub(crate) fn rename(&mut self, task: TaskId, name: Comm) {
        if let Some(person) = self.person(task)
            && person.name != name
        {
            person.name = name;
            person.version = person.version.wrapping_add(1);
            self.renames = self.renames.wrapping_add(1);
        }
    }

    pub(crate) fn inform(&mut self, task: TaskId, info: TaskInfo) {
        if let Some(person) = self.person(task) {
            person.info = info;
        }
    }

    pub(crate) fn groups_as(&mut self, task: TaskId, path: NameId) {
        if path != NameId::NONE
            && let Some(person) = self.person(task)
        {
            person.group = path;
        }
    }

    pub(crate) fn is_kernel(&self, task: TaskId) -> bool {
        let name = self.comm(task).0;
        let named = || KERNEL_THREADS.iter().any(|known| name.starts_with(known.as_bytes()));
        self.info(task).has(TaskInfo::KERNEL) || named()
    }

    fn person(&mut self, task: TaskId) -> Option<&mut Person> {
        if self.people.len() >= PEOPLE_MAX && !self.people.contains_key(&task) {
            return None;
        }
        Some(self.people.entry(task).or_default())
    }

    pub(crate) fn info(&self, task: TaskId) -> TaskInfo {
        self.people.get(&task).map_or_else(TaskInfo::default, |person| person.info)
    }

    /// A thread's name now; empty where it is not known.
    pub(crate) fn comm(&self, task: TaskId) -> Comm {
        self.people.get(&task).map_or_else(Comm::default, |person| person.name)
    }

    /// The number of a culprit's label, as it is named now.
    pub(crate) fn id(&mut self, culprit: Culprit) -> LabelId {
        let renames = self.renames;
        if let Some(known) = self.by_culprit.get(&culprit)
            && known.renames == renames
        {
            return known.id;
        }
        let version = self.version(culprit);
        if let Some(known) = self.by_culprit.get_mut(&culprit)
            && known.version == version
        {
            known.renames = renames;
            return known.id;
        }
        let label = self.label(culprit);
        let id = if let Some(id) = self.by_label.get(&label) {
            *id
        } else {
            let id = LabelId(self.known.len() as u32);
            self.known.push(label.clone());
            self.by_label.insert(label, id);
            id
        };
        self.by_culprit.insert(culprit, Labelled { id, version, renames });
        id
    }

    /// How many culprits have been named.
    pub(crate) fn count(&self) -> usize {
        self.by_culprit.len()
    }

    pub(crate) fn get(&self, id: LabelId) -> &Label {
        &self.known[id.0 as usize]
    }

    fn version(&self, culprit: Culprit) -> u32 {
        let task = match culprit {
            Culprit::Task(task) | Culprit::TaskOrInterrupt(task) | Culprit::SoftirqIn(_, task) => {
                task
            }
            Culprit::Timer(timer, armed_by) => self.timer_owner(timer, armed_by),
            _ => return 0,
        };
        self.people.get(&task).map_or(0, |person| person.version)
    }

    fn timer_owner(&self, timer: tardy_model::TimerId, armed_by: TaskId) -> TaskId {
        if armed_by == TaskId::IDLE { self.tables.timer(timer).owner } else { armed_by }
    }

    /// A culprit's name.
    pub(crate) fn label(&self, culprit: Culprit) -> Label {
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
            Culprit::IdleState(u32::MAX) => plain("idle_state", IDLE_LOOP.to_owned()),
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
            Culprit::Setting(Setting::CfsBandwidth(task)) => {
                let path = self.people.get(&task).map_or(NameId::NONE, |person| person.group);
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

/// How the names of threads begin that the kernel starts to do others' work: an imported trace does not
/// say which are its own.
const KERNEL_THREADS: [&str; 8] =
    ["kworker/", "ksoftirqd/", "ktimers/", "irq/", "jbd2/", "kswapd", "migration/", "rcu"];

/// A slack rounded down to one digit: there may be as many values as timeouts, and each label is kept.
fn one_digit(ns: u32) -> u32 {
    let unit = 10u32.pow(ns.checked_ilog10().unwrap_or(0));
    ns / unit * unit
}
