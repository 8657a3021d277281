//! Debian 11's usual kernel, 5.10, for arm64.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-5.10-arm64",
    arch: Arch::Arm64,
    what: "Debian 11's usual kernel, 5.10, for arm64; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::Bullseye, metapackage: "linux-image-arm64" },
};
