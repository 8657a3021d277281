//! Which function is at an address.

use std::fmt::Write;

/// The functions of a kernel by address, from the text of `/proc/kallsyms`.
#[derive(Debug, Default)]
pub struct Symbols {
    text: String,
    /// Sorted by address, one per address.
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Function {
    address: u64,
    name_at: u32,
    name_bytes: u16,
}

/// The most text that is taken; a large kernel with modules has about 15 MB.
const TEXT_BYTES_MAX: usize = 256 << 20;

impl Symbols {
    /// The running kernel's. Empty where it cannot be read or hides its addresses.
    pub fn of_this_kernel() -> Self {
        std::fs::read_to_string("/proc/kallsyms").map(Self::parse).unwrap_or_default()
    }

    /// Reads lines of `address type name [module]`. Lines that are something else are left out, and
    /// so are symbols that are no functions, and hidden (zero) addresses.
    pub fn parse(text: String) -> Self {
        if text.len() > TEXT_BYTES_MAX {
            return Self::default();
        }
        let mut functions = Vec::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let is_function = words.next().is_some_and(|kind| "tTwW".contains(kind));
            if let (Some(address), true, Some(name)) = (address, is_function, words.next())
                && address != 0
                && let Ok(name_bytes) = u16::try_from(name.len())
            {
                let name_at = name.as_ptr().addr() - text.as_ptr().addr();
                functions.push(Function { address, name_at: name_at as u32, name_bytes });
            }
        }
        // Stable: of several names for an address the first stays.
        functions.sort_by_key(|function| function.address);
        functions.dedup_by_key(|function| function.address);
        Self { text, functions }
    }

    /// Whether no function is known.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function that begins at `address`, or `name+0xoffset` of the one it is in; where none is
    /// known, the address itself, `0x…`.
    pub fn name(&self, address: u64) -> String {
        let after = self.functions.partition_point(|function| function.address <= address);
        let Some(function) = after.checked_sub(1).and_then(|at| self.functions.get(at)) else {
            return format!("{address:#x}");
        };
        let at = function.name_at as usize;
        let mut name = self.text[at..at + usize::from(function.name_bytes)].to_owned();
        let offset = address - function.address;
        if offset > OFFSET_MAX {
            return format!("{address:#x}");
        }
        if offset != 0 {
            let _ = write!(name, "+{offset:#x}");
        }
        name
    }
}

/// No function is longer; an address farther from the last one known lies in something else.
const OFFSET_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_functions_and_nothing_else() {
        let symbols = Symbols::parse(
            "ffffffff81000100 T first\nffffffff81000100 t alias\n0000000000000000 T hidden\n\
             ffffffff81000180 D data\nnonsense\nffffffffa0000000 t late_one\t[some_module]\n\
             ffffffff81000200 w second\n"
                .to_owned(),
        );
        assert_eq!(symbols.name(0xffff_ffff_8100_0100), "first");
        assert_eq!(symbols.name(0xffff_ffff_8100_0190), "first+0x90");
        assert_eq!(symbols.name(0xffff_ffff_8100_0200), "second");
        assert_eq!(symbols.name(0xffff_ffff_a000_0000), "late_one");
        assert_eq!(symbols.name(0x10), "0x10");
        assert_eq!(symbols.name(u64::MAX), "0xffffffffffffffff");
        assert!(!symbols.is_empty());
        assert!(Symbols::parse("0000000000000000 T hidden\n".to_owned()).is_empty());
    }
}
