//! Parquet's hybrid of runs and packed bits (parquet-format, Encodings.md, `RLE = 3`), as small numbers
//! of a page are written.

/// Values of a group: packed numbers come in whole groups, and only a whole one begins a run.
const GROUP: usize = 8;

/// Bits of a number at most: a row group has no more distinct values than rows.
const BITS_MAX: u32 = super::ROWS_PER_GROUP.ilog2();

/// The bits that numbers below `count` need.
pub(super) fn bits_for(count: usize) -> u32 {
    count.saturating_sub(1).checked_ilog2().map_or(0, |high| high + 1)
}

/// Appends `numbers`, each of at most `bits`, which are at most [`BITS_MAX`].
pub(super) fn encode(numbers: &[u32], bits: u32, out: &mut Vec<u8>) {
    assert!(bits <= BITS_MAX, "{bits} bits for the values of a row group");
    let (mut at, mut unwritten) = (0, 0);
    // Runs are looked for at whole groups, as what is packed before one must be whole.
    while let Some(group) = numbers.get(at..at + GROUP) {
        let number = group[0];
        if group.iter().any(|next| *next != number) {
            at += GROUP;
            continue;
        }
        pack(&numbers[unwritten..at], bits, out);
        let run = numbers[at..].iter().take_while(|next| **next == number).count();
        // Groups count from its end on.
        repeat(number, run, bits, out);
        at += run;
        unwritten = at;
    }
    pack(&numbers[unwritten..], bits, out);
}

fn repeat(number: u32, times: usize, bits: u32, out: &mut Vec<u8>) {
    varint((times as u64) << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Packed from the lowest bit on; the last group is filled up with zeros.
fn pack(numbers: &[u32], bits: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    varint((groups as u64) << 1 | 1, out);
    out.reserve(groups * bits as usize);
    let (whole, rest) = numbers.as_chunks::<GROUP>();
    for group in whole {
        pack_group(group, bits, out);
    }
    if !rest.is_empty() {
        let mut group = [0; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        pack_group(&group, bits, out);
    }
}

/// A group has as many bytes as a number has bits.
#[inline]
fn pack_group(group: &[u32; GROUP], bits: u32, out: &mut Vec<u8>) {
    let half = |numbers: &[u32]| {
        numbers.iter().rev().fold(0u64, |all, number| all << bits | u64::from(*number))
    };
    let (low, high) = (half(&group[..GROUP / 2]), half(&group[GROUP / 2..]));
    let all = u128::from(low) | u128::from(high) << (4 * bits);
    out.extend_from_slice(&all.to_le_bytes()[..bits as usize]);
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads numbers back as the format's text says.
    fn decode(mut bytes: &[u8], bits: u32, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let (mut header, mut shift) = (0u64, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let (value, rest) = bytes.split_at(bits.div_ceil(8) as usize);
                let value = value.iter().rev().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
                numbers.extend(std::iter::repeat_n(value, (header >> 1) as usize));
                bytes = rest;
            } else {
                let values = (header >> 1) as usize * GROUP;
                let (packed, rest) = bytes.split_at(values * bits as usize / 8);
                for at in 0..values {
                    let bit = |bit: usize| u32::from(packed[bit / 8] >> (bit % 8) & 1);
                    let from = at * bits as usize;
                    numbers.push((0..bits as usize).map(|n| bit(from + n) << n).sum());
                }
                bytes = rest;
            }
        }
        assert!(bytes.is_empty(), "nothing follows");
        assert!(numbers.len() < count + GROUP);
        numbers.truncate(count);
        numbers
    }

    #[test]
    fn as_few_bits_as_do() {
        let counts = [0, 1, 2, 3, 4, 5, 256, 257, 1 << 16];
        assert_eq!(counts.map(bits_for), [0, 0, 1, 2, 2, 3, 8, 9, 16]);
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            runs in prop::collection::vec((any::<u32>(), 1usize..40), 0..40),
            bits in 0..=BITS_MAX,
        ) {
            let below = 1u64 << bits;
            let numbers: Vec<u32> = runs
                .iter()
                .flat_map(|(value, times)| {
                    std::iter::repeat_n((u64::from(*value) % below) as u32, *times)
                })
                .collect();
            let mut out = Vec::new();
            encode(&numbers, bits, &mut out);
            prop_assert_eq!(decode(&out, bits, numbers.len()), numbers);
        }
    }
}
