//! Names of interrupt lines, from `/proc/interrupts`.

use std::collections::HashMap;

/// Names by number. A number that is not known makes it read the file again, once per number.
#[derive(Debug, Default)]
pub struct Interrupts {
    names: HashMap<u32, String>,
}

impl Interrupts {
    /// The device on line `number`, or `irq N` where the kernel does not tell.
    pub fn name(&mut self, number: u32) -> String {
        if !self.names.contains_key(&number) {
            if let Ok(text) = std::fs::read_to_string("/proc/interrupts") {
                self.learn(&text);
            }
            self.names.entry(number).or_insert_with(|| format!("irq {number}"));
        }
        self.names[&number].clone()
    }

    /// Each line: number, a count per CPU, chip, hardware number, actions. Columns between the
    /// counts and the actions differ between architectures; the last word names the device.
    fn learn(&mut self, text: &str) {
        for line in text.lines().skip(1) {
            let Some((number, rest)) = line.split_once(':') else { continue };
            let Ok(number) = number.trim().parse() else { continue };
            if let Some(name) = rest.split_whitespace().next_back() {
                self.names.insert(number, name.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        let mut interrupts = Interrupts::default();
        interrupts.learn(
            "           CPU0       CPU1\n 26:  0  15  IO-APIC   4-edge      ttyS0\n\
             LOC:      10697       9785   Local timer interrupts\n",
        );
        assert_eq!(interrupts.name(26), "ttyS0");
        assert_eq!(interrupts.name(99_999), "irq 99999");
    }
}
