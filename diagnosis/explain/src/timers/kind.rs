//! What timers are for: the system call that asked for one, or the kernel's function.

use tardy_model::event::Call;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimerKind {
    /// A thread sleeps, or waits with a timeout, in a call that is known; or a call set a timer. Never
    /// [`Call::Unknown`] or [`Call::Other`].
    Call(Call),
    /// A thread sleeps in a call that has no name here.
    OtherCall,
    /// A thread sleeps, and in which call was not recorded.
    Sleep,
    /// A kernel thread sleeps.
    KernelSleep,
    /// A timer of the kernel's own, or of one of its subsystems; the function tells.
    Function,
}

/// What the kernel's function alone tells of a timer's kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A thread sleeps on a high-resolution timer on its stack (`kernel/time/hrtimer.c`).
    Sleeper,
    /// A thread sleeps on a timer of the wheel on its stack (`kernel/time/sleep_timeout.c`).
    WheelSleeper,
    /// Set by a call (`fs/timerfd.c`, `kernel/time/posix-timers.c`, `kernel/time/itimer.c`).
    SetBy(Call),
    /// The tick, which no thread asks for (`kernel/time/tick-sched.c`; the first since Linux 6.10).
    Tick,
    #[default]
    Other,
}

impl Purpose {
    pub(super) fn of(function: &str) -> Self {
        match function {
            "hrtimer_wakeup" => Self::Sleeper,
            "process_timeout" => Self::WheelSleeper,
            "timerfd_tmrproc" | "timerfd_alarmproc" => Self::SetBy(Call::Timerfd),
            "posix_timer_fn" => Self::SetBy(Call::PosixTimer),
            "it_real_fn" => Self::SetBy(Call::Itimer),
            "tick_nohz_handler" | "tick_sched_timer" => Self::Tick,
            _ => Self::Other,
        }
    }

    /// Whether each sleep has a timer of its own, though it may be at the place of the last one.
    pub(super) fn is_sleep(self) -> bool {
        matches!(self, Self::Sleeper | Self::WheelSleeper)
    }

    /// With the call in which it was armed, and whether a kernel thread did.
    pub(super) fn kind(self, call: Call, by_kernel_thread: bool) -> TimerKind {
        match (self, call) {
            (Self::Sleeper, Call::Unknown) if by_kernel_thread => TimerKind::KernelSleep,
            (Self::Sleeper, Call::Unknown) => TimerKind::Sleep,
            (Self::Sleeper, Call::Other) => TimerKind::OtherCall,
            (Self::SetBy(call), _) | (Self::Sleeper, call) => TimerKind::Call(call),
            (Self::WheelSleeper | Self::Tick | Self::Other, _) => TimerKind::Function,
        }
    }
}

impl TimerKind {
    /// The call's name, where there is one.
    pub fn call(self) -> Option<&'static str> {
        match self {
            Self::Call(call) => Some(call.name()),
            _ => None,
        }
    }

    /// In words; `function` is the kernel's.
    pub fn words(self, function: &str) -> String {
        match self {
            Self::Call(call) => call.name().to_owned(),
            Self::OtherCall => "sleep in another call".to_owned(),
            Self::Sleep => "sleep (call not recorded)".to_owned(),
            Self::KernelSleep => "sleep in the kernel".to_owned(),
            Self::Function if function.is_empty() => "unknown timer".to_owned(),
            Self::Function => function.to_owned(),
        }
    }
}
