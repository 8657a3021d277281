//! The registry: all changes there are, a line each.

/// What a change is written for, in its parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing: it is the system's.
    System,
    /// Threads: an id, a name, or the victim.
    Threads,
    /// Threads, or the interrupt of a number.
    ThreadsOrIrq,
    /// A control group by its path, or threads, whose group is meant.
    Group,
}

/// What is written behind the `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    None,
    /// A time, `50us`.
    Time,
    /// A time, or `off`.
    TimeOrOff,
    /// A scheduling policy, `fifo:50`.
    Scheduling,
    /// CPUs, `0-2,5`.
    Cpus,
    /// A number above 0, not necessarily whole.
    Number,
    /// Time in a period, `50ms/100ms`, or `off`.
    Bandwidth,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A word that the implementation knows.
    Word,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub target: Target,
    /// What it is set to.
    pub form: Form,
    /// What it does, in a sentence without its end.
    pub what: &'static str,
    /// One in words: `{of}` is whom it is for, `{to}` what it is set to.
    pub words: &'static str,
    /// One as it is written.
    pub example: &'static str,
}

const fn known(
    name: &'static str,
    target: Target,
    form: Form,
    example: &'static str,
    words: &'static str,
    what: &'static str,
) -> About {
    About { name, target, form, what, words, example }
}

/// All that there are.
pub const KNOWN: &[About] = &[
    known(
        "affinity",
        Target::ThreadsOrIrq,
        Form::Cpus,
        "affinity(hackbench)=1",
        "{of} on CPU {to} only",
        "threads or an interrupt run on these CPUs only",
    ),
    known(
        "cpu-max",
        Target::Group,
        Form::Bandwidth,
        "cpu-max(victim)=off",
        "cpu.max {to} for {of}",
        "the CPU bandwidth of a control group (cpu.max)",
    ),
    known(
        "cpu-weight",
        Target::Group,
        Form::Number,
        "cpu-weight(victim)=1000",
        "cpu.weight {to} for {of}",
        "the share of the CPU that a control group gets beside others (cpu.weight, 1 to 10,000)",
    ),
    known(
        "device",
        Target::System,
        Form::Time,
        "device=2us",
        "a clock-event device that takes {to}",
        "how long programming the clock-event device takes",
    ),
    known(
        "epp",
        Target::System,
        Form::Word,
        "epp=performance",
        "energy preference {to}",
        "the energy performance preference of all CPUs",
    ),
    known(
        "governor",
        Target::System,
        Form::Word,
        "governor=performance",
        "frequency governor {to}",
        "the frequency governor of all CPUs",
    ),
    known(
        "halt-poll",
        Target::System,
        Form::Time,
        "halt-poll=200us",
        "CPUs poll {to} before they halt",
        "how long a guest's CPU polls before it halts",
    ),
    known(
        "idle-latency",
        Target::System,
        Form::Time,
        "idle-latency=10us",
        "idle states of at most {to}",
        "idle states that take longer to leave are forbidden (PM QoS); with 0us the CPU polls",
    ),
    known(
        "isolate",
        Target::System,
        Form::Cpus,
        "isolate=1",
        "CPU {to} for the late threads alone",
        "only the victim, and what is bound to them, runs on these CPUs",
    ),
    known(
        "khugepaged",
        Target::System,
        Form::OneOf(&["on", "off"]),
        "khugepaged=off",
        "khugepaged {to}",
        "khugepaged compacts memory to make huge pages",
    ),
    known(
        "more",
        Target::Threads,
        Form::Number,
        "more(storm)=30",
        "{to} more of {of}",
        "this many more threads of the same kind",
    ),
    known(
        "no-theft",
        Target::System,
        Form::None,
        "no-theft",
        "a host that takes no time",
        "the hypervisor takes no time",
    ),
    known(
        "preempt",
        Target::System,
        Form::OneOf(&["none", "voluntary", "lazy", "full", "rt"]),
        "preempt=full",
        "preemption model {to}",
        "the kernel's preemption model",
    ),
    known(
        "prio",
        Target::Threads,
        Form::Scheduling,
        "prio(victim)=fifo:50",
        "{to} for {of}",
        "the scheduling policy and priority of threads; ktimers, ksoftirqd and irq/… are threads",
    ),
    known(
        "remove",
        Target::ThreadsOrIrq,
        Form::None,
        "remove(hackbench)",
        "without {of}",
        "threads or an interrupt do not exist",
    ),
    known(
        "rt-runtime",
        Target::System,
        Form::Bandwidth,
        "rt-runtime=off",
        "bandwidth limit {to} for real-time threads",
        "the bandwidth of real-time threads (sched_rt_runtime_us in sched_rt_period_us)",
    ),
    known(
        "slack",
        Target::Threads,
        Form::Time,
        "slack(victim)=1ns",
        "timer slack {to} for {of}",
        "the timer slack of threads that are not real-time",
    ),
    known(
        "slower",
        Target::ThreadsOrIrq,
        Form::Number,
        "slower(irq 24)=2",
        "intervals of {of} {to} times as long",
        "threads or an interrupt do what they do this many times less often (0.5: twice as often)",
    ),
    known(
        "swap",
        Target::Group,
        Form::OneOf(&["on", "off"]),
        "swap(victim)=off",
        "swapping {to} for {of}",
        "memory of a control group is swapped out (memory.swap.max)",
    ),
    known(
        "swappiness",
        Target::System,
        Form::Number,
        "swappiness=1",
        "swappiness {to}",
        "how readily memory of programs is swapped out (vm.swappiness, 1 to 200)",
    ),
    known(
        "thp",
        Target::System,
        Form::OneOf(&["always", "madvise", "never"]),
        "thp=madvise",
        "transparent huge pages {to}",
        "which memory gets transparent huge pages",
    ),
    known(
        "timer-migration",
        Target::System,
        Form::OneOf(&["on", "off"]),
        "timer-migration=off",
        "timer migration {to}",
        "timers of idle CPUs are armed on busy ones",
    ),
    known(
        "timers",
        Target::System,
        Form::Word,
        "timers=softirq",
        "timer policy {to}",
        "the kernel's timer policy: which timers expire in which context",
    ),
    known(
        "unbound-kthreads",
        Target::System,
        Form::Cpus,
        "unbound-kthreads=0",
        "unbound kernel threads on CPU {to} only",
        "kernel threads without an affinity run on these CPUs only",
    ),
    known(
        "vmstat-interval",
        Target::System,
        Form::Time,
        "vmstat-interval=120s",
        "memory statistics every {to}",
        "how often each CPU folds its memory statistics (vm.stat_interval, whole seconds)",
    ),
    known(
        "watchdog",
        Target::System,
        Form::OneOf(&["on", "off"]),
        "watchdog=off",
        "watchdogs {to}",
        "the detectors of soft and hard lockups",
    ),
    known(
        "workqueue-cpus",
        Target::System,
        Form::Cpus,
        "workqueue-cpus=0",
        "unbound workqueues on CPU {to} only",
        "unbound workqueues run on these CPUs only",
    ),
];

/// The change of a name.
#[must_use]
pub fn about(name: &str) -> Option<&'static About> {
    KNOWN.iter().find(|about| about.name == name)
}
