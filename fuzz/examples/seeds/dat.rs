//! `trace.dat` of both versions.

use super::{KALLSYMS, Record, one_of_each, pages};
use flate2::Compression;
use flate2::read::ZlibEncoder;
use std::io::Read;
use tardy_fuzz::built::dat_file::{Content, OPTIONS, grouped, version_6, version_7};

const NAMES: &[u8] = b"1 systemd\n7 ksoftirqd/0\n";

/// Every file, with its name.
pub(super) fn files(formats: &[&str], cpus: &[Vec<Record>; 2]) -> Vec<(&'static str, Vec<u8>)> {
    let cpus = cpus.each_ref().map(|records| pages(&one_of_each(records, 2)));
    let many = "x".repeat(60 << 20);
    let zeros = [vec![0; 60 << 20], vec![0; 60 << 20]];
    let content = |last: (u16, &'static [u8]), kallsyms, cpus: &[Vec<u8>; 2]| Content {
        formats: grouped(formats),
        kallsyms,
        names: NAMES,
        options: OPTIONS.into_iter().chain([last]).collect(),
        cpus: cpus.to_vec(),
    };
    let seven = |kallsyms, cpus| content((8, &[2, 0, 0, 0]), kallsyms, cpus);
    let plain = seven(KALLSYMS, &cpus);
    vec![
        ("v6", version_6(&content((7, b"0x10\0"), KALLSYMS, &cpus))),
        ("v7-none", version_7(&plain, "none", <[u8]>::to_vec)),
        ("v7-zstd", version_7(&plain, "zstd", zstd)),
        ("v7-zlib", version_7(&plain, "zlib", zlib)),
        ("large/broken-pages-of-60-mb", version_7(&seven(KALLSYMS, &zeros), "zstd", zstd)),
        ("large/symbols-of-60-mb", version_7(&seven(&many, &cpus), "zstd", zstd)),
    ]
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ZlibEncoder::new(bytes, Compression::best()).read_to_end(&mut out).expect("bytes in memory");
    out
}
