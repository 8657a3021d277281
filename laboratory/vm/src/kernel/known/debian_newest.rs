//! Debian 13's newest kernel, of its backports.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-newest",
    arch: Arch::X86_64,
    what: "Debian 13's newest kernel, of its backports; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::TrixieBackports, metapackage: "linux-image-amd64" },
};
