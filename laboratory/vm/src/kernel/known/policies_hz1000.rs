//! The kernel `policies` with another tick: what moving a timer programs depends on it.

use super::{Arch, Kernel, Origin, Purpose, policies, small};
use crate::kernel::build::Recipe;

const HZ: &str = "CONFIG_HZ_1000=y\n";

pub(super) const KERNEL: Kernel = Kernel {
    name: "policies-hz1000",
    arch: Arch::X86_64,
    what: "policies with 1000 ticks a second, built here",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Built(Recipe {
        source: "linux-source-6.12",
        fragments: &[
            small::CONFIG,
            HZ,
            policies::CONFIG,
            "CONFIG_LOCALVERSION=\"-policies-hz1000\"\n",
        ],
        patches: policies::PATCHES,
    }),
};
