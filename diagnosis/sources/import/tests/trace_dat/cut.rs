//! Files that are cut short or broken.

use crate::fixtures::FIXTURES;
use crate::reading::{Whole, data, read_bytes};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tardy_import::ImportError;
use tardy_model::{CpuId, Event, Kind};

fn by_cpu(whole: &Whole) -> BTreeMap<CpuId, Vec<u64>> {
    let mut times: BTreeMap<CpuId, Vec<u64>> = BTreeMap::new();
    let is_there = |event: &&Event| matches!(event.kind(), Kind::Switch(_) | Kind::SyscallExit(_));
    for event in whole.events.iter().filter(is_there) {
        times.entry(event.cpu).or_default().push(event.time_ns);
    }
    times
}

/// Wherever it ends: one error that names the place, or the events up to there and a note.
#[test]
fn a_cut_file_yields_what_is_before_the_cut() {
    for name in FIXTURES {
        let bytes = std::fs::read(data(&format!("{name}.dat"))).unwrap();
        let whole = by_cpu(&read_bytes(&bytes).unwrap());
        let (mut errors, mut parts) = (0, 0);
        for percent in 0..100 {
            let cut = bytes.len() * percent / 100;
            match read_bytes(&bytes[..cut]) {
                Err(ImportError::Broken { at, why, .. }) => {
                    errors += 1;
                    assert!(
                        at <= bytes.len() as u64 && !why.is_empty(),
                        "{name} {percent} %: {why}"
                    );
                }
                Err(ImportError::UnknownFormat { .. }) => assert_eq!(percent, 0),
                Err(other) => panic!("{name} {percent} %: {other}"),
                Ok(part) => {
                    parts += 1;
                    let is_told = part.closing.notes.iter().any(|note| note.contains("cut short"));
                    assert!(is_told, "{name} {percent} %: {:?}", part.closing);
                    for (cpu, times) in by_cpu(&part) {
                        assert!(whole[&cpu].starts_with(&times), "{name} {percent} % CPU {cpu}");
                    }
                }
            }
        }
        println!("{name}: {errors} errors, {parts} parts");
        assert!(errors > 5, "{name}: the header alone is so long");
        assert!(parts > 20, "{name}: {parts}");
    }
}

/// Numbers that stand for lengths, counts and places, at their worst.
const NASTY: [u64; 8] =
    [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 1 << 40, i64::MAX as u64, u64::MAX];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_broken_file_is_an_error_or_less_and_nothing_worse(
        which in 0..FIXTURES.len(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..NASTY.len(), 1..9usize, any::<u8>(), 0..4u8),
            1..8,
        ),
    ) {
        let mut bytes = std::fs::read(data(&format!("{}.dat", FIXTURES[which]))).unwrap();
        let length = bytes.len();
        for (place, nasty, size, byte, kind) in changes {
            // What is near the ends matters most: headers, tables.
            let at = match kind {
                0 => place.index(600),
                1 => length - 1 - place.index(600),
                _ => place.index(length),
            };
            let value = NASTY[nasty].to_le_bytes();
            let end = (at + size).min(length);
            if byte & 1 == 0 {
                bytes[at..end].copy_from_slice(&value[..end - at]);
            } else {
                bytes[at] = byte;
            }
        }
        let mut most = 0;
        let info = allocation_counter::measure(|| {
            if let Ok(whole) = read_bytes(&bytes) {
                most = whole.events.len();
            }
        });
        prop_assert!(most < 200_000, "{most} events");
        prop_assert!(info.bytes_max < 128 << 20, "{} bytes", info.bytes_max);
    }
}

#[test]
fn what_is_no_trace_is_refused_in_words() {
    let v6 = std::fs::read(data("v6-mono.dat")).unwrap();
    let why = |bytes: &[u8]| read_bytes(bytes).err().unwrap().to_string();
    let changed = |at: usize, to: u8| {
        let mut bytes = v6.clone();
        bytes[at] = to;
        why(&bytes)
    };
    assert!(changed(10, b'5').contains("version `5`"), "{}", changed(10, b'5'));
    assert!(changed(12, 9).contains("byte order"));
    assert!(changed(13, 2).contains("`long`"));
    let v7 = std::fs::read(data("v7-zstd-local.dat")).unwrap();
    let mut other = v7.clone();
    other[18..22].copy_from_slice(b"lzma");
    assert!(why(&other).contains("`lzma`"), "{}", why(&other));
    assert!(why(&v7[..40]).contains("cut short"), "{}", why(&v7[..40]));
}
