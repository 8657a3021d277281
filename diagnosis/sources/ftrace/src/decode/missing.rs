//! What a trace cannot show for want of events.

/// Events of which one is enough, and what an explanation lacks where none is there.
const NEEDED: &[(&[&str], &str)] = &[
    (
        &["sched_switch"],
        "no sched_switch: it is not known which task ran, so no wakeup can be \
        followed",
    ),
    (
        &["sched_waking", "sched_wakeup"],
        "no sched_waking: it is not known which task woke which, so no wakeup has a beginning",
    ),
    (
        &["hrtimer_expire_entry"],
        "no hrtimer_expire_entry: wakeups by timers look like all others; their latency counts \
         from waking, without slack, idle_exit, irq_delay, stacked_timers or callback before it",
    ),
    (
        &["hrtimer_start"],
        "no hrtimer_start: the start of a callback counts as the expiry, so slack and lateness \
         before it are not visible, nor which task armed a timer",
    ),
    (
        &["timer_expire_entry"],
        "no timer_expire_entry: timer-wheel timers are not visible; their callbacks count as the \
         TIMER softirq",
    ),
    (
        &["irq_handler_entry"],
        "no irq_handler_entry: time in device interrupts counts as the interrupted task",
    ),
    (
        &["softirq_entry"],
        "no softirq_entry: time in softirqs counts as the task in which they run; a task that \
         could not be preempted looks like a softirq in it (switch_delay), and there is no \
         softirq_wait or softirq_work",
    ),
    (
        &["local_timer_entry"],
        "no local_timer_entry (x86 only): the entry of the timer interrupt is not visible; the \
         time before the first callback counts as delay, not as interrupt",
    ),
    (
        &["sched_migrate_task"],
        "no sched_migrate_task: it is not known when a waiting thread was moved to another CPU \
         (unseen_migration)",
    ),
    (
        &["cpu_idle"],
        "no cpu_idle: idle states are not known; all idle time counts as the idle loop",
    ),
    (
        &["sys_exit"],
        "no sys_exit: returns from lock calls are not visible, so there are no records of such \
            calls",
    ),
    (
        &["sys_enter"],
        "no sys_enter: lock calls are not visible, nor the call in which a thread sleeps, nor \
         whether it yielded the CPU (sched_yield)",
    ),
    (
        &["sched_pi_setprio"],
        "no sched_pi_setprio: the owner of a lock is known only from its wakeup of the next",
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
