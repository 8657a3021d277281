//! The numbers of system calls, which differ between architectures.

use tardy_model::event::Call;

/// A table of system calls: an architecture's, or that of the programs it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Abi {
    /// Not known.
    #[default]
    Unknown,
    /// x86-64.
    X86_64,
    /// arm64, riscv and all others with the generic table.
    Generic,
    /// 32-bit ARM (EABI).
    Arm,
    /// 32-bit x86.
    I386,
}

impl Abi {
    /// Of a machine, as `uname -m` calls it.
    pub fn of_machine(machine: &str) -> Self {
        match machine {
            "x86_64" | "amd64" => Self::X86_64,
            "aarch64" | "arm64" | "riscv64" | "riscv32" | "loongarch64" => Self::Generic,
            "i386" | "i486" | "i586" | "i686" | "x86" => Self::I386,
            machine if machine.starts_with("arm") => Self::Arm,
            _ => Self::Unknown,
        }
    }

    /// This program's.
    pub fn of_this_machine() -> Self {
        Self::of_machine(std::env::consts::ARCH)
    }

    /// The table's name: a machine that has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::X86_64 => "x86_64",
            Self::Generic => "arm64",
            Self::Arm => "arm",
            Self::I386 => "i386",
        }
    }

    /// What a number means. Numbers from the kernel's own `syscall*.tbl`.
    pub const fn call(self, number: u32) -> Call {
        match (self, number) {
            (Self::Unknown, _) => Call::Unknown,
            (Self::X86_64, 202) | (Self::Generic, 98) => Call::Futex,
            (Self::X86_64, 230) | (Self::Generic, 115) => Call::ClockNanosleep,
            (Self::X86_64, 35) | (Self::Generic, 101) => Call::Nanosleep,
            (Self::X86_64, 7 | 271) | (Self::Generic, 73) => Call::Poll,
            (Self::X86_64, 23 | 270) | (Self::Generic, 72) => Call::Select,
            (Self::X86_64, 232 | 281) | (Self::Generic, 22) => Call::Epoll,
            (Self::X86_64 | Self::Generic, 441) => Call::Epoll,
            (Self::X86_64, 286) | (Self::Generic, 86) => Call::Timerfd,
            (Self::X86_64, 223) | (Self::Generic, 110) => Call::PosixTimer,
            (Self::X86_64, 37 | 38) | (Self::Generic, 103) => Call::Itimer,
            // The 32-bit tables share their first numbers, and all from 403 on (64-bit times).
            (Self::Arm | Self::I386, 240 | 422) => Call::Futex,
            (Self::Arm, 265) | (Self::I386, 267) => Call::ClockNanosleep,
            (Self::Arm | Self::I386, 407) => Call::ClockNanosleep,
            (Self::Arm | Self::I386, 162) => Call::Nanosleep,
            (Self::Arm, 168 | 336) | (Self::I386, 168 | 309) => Call::Poll,
            (Self::Arm | Self::I386, 414) => Call::Poll,
            (Self::Arm, 142 | 335) | (Self::I386, 82 | 142 | 308) => Call::Select,
            (Self::Arm | Self::I386, 413) => Call::Select,
            (Self::Arm, 252 | 346) | (Self::I386, 256 | 319) => Call::Epoll,
            (Self::Arm | Self::I386, 441) => Call::Epoll,
            (Self::Arm, 353) | (Self::I386, 325) => Call::Timerfd,
            (Self::Arm | Self::I386, 411) => Call::Timerfd,
            (Self::Arm, 258) | (Self::I386, 260) => Call::PosixTimer,
            (Self::Arm | Self::I386, 409) => Call::PosixTimer,
            (Self::Arm | Self::I386, 104) | (Self::I386, 27) => Call::Itimer,
            _ => Call::Other,
        }
    }

    /// What a call's arguments tell of its table: only `futex` has an operation in its second one,
    /// and its number differs (between 32-bit ARM and x86 only here it does not: taken as ARM, from
    /// where such traces come; nothing that is asked of either differs).
    ///
    /// `op` must carry `FUTEX_PRIVATE_FLAG`, as nearly every program's does.
    pub fn guess(number: u32, address: u64, op: u64) -> Self {
        const PRIVATE: u64 = 0x80;
        let is_futex = op & PRIVATE != 0 && op & !0x180 <= 13 && address % 4 == 0 && address != 0;
        match number {
            202 if is_futex => Self::X86_64,
            98 if is_futex => Self::Generic,
            240 if is_futex => Self::Arm,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_has_another_number_elsewhere() {
        for (machine, futex, sleep) in
            [("x86_64", 202, 230), ("aarch64", 98, 115), ("armv7l", 240, 265), ("i686", 240, 267)]
        {
            let abi = Abi::of_machine(machine);
            assert_eq!(abi.call(futex), Call::Futex, "{machine}");
            assert_eq!(abi.call(sleep), Call::ClockNanosleep, "{machine}");
            assert_eq!(abi.call(1), Call::Other, "{machine}");
        }
        assert_eq!(Abi::of_machine("sparc64").call(202), Call::Unknown);
    }

    #[test]
    fn a_futex_gives_its_table_away() {
        assert_eq!(Abi::guess(240, 0x11524, 0x86), Abi::Arm);
        assert_eq!(Abi::guess(202, 0x7f00_0000_1000, 0x80), Abi::X86_64);
        // clock_gettime on ARM; a pointer that is none.
        assert_eq!(Abi::guess(263, 1, 0xb6e0_5e30), Abi::Unknown);
        assert_eq!(Abi::guess(240, 3, 0x86), Abi::Unknown);
    }
}
