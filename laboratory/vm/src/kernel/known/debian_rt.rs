//! Debian's kernel for real time.

use super::{Arch, Kernel, Origin};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-rt",
    arch: Arch::X86_64,
    what: "Debian 12's PREEMPT_RT kernel, 6.1; one CPU",
    is_rt: true,
    origin: Origin::Debian { metapackage: "linux-image-rt-amd64" },
};
