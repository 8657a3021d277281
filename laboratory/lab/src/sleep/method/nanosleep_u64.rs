//! The call without a `timespec` that the figures of 2021 were made with, in the kernel `policies`.

use super::called::Called;
use super::{Kind, Slack};
use tardy_thread_policy::SleepCall;

pub(super) const KIND: Kind = Kind {
    name: "nanosleep_u64",
    summary: "nanosleep_u64, relative: a number instead of a timespec, no slack",
    slacks: &[Slack::Own],
    make: || Called::make(SleepCall::NanosleepU64),
};
