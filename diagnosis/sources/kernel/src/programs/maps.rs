//! Where a program's files lie in its memory: `/proc/PID/maps`.

/// A file of which a part is mapped to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    start: u64,
    end: u64,
    /// Of the part, in the file.
    offset: u64,
    pub(super) inode: u64,
    /// As the program sees it.
    pub(super) path: Vec<u8>,
}

impl Mapping {
    /// Where in the file an address is.
    pub(super) fn offset_of(&self, address: u64) -> u64 {
        (address - self.start).saturating_add(self.offset)
    }

    /// The last part of the path.
    pub(super) fn file_name(&self) -> &[u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }
}

/// The executable mappings, in the order of their addresses. Lines that are none are passed over.
pub(super) fn executable(maps: &[u8]) -> Vec<Mapping> {
    maps.split(|byte| *byte == b'\n').filter_map(mapping).collect()
}

/// Which one an address lies in.
pub(super) fn place_of(mappings: &[Mapping], address: u64) -> Option<usize> {
    let at = mappings.partition_point(|mapping| mapping.end <= address);
    mappings.get(at).is_some_and(|mapping| mapping.start <= address).then_some(at)
}

/// `START-END r-xp OFFSET MAJOR:MINOR INODE      PATH`; the path may have spaces in it.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let mut word = || std::str::from_utf8(words.next()?).ok();
    let (start, end) = word()?.split_once('-')?;
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (start, end, access) = (hex(start)?, hex(end)?, word()?);
    let offset = hex(word()?)?;
    word()?;
    let inode = word()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_ascii_start();
    let is_wanted = access.as_bytes().get(2) == Some(&b'x') && start < end && path.len() < 4096;
    is_wanted.then(|| Mapping { start, end, offset, inode, path: path.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
55d2c0a5b000-55d2c0a5c000 r--p 00000000 fe:00 1234                       /home/a user/prog
55d2c0a5c000-55d2c0a5e000 r-xp 00001000 fe:00 1234                       /home/a user/prog
7f1d2c000000-7f1d2c200000 r-xp 00028000 fe:00 99                         /usr/lib/libc.so.6
7f1d2c300000-7f1d2c301000 r-xp 00000000 fe:00 77                         /tmp/old (deleted)
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
nonsense
zz-1 r-xp 0 0:0 0
";

    #[test]
    fn an_address_lies_in_a_part_of_a_file() {
        let mappings = executable(MAPS);
        assert_eq!(mappings.len(), 4);
        let of = |address| place_of(&mappings, address).map(|at| &mappings[at]);
        let program = of(0x55d2_c0a5_c123).expect("in the program");
        assert_eq!(program.path, b"/home/a user/prog");
        assert_eq!((program.offset_of(0x55d2_c0a5_c123), program.inode), (0x1123, 1234));
        let library = of(0x7f1d_2c1f_ffff).expect("in the library");
        assert_eq!((library.file_name(), library.inode), (&b"libc.so.6"[..], 99));
        assert_eq!(of(0x55d2_c0a5_b000), None, "not executable");
        assert_eq!(of(0x7f1d_2c20_0000), None, "behind it");
        assert_eq!(place_of(&[], 1), None);
    }
}
