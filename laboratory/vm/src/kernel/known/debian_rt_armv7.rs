//! Debian's kernel for real time on 32-bit ARM.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-rt-armv7",
    arch: Arch::Armv7,
    what: "Debian 12's PREEMPT_RT kernel for ARMv7, 6.1; one CPU",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Debian { release: Release::Bookworm, metapackage: "linux-image-rt-armmp" },
};
