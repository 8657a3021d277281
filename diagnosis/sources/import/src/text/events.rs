//! The events that texts show, with their fields by name.
//!
//! A new event is one line in the table. Those whose text is no row of `key=value` have a reader of
//! their own in [`forms`](super::forms).

use super::fields::{self, FIELDS_MAX, Fields, Key, Kind, PASSED_OVER};
use super::forms;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use tardy_ftrace::decode::{EventId, Value};

/// Reads a body that is not, or not in all kernels, written as `key=value`.
type Form = for<'a> fn(&'a [u8]) -> Fields<'a>;

/// An event's line in the table.
struct Row {
    /// Names that share all the rest.
    events: &'static [&'static str],
    keys: &'static [(&'static str, Kind)],
    /// Without these it is not all there: every kernel shows them.
    needed: &'static [&'static str],
    /// Tried where `keys` do not find all that is needed.
    form: Option<Form>,
}

const HRTIMER: (&str, Kind) = ("hrtimer=", Kind::Hex);
const TIMER: (&str, Kind) = ("timer=", Kind::Hex);
const FUNCTION: (&str, Kind) = ("function=", Kind::Function);
const COMM: (&str, Kind) = ("comm=", Kind::Comm(b" pid="));
const PID: (&str, Kind) = ("pid=", Kind::Number);
const PRIO: (&str, Kind) = ("prio=", Kind::Number);

/// Keys that old kernels have for fields, or texts alone.
const OTHER_KEYS: [(&str, &str); 3] =
    [("softirq=", "vec"), ("handler=", "name"), ("iowait=", "io_wait")];

const ROWS: &[Row] = &[
    Row {
        events: &["hrtimer_start"],
        keys: &[
            HRTIMER,
            FUNCTION,
            ("expires=", Kind::Number),
            ("softexpires=", Kind::Number),
            ("mode=", Kind::Words),
            ("was_armed=", Kind::Number),
        ],
        needed: &["hrtimer", "function", "expires", "softexpires"],
        form: None,
    },
    Row {
        events: &["hrtimer_cancel", "hrtimer_expire_exit"],
        keys: &[HRTIMER],
        needed: &["hrtimer"],
        form: None,
    },
    Row {
        events: &["timer_pending"],
        keys: &[HRTIMER, ("softexpires=", Kind::Number), COMM, PID, PRIO],
        needed: &["hrtimer", "pid", "prio"],
        form: None,
    },
    Row {
        events: &["hrtimer_expire_entry"],
        keys: &[HRTIMER, FUNCTION, ("now=", Kind::Number)],
        needed: &["hrtimer", "function", "now"],
        form: None,
    },
    Row {
        events: &["timer_start"],
        keys: &[
            TIMER,
            FUNCTION,
            ("expires=", Kind::Number),
            ("timeout=", Kind::Number),
            ("bucket_expiry=", Kind::Number),
            ("cpu=", Kind::Number),
            ("idx=", Kind::Number),
            ("flags=", Kind::Words),
        ],
        needed: &["timer", "function", "expires", "timeout"],
        form: None,
    },
    Row {
        events: &["timer_cancel", "timer_expire_exit"],
        keys: &[TIMER],
        needed: &["timer"],
        form: None,
    },
    Row {
        events: &["timer_expire_entry"],
        keys: &[TIMER, FUNCTION, ("now=", Kind::Number)],
        needed: &["timer"],
        form: None,
    },
    Row {
        events: &["irq_handler_entry"],
        keys: &[("irq=", Kind::Number), ("name=", Kind::Rest), ("handler=", Kind::Rest)],
        needed: &["irq", "name"],
        form: None,
    },
    Row {
        events: &["irq_handler_exit"],
        keys: &[("irq=", Kind::Number)],
        needed: &["irq"],
        form: None,
    },
    Row {
        events: &["softirq_raise", "softirq_entry", "softirq_exit"],
        keys: &[("vec=", Kind::Number), ("softirq=", Kind::Number)],
        needed: &["vec"],
        form: None,
    },
    Row {
        events: &["sched_waking", "sched_wakeup", "sched_wakeup_new"],
        keys: &[COMM, PID, PRIO, ("success=", Kind::Number), ("target_cpu=", Kind::Number)],
        needed: &["pid", "prio", "target_cpu"],
        form: Some(forms::wakeup),
    },
    Row {
        events: &["sched_switch"],
        keys: &[
            ("prev_comm=", Kind::Comm(b" prev_pid=")),
            ("prev_pid=", Kind::Number),
            ("prev_prio=", Kind::Number),
            ("prev_state=", Kind::Letters),
            ("next_comm=", Kind::Comm(b" next_pid=")),
            ("next_pid=", Kind::Number),
            ("next_prio=", Kind::Number),
        ],
        needed: &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"],
        form: Some(forms::switch),
    },
    Row {
        events: &["sched_migrate_task"],
        keys: &[COMM, PID, PRIO, ("orig_cpu=", Kind::Number), ("dest_cpu=", Kind::Number)],
        needed: &["pid", "orig_cpu", "dest_cpu"],
        form: None,
    },
    Row {
        events: &["sched_pi_setprio"],
        keys: &[COMM, PID, ("oldprio=", Kind::Number), ("newprio=", Kind::Number)],
        needed: &["pid", "oldprio", "newprio"],
        form: None,
    },
    Row {
        events: &["sched_process_exec"],
        keys: &[("filename=", Kind::Path(b" pid=")), PID, ("old_pid=", Kind::Number)],
        needed: &["pid", "old_pid"],
        form: None,
    },
    Row { events: &["sched_process_exit"], keys: &[COMM, PID], needed: &["pid"], form: None },
    Row {
        events: &["task_newtask"],
        keys: &[PID, ("comm=", Kind::Comm(b" clone_flags=")), ("clone_flags=", Kind::Hex)],
        needed: &["pid", "comm", "clone_flags"],
        form: None,
    },
    Row {
        events: &["task_rename"],
        keys: &[
            PID,
            ("oldcomm=", Kind::Comm(b" newcomm=")),
            ("newcomm=", Kind::Comm(b" oom_score_adj=")),
        ],
        needed: &["newcomm"],
        form: None,
    },
    Row {
        events: &["cpu_idle"],
        keys: &[("state=", Kind::Number), ("cpu_id=", Kind::Number)],
        needed: &["state"],
        form: None,
    },
    Row {
        events: &["workqueue_execute_start"],
        keys: &[],
        needed: &["function"],
        form: Some(forms::work),
    },
    Row { events: &["workqueue_execute_end"], keys: &[], needed: &[], form: Some(forms::work) },
    Row {
        events: &["signal_deliver"],
        keys: &[("sig=", Kind::Number)],
        needed: &["sig"],
        form: None,
    },
    Row {
        events: &["sched_blocked_reason"],
        keys: &[("pid=", Kind::Number), ("iowait=", Kind::Number), ("caller=", Kind::Function)],
        needed: &["pid", "caller"],
        form: None,
    },
    Row {
        events: &["page_fault_user"],
        keys: &[("address=", Kind::Number)],
        needed: &["address"],
        form: None,
    },
    Row {
        events: &["ipi_send_cpu"],
        keys: &[
            ("cpu=", Kind::Number),
            ("callsite=", Kind::Function),
            ("callback=", Kind::Function),
        ],
        needed: &["cpu"],
        form: None,
    },
    Row {
        events: &["ipi_send_cpumask"],
        keys: &[
            ("cpumask=", Kind::Mask),
            ("callsite=", Kind::Function),
            ("callback=", Kind::Function),
        ],
        needed: &["cpumask"],
        form: None,
    },
    Row {
        events: &["ipi_entry", "ipi_exit"],
        keys: &[],
        needed: &["reason"],
        form: Some(forms::reason),
    },
    Row {
        events: &["cgroup_attach_task"],
        keys: &[("dst_path=", Kind::Path(b" pid=")), PID],
        needed: &["pid", "dst_path"],
        form: None,
    },
    Row { events: &["ipi_raise"], keys: &[], needed: &["target_cpus"], form: Some(forms::ipi) },
    Row {
        events: &["nmi_handler"],
        keys: &[],
        needed: &["handler", "delta_ns"],
        form: Some(forms::nmi),
    },
    Row {
        events: &["irq_disable", "irq_enable", "preempt_disable", "preempt_enable"],
        keys: &[("caller=", Kind::Function), ("parent=", Kind::Function)],
        needed: &["caller"],
        form: None,
    },
    Row { events: &["sys_enter"], keys: &[], needed: &["id"], form: Some(forms::enter) },
    Row { events: &["sys_exit"], keys: &[], needed: &["id", "ret"], form: Some(forms::exit) },
];

/// How to read one event.
pub(crate) struct Event {
    pub(crate) id: EventId,
    keys: Vec<Key>,
    needed: u16,
    form: Option<Form>,
    is_numbered_call: bool,
}

/// What is behind an event's name.
pub(crate) struct Parsed<'a> {
    pub(crate) id: EventId,
    pub(crate) fields: Fields<'a>,
    /// All is there that every kernel shows.
    pub(crate) is_whole: bool,
}

impl Event {
    fn new(id: EventId) -> Self {
        let row = ROWS.iter().find(|row| row.events.contains(&id.name()));
        // What has no row has no fields that anybody reads.
        let (keys, needed, form) =
            row.map_or((&[][..], &[][..], None), |row| (row.keys, row.needed, row.form));
        let field = |name: &str| id.fields().iter().position(|field| *field == name);
        let keys = keys.iter().map(|(text, kind)| {
            let other = OTHER_KEYS.iter().find(|(other, _)| other == text);
            let name = other.map_or(text.trim_end_matches('='), |(_, name)| *name);
            let field = field(name).unwrap_or(PASSED_OVER);
            Key { text: text.as_bytes(), kind: *kind, field }
        });
        let keys = keys.collect();
        let needed = needed.iter().filter_map(|name| field(name)).fold(0, |all, at| all | 1 << at);
        assert!(id.fields().len() <= FIELDS_MAX, "room for every field of {}", id.name());
        let is_numbered_call = matches!(id.name(), "sys_enter" | "sys_exit");
        Self { id, keys, needed, form, is_numbered_call }
    }

    /// Reads the fields.
    #[inline]
    pub(crate) fn parse<'a>(&self, body: &'a [u8]) -> Parsed<'a> {
        let mut fields = fields::parse(&self.keys, body);
        let mut is_whole = fields.has_all(self.needed);
        if let Some(form) = self.form
            && (!is_whole || self.keys.is_empty())
        {
            fields = form(body);
            is_whole = fields.has_all(self.needed);
        }
        Parsed { id: self.id, fields, is_whole }
    }

    /// Whether `text` begins with a field that the event can have and has not yet: then it goes on
    /// there.
    pub(crate) fn goes_on_in(&self, fields: &Fields<'_>, text: &[u8]) -> bool {
        let is_open =
            |key: &Key| fields.values.get(key.field).is_some_and(|value| *value == Value::Missing);
        self.keys.iter().any(|key| is_open(key) && text.starts_with(key.text))
    }
}

/// All events, by name.
pub(crate) struct Events {
    events: Vec<Event>,
    by_name: FxHashMap<&'static [u8], u16>,
    enter: EventId,
    exit: EventId,
    armed: usize,
}

/// How to read what stands behind an event's name.
#[derive(Clone, Copy)]
pub(crate) enum Reader<'e, 'n> {
    Event(&'e Event),
    /// What an arming would say that is not in the trace.
    Armed(&'e Event),
    /// A single call's own event: its name.
    Enter(EventId, &'n [u8]),
    Exit(EventId, &'n [u8]),
}

impl Events {
    pub(crate) fn new() -> Self {
        let events: Vec<Event> = EventId::all().map(Event::new).collect();
        let by_name = (0..).zip(&events).map(|(at, event)| (event.id.name().as_bytes(), at));
        let id = |name| EventId::of(name).expect("calls are events of the decoder");
        let (enter, exit) = (id("sys_enter"), id("sys_exit"));
        let armed = events.iter().position(|event| event.id == id("hrtimer_start")).unwrap_or(0);
        Self { by_name: by_name.collect(), enter, exit, armed, events }
    }

    /// How to read what a timer was armed for.
    pub(crate) fn armed(&self) -> &Event {
        &self.events[self.armed]
    }

    /// The event of this name, if it is one that the model has a place for. What is behind the name
    /// tells whether a call begins or ends.
    #[inline]
    pub(crate) fn reader<'n>(&self, name: &'n [u8], body: &[u8]) -> Option<Reader<'_, 'n>> {
        if let Some(at) = self.by_name.get(name) {
            return Some(Reader::Event(&self.events[usize::from(*at)]));
        }
        let call = name.strip_prefix(b"sys_")?;
        if let Some(call) = call.strip_prefix(b"enter_") {
            return Some(Reader::Enter(self.enter, call));
        }
        if let Some(call) = call.strip_prefix(b"exit_") {
            return Some(Reader::Exit(self.exit, call));
        }
        match body.first()? {
            b'(' => Some(Reader::Enter(self.enter, call)),
            b' ' if body.starts_with(b" -> ") => Some(Reader::Exit(self.exit, call)),
            _ => None,
        }
    }
}

/// All events, once for all readers.
pub(crate) static EVENTS: LazyLock<Events> = LazyLock::new(Events::new);

impl Reader<'_, '_> {
    /// Whether it is the event that all calls share, which tells their number.
    pub(crate) fn is_numbered_call(self) -> bool {
        matches!(self, Self::Event(event) if event.is_numbered_call)
    }

    /// Whether it is a single call's own event.
    pub(crate) fn is_single_call(self) -> bool {
        matches!(self, Self::Enter(..) | Self::Exit(..))
    }

    pub(crate) fn is_armed(self) -> bool {
        matches!(self, Self::Armed(_))
    }
}

impl<'n> Reader<'_, 'n> {
    #[inline]
    pub(crate) fn parse<'a>(self, body: &'a [u8]) -> Parsed<'a>
    where
        'n: 'a,
    {
        match self {
            Self::Event(event) | Self::Armed(event) => event.parse(body),
            Self::Enter(id, call) => {
                Parsed { id, fields: forms::single_enter(call, body), is_whole: true }
            }
            Self::Exit(id, call) => {
                let fields = forms::single_exit(call, body);
                Parsed { id, is_whole: fields.has_all(0b11), fields }
            }
        }
    }

    pub(crate) fn goes_on_in(self, fields: &Fields<'_>, text: &[u8]) -> bool {
        matches!(self, Self::Event(event) if event.goes_on_in(fields, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_the_decoder_can_be_read() {
        for event in &Events::new().events {
            let name = event.id.name();
            let row = ROWS.iter().find(|row| row.events.contains(&name));
            // In a text a stack is lines of its own, see `stacks.rs`.
            let is_lines = name.as_bytes() == super::super::stacks::EVENT;
            assert!(row.is_some() || is_lines || event.id.fields().is_empty(), "{name} has no row");
        }
        for row in ROWS {
            for name in row.events {
                let id = EventId::of(name).unwrap_or_else(|| panic!("{name} is no event"));
                for needed in row.needed {
                    assert!(id.fields().contains(needed), "{name} has no field {needed}");
                }
            }
        }
    }
}
