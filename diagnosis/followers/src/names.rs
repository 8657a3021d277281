//! Which tasks run softirqs, or timers, in a context of their own, which the scheduler may preempt.

use rustc_hash::FxHashSet;
use tardy_model::event::Comm;
use tardy_model::{Prio, TaskId};

/// Threads that run softirqs and are remembered; a machine has two for each CPU and one for each interrupt.
const THREADS_MAX: usize = 1 << 16;

/// The kernel's threads that run softirqs, by the names that it gives them (`kernel/softirq.c`,
/// `kernel/irq/manage.c`); `ktimersoftd` was a patch of `PREEMPT_RT` before 5.0.
const PREFIXES: [&str; 4] = ["ksoftirqd/", "ktimers/", "ktimersoftd/", "irq/"];

/// The threads that a kernel with timer policies has for timers alone (`kernel/` of this repository).
const FOR_TIMERS: [&str; 2] = ["timer_level", "timer_order/"];

/// The thread that stops each CPU (`kernel/stop_machine.c`).
const STOPPER: &[u8] = b"migration/";

/// Who runs softirqs or timers in a thread, and who stops CPUs.
#[derive(Debug, Default)]
pub struct Names {
    threads: FxHashSet<TaskId>,
    /// The threads that are there for timers alone.
    for_timers: FxHashSet<TaskId>,
    /// The threads that stop a CPU for others' sake.
    stoppers: FxHashSet<TaskId>,
    /// On `PREEMPT_RT` every softirq runs in some task's context.
    all: bool,
}

impl Names {
    pub(crate) fn see(&mut self, task: TaskId, name: Comm) {
        let is_one = PREFIXES.iter().any(|prefix| name.0.starts_with(prefix.as_bytes()));
        if name.0.starts_with(STOPPER) {
            if self.stoppers.len() < THREADS_MAX {
                self.stoppers.insert(task);
            }
        } else {
            self.stoppers.remove(&task);
        }
        if FOR_TIMERS.iter().any(|prefix| name.0.starts_with(prefix.as_bytes())) {
            self.is_for_timers(task);
        } else {
            self.for_timers.remove(&task);
        }
        if !is_one {
            self.threads.remove(&task);
        } else if self.threads.len() < THREADS_MAX {
            self.threads.insert(task);
            self.all |= name.0.starts_with(b"ktimers");
        }
    }

    pub(crate) fn gone(&mut self, task: TaskId) {
        self.threads.remove(&task);
        self.for_timers.remove(&task);
        self.stoppers.remove(&task);
    }

    /// A task turns out to be there for timers alone.
    pub(crate) fn is_for_timers(&mut self, task: TaskId) {
        if self.for_timers.len() < THREADS_MAX {
            self.for_timers.insert(task);
        }
    }

    /// Whether a task is there for timers alone: what expires in its own context is run by it.
    pub(crate) fn runs_timers(&self, task: TaskId) -> bool {
        !self.for_timers.is_empty() && self.for_timers.contains(&task)
    }

    /// The priority at which a task runs, by the one that events show: stoppers show that of FIFO 99, and
    /// are above every class (`kernel/sched/stop_task.c`).
    #[inline]
    pub(crate) fn prio(&self, task: TaskId, shown: Prio) -> Prio {
        if shown.0 == 0 && self.stoppers.contains(&task) { Prio::STOP } else { shown }
    }

    /// A switch came in the middle of a softirq.
    pub(crate) fn softirqs_are_preempted(&mut self) {
        self.all = true;
    }

    /// Whether a softirq that begins while `task` is current runs in its context; `after_irq` where it begins
    /// right after an interrupt has ended, which else runs them itself.
    pub(crate) fn runs_softirqs(&self, task: TaskId, after_irq: bool) -> bool {
        task != TaskId::IDLE && (self.all || !after_irq && self.threads.contains(&task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: TaskId = TaskId(7);

    fn named(name: &str) -> Names {
        let mut names = Names::default();
        names.see(THREAD, Comm::new(name));
        names
    }

    #[test]
    fn the_kernels_threads_for_softirqs_run_them_themselves() {
        for (name, by_itself, after_irq) in [
            ("ksoftirqd/3", true, false),
            ("irq/45-eth0", true, false),
            ("ktimers/0", true, true),
            ("ktimersoftd/0", true, true),
            ("kworker/0:1", false, false),
            ("irqbalance", false, false),
        ] {
            let names = named(name);
            assert_eq!(names.runs_softirqs(THREAD, false), by_itself, "{name}");
            assert_eq!(names.runs_softirqs(THREAD, true), after_irq, "{name} after an interrupt");
        }
    }

    #[test]
    fn where_a_softirq_was_preempted_all_run_in_threads() {
        let mut names = named("worker");
        names.softirqs_are_preempted();
        assert!(names.runs_softirqs(THREAD, true));
        assert!(!names.runs_softirqs(TaskId::IDLE, true), "the idle task runs none");
    }

    #[test]
    fn threads_for_timers_run_no_softirqs() {
        for name in ["timer_level1/0", "timer_order/3"] {
            let mut names = named(name);
            assert!(names.runs_timers(THREAD) && !names.runs_softirqs(THREAD, false), "{name}");
            names.see(THREAD, Comm::new("timer"));
            assert!(!names.runs_timers(THREAD), "it has another name now");
        }
        let mut names = Names::default();
        names.is_for_timers(THREAD);
        assert!(names.runs_timers(THREAD));
        names.gone(THREAD);
        assert!(!names.runs_timers(THREAD));
    }

    #[test]
    fn who_has_another_name_or_has_gone_is_another() {
        let mut names = named("ksoftirqd/0");
        names.see(THREAD, Comm::new("bash"));
        assert!(!names.runs_softirqs(THREAD, false));
        let mut names = named("ksoftirqd/0");
        names.gone(THREAD);
        assert!(!names.runs_softirqs(THREAD, false));
    }
}
