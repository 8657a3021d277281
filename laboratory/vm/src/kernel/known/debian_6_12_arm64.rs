//! Debian 13's usual kernel, 6.12, for arm64.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-6.12-arm64",
    arch: Arch::Arm64,
    what: "Debian 13's usual kernel, 6.12, for arm64; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::Trixie, metapackage: "linux-image-arm64" },
};
