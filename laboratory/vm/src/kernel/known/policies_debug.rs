//! The kernel `policies` that looks after itself: its locks, its timers, and who sleeps where nobody may.

use super::{Arch, Kernel, Origin, Purpose, policies, small};
use crate::kernel::build::Recipe;

/// Its own checks; the image has to hold them.
const CHECKS: &str = "\
CONFIG_PROVE_LOCKING=y
CONFIG_DEBUG_ATOMIC_SLEEP=y
CONFIG_DEBUG_OBJECTS=y
CONFIG_DEBUG_OBJECTS_TIMERS=y
CONFIG_DEBUG_OBJECTS_FREE=y
CONFIG_DEBUG_OBJECTS_ENABLE_DEFAULT=1
CONFIG_DEBUG_LIST=y
CONFIG_DETECT_HUNG_TASK=y
";

pub(super) const KERNEL: Kernel = Kernel {
    name: "policies-debug",
    arch: Arch::X86_64,
    what: "policies with checks of locks, timers and sleeps, slow, built here",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[
            small::CONFIG,
            small::HZ_250,
            policies::CONFIG,
            CHECKS,
            "CONFIG_LOCALVERSION=\"-policies-debug\"\n",
        ],
        patches: policies::PATCHES,
    }),
};
