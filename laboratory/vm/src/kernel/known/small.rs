//! A kernel of our own: what measurements ask for, and nothing that runs by itself beside them.

use super::{Arch, Kernel, Origin, Purpose};
use crate::kernel::build::Recipe;

/// Ticks per second.
pub(super) const HZ_250: &str = "CONFIG_HZ_250=y\n";

/// Of those with timer policies too.
pub(super) const CONFIG: &str = include_str!("../../../kernels/small.config");

pub(super) const KERNEL: Kernel = Kernel {
    name: "small",
    arch: Arch::X86_64,
    what: "PREEMPT_RT in mainline, 6.12, built here: quick to boot, CPUs as many as you like",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[CONFIG, HZ_250, "CONFIG_LOCALVERSION=\"-small\"\n"],
        patches: &[],
    }),
};
