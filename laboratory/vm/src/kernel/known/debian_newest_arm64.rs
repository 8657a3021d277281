//! Debian 13's newest kernel, of its backports, for arm64.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-newest-arm64",
    arch: Arch::Arm64,
    what: "Debian 13's newest kernel, of its backports, for arm64; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::TrixieBackports, metapackage: "linux-image-arm64" },
};
