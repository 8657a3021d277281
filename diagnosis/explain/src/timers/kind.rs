//! What timers are for: the system call that asked for one, or the kernel's function.

use tardy_followers::Purpose;
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

impl TimerKind {
    /// By what the kernel's function tells, the call in which it was armed, and whether a kernel thread did.
    pub(super) fn of(purpose: Purpose, call: Call, by_kernel_thread: bool) -> Self {
        match (purpose, call) {
            (Purpose::Sleeper, Call::Unknown) if by_kernel_thread => Self::KernelSleep,
            (Purpose::Sleeper, Call::Unknown) => Self::Sleep,
            (Purpose::Sleeper, Call::Other) => Self::OtherCall,
            (Purpose::SetBy(call), _) | (Purpose::Sleeper, call) => Self::Call(call),
            _ => Self::Function,
        }
    }

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
