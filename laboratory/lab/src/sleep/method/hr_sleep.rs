//! The call that was proposed in 2021, in the kernel `policies`.

use super::called::Called;
use super::{Kind, Slack};
use tardy_thread_policy::SleepCall;

pub(super) const KIND: Kind = Kind {
    name: "hr_sleep",
    summary: "hr_sleep, relative: a number, a timer and a callback of its own, no slack",
    slacks: &[Slack::Own],
    make: || Called::make(SleepCall::HrSleep),
};
