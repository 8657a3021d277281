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
         it, and slack, are not seen; nor is it known who armed a timer",
    ),
    (
        &["timer_expire_entry"],
        "no timer_expire_entry: timers of the wheel are not seen; what they take counts as TIMER \
         softirq",
    ),
    (
        &["irq_handler_entry"],
        "no irq_handler_entry: time in interrupts of devices counts as the interrupted task's",
    ),
    (
        &["softirq_entry"],
        "no softirq_entry: time in softirqs counts as the interrupted task's, and there is no \
         softirq_wait or softirq_work",
    ),
    (
        &["local_timer_entry"],
        "no local_timer_entry (x86 only): the timer interrupt's entry is not seen; what comes before \
         the first callback counts as late, not as interrupt",
    ),
    (&["cpu_idle"], "no cpu_idle: sleeping states are not known; all of idle is the idle loop's"),
    (
        &["sys_exit"],
        "no sys_exit: a wakeup ends at the switch to the thread, not at its return to user space",
    ),
    (&["sys_enter"], "no sys_enter: waits for locks are not seen as such"),
    (
        &["sched_pi_setprio"],
        "no sched_pi_setprio: owners of locks are known only by whom they wake",
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
