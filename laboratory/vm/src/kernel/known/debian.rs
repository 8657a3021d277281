//! Debian's usual kernel.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian",
    arch: Arch::X86_64,
    what: "Debian 12's standard kernel, 6.1; one CPU",
    is_rt: false,
    purpose: Purpose::Both,
    origin: Origin::Debian { release: Release::Bookworm, metapackage: "linux-image-amd64" },
};
