//! Debian 11's usual kernel, 5.10.

use super::{Arch, Kernel, Origin, Purpose, Release};

pub(super) const KERNEL: Kernel = Kernel {
    name: "debian-5.10",
    arch: Arch::X86_64,
    what: "Debian 11's usual kernel, 5.10; one CPU",
    is_rt: false,
    purpose: Purpose::Matrix,
    origin: Origin::Debian { release: Release::Bullseye, metapackage: "linux-image-amd64" },
};
