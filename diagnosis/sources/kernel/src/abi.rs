//! The numbers of system calls, which differ between architectures.

use std::sync::LazyLock;
use tardy_model::event::{Call, futex};

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

    /// Of the running kernel's own programs; those of 32 bits on a kernel of 64 have [another](Self::compat).
    pub fn of_this_machine() -> Self {
        Self::of_machine(&rustix::system::uname().machine().to_string_lossy())
    }

    /// Of the programs of 32 bits that a kernel with this table runs.
    #[must_use]
    pub const fn compat(self) -> Self {
        match self {
            Self::X86_64 => Self::I386,
            // riscv has programs of 32 bits too; kernels that run both are not known.
            Self::Generic => Self::Arm,
            _ => Self::Unknown,
        }
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

    /// What a number means.
    #[inline]
    pub fn call(self, number: u32) -> Call {
        if self == Self::Unknown {
            return Call::Unknown;
        }
        // Asked for at every call that is recorded, some million times a second.
        BY_NUMBER[self as usize].get(number as usize).copied().unwrap_or(Call::Other)
    }

    /// What a call's arguments tell of its table: only `futex` has an operation in its second one,
    /// and its number differs (between 32-bit ARM and x86 only here it does not: taken as ARM, from
    /// where such traces come; nothing that is asked of either differs).
    ///
    /// `op` must carry `FUTEX_PRIVATE_FLAG`, as nearly every program's does.
    pub fn guess(number: u32, address: u64, op: u64) -> Self {
        const PRIVATE: u64 = 0x80;
        let is_futex =
            op & PRIVATE != 0 && op & !0x180 <= 13 && address != 0 && address.is_multiple_of(4);
        match number {
            202 if is_futex => Self::X86_64,
            98 if is_futex => Self::Generic,
            240 if is_futex => Self::Arm,
            _ => Self::Unknown,
        }
    }
}

/// The operation and the value of one of the calls that came after `futex` and do one thing each (Linux 5.16
/// and 6.7), by its number, which is the same everywhere, and its first arguments; none of any other call.
///
/// They are told as what `futex` does alike, so that nothing after a source needs to know them.
#[inline]
pub fn futex2(number: u32, arguments: [u64; 2]) -> Option<(u16, u16)> {
    match number {
        // futex_waitv: what the words are compared with is behind a pointer.
        449 => Some((futex::WAIT, 0)),
        // futex_wake, futex_wait, futex_requeue
        454 => Some((futex::WAKE, 0)),
        455 => Some((futex::WAIT_BITSET, arguments[1] as u16)),
        456 => Some((futex::CMP_REQUEUE, 0)),
        _ => None,
    }
}

/// The numbers that any of the tables has are below this.
const NUMBERS: usize = 512;

/// Each table by number, in the order of [`Abi`].
static BY_NUMBER: LazyLock<[[Call; NUMBERS]; 5]> =
    LazyLock::new(|| [&[] as Table, X86_64, GENERIC, ARM, I386].map(by_number));

fn by_number(table: Table) -> [Call; NUMBERS] {
    let mut calls = [Call::Other; NUMBERS];
    for (call, numbers) in table {
        for number in *numbers {
            calls[*number as usize] = *call;
        }
    }
    calls
}

/// The calls that matter, with their numbers in the kernel's `syscall*.tbl`.
type Table = &'static [(Call, &'static [u32])];

const X86_64: Table = &[
    (Call::Futex, &[202, 449, 454, 455, 456]),
    (Call::ClockNanosleep, &[230]),
    (Call::Nanosleep, &[35]),
    (Call::Poll, &[7, 271]),
    (Call::Select, &[23, 270]),
    (Call::Epoll, &[232, 281, 441]),
    (Call::Timerfd, &[286]),
    (Call::PosixTimer, &[223]),
    (Call::Itimer, &[37, 38]),
    (Call::Yield, &[24]),
];

const GENERIC: Table = &[
    (Call::Futex, &[98, 449, 454, 455, 456]),
    (Call::ClockNanosleep, &[115]),
    (Call::Nanosleep, &[101]),
    (Call::Poll, &[73]),
    (Call::Select, &[72]),
    (Call::Epoll, &[22, 441]),
    (Call::Timerfd, &[86]),
    (Call::PosixTimer, &[110]),
    (Call::Itimer, &[103]),
    (Call::Yield, &[124]),
];

// Numbers from 403 on are those with 64-bit times, the same in both 32-bit tables.
const ARM: Table = &[
    (Call::Futex, &[240, 422, 449, 454, 455, 456]),
    (Call::ClockNanosleep, &[265, 407]),
    (Call::Nanosleep, &[162]),
    (Call::Poll, &[168, 336, 414]),
    (Call::Select, &[142, 335, 413]),
    (Call::Epoll, &[252, 346, 441]),
    (Call::Timerfd, &[353, 411]),
    (Call::PosixTimer, &[258, 409]),
    (Call::Itimer, &[104]),
    (Call::Yield, &[158]),
];

const I386: Table = &[
    (Call::Futex, &[240, 422, 449, 454, 455, 456]),
    (Call::ClockNanosleep, &[267, 407]),
    (Call::Nanosleep, &[162]),
    (Call::Poll, &[168, 309, 414]),
    (Call::Select, &[82, 142, 308, 413]),
    (Call::Epoll, &[256, 319, 441]),
    (Call::Timerfd, &[325, 411]),
    (Call::PosixTimer, &[260, 409]),
    (Call::Itimer, &[27, 104]),
    (Call::Yield, &[158]),
];

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
    fn calls_with_times_of_64_bits_have_one_number_on_32() {
        for abi in [Abi::Arm, Abi::I386] {
            assert_eq!(abi.call(422), Call::Futex, "{abi:?}");
            assert_eq!(abi.call(407), Call::ClockNanosleep, "{abi:?}");
            assert_eq!(abi.call(409), Call::PosixTimer, "{abi:?}");
            assert_eq!(abi.call(411), Call::Timerfd, "{abi:?}");
            assert_eq!(abi.call(413), Call::Select, "{abi:?}");
            assert_eq!(abi.call(414), Call::Poll, "{abi:?}");
        }
        assert_ne!(Abi::X86_64.call(422), Call::Futex);
    }

    #[test]
    fn programs_of_32_bits_have_a_table_of_their_own() {
        assert_eq!(Abi::X86_64.compat().call(267), Call::ClockNanosleep);
        assert_eq!(Abi::Generic.compat().call(265), Call::ClockNanosleep);
        assert_eq!(Abi::Arm.compat(), Abi::Unknown);
    }

    #[test]
    fn calls_that_do_one_thing_of_futex_are_it() {
        for abi in [Abi::X86_64, Abi::Generic, Abi::Arm, Abi::I386] {
            for number in [449, 454, 455, 456] {
                assert_eq!(abi.call(number), Call::Futex, "{abi:?}");
            }
        }
        assert_eq!(futex2(455, [0x1000, 2]), Some((futex::WAIT_BITSET, 2)));
        assert_eq!(futex2(202, [0x1000, 2]), None);
    }

    #[test]
    fn the_table_of_this_machine_is_known_where_its_calls_are() {
        let known = Abi::of_machine(std::env::consts::ARCH);
        assert!(known == Abi::Unknown || Abi::of_this_machine() != Abi::Unknown);
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
