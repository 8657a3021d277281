//! The kernel `policies` that finds accesses to memory that is not there any more.

use super::{Arch, Kernel, Origin, Purpose, policies, small};
use crate::kernel::build::Recipe;

/// Generic, as it needs no hardware; stacks too, on which sleepers have their timers.
const CHECKS: &str = "\
CONFIG_KASAN=y
CONFIG_KASAN_GENERIC=y
CONFIG_KASAN_OUTLINE=y
CONFIG_KASAN_STACK=y
CONFIG_DEBUG_LIST=y
CONFIG_DETECT_HUNG_TASK=y
";

pub(super) const KERNEL: Kernel = Kernel {
    name: "policies-kasan",
    arch: Arch::X86_64,
    what: "policies with checks of memory (KASAN), slow, built here",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[
            small::CONFIG,
            small::HZ_250,
            policies::CONFIG,
            CHECKS,
            "CONFIG_LOCALVERSION=\"-policies-kasan\"\n",
        ],
        patches: policies::PATCHES,
    }),
};
