//! What of the kernel's command line is not kept word by word.

use super::{Boot, SETTINGS};
use crate::probe::Probe;

/// How many other options there are, and a digest of them in their order. They may hold what is nobody's business; but
/// whether two systems were started alike can be told.
pub(super) fn others(probe: &Probe) -> Option<String> {
    let kept = |name: &str| {
        SETTINGS.iter().any(|(_, place)| matches!(place, Boot(known) if *known == name))
    };
    let others: Vec<(&str, &str)> =
        probe.command_line.options().filter(|(name, _)| !kept(name)).collect();
    let bytes =
        others.iter().flat_map(|(name, value)| [name.as_bytes(), &[0], value.as_bytes(), &[1]]);
    let digest = digest(bytes.flatten().copied());
    (!others.is_empty()).then(|| format!("{} options, digest {:08x}", others.len(), digest >> 32))
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): to tell texts apart, not to hide them from who guesses.
fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_fnv_1a() {
        assert_eq!(digest(std::iter::empty()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest("a".bytes()), 0xaf63_dc4c_8601_ec8c);
    }
}
