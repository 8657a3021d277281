//! Debian 12's usual kernel, 6.1, for arm64.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-6.1-arm64",
    arch: Arch::Arm64,
    what: "Debian 12's usual kernel, 6.1, for arm64; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::Bookworm, metapackage: "linux-image-arm64" },
};
