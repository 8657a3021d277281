//! What a flight recorder held, explained: who was late in it, and whether that is worth a night.

use std::cmp::Reverse;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};
use tardy_explain::{Explainer, Explanation, Options, Watch, WorstWakeup};
use tardy_kernel::{Exceeded, Held, monotonic_ns};
use tardy_model::{Cause, Culprit, WakeupKind};
use tardy_recording::Trigger;
use tardy_report::units::duration;

/// Wakeups among which the one is looked for: the worst of all that the recorder held.
const WORST: usize = 200;

/// Causes that are of a thread's own choosing: what it allows its timers, and that it asked too late.
const OWN_CHOICES: [&str; 2] = ["slack", "armed_late"];

/// What came of looking.
pub(super) enum Judged {
    /// Somebody was late.
    Late(Box<Caught>),
    /// Nobody was, after all.
    False(Mistaken),
    /// What the kernel's buffers held did not reach back to it any more.
    Missed,
}

/// Late wakeups that are taken from one look at most.
const TRIGGERS_MAX: usize = 5;

/// Who was late, and why.
pub(super) struct Caught {
    /// The worst of each culprit, the latest first; one at least.
    pub(super) triggers: Vec<Trigger>,
    pub(super) explanation: Explanation,
}

/// Who seemed to be late.
pub(super) struct Mistaken {
    thread: u32,
    seemed_ns: u64,
    own_ns: Option<u64>,
}

impl fmt::Display for Mistaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, seemed) = (self.thread, duration(self.seemed_ns));
        match self.own_ns {
            Some(own_ns) => {
                let own = duration(own_ns);
                write!(
                    f,
                    "thread {thread} seemed {seemed} late, but {own} of that was its own \
                    choice"
                )
            }
            None => write!(f, "thread {thread} seemed {seemed} late, but none of its wakeups was"),
        }
    }
}

/// What is looked for.
pub(super) struct Sought {
    /// Who exceeded the bar, by the kernel side.
    pub(super) exceeded: Exceeded,
    pub(super) over_ns: u64,
    /// What ended before this was judged before.
    pub(super) since_ns: u64,
    /// `CLOCK_REALTIME` was set since then: who sleeps by that clock seems late by as much.
    pub(super) clock_was_set: bool,
}

/// Looks for the wakeups that exceed the bound.
pub(super) fn judge(held: &Held, sought: &Sought) -> Judged {
    let Sought { exceeded, over_ns, since_ns, clock_was_set } = *sought;
    let explanation = explain(held);
    let is_it = |worst: &WorstWakeup| {
        let wakeup = &worst.wakeup;
        wakeup.task == exceeded.task && wakeup.expiry_ns + wakeup.lateness_ns == exceeded.ran_ns
    };
    let candidates = explanation.worst.iter().filter(|worst| {
        let wakeup = &worst.wakeup;
        let is_waking = !matches!(wakeup.kind, WakeupKind::Preempted | WakeupKind::Lock);
        let is_new = wakeup.expiry_ns + wakeup.lateness_ns > since_ns;
        is_waking && is_new && (!clock_was_set || is_it(worst))
    });
    let late = candidates.filter(|worst| worst.wakeup.lateness_ns - own_ns(worst) > over_ns);
    let mut late: Vec<Trigger> = late.map(|worst| trigger(&explanation, worst, over_ns)).collect();
    late.sort_by_key(|trigger| Reverse(trigger.excess_ns()));
    let mut triggers: Vec<Trigger> = Vec::new();
    for trigger in late {
        if triggers.iter().all(|worse| worse.who() != trigger.who()) {
            triggers.push(trigger);
        }
    }
    if !triggers.is_empty() {
        triggers.truncate(TRIGGERS_MAX);
        return Judged::Late(Box::new(Caught { triggers, explanation }));
    }
    let wakeup = explanation.worst.iter().find(|worst| is_it(worst));
    if wakeup.is_none() && exceeded.due_ns < held.from_ns {
        return Judged::Missed;
    }
    Judged::False(Mistaken {
        thread: exceeded.task.0,
        seemed_ns: wakeup.map_or(exceeded.late_ns(), |worst| worst.wakeup.lateness_ns),
        own_ns: wakeup.map(own_ns),
    })
}

fn explain(held: &Held) -> Explanation {
    let options = Options { watch: Watch::default(), worst: WORST };
    let mut explainer = Explainer::new(options, ());
    held.batches.iter().for_each(|batch| explainer.batch(batch));
    explainer.finish().0
}

/// What of a lateness the thread chose itself.
fn own_ns(worst: &WorstWakeup) -> u64 {
    let segments = worst.wakeup.segments.iter();
    let own = segments.filter(|segment| OWN_CHOICES.contains(&segment.cause.0));
    own.map(|segment| segment.ns).sum()
}

fn trigger(explanation: &Explanation, worst: &WorstWakeup, over_ns: u64) -> Trigger {
    let wakeup = &worst.wakeup;
    let (cause, culprit) = main_cause(explanation, worst);
    Trigger {
        task: wakeup.task.0,
        name: worst.victim.name.clone(),
        cpu: wakeup.cpu.0,
        expiry_ns: wakeup.expiry_ns,
        lateness_ns: wakeup.lateness_ns,
        own_ns: own_ns(worst),
        over_ns,
        ran_unix_ns: unix_ns(wakeup.expiry_ns + wakeup.lateness_ns),
        cause: cause.0.to_owned(),
        culprit,
    }
}

/// What took most that was not of its own choosing, and who did most of that.
fn main_cause(explanation: &Explanation, worst: &WorstWakeup) -> (Cause, String) {
    let mut sums: Vec<(Cause, String, u64)> = Vec::new();
    for segment in &worst.wakeup.segments {
        if OWN_CHOICES.contains(&segment.cause.0) {
            continue;
        }
        let who = name_of(explanation, worst, segment.culprit);
        match sums.iter_mut().find(|(cause, name, _)| *cause == segment.cause && *name == who) {
            Some((.., ns)) => *ns += segment.ns,
            None => sums.push((segment.cause, who, segment.ns)),
        }
    }
    let most = sums.into_iter().max_by_key(|(.., ns)| *ns);
    most.map_or((Cause::UNEXPLAINED, String::new()), |(cause, who, _)| (cause, who))
}

/// What a person would call a culprit.
fn name_of(explanation: &Explanation, worst: &WorstWakeup, culprit: Culprit) -> String {
    if culprit == Culprit::Nobody {
        return String::new();
    }
    let label = worst.label(culprit);
    let found = explanation.culprits.iter().find(|found| found.label == label);
    let group = found.and_then(|found| explanation.groups.get(found.group));
    group.map_or(label.name, |found| found.group.words())
}

/// A time of the recording's clock in nanoseconds since 1970.
fn unix_ns(time_ns: u64) -> u64 {
    let now_unix_ns =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    now_unix_ns.saturating_sub(monotonic_ns().saturating_sub(time_ns))
}

/// What a reader of the recording is told.
pub(super) fn note(trigger: &Trigger, held: &Held) -> String {
    let before_ns = trigger.expiry_ns.saturating_sub(held.from_ns);
    format!(
        "kept by tardy watch, because a thread ran more than {} late: it begins {} before that, \
         with what each CPU ran then. It does not include when timer interrupts begin and end or \
         when callbacks end, so their time counts as the task that they interrupted",
        duration(trigger.over_ns),
        duration(before_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::{
        Call, Current, ExpireBegin, Switch, TaskInfo, TaskState, TimerArm, TimerMode, Waking,
    };
    use tardy_model::{Batch, CpuId, Event, Kind, Prio, TaskId, TimerClass, TimerDef, TimerId};

    const VICTIM: TaskId = TaskId(7);
    const OTHER: TaskId = TaskId(8);
    const TIMER: TimerId = TimerId(1);
    const EXPIRY_NS: u64 = 2_000_000;

    fn at(time_ns: u64, task: TaskId, kind: impl Into<Kind>) -> Event {
        Event::new(time_ns, CpuId(0), task, kind.into())
    }

    fn switch(next: TaskId, prev_state: TaskState) -> Switch {
        let (prev_prio, next_prio) = (Prio(49), Prio(49));
        Switch { prev_state, prev_prio, preempted: false, next, next_prio }
    }

    /// The victim sleeps; its timer fires when it may, and another runs until `ran_ns`.
    fn held(slack_ns: u32, ran_ns: u64) -> Held {
        let mode = TimerMode(0);
        let arm =
            TimerArm { timer: TIMER, soft_ns: EXPIRY_NS, slack_ns, mode, call: Call::Unknown };
        let fires_ns = EXPIRY_NS + u64::from(slack_ns);
        let begin = ExpireBegin { timer: TIMER, soft_ns: EXPIRY_NS, slack_ns, mode };
        let info = TaskInfo { process: VICTIM, flags: TaskInfo::WATCHED };
        let waking = Waking { target: VICTIM, target_cpu: CpuId(0), prio: Prio(49) };
        let timer = TimerDef {
            id: TIMER,
            class: TimerClass::Hrtimer,
            owner: VICTIM,
            ..TimerDef::default()
        };
        let events = vec![
            at(1_000_000, VICTIM, info),
            at(1_000_000, VICTIM, Current { prio: Prio(49) }),
            at(1_000_100, VICTIM, arm),
            at(1_000_200, VICTIM, switch(OTHER, TaskState::Interruptible)),
            at(fires_ns, OTHER, begin),
            at(fires_ns, OTHER, waking),
            at(ran_ns, OTHER, switch(VICTIM, TaskState::Running)),
            at(ran_ns + 1_000, VICTIM, switch(OTHER, TaskState::Interruptible)),
        ];
        let batches = vec![Batch { timers: vec![timer], events, ..Batch::default() }];
        Held { batches, from_ns: 1_000_000, until_ns: ran_ns + 2_000 }
    }

    fn sought(ran_ns: u64) -> Sought {
        let exceeded = Exceeded { task: VICTIM, cpu: CpuId(0), due_ns: EXPIRY_NS, ran_ns };
        Sought { exceeded, over_ns: 100_000, since_ns: 0, clock_was_set: false }
    }

    #[test]
    fn who_is_late_is_told_with_what_it_was() {
        let ran_ns = EXPIRY_NS + 500_000;
        let Judged::Late(caught) = judge(&held(0, ran_ns), &sought(ran_ns)) else {
            panic!("it was late")
        };
        let [trigger] = &caught.triggers[..] else { panic!("one culprit") };
        assert_eq!((trigger.task, trigger.expiry_ns), (VICTIM.0, EXPIRY_NS));
        assert_eq!((trigger.lateness_ns, trigger.own_ns), (500_000, 0));
        assert!(!trigger.cause.is_empty());
    }

    #[test]
    fn what_a_thread_allows_its_timer_is_no_lateness() {
        let ran_ns = EXPIRY_NS + 430_000;
        let Judged::False(mistaken) = judge(&held(400_000, ran_ns), &sought(ran_ns)) else {
            panic!("400 of 430 µs are its slack")
        };
        assert_eq!((mistaken.seemed_ns, mistaken.own_ns), (430_000, Some(400_000)));
        assert!(mistaken.to_string().contains("400.0 µs of that was its own choice"), "{mistaken}");
    }

    #[test]
    fn what_was_judged_before_is_not_judged_again() {
        let ran_ns = EXPIRY_NS + 500_000;
        let again = Sought { since_ns: ran_ns, ..sought(ran_ns + 1) };
        assert!(matches!(judge(&held(0, ran_ns), &again), Judged::False(_)));
    }

    #[test]
    fn where_the_clock_was_set_only_whom_the_kernel_saw_late_is() {
        let ran_ns = EXPIRY_NS + 500_000;
        let set = |ran_ns| Sought { clock_was_set: true, ..sought(ran_ns) };
        assert!(matches!(judge(&held(0, ran_ns), &set(ran_ns)), Judged::Late(_)));
        assert!(matches!(judge(&held(0, ran_ns), &set(ran_ns + 1)), Judged::False(_)));
    }

    #[test]
    fn what_the_buffers_do_not_hold_any_more_is_missed() {
        let before = Exceeded { task: OTHER, cpu: CpuId(0), due_ns: 10, ran_ns: 600_000 };
        let sought = Sought { exceeded: before, ..sought(0) };
        assert!(matches!(judge(&held(0, EXPIRY_NS + 10), &sought), Judged::Missed));
    }
}
