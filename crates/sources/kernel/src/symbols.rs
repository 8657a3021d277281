//! Names of kernel functions, from `/proc/kallsyms`.

/// Functions by address. About 5 MB for a kernel with everything built in.
#[derive(Debug, Default)]
pub struct Symbols {
    text: String,
    /// Address, and where in the text the name begins and ends.
    entries: Vec<(u64, u32, u32)>,
}

impl Symbols {
    /// Reads the running kernel's. Empty where the file cannot be read or hides its addresses
    /// (`kptr_restrict`): functions are then shown by address.
    pub fn read() -> Self {
        Self::from_text(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// From text in the format of `/proc/kallsyms`. Only functions are kept.
    pub fn from_text(kallsyms: &str) -> Self {
        let mut symbols = Self::default();
        for line in kallsyms.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") {
                continue;
            }
            let from = symbols.text.len() as u32;
            symbols.text.push_str(name);
            symbols.entries.push((address, from, symbols.text.len() as u32));
        }
        symbols.entries.sort_by_key(|(address, ..)| *address);
        symbols
    }

    /// The function that begins at `address`, or the address itself.
    pub fn name(&self, address: u64) -> String {
        match self.entries.binary_search_by_key(&address, |(address, ..)| *address) {
            Ok(at) => {
                let (_, from, to) = self.entries[at];
                self.text[from as usize..to as usize].to_owned()
            }
            Err(_) => format!("{address:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_only_and_by_their_beginning() {
        let symbols = Symbols::from_text(
            "0000000000000000 T hidden\nffff2000 t b_func\nffff1000 T a_func\t[mod]\nffff3000 d data\nx\n",
        );
        assert_eq!(symbols.name(0xffff_1000), "a_func");
        assert_eq!(symbols.name(0xffff_2000), "b_func");
        assert_eq!(symbols.name(0xffff_3000), "0xffff3000");
        assert_eq!(symbols.name(0), "0x0");
    }
}
