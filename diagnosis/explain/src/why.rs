//! One wakeup as a story: what happened, in order, a sentence each.

mod words;

use crate::findings::WorstWakeup;
use crate::pattern::{PatternFinding, REGISTRY};
use crate::step::{Happened, Step};
use tardy_model::event::{Irq, TaskState, futex, softirq};
use tardy_model::{BlockedOn, Boost, Cause, CpuId, Culprit, TaskId, duration};
use words::{
    by_name, described, function_of, in_place, listed, names, priority, task, time, work_of,
};

/// Parts named in the last sentence.
const NAMED_MAX: usize = 5;

/// A pattern whose causes took less of a wakeup than this is no part of its story.
const PATTERN_SHARE_MIN: f64 = 0.1;

/// A sentence of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// When it happened.
    pub time_ns: u64,
    /// Where, as far as it is known.
    pub cpu: Option<CpuId>,
    /// The kernel's event that tells it; `expiry`, `mark`, `sum` and `pattern` are no events of the
    /// kernel's.
    pub event: &'static str,
    /// The sentence. Names in it come from traces: they are data, whatever they hold.
    pub text: String,
}

/// Tells a wakeup: from who woke whom, or the timer's arm, to the return to user space; then what took
/// most of it, and the stories that it is an instance of, as `patterns` tell them.
pub fn why(worst: &WorstWakeup, patterns: &[PatternFinding]) -> Vec<Sentence> {
    let mut story: Vec<Sentence> = worst.steps.iter().map(|step| sentence(worst, step)).collect();
    let wakeup = &worst.wakeup;
    let (time_ns, cpu) = (wakeup.expiry_ns + wakeup.lateness_ns, Some(wakeup.cpu));
    story.push(Sentence { time_ns, cpu, event: "sum", text: sum(worst) });
    for name in worst.patterns.names() {
        // One that is not worth a word among all wakeups is none in this one, nor is one that took little of it.
        let finding = patterns.iter().find(|finding| finding.name == name);
        if let Some(finding) = finding.filter(|_| took_much(worst, name)) {
            let text = format!("{}: {}", finding.title, finding.words);
            story.push(Sentence { time_ns, cpu, event: "pattern", text });
        }
    }
    story
}

/// Whether what a pattern is about took a part of this wakeup that is worth a sentence.
fn took_much(worst: &WorstWakeup, pattern: &str) -> bool {
    let Some(pattern) = REGISTRY.iter().find(|known| known.name() == pattern) else { return false };
    let causes = pattern.causes();
    let its = worst.wakeup.segments.iter().filter(|segment| causes.contains(&segment.cause.0));
    let ns: u64 = its.map(|segment| segment.ns).sum();
    ns as f64 >= PATTERN_SHARE_MIN * worst.wakeup.lateness_ns as f64
}

fn sentence(worst: &WorstWakeup, step: &Step) -> Sentence {
    let (event, text) = match &step.what {
        Happened::Armed { .. }
        | Happened::Expiry { .. }
        | Happened::Interrupt(_)
        | Happened::Raised(_)
        | Happened::SoftirqBegins(_)
        | Happened::Pending(_)
        | Happened::TimerThreadBegins(_)
        | Happened::Callback { .. } => of_timer(worst, step),
        Happened::Boosted { .. }
        | Happened::HolderRuns { .. }
        | Happened::HolderPreempted { .. }
        | Happened::HolderSleeps { .. }
        | Happened::Unlocks { .. } => of_lock(worst, step),
        Happened::Spent { cause, parts, ns } => {
            let is_woken = |other: &Step| {
                matches!(other.what, Happened::Woken { .. }) && other.time_ns <= step.time_ns
            };
            of_part(worst, *cause, parts, *ns, worst.steps.iter().any(is_woken))
        }
        _ => of_victim(worst, step),
    };
    Sentence { time_ns: step.time_ns, cpu: step.cpu, event, text }
}

/// What the timer did.
fn of_timer(worst: &WorstWakeup, step: &Step) -> (&'static str, String) {
    let victim = &worst.victim.name;
    let expiry_ns = worst.wakeup.expiry_ns;
    match step.what {
        Happened::Armed { by, function, of_wheel } => {
            let whose = if by == worst.wakeup.task { "its" } else { "the" };
            let by = if by == TaskId::IDLE { "the kernel".to_owned() } else { task(worst, by) };
            let ahead = match expiry_ns.checked_sub(step.time_ns) {
                Some(ahead_ns) => format!("{} ahead", duration(ahead_ns)),
                None => format!("which is {} too late", duration(step.time_ns - expiry_ns)),
            };
            let function = function_of(worst, function);
            let event = if of_wheel { "timer_start" } else { "hrtimer_start" };
            (event, format!("{by} arms {whose} timer{function} for {}, {ahead}.", time(expiry_ns)))
        }
        Happened::Expiry { slack_ns, in_tick, function } => {
            let it = if function.is_some() { "it" } else { "its timer" };
            let rest = match (in_tick, slack_ns) {
                (true, _) => format!("; {it} fires only on a tick"),
                (false, 0) => String::new(),
                (false, ns) => format!("; {it} may fire up to {} later", duration(ns.into())),
            };
            let due = match function {
                None => format!("{victim} asked to be woken at this time"),
                Some(other) => {
                    format!("a timer{} that is to wake {victim} is due", function_of(worst, other))
                }
            };
            ("expiry", format!("{due}{rest}."))
        }
        Happened::Interrupt(irq) => {
            let when = match step.time_ns.checked_sub(expiry_ns) {
                None => "before the expiry".to_owned(),
                Some(0) => "on time".to_owned(),
                Some(late_ns) => format!("{} after the expiry", duration(late_ns)),
            };
            let name = worst.label(Culprit::Irq(irq)).name;
            (entry_of(irq), format!("the interrupt {name} begins, {when}."))
        }
        Happened::Raised(vector) => {
            let name = softirq::name(vector);
            ("softirq_raise", format!("the softirq {name}, which is to run the timer, is raised."))
        }
        Happened::SoftirqBegins(vector) => {
            ("softirq_entry", format!("the softirq {} begins.", softirq::name(vector)))
        }
        Happened::Pending(thread) => {
            let name = task(worst, thread);
            ("timer_pending", format!("the timer is pending, and {name} is woken to run it."))
        }
        Happened::TimerThreadBegins(thread) => {
            ("sched_switch", format!("{} begins.", task(worst, thread)))
        }
        Happened::Callback { function, of_wheel, is_own } => {
            let event = if of_wheel { "timer_expire_entry" } else { "hrtimer_expire_entry" };
            let function = function_of(worst, function);
            let timer = if is_own { format!("{victim}'s timer") } else { "the timer".to_owned() };
            (event, format!("the callback of {timer}{function} begins."))
        }
        _ => ("", String::new()),
    }
}

/// What the victim did, and what was done with it.
fn of_victim(worst: &WorstWakeup, step: &Step) -> (&'static str, String) {
    let victim = &worst.victim.name;
    let here = step.cpu.map_or("a CPU".to_owned(), |cpu| format!("CPU {cpu}"));
    match &step.what {
        Happened::Led { link, woken } => {
            let (by, woken) = (described(worst, link.by), described(worst, *woken));
            led(&by, &woken, link.started, &work_of(worst, link.work))
        }
        Happened::Woken { by, work, started, on, slept_in } => {
            let (event, mut text) = match by {
                Culprit::Timer(..) => {
                    ("sched_waking", format!("the callback makes {victim} runnable"))
                }
                by => {
                    let (event, text) =
                        led(&described(worst, *by), victim, *started, &work_of(worst, *work));
                    (event, text.trim_end_matches('.').to_owned())
                }
            };
            if step.cpu != Some(*on) {
                text = format!("{text}, on CPU {on}");
            }
            let place = match in_place(worst, *slept_in) {
                place if place.is_empty() => place,
                place => format!("; it had slept{place}"),
            };
            (event, format!("{text}{place}."))
        }
        Happened::WokenAgain { by, on } => {
            let by = if *by == TaskId::IDLE { "an interrupt".to_owned() } else { task(worst, *by) };
            let elsewhere =
                if step.cpu == Some(*on) { String::new() } else { format!(", on CPU {on}") };
            ("sched_waking", format!("{by} wakes {victim}{elsewhere}."))
        }
        Happened::Moved(to) => ("sched_migrate_task", format!("{victim} is moved to CPU {to}.")),
        Happened::Runs { instead_of, waited_ns, preempted } => {
            let instead = in_place_of(worst, *instead_of, worst.wakeup.task);
            let since = if *preempted { "lost the CPU" } else { "was woken" };
            let text = format!(
                "{victim} runs on {here}{instead}, {} after it {since}.",
                duration(*waited_ns)
            );
            ("sched_switch", text)
        }
        Happened::GoesOn => ("sched_waking", format!("{victim} goes on: it had not slept yet.")),
        Happened::Preempted(by) => {
            let by = described(worst, *by);
            (
                "sched_switch",
                format!(
                    "{by} takes {here} from {victim}, which is not back in user \
                space yet."
                ),
            )
        }
        Happened::Faults => ("page_fault_user", format!("{victim} takes a page fault.")),
        Happened::Signalled(number) => {
            let text = format!("{victim} is about to handle signal {number} before it returns.");
            ("signal_deliver", text)
        }
        Happened::Asks => {
            let what = worst.wakeup.lock.map_or("a lock".to_owned(), |call| {
                format!("the lock at {:#x} (FUTEX_{})", call.address, futex::name(call.op))
            });
            ("sys_enter", format!("{victim} asks for {what}."))
        }
        Happened::Blocks { state, on, holder, next, place, holder_in } => {
            let is_stop = *state == TaskState::Stopped;
            let holds = match on {
                _ if *holder == TaskId::IDLE => String::new(),
                BlockedOn::Unknown => format!("; {} is to end it", task(worst, *holder)),
                _ => format!(", which {} holds", task(worst, *holder)),
            };
            let (place, asleep) = (in_place(worst, *place), in_place(worst, *holder_in));
            let asleep = if asleep.is_empty() || holds.is_empty() {
                String::new()
            } else {
                format!(", asleep{asleep}")
            };
            let next = match next {
                Culprit::Task(next) => format!("; {} runs on {here}", task(worst, *next)),
                _ => format!("; {here} has nothing else to do"),
            };
            let letter = state.letter();
            let waits = if is_stop {
                format!("is stopped ({letter})")
            } else {
                format!("waits ({letter}) {}", waited_for(*on))
            };
            ("sched_switch", format!("{victim} {waits}{place}{holds}{asleep}{next}."))
        }
        Happened::Back { by_mark } => {
            let event = if *by_mark { "mark" } else { "sys_exit" };
            let since = if worst.wakeup.lock.is_some() { "it asked" } else { "the expiry" };
            let late = duration(worst.wakeup.lateness_ns);
            (event, format!("{victim} is back in user space, {late} after {since}."))
        }
        Happened::LeftOut(count) => ("left_out", format!("({count} more steps are not shown.)")),
        _ => ("", String::new()),
    }
}

/// What those did for whom the victim waited.
fn of_lock(worst: &WorstWakeup, step: &Step) -> (&'static str, String) {
    let here = step.cpu.map_or("its CPU".to_owned(), |cpu| format!("CPU {cpu}"));
    match &step.what {
        Happened::Boosted { boost, count, on } if !boost.released => {
            ("sched_pi_setprio", lent(worst, boost, *count, *on))
        }
        Happened::Boosted { boost, .. } => {
            let target = task(worst, boost.target);
            let to = if boost.from == boost.to {
                format!("{target} loses its boost")
            } else {
                format!("{target} returns to priority {}", priority(boost.to))
            };
            let unlock = if boost.in_unlock { ", and has not finished its unlock" } else { "" };
            ("sched_pi_setprio", format!("{to}{unlock}."))
        }
        Happened::HolderRuns { holder, instead_of } => {
            let instead = in_place_of(worst, *instead_of, *holder);
            ("sched_switch", format!("{} runs on {here}{instead}.", task(worst, *holder)))
        }
        Happened::HolderPreempted { holder, by, in_unlock } => {
            let unlock = if *in_unlock { ", which has not finished its unlock" } else { "" };
            let (by, holder) = (described(worst, *by), task(worst, *holder));
            ("sched_switch", format!("{by} takes {here} from {holder}{unlock}."))
        }
        Happened::HolderSleeps { holder, state, place } => {
            let (holder, state) = (task(worst, *holder), state.letter());
            ("sched_switch", format!("{holder} itself waits ({state}){}.", in_place(worst, *place)))
        }
        Happened::Unlocks { holder, op } => {
            let (holder, name) = (task(worst, *holder), futex::name(*op));
            let gives_up = matches!(futex::operation(*op), futex::UNLOCK_PI | futex::WAKE);
            let text = if gives_up && worst.wakeup.lock.is_some() {
                format!("{holder} begins to release the lock (FUTEX_{name}).")
            } else {
                format!("{holder} calls FUTEX_{name}.")
            };
            ("sys_enter", text)
        }
        _ => ("", String::new()),
    }
}

fn lent(worst: &WorstWakeup, boost: &Boost, count: usize, on: Option<BlockedOn>) -> String {
    let (by, target) = (task(worst, boost.by), task(worst, boost.target));
    let again = match count {
        0 | 1 => "",
        2 => " a second time",
        _ => " once more",
    };
    let had = if boost.from == boost.to {
        String::new()
    } else {
        format!(" ({target} had {})", priority(boost.from))
    };
    let what = match on {
        _ if boost.by != worst.wakeup.task => format!("what {by} waits for"),
        Some(BlockedOn::KernelLock) => "a lock inside the kernel".to_owned(),
        Some(BlockedOn::Futex(_)) => "the lock".to_owned(),
        _ => format!("what {by} needs"),
    };
    let unlock = if boost.in_unlock { ", still in its unlock," } else { "" };
    let instead = boost.instead.map_or_else(String::new, |instead| {
        format!(", and {} runs in its place", task(worst, instead))
    });
    format!(
        "{by} lends {target} its priority {}{again}{had}: {target}{unlock} holds {what}{instead}.",
        priority(boost.to)
    )
}

/// What a part of the lateness went to.
fn of_part(
    worst: &WorstWakeup,
    cause: Cause,
    parts: &[(Culprit, u64)],
    ns: u64,
    is_woken: bool,
) -> (&'static str, String) {
    let first = parts.first().map_or(Culprit::Nobody, |(culprit, _)| *culprit);
    let names = names(worst, cause, parts);
    let ns = duration(ns);
    let (runs, has) = if parts.len() == 1 { ("runs", "has") } else { ("run", "have") };
    match cause.0 {
        "idle_exit" if is_woken => {
            ("cpu_idle", format!("leaving the idle loop takes {ns} ({names})."))
        }
        "idle_exit" => ("cpu_idle", format!("the CPU slept ({names}) and needs {ns} to wake up.")),
        "irq_delay" => (
            "expiry",
            match first {
                Culprit::Nobody => format!("no interrupt comes for {ns}, and no event shows why."),
                Culprit::ClockEventDevice => match parts {
                    [(_, device_ns), rest @ ..] if !rest.is_empty() => format!(
                        "no interrupt comes for {ns}, of which {} is its usual delay; then {} {} \
                            on.",
                        duration(*device_ns),
                        words::names(worst, cause, rest),
                        if rest.len() == 1 { "runs" } else { "run" },
                    ),
                    _ => format!("the timer interrupt has its usual delay of {ns}."),
                },
                _ => format!("no interrupt comes for {ns}: {names} {runs} on."),
            },
        ),
        "hrtimer_hang" => {
            let why = "the kernel put it off because the last one took as long";
            ("expiry", format!("no interrupt comes for {ns}: {why} ({names})."))
        }
        "stacked_timers" => {
            let others = match parts.len() {
                1 => "another timer".to_owned(),
                count => format!("{count} other timers"),
            };
            ("hrtimer_expire_entry", format!("callbacks of {others} take {ns}: {names}."))
        }
        "softirq_wait" => {
            ("softirq_raise", format!("the softirq waits to run for {ns}: {names} {runs}."))
        }
        "softirq_work" => {
            ("softirq_entry", format!("the softirq does other work first for {ns}: {names}."))
        }
        "timer_thread_wait" => {
            let text = format!("the thread for timers waits to run for {ns}: {names} {runs}.");
            ("timer_pending", text)
        }
        "timer_thread_work" => (
            "hrtimer_expire_entry",
            format!("the thread for timers runs others first or is on its way for {ns}: {names}."),
        ),
        "interrupts" => {
            let event = match first {
                Culprit::Irq(irq) => entry_of(irq),
                Culprit::Timer(..) => "hrtimer_expire_entry",
                _ => "softirq_entry",
            };
            (event, format!("interrupts take {ns}: {names}."))
        }
        "higher_priority" => {
            ("sched_switch", format!("{names} {runs} for {ns} at a higher priority."))
        }
        "not_preemptible" => {
            ("sched_switch", format!("{names} {runs} on for {ns} and cannot be preempted."))
        }
        "switch_delay" => (
            "sched_switch",
            format!("{names} {has} the CPU for {ns}; the trace does not show which."),
        ),
        "unseen_migration" => (
            "sched_migrate_task",
            format!("no event shows in which CPU's queue the thread waits for the next {ns}."),
        ),
        "cpu_contention" => {
            ("sched_switch", format!("{names} {runs} for {ns}: the CPU is shared."))
        }
        "throttled" => {
            ("sched_switch", format!("the thread may not run for {ns}: {names} is used up."))
        }
        "forced_idle" => (
            "sched_switch",
            format!(
                "the CPU idles for {ns} although the thread could run: core scheduling, sched_ext, or a \
                 group's bandwidth."
            ),
        ),
        "irqs_off" => ("irq_disable", format!("{names} keeps interrupts off for {ns}.")),
        "wrong_cpu" => (
            "reschedule_entry",
            format!("queueing the thread on another CPU ({names}) takes {ns}."),
        ),
        "unexplained" => ("unexplained", format!("no event explains the next {ns}.")),
        "hypervisor" => (cause.0, format!("the hypervisor runs something else for {ns}.")),
        _ => (cause.0, format!("this takes {ns}: {names}.")),
    }
}

/// What took the time, most first.
fn sum(worst: &WorstWakeup) -> String {
    let mut causes: Vec<(Cause, Vec<(Culprit, u64)>)> = Vec::new();
    for segment in &worst.wakeup.segments {
        let at =
            causes.iter().position(|(cause, _)| *cause == segment.cause).unwrap_or_else(|| {
                causes.push((segment.cause, Vec::new()));
                causes.len() - 1
            });
        causes[at].1.push((segment.culprit, segment.ns));
    }
    let of_cause = |(cause, parts): &(Cause, Vec<(Culprit, u64)>)| {
        let named = by_name(worst, *cause, parts).into_iter();
        named.map(|(name, ns)| (*cause, name, ns)).collect::<Vec<_>>()
    };
    let mut parts: Vec<(Cause, String, u64)> = causes.iter().flat_map(of_cause).collect();
    // Equal ones stay in order of time.
    parts.sort_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let named = parts.iter().take(NAMED_MAX).map(|(cause, name, ns)| match name.as_str() {
        "" => format!("{} {}", duration(*ns), cause.0),
        name => format!("{} {} by {name}", duration(*ns), cause.0),
    });
    let mut named: Vec<String> = named.collect();
    let rest: u64 = parts.iter().skip(NAMED_MAX).map(|(.., ns)| ns).sum();
    if rest > 0 {
        let others = match parts.len() - NAMED_MAX {
            1 => "1 other".to_owned(),
            count => format!("{count} others"),
        };
        named.push(format!("{} of {others}", duration(rest)));
    }
    format!("{} together: {}.", duration(worst.wakeup.lateness_ns), listed(&named))
}

fn led(by: &str, woken: &str, started: bool, work: &str) -> (&'static str, String) {
    if started {
        ("sched_wakeup_new", format!("{by} starts {woken}."))
    } else {
        ("sched_waking", format!("{by} wakes {woken}{work}."))
    }
}

fn entry_of(irq: Irq) -> &'static str {
    match irq {
        Irq::Line(..) => "irq_handler_entry",
        Irq::Vector(vector) => match vector.name() {
            "local_timer" => "local_timer_entry",
            "reschedule" => "reschedule_entry",
            _ => "irq_vectors",
        },
    }
}

fn waited_for(on: BlockedOn) -> String {
    match on {
        BlockedOn::Unknown => "again; no event shows for what".to_owned(),
        BlockedOn::Futex(address) => format!("for the lock at {address:#x}"),
        BlockedOn::KernelLock => "for a lock inside the kernel".to_owned(),
        BlockedOn::Page => "for the page".to_owned(),
    }
}

fn in_place_of(worst: &WorstWakeup, other: Option<TaskId>, own: TaskId) -> String {
    match other {
        Some(other) if other != own => format!(" in place of {}", task(worst, other)),
        _ => String::new(),
    }
}
