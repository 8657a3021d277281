//! Cases that do not hold yet.

/// A case that does not hold yet, with what is said of it. A case that comes to hold is struck off; a new one
/// may stand here only until the commit that makes it hold.
pub(crate) const NOT_YET: &[(&str, &str)] = &[
    ("cfs_bandwidth_of_named_group", "1 wakeup, most of it throttled 20 ms, idle_exit 8 µs"),
    ("interrupts_on_and_late", "1 wakeup, most of it irq_delay 2 ms, interrupts 3 µs"),
    ("period_timer_of_another_group", "1 wakeup, most of it idle_exit 5 ms, throttled 3 ms"),
    ("read_woken_by_kworker", "1 wakeup, most of it cpu_contention 200 µs"),
    ("run_missing_between_two_wakings", "1 wakeup, most of it idle_exit 5 ms"),
    ("soft_timer_softirqs_unseen", "1 wakeup, most of it irq_delay 2.01 ms, idle_exit 5 µs"),
    (
        "softirq_in_exit_above_irq_thread",
        "1 wakeup, most of it higher_priority 996 µs, interrupts 4 µs",
    ),
    (
        "wheel_softirq_raises_unseen",
        "1 wakeup, most of it coarse_clock 3.01 ms, higher_priority 4 µs",
    ),
];
