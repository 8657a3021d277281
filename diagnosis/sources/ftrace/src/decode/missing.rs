//! What a trace cannot show for want of events.

/// Events of which one is enough, and what an explanation lacks where none is there.
const NEEDED: &[(&[&str], &str)] = &[
    (&["sched_switch"], "no sched_switch: it is not known who ran, and no wakeup can be followed"),
    (
        &["sched_waking", "sched_wakeup"],
        "no sched_waking: it is not known who was woken by whom, and no wakeup begins",
    ),
    (
        &["hrtimer_expire_entry"],
        "no hrtimer_expire_entry: wakeups by timers cannot be told from others; their latency counts \
         from waking, and there is no slack, idle_exit, irq_delay, stacked_timers or callback before it",
    ),
    (
        &["hrtimer_start"],
        "no hrtimer_start: a timer's expiry is taken from when its callback began, so lateness before \
         that, and slack, are not seen; nor is it known who armed a timer",
    ),
    (
        &["timer_expire_entry"],
        "no timer_expire_entry: timers of the timer wheel are not seen; their callbacks count as the TIMER \
         softirq",
    ),
    (
        &["irq_handler_entry"],
        "no irq_handler_entry: time in interrupts of devices counts for the task that they interrupt",
    ),
    (
        &["softirq_entry"],
        "no softirq_entry: time in softirqs counts for the task that they run in; a task that could not be \
         preempted cannot be told from a softirq in it (switch_delay), and there is no softirq_wait or \
         softirq_work",
    ),
    (
        &["local_timer_entry"],
        "no local_timer_entry (x86 only): the timer interrupt's entry is not seen; what comes before \
         the first callback counts as late, not as interrupt",
    ),
    (
        &["sched_migrate_task"],
        "no sched_migrate_task: it is not known when a waiting thread was moved to another CPU \
         (unseen_migration)",
    ),
    (&["cpu_idle"], "no cpu_idle: idle states are not known; all idle time is the idle loop's"),
    (
        &["sys_exit"],
        "no sys_exit: the return of a call for a lock is not seen, so there are no records of such calls",
    ),
    (
        &["sys_enter"],
        "no sys_enter: calls for locks are not seen, nor in which call a thread sleeps, nor whether it gave the \
         CPU away (sched_yield)",
    ),
    (
        &["sched_pi_setprio"],
        "no sched_pi_setprio: the owner of a lock is known only by whom it wakes",
    ),
];

/// A sentence for each thing that cannot be shown.
pub(super) fn sentences(is_seen: impl Fn(&str) -> bool) -> Vec<String> {
    let lacking = NEEDED.iter().filter(|(events, _)| !events.iter().any(|event| is_seen(event)));
    lacking.map(|(_, sentence)| (*sentence).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::EventId;

    #[test]
    fn every_event_that_is_needed_can_be_decoded() {
        for event in NEEDED.iter().flat_map(|(events, _)| *events) {
            assert!(EventId::of(event).is_some(), "{event}");
        }
        assert_eq!(sentences(|_| true), Vec::<String>::new());
        assert_eq!(sentences(|event| event == "sched_wakeup").len(), NEEDED.len() - 1);
    }
}
