//! A thread while it is simulated.

use crate::engine::cpu::{Frame, Step};
use crate::engine::futex::Stage;
use crate::observer::{ThreadAt, TimerAt};
use crate::random::{Entity, Stream};
use crate::sched::{Class, Fair};
use crate::workload::Sections;
use crate::{Cost, Measured, Operation, Policy, START_NS, Script, Scripted};
use std::num::NonZeroU64;
use tardy_model::event::TaskState;
use tardy_model::{Prio, TaskId};
use tardy_timers::policy::Key;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Asleep,
    /// In a queue.
    Ready,
    /// On a CPU.
    Current,
}

/// What a thread draws for, beside its operations.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) queue: Stream,
    pub(crate) callback: Stream,
    pub(crate) wakeup: Stream,
    pub(crate) switch: Stream,
    pub(crate) entry: Stream,
    pub(crate) exit: Stream,
    pub(crate) futex: Stream,
}

impl Streams {
    pub(crate) fn new(seed: u64, thread: ThreadAt) -> Self {
        let stream = |purpose| Stream::new(seed, Entity::Thread(thread), purpose);
        Self {
            queue: stream(0),
            callback: stream(1),
            wakeup: stream(2),
            switch: stream(3),
            entry: stream(4),
            exit: stream(5),
            futex: stream(6),
        }
    }
}

/// An operation, and what it draws from.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) operation: Operation,
    pub(crate) stream: Stream,
    /// Of a sleep on a grid: its next time; 0 before the first.
    pub(crate) next_ns: u64,
}

/// Sections in what a thread runs.
#[derive(Debug)]
pub(crate) struct Strewn {
    pub(crate) sections: Sections,
    pub(crate) stream: Stream,
    pub(crate) step: Step,
    /// CPU time to the next one.
    pub(crate) left_ns: u64,
}

/// A thread.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Thread {
    pub(crate) task: TaskId,
    pub(crate) standing: Standing,
    /// The CPU on which it runs, in whose queue it is, or on which it ran last.
    pub(crate) cpu: u16,
    pub(crate) cpus: u64,
    pub(crate) class: Class,
    pub(crate) prio: Prio,
    pub(crate) fair: Fair,
    pub(crate) policy: Policy,
    pub(crate) slack_ns: u64,
    pub(crate) returns: Cost,
    pub(crate) callback: Cost,
    pub(crate) program: Box<[Planned]>,
    pub(crate) script: Option<Script>,
    pub(crate) script_at: usize,
    pub(crate) again_ns: Option<NonZeroU64>,
    /// The script's times count from here.
    pub(crate) script_from_ns: u64,
    pub(crate) skips_passed: bool,
    pub(crate) repeat_from: usize,
    /// When its program began last.
    pub(crate) began_ns: u64,
    /// The next operation.
    pub(crate) at: usize,
    /// What it does, where it is not current.
    pub(crate) frame: Frame,
    /// CPU time of the run that is still to be done.
    pub(crate) run_ns: u64,
    pub(crate) run_step: Step,
    pub(crate) strewn: Vec<Strewn>,
    /// Where it is in a call for a lock with priority inheritance.
    pub(crate) stage: Option<Stage>,
    /// The state in which it sleeps.
    pub(crate) sleep_state: TaskState,
    /// It has said that it goes to sleep, and was not woken since.
    pub(crate) prepared: bool,
    /// It slept when its waking was told, and is on its way to a queue.
    pub(crate) wakes_up: bool,
    /// It leaves the CPU at the switch that is on its way.
    pub(crate) leaves: bool,
    /// It is kept from returning to user space for want of its group's bandwidth.
    pub(crate) is_held: bool,
    /// It is to be moved to the end of its priority's queue.
    pub(crate) yields: bool,
    /// Wakings that came before it waited.
    pub(crate) tokens: u32,
    pub(crate) waits: bool,
    /// The absolute deadline.
    pub(crate) deadline_ns: u64,
    /// What is left of its slice, of round robin.
    pub(crate) slice_left_ns: u64,
    /// Whom it is about to wake.
    pub(crate) wakes: ThreadAt,
    /// It runs softirqs, and nothing else.
    pub(crate) runs_softirqs: bool,
    /// The context whose softirqs it runs, by its place, if it does.
    pub(crate) serves: Option<u8>,
    /// It has the lock of softirqs, because it waited for it, and does what is raised before it lets that go.
    pub(crate) has_softirq_lock: bool,
    /// The time that its sleep, or its timeout, asks for.
    pub(crate) asks_ns: u64,
    /// When it entered the call for that, or wanted a lock.
    pub(crate) called_ns: u64,
    pub(crate) measured: Measured,
    /// The control group around it that limits it.
    pub(crate) group: Option<u32>,
    pub(crate) watched: bool,
    pub(crate) streams: Streams,
}

impl Thread {
    /// Whether it may run on a CPU.
    pub(crate) fn may_be_on(&self, cpu: usize) -> bool {
        self.cpus >> cpu & 1 == 1
    }

    /// Takes the next step of its script, if it has one.
    pub(crate) fn follows_script(&mut self, now_ns: u64) {
        self.skips(now_ns);
        if let Some(script) = &self.script
            && let Some(step) = script.get(self.script_at)
            && let [only] = &mut *self.program
        {
            only.operation = step.operation(self.script_from_ns);
            self.script_at += 1;
            self.at = 0;
        }
    }

    /// Where its script begins with a wait, it has begun that, and sleeps: most threads of a recording are born later,
    /// or wait for whoever wakes them first, and would all stand in a queue otherwise. Whether it is so.
    pub(crate) fn begins_asleep(&mut self) -> bool {
        let Some(script) = &self.script else { return false };
        if !matches!(script.first(), None | Some(Scripted::Wait)) {
            return false;
        }
        self.script_at = script.len().min(1);
        self.at = self.program.len();
        (self.waits, self.prepared) = (true, true);
        true
    }

    /// Begins its script again; whether it has one that is done more than once.
    pub(crate) fn begins_script_again(&mut self) -> bool {
        let has_steps = self.script_at > self.repeat_from;
        let Some(again_ns) = self.again_ns.filter(|_| has_steps) else { return false };
        self.script_at = self.repeat_from;
        self.script_from_ns = self.script_from_ns.saturating_add(again_ns.get());
        true
    }

    /// Goes on at the first time that has not passed, where that is its way.
    fn skips(&mut self, now_ns: u64) {
        let Some(script) = self.script.as_ref().filter(|_| self.skips_passed) else { return };
        let from_ns = START_NS + self.script_from_ns;
        let has_passed = |step: &Scripted| match step {
            Scripted::SleepUntil(ns) => Some(from_ns + ns <= now_ns),
            _ => None,
        };
        let rest = script.get(self.script_at..).unwrap_or_default();
        if rest.first().and_then(has_passed) == Some(true)
            && let Some(next) = rest.iter().position(|step| has_passed(step) == Some(false))
        {
            self.script_at += next;
        }
    }

    /// As timers see it: 0 is not real-time, 1 to 99 are.
    pub(crate) const fn timer_priority(&self) -> u8 {
        match self.prio.0 {
            ..0 => 99,
            prio @ 0..=98 => 99 - prio as u8,
            _ => 0,
        }
    }
}

/// A timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) owner: ThreadAt,
    pub(crate) purpose: Purpose,
    pub(crate) key: Option<Key>,
    /// The CPU on which it is armed.
    pub(crate) cpu: u16,
    pub(crate) armed_ns: u64,
    pub(crate) soft_ns: u64,
    pub(crate) hard_ns: u64,
    /// When its callback began, and how it came to.
    pub(crate) begin_ns: u64,
    /// Its callback has begun and not ended.
    pub(crate) is_running: bool,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its owner sleeps on it.
    Sleep,
    /// Nobody waits for it.
    Timeout,
    Tick,
    /// The same, of a CPU whose tick stops while it idles.
    StoppedTick,
    /// Gives real-time threads bandwidth.
    RtPeriod,
    /// Gives a control group bandwidth.
    GroupPeriod(u32),
}

/// The timer on which a thread sleeps.
pub(crate) const fn sleeper_of(thread: ThreadAt) -> TimerAt {
    thread * 2
}

/// The timer that a thread moves.
pub(crate) const fn timeout_of(thread: ThreadAt) -> TimerAt {
    thread * 2 + 1
}
