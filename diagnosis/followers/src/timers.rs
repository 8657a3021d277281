//! The life of each timer: armed, moved, cancelled, handed on, fired; by whom, in which call.
//!
//! **Whose** a timer is: of a sleep, the thread that sleeps; of any other, the thread that armed it last in
//! its own context. Armed by an interrupt, or by its own callback, it stays whose it was. So it does where
//! another task arms it for the very time it is armed for: the kernel hands timers on from a CPU that goes
//! offline. The tick is the kernel's, and so is the scheduler's, in whatever task's context it is armed.
//!
//! **What becomes of an arming.** It ends once, by the events of its timer:
//!
//! | the timer's next event is | the arming |
//! |---|---|
//! | an expiry | expired, whatever cancel came between: the kernel tells of one before the expiries of some |
//! | an arming, with nothing between | was moved |
//! | a cancel, and an arming as the next event of that CPU by the same task within [`MOVE_NS_MAX`] | was moved |
//! | a cancel | was cancelled |
//!
//! A sleep's timer is never moved: the thread's next sleep finds the same place on its stack.

use tardy_model::event::{Call, ExpireBegin, TimerArm, TimerMode};
use tardy_model::{CpuId, Event, Tables, TaskId, TimerDef, TimerId};

/// A timer that is cancelled and armed again within this time, by the next event of its CPU, was moved.
/// The kernel does both with interrupts disabled, so that only a hypervisor can come between.
pub const MOVE_NS_MAX: u64 = 10_000;

/// The functions of the tick (`kernel/time/tick-sched.c`; the first since Linux 6.10).
pub const TICKS: &[&str] = &["tick_nohz_handler", "tick_sched_timer"];

/// Ids of threads of which it is kept that one has ended, as many as Linux has (`PID_MAX_LIMIT`): 8 MB where
/// all are used. Of others, timers may be taken for another's of the same id.
const ENDED_MAX: usize = 1 << 22;

/// What the kernel's function alone tells of what a timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A thread sleeps on a high-resolution timer on its stack (`kernel/time/hrtimer.c`).
    Sleeper,
    /// A thread sleeps on a timer of the wheel on its stack (`kernel/time/sleep_timeout.c`).
    WheelSleeper,
    /// Set by a call (`fs/timerfd.c`, `kernel/time/posix-timers.c`, `kernel/time/itimer.c`).
    SetBy(Call),
    /// The tick, which no thread asks for.
    Tick,
    /// The scheduler's, at the end of the slice of whoever runs: each CPU has one, and moves it at nearly every
    /// switch where the feature `HRTICK` is on, as it is in Linux 7.3 (`kernel/sched/core.c`).
    SchedulerTick,
    /// Gives a control group CPU time again (`kernel/sched/fair.c`).
    CfsBandwidth,
    /// Gives a deadline task its budget again (`kernel/sched/deadline.c`).
    DeadlineBudget,
    /// Gives real-time tasks CPU time again (`kernel/sched/rt.c`).
    RtBandwidth,
    /// Anything else.
    #[default]
    Other,
}

impl Purpose {
    /// By the name of the kernel's function.
    pub fn of(function: &str) -> Self {
        match function {
            "hrtimer_wakeup" => Self::Sleeper,
            "process_timeout" => Self::WheelSleeper,
            "timerfd_tmrproc" | "timerfd_alarmproc" => Self::SetBy(Call::Timerfd),
            "posix_timer_fn" => Self::SetBy(Call::PosixTimer),
            "it_real_fn" => Self::SetBy(Call::Itimer),
            "sched_cfs_period_timer" | "sched_cfs_slack_timer" => Self::CfsBandwidth,
            "dl_task_timer" => Self::DeadlineBudget,
            "sched_rt_period_timer" => Self::RtBandwidth,
            "hrtick" => Self::SchedulerTick,
            tick if TICKS.contains(&tick) => Self::Tick,
            _ => Self::Other,
        }
    }

    /// Whether each sleep has a timer of its own, though it may be at the place of the last one.
    pub const fn is_sleep(self) -> bool {
        matches!(self, Self::Sleeper | Self::WheelSleeper)
    }

    /// Whether it is the kernel's whoever arms it: no thread asked for it.
    pub const fn is_a_tick(self) -> bool {
        matches!(self, Self::Tick | Self::SchedulerTick)
    }

    /// Whether it ends a throttling.
    pub const fn replenishes(self) -> bool {
        matches!(self, Self::CfsBandwidth | Self::DeadlineBudget | Self::RtBandwidth)
    }
}

/// A place among the events of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cpu: u16,
    /// The same again after 2^32 events.
    pub(crate) number: u32,
}

impl Place {
    fn is_next_after(self, other: Self) -> bool {
        self.cpu == other.cpu && self.number == other.number.wrapping_add(1)
    }
}

/// What is known of a timer's last arming. One lies in a single line of the cache: which timer comes next
/// is chance.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Life {
    /// When it was armed; 0 where that was not seen.
    pub armed_ns: u64,
    /// The earliest time it may fire.
    pub soft_ns: u64,
    /// Hard minus soft expiry.
    pub slack_ns: u32,
    /// How it was armed.
    pub mode: TimerMode,
    /// The call in which it was armed.
    pub call: Call,
    /// The thread that armed it; [`TaskId::IDLE`] where it was no thread, or is not known.
    pub by: TaskId,
    /// Where it was armed.
    pub cpu: CpuId,
    /// Of the threads that have had the id of `by`, which.
    generation: u16,
    purpose: Option<Purpose>,
    state: State,
    /// The loss of events since which this holds.
    losses: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Neither armed nor known not to be.
    #[default]
    Unseen,
    Armed,
    Cancelled {
        time_ns: u64,
        place: Place,
        by: TaskId,
    },
    Expired,
}

/// What an event says of the arming before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// Nothing, or what was known already.
    #[default]
    Nothing,
    /// It was moved.
    Moved,
    /// It was moved, and what looked like a cancel was the first half of that.
    MovedNotCancelled,
    /// The kernel handed it on to another CPU; it is the same arming.
    HandedOn,
    /// As before, and what looked like a cancel was the first half of that.
    HandedOnNotCancelled,
    /// It expired.
    Expired,
    /// It expired, and what looked like a cancel belongs to that.
    ExpiredNotCancelled,
}

impl Ended {
    /// Whether it was moved: armed for another time before it had fired.
    pub const fn is_move(self) -> bool {
        matches!(self, Self::Moved | Self::MovedNotCancelled)
    }

    /// Whether the kernel only handed it on.
    pub const fn is_handed_on(self) -> bool {
        matches!(self, Self::HandedOn | Self::HandedOnNotCancelled)
    }

    /// Whether what looked like a cancel before was none.
    pub const fn was_not_cancelled(self) -> bool {
        matches!(
            self,
            Self::MovedNotCancelled | Self::HandedOnNotCancelled | Self::ExpiredNotCancelled
        )
    }
}

impl Life {
    /// Whether it is armed and has neither fired nor been cancelled.
    pub const fn is_armed(&self) -> bool {
        matches!(self.state, State::Armed)
    }

    #[inline]
    fn purpose(&mut self, id: TimerId, tables: &Tables) -> Purpose {
        *self.purpose.get_or_insert_with(|| Purpose::of(tables.function(id)))
    }

    /// After a loss of events nothing is known of what was armed.
    fn forget_before(&mut self, losses: u32) {
        if self.losses != losses {
            self.losses = losses;
            self.state = State::Unseen;
        }
    }

    /// It is armed: what of the arming before goes on in this one, whoever's it is.
    fn arm(&mut self, time_ns: u64, place: Place, by: TaskId) -> Ended {
        match std::mem::replace(&mut self.state, State::Armed) {
            State::Armed => Ended::Moved,
            State::Cancelled { time_ns: then_ns, place: there, by: canceller }
                if place.is_next_after(there)
                    && by == canceller
                    && time_ns.saturating_sub(then_ns) <= MOVE_NS_MAX =>
            {
                Ended::MovedNotCancelled
            }
            _ => Ended::Nothing,
        }
    }
}

const _: () = assert!(size_of::<Life>() == 64);

/// All timers of a stream, by id; at most [`Tables::ENTRIES_MAX`].
#[derive(Debug, Default)]
pub struct Timers {
    lives: Vec<Life>,
    /// How many threads of an id have ended, by id; the same again after 65,536.
    ended: Vec<u16>,
    losses: u32,
}

impl Timers {
    /// New definitions come: what had their ids before was other timers.
    pub fn define(&mut self, timers: &[TimerDef]) {
        for timer in timers {
            if let Some(life) = self.lives.get_mut(timer.id.0 as usize) {
                *life = Life::default();
            }
        }
    }

    /// What is known of a timer.
    pub fn get(&self, timer: TimerId) -> Option<&Life> {
        self.lives.get(timer.0 as usize)
    }

    #[inline]
    fn life(&mut self, timer: TimerId) -> Option<&mut Life> {
        if timer == TimerId::UNKNOWN || timer.0 >= Tables::ENTRIES_MAX {
            return None;
        }
        let at = timer.0 as usize;
        if at >= self.lives.len() {
            self.one_more(at);
        }
        Some(&mut self.lives[at])
    }

    #[cold]
    fn one_more(&mut self, at: usize) {
        self.lives.resize(at + 1, Life::default());
    }

    /// What a timer is for.
    #[inline]
    pub fn purpose(&mut self, timer: TimerId, tables: &Tables) -> Purpose {
        self.life(timer).map_or(Purpose::Other, |life| life.purpose(timer, tables))
    }

    /// Whose timer it is: the thread that sleeps on it, or the one that armed it.
    pub fn owner(&self, timer: TimerId, tables: &Tables) -> TaskId {
        match tables.timer(timer).owner {
            TaskId::IDLE => {
                let alive = |life: &&Life| life.generation == self.generation(life.by);
                self.get(timer).filter(alive).map_or(TaskId::IDLE, |life| life.by)
            }
            owner => owner,
        }
    }

    fn generation(&self, task: TaskId) -> u16 {
        self.ended.get(task.0 as usize).copied().unwrap_or(0)
    }

    /// A thread has ended: its id may come again as another's, and its timers are not that one's.
    pub(crate) fn gone(&mut self, task: TaskId) {
        let at = task.0 as usize;
        if at >= self.ended.len() && at < ENDED_MAX {
            self.ended.resize(at + 1, 0);
        }
        if let Some(ended) = self.ended.get_mut(at) {
            *ended = ended.wrapping_add(1);
        }
    }

    pub(crate) fn lost(&mut self) {
        self.losses = self.losses.wrapping_add(1);
    }

    /// A timer is armed. `by` is the task that did it in its own context, if one did.
    pub(crate) fn arm(
        &mut self,
        event: &Event,
        arm: &TimerArm,
        by: TaskId,
        place: Place,
        tables: &Tables,
    ) -> Ended {
        let losses = self.losses;
        let (current, by_generation) = (self.generation(event.task), self.generation(by));
        let Some(life) = self.life(arm.timer) else { return Ended::Nothing };
        life.forget_before(losses);
        let purpose = life.purpose(arm.timer, tables);
        let ended = life.arm(event.time_ns, place, event.task);
        let for_the_same = life.soft_ns == arm.soft_ns && life.slack_ns == arm.slack_ns;
        if for_the_same && by != TaskId::IDLE && by != life.by && life.by != TaskId::IDLE {
            let handed_on = match ended {
                Ended::Moved => Some(Ended::HandedOn),
                Ended::MovedNotCancelled => Some(Ended::HandedOnNotCancelled),
                _ => None,
            };
            if let Some(handed_on) = handed_on {
                life.cpu = event.cpu;
                return handed_on;
            }
        }
        // A sleep is never moved: what is armed there now is another.
        let ended = if purpose.is_sleep() { Ended::Nothing } else { ended };
        life.armed_ns = event.time_ns;
        (life.soft_ns, life.slack_ns, life.mode) = (arm.soft_ns, arm.slack_ns, arm.mode);
        life.cpu = event.cpu;
        match purpose {
            tick if tick.is_a_tick() => (life.by, life.call) = (TaskId::IDLE, Call::Unknown),
            // The budget is of who runs, in whatever context it turns out to be used up.
            Purpose::DeadlineBudget => {
                (life.by, life.generation) = (event.task, current);
            }
            _ if by != TaskId::IDLE => {
                (life.by, life.call, life.generation) = (by, arm.call, by_generation);
            }
            _ => {}
        }
        ended
    }

    /// The kernel says "cancel", which counts until the next event of this timer says otherwise.
    pub(crate) fn cancel(&mut self, event: &Event, timer: TimerId, place: Place) {
        let losses = self.losses;
        let Some(life) = self.life(timer) else { return };
        life.forget_before(losses);
        life.state = State::Cancelled { time_ns: event.time_ns, place, by: event.task };
    }

    /// It expires. That can only be what was armed last, so that a cancel before belongs to it.
    pub(crate) fn expire(&mut self, event: &Event, timer: TimerId, tables: &Tables) -> Ended {
        let losses = self.losses;
        let Some(life) = self.life(timer) else { return Ended::Nothing };
        life.forget_before(losses);
        life.purpose(timer, tables);
        life.cpu = event.cpu;
        match std::mem::replace(&mut life.state, State::Expired) {
            State::Cancelled { .. } => Ended::ExpiredNotCancelled,
            _ => Ended::Expired,
        }
    }

    /// The expiry of a timer that is armed, as its begin would tell it.
    pub(crate) fn begin_of(&self, timer: TimerId) -> Option<ExpireBegin> {
        let life = self.get(timer).filter(|life| life.is_armed())?;
        let Life { soft_ns, slack_ns, mode, .. } = *life;
        Some(ExpireBegin { timer, soft_ns, slack_ns, mode })
    }
}
