//! Debian's kernel for real time.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-rt",
    arch: Arch::X86_64,
    what: "Debian 12's PREEMPT_RT kernel, 6.1; one CPU",
    is_rt: true,
    purpose: Purpose::Measuring,
    origin: Origin::Debian { release: Release::Bookworm, metapackage: "linux-image-rt-amd64" },
};
