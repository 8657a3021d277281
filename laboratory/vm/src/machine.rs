//! The machine that a guest is.

use crate::Arch;
use std::fmt;
use std::str::FromStr;

/// A machine in counted time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its architecture.
    pub arch: Arch,
    /// CPUs. QEMU runs several in turns within one count of time, so tails of more than one hold
    /// that turn-taking.
    pub cpus: u32,
    /// How fast it is.
    pub mips: Mips,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// Chooses its random numbers, and how its timers lie against the kernel's.
    pub seed: u64,
    /// More of the kernel's command line.
    pub append: Vec<String>,
}

impl Machine {
    /// One CPU of 500 MIPS with 1 GiB.
    pub fn new(arch: Arch) -> Self {
        Self { arch, cpus: 1, mips: Mips::default(), memory_mib: 1024, seed: 1, append: Vec::new() }
    }
}

/// Million instructions per second: every instruction takes the same time, a power of two in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mips {
    shift: u32,
}

/// The slowest: 128 ns an instruction.
const SHIFT_MAX: u32 = 7;

impl Mips {
    /// ns of an instruction as a power of two, as QEMU wants it.
    pub(crate) fn shift(self) -> u32 {
        self.shift
    }

    /// ns that an instruction takes.
    pub fn instruction_ns(self) -> u64 {
        1 << self.shift
    }
}

/// 500: about a Zynq 7020's.
impl Default for Mips {
    fn default() -> Self {
        Self { shift: 1 }
    }
}

impl fmt::Display for Mips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mips = 1000.0 / self.instruction_ns() as f64;
        write!(f, "{mips}")
    }
}

impl FromStr for Mips {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || (0..=SHIFT_MAX).map(|shift| Self { shift });
        known().find(|mips| mips.to_string() == text).ok_or_else(|| {
            let known: Vec<String> = known().map(|mips| mips.to_string()).collect();
            format!(
                "time is counted in powers of two: an instruction takes 1, 2, 4, … ns, that is {}",
                known.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_powers_of_two() {
        assert_eq!("500".parse(), Ok(Mips::default()));
        assert_eq!("1000".parse::<Mips>().unwrap().instruction_ns(), 1);
        assert_eq!("62.5".parse::<Mips>().unwrap().shift(), 4);
        let error = "600".parse::<Mips>().unwrap_err();
        assert!(error.ends_with("1000, 500, 250, 125, 62.5, 31.25, 15.625, 7.8125"), "{error}");
    }
}
