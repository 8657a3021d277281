//! Sizes in bytes as they are written: `4096`, `64k`, `16m`, `1g`, by powers of 1024.

const UNITS: [(char, u32); 3] = [('g', 30), ('m', 20), ('k', 10)];

/// Bytes; none where it is no size or no `u64` holds it.
pub(super) fn read(text: &str) -> Option<u64> {
    let last = text.chars().last()?.to_ascii_lowercase();
    let (digits, shift) = match UNITS.iter().find(|(unit, _)| *unit == last) {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    // `parse` would also take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// As it is written, in the largest unit that leaves no rest.
pub(super) fn shown(bytes: u64) -> String {
    for (unit, shift) in UNITS {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, again) in [
            ("0", 0, "0"),
            ("100", 100, "100"),
            ("4096", 4096, "4k"),
            ("64K", 64 << 10, "64k"),
            ("1536m", 1536 << 20, "1536m"),
            ("2048m", 2 << 30, "2g"),
        ] {
            assert_eq!(read(text), Some(bytes));
            assert_eq!(shown(bytes), again);
        }
        for text in ["", "k", "-1", "+1", "1t", "1 m", "1.5g", "18446744073709551615k", "1é"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
