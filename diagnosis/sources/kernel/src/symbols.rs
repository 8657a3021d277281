//! Names of kernel functions, from `/proc/kallsyms`.

/// Functions by address. About 5 MB for a kernel with everything built in.
#[derive(Debug, Default)]
pub struct Symbols {
    text: String,
    /// Sorted by address, one per address.
    functions: Vec<Function>,
    /// Where the kernel's text begins, which some events count from.
    text_begin: Option<u64>,
}

#[derive(Debug)]
struct Function {
    address: u64,
    name_at: u32,
    name_bytes: u16,
}

/// The most text that is taken; a large kernel with modules has about 15 MB.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// No function is longer; an address farther from the last one known lies in something else.
const OFFSET_MAX: u64 = 1 << 20;

/// The symbol at the beginning of the kernel's text.
const TEXT_BEGIN: &str = "_stext";

impl Symbols {
    /// The running kernel's, which takes some 50 ms: to be read before the recording begins, since
    /// the kernel's buffers would fill meanwhile. Empty where the file cannot be read or hides its
    /// addresses (`kptr_restrict`): functions are then shown by the end of their address.
    pub fn of_this_kernel() -> Self {
        Self::from_text(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Reads lines of `address type name [module]`. Lines that are something else are left out, and
    /// so are symbols that are no functions, and hidden (zero) addresses.
    pub fn from_text(kallsyms: &str) -> Self {
        let mut symbols = Self::default();
        if kallsyms.len() > TEXT_BYTES_MAX {
            return symbols;
        }
        for line in kallsyms.lines() {
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let is_function =
                words.next().is_some_and(|kind| matches!(kind, "t" | "T" | "w" | "W"));
            if let (Some(address), true, Some(name)) = (address, is_function, words.next())
                && address != 0
                && let Ok(name_bytes) = u16::try_from(name.len())
            {
                if name == TEXT_BEGIN {
                    symbols.text_begin.get_or_insert(address);
                }
                let name_at = symbols.text.len() as u32;
                symbols.text.push_str(name);
                symbols.functions.push(Function { address, name_at, name_bytes });
            }
        }
        // Stable: of several names for an address the first stays.
        symbols.functions.sort_by_key(|function| function.address);
        symbols.functions.dedup_by_key(|function| function.address);
        symbols
    }

    /// Where the kernel's text begins.
    pub fn text_begin(&self) -> Option<u64> {
        self.text_begin
    }

    /// Whether no function is known.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// A sentence for the reader of the recording, where no function is known.
    pub fn note(&self) -> Option<String> {
        let note = "functions are shown by the last digits of their addresses: /proc/kallsyms \
                    cannot be read or hides them (run as root, or set kernel.kptr_restrict to 0)";
        self.is_empty().then(|| note.to_owned())
    }

    /// The function that begins at `address`, or `name+0xoffset` of the one it is in; where none is
    /// known, the end of the address, `0x…123`.
    pub fn name(&self, address: u64) -> String {
        let after = self.functions.partition_point(|function| function.address <= address);
        let Some(function) = after.checked_sub(1).and_then(|at| self.functions.get(at)) else {
            return unknown(address);
        };
        let at = function.name_at as usize;
        let name = &self.text[at..at + usize::from(function.name_bytes)];
        match address - function.address {
            0 => name.to_owned(),
            offset if offset <= OFFSET_MAX => format!("{name}+{offset:#x}"),
            _ => unknown(address),
        }
    }
}

/// A function without a name, by the end of its address: what is before it is where the kernel was put at boot, which
/// nobody is to learn from a recording.
fn unknown(address: u64) -> String {
    format!("0x…{:03x}", address & 0xfff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_functions_and_nothing_else() {
        let symbols = Symbols::from_text(
            "ffffffff81000100 T first\nffffffff81000100 t alias\n0000000000000000 T hidden\n\
             ffffffff81000180 D data\nnonsense\nffffffffa0000000 t late_one\t[some_module]\n\
             ffffffff81000200 w second\n",
        );
        assert_eq!(symbols.name(0xffff_ffff_8100_0100), "first");
        assert_eq!(symbols.name(0xffff_ffff_8100_0190), "first+0x90");
        assert_eq!(symbols.name(0xffff_ffff_8100_0200), "second");
        assert_eq!(symbols.name(0xffff_ffff_a000_0000), "late_one");
        assert_eq!(symbols.name(0x10), "0x…010");
        assert_eq!(symbols.name(0xffff_ffff_ffff_f123), "0x…123");
        assert!(!symbols.is_empty());
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_is_told_of() {
        let hidden = Symbols::from_text("0000000000000000 T hidden\n0000000000000000 T other\n");
        assert!(hidden.is_empty());
        assert_eq!(hidden.name(0), "0x…000");
        assert!(hidden.note().is_some_and(|note| note.contains("kptr_restrict")));
    }
}
