//! Debian's usual kernel.

use super::{Arch, Kernel, Origin};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian",
    arch: Arch::X86_64,
    what: "Debian 12's standard kernel, 6.1; one CPU",
    is_rt: false,
    origin: Origin::Debian { metapackage: "linux-image-amd64" },
};
