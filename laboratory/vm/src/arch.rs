//! The machines that guests are.

use std::fmt;

/// A guest's architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// x86-64, as QEMU's `pc`.
    X86_64,
    /// 64-bit ARM, as QEMU's `virt` with a Cortex-A57, which runs programs of 32 bits too.
    Arm64,
    /// 32-bit ARM, as QEMU's `virt` with a Cortex-A15.
    Armv7,
}

impl Arch {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Arm64, Self::Armv7];

    /// Its name, as `uname -m` or what comes nearest has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
            Self::Armv7 => "armv7",
        }
    }

    /// What Debian calls it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Armv7 => "armhf",
        }
    }

    /// The architecture that this program runs on, where guests can have it.
    pub fn of_this_machine() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Its first serial line.
    pub(crate) fn console(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS0",
            Self::Arm64 | Self::Armv7 => "ttyAMA0",
        }
    }

    /// QEMU's program for it.
    pub fn qemu(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Arm64 => "qemu-system-aarch64",
            Self::Armv7 => "qemu-system-arm",
        }
    }

    /// Debian's package of that program.
    pub fn qemu_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Arm64 | Self::Armv7 => "qemu-system-arm",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
