//! A watched thread, and the timer that it sleeps on.

use crate::explainer::{Explainer, Sink, place_of};
use crate::piece::Activity;
use crate::story::Story;
use tardy_model::event::{ExpireBegin, SyscallEnter, TaskInfo, TimerArm};
use tardy_model::{Event, TaskId, TimerId, WakeupKind};

/// A watched thread.
#[derive(Debug, Default)]
pub(crate) struct Victim {
    pub(crate) story: Option<Story>,
    /// Where its returns to user space are told.
    pub(crate) info: TaskInfo,
    /// The timer that it armed last.
    pub(crate) armed: Option<TimerArm>,
    /// Whether that one has fired.
    has_fired: bool,
    /// Whether it was on a CPU at the last switch that named it.
    pub(crate) on_cpu: bool,
    /// The call in which it waits for a condition that goes with a lock.
    pub(crate) waits_for: Option<SyscallEnter>,
}

impl Victim {
    /// Whether its return to user space will be told, after the switch to it.
    pub(crate) fn is_told_later(&self, kind: WakeupKind) -> bool {
        kind == WakeupKind::Timer
            && (self.info.has(TaskInfo::MARKS) || self.info.has(TaskInfo::SYSCALLS))
    }

    pub(crate) fn arms(&mut self, arm: TimerArm) {
        self.armed = Some(arm);
        self.has_fired = false;
    }

    pub(crate) fn fires(&mut self, timer: TimerId) {
        self.has_fired |= self.armed.is_some_and(|armed| armed.timer == timer);
    }

    /// The timer on which it sleeps and which is due, unless it has fired.
    fn due(&self, now_ns: u64) -> Option<TimerArm> {
        self.armed.filter(|armed| !self.has_fired && armed.soft_ns <= now_ns)
    }
}

impl<S: Sink> Explainer<S> {
    /// A thread that sleeps on a timer which is due is woken in an interrupt, and no callback was seen
    /// to begin there: it is that timer's all the same. The kernel runs no eBPF program inside itself,
    /// so where the interrupt came while another timer's begin was being recorded, this one's is
    /// missing. What the interrupt did before the waking stays the interrupt's.
    pub(crate) fn expire_unseen(&mut self, event: &Event, target: TaskId) {
        let cpu = &mut self.cpus[place_of(event.cpu)];
        if cpu.expiry().is_some() || !matches!(cpu.activity(), Activity::Irq(_)) {
            return;
        }
        let Some(victim) = self.victims.get_mut(&target) else { return };
        let Some(armed) = victim.due(event.time_ns) else { return };
        let timer = self.labels.tables.timer(armed.timer);
        // A timer of its that wakes nobody by itself (timerfd, POSIX) has no owner.
        if victim.on_cpu || timer.owner != target {
            return;
        }
        victim.fires(armed.timer);
        let TimerArm { timer: id, soft_ns, slack_ns, mode, .. } = armed;
        let begin = ExpireBegin { timer: id, soft_ns, slack_ns, mode };
        cpu.expire_begin(event.time_ns, begin, target, timer.class);
    }
}
