//! Lists and masks of CPUs, as the kernel writes them.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// One more than the highest CPU number of any configuration (`NR_CPUS` on x86-64).
const CPUS_MAX: u32 = 8192;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// Reads `0-3,8`. Kernels write `(null)` or nothing for the empty set. `None` where it is
    /// neither, or names a CPU that no kernel can have.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text == "(null)" {
            return Some(Self::default());
        }
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last >= CPUS_MAX {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(Self(cpus))
    }

    /// Reads a mask as the kernel writes it: see [`CpuList::mask`].
    #[must_use]
    pub fn of_mask(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.trim().split(',').collect();
        if words.len() > CPUS_MAX as usize / 32 {
            return None;
        }
        let mut cpus = BTreeSet::new();
        for (at, word) in words.iter().rev().enumerate() {
            let word = u32::from_str_radix(word, 16).ok()?;
            cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| at as u32 * 32 + bit));
        }
        Some(Self(cpus))
    }

    /// CPUs `0..count`.
    #[must_use]
    pub fn first(count: u32) -> Self {
        Self((0..count.min(CPUS_MAX)).collect())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// They, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether one is in both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Those that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Those of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// As the kernel takes it in `smp_affinity`: hexadecimal words of 32 CPUs, highest first.
    #[must_use]
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| *last as usize / 32 + 1);
        let mut mask = vec![0u32; words];
        for cpu in &self.0 {
            mask[*cpu as usize / 32] |= 1 << (cpu % 32);
        }
        let mut text = format!("{:x}", mask[words - 1]);
        for word in mask[..words - 1].iter().rev() {
            let _ = write!(text, ",{word:08x}");
        }
        text
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::CpuList;
    use proptest::prelude::*;

    #[test]
    fn lists_as_the_kernel_writes_them() {
        for (text, count, mask) in
            [("0-3,8", 5, "10f"), ("", 0, "0"), ("(null)", 0, "0"), ("1,33", 2, "2,00000002")]
        {
            let list = CpuList::parse(text).unwrap();
            assert_eq!((list.len(), list.mask().as_str()), (count, mask), "{text}");
        }
        for text in ["0-4294967295", "3-1", "a", "1,,2", "-1", "0-8192"] {
            assert_eq!(CpuList::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(cpus in proptest::collection::btree_set(0u32..300, 0..40)) {
            let list = CpuList(cpus);
            prop_assert_eq!(CpuList::of_mask(&list.mask()), Some(list.clone()));
            prop_assert_eq!(CpuList::parse(&list.to_string()), Some(list));
        }
    }
}
