//! The victim itself, in the kernel.

use super::Rule;
use crate::piece::{Doing, Phase};
use tardy_model::Cause;

/// The victim runs but is not back in user space: the way out of the switch and of the system call;
/// or it had not gone to sleep yet when it was woken.
pub(super) struct OwnKernelWork;

impl Rule for OwnKernelWork {
    fn cause(&self) -> Cause {
        Cause("own_kernel_work")
    }

    fn meaning(&self) -> &'static str {
        "the thread itself, in the kernel on its way back to user space"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Interrupt, Phase::Callback, Phase::Placing, Phase::Runnable, Phase::Running]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Own]
    }

    fn is_own(&self) -> bool {
        true
    }

    fn has_all(&self) -> bool {
        true
    }
}
