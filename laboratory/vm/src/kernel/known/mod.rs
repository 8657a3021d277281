//! The kernels there are, a file each. A new one is a file here and a word in the list.

use super::{Kernel, Origin, Purpose, Release};
use crate::Arch;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// All kernels there are; the first is the one that is taken where none is named.
        pub(super) static ALL: &[Kernel] = &[$($file::KERNEL),*];
    };
}
registry!(
    small,
    policies,
    policies_hz1000,
    policies_debug,
    policies_kasan,
    debian_rt,
    debian,
    debian_rt_armv7,
    debian_5_10,
    debian_6_12,
    debian_newest,
    debian_5_10_arm64,
    debian_6_1_arm64,
    debian_6_12_arm64,
    debian_newest_arm64,
);
