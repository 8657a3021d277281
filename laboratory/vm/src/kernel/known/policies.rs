//! The kernel `small` with ways to expire timers that were proposed or replaced over the years, each with a
//! switch under `/sys/kernel/timer_policy/`.

use super::{Arch, Kernel, Origin, Purpose, small};
use crate::kernel::build::Recipe;
use crate::kernel::patch::Patch;

/// Patches of the folder `kernel/`, in the order in which they are applied.
macro_rules! patches {
    ($($name:literal),* $(,)?) => {
        &[$(Patch { name: $name, text: include_str!(concat!("../../../../../kernel/", $name)) }),*]
    };
}

pub(super) const KERNEL: Kernel = Kernel {
    name: "policies",
    arch: Arch::X86_64,
    what: "small with switches between timer policies of the mailing lists, built here",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[small::CONFIG, "CONFIG_TIMER_POLICY=y\nCONFIG_LOCALVERSION=\"-policies\"\n"],
        patches: patches![
            "0001-timer_policy-Add-a-place-for-switches.patch",
            "0002-timer_policy-Make-deferring-of-ordinary-sleepers-a-switch.patch",
            "0003-timer_policy-Make-what-moving-a-timer-programs-a-choice.patch",
            "0004-timer_policy-Add-sleep-calls-that-take-a-number.patch",
            "0005-timer_policy-Expire-sleepers-by-level-in-a-thread-per-level.patch",
            "0006-timer_policy-Expire-sleepers-in-order-at-their-priority.patch",
        ],
    }),
};
