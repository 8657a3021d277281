//! The kernel `small` with ways to expire timers that were proposed or replaced over the years, each with a
//! switch under `/sys/kernel/timer_policy/`.

use super::{Arch, Kernel, Origin, Purpose, small};
use crate::kernel::build::Recipe;
use crate::kernel::patch::Patch;

/// Of all kernels with timer policies.
pub(super) const CONFIG: &str = "CONFIG_TIMER_POLICY=y\n";

macro_rules! patches {
    ($($name:literal),* $(,)?) => {
        /// Patches of the folder `kernel/`, in the order in which they are applied.
        pub(super) const PATCHES: &[Patch] =
            &[$(Patch { name: $name, text: include_str!(concat!("../../../../../kernel/", $name)) }),*];
    };
}

patches![
    "0001-timer_policy-Add-a-place-for-switches.patch",
    "0002-timer_policy-Make-deferring-of-ordinary-sleepers-a-switch.patch",
    "0003-timer_policy-Make-what-moving-a-timer-programs-a-choice.patch",
    "0004-timer_policy-Add-sleep-calls-that-take-a-number.patch",
    "0005-timer_policy-Expire-sleepers-by-level-in-a-thread-per-level.patch",
    "0006-timer_policy-Expire-sleepers-in-order-at-their-priority.patch",
];

pub(super) const KERNEL: Kernel = Kernel {
    name: "policies",
    arch: Arch::X86_64,
    what: "small with switches between timer policies of the mailing lists, built here",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[small::CONFIG, small::HZ_250, CONFIG, "CONFIG_LOCALVERSION=\"-policies\"\n"],
        patches: PATCHES,
    }),
};
