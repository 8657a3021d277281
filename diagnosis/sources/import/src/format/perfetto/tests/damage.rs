//! Traces that are compressed, cut, damaged or something else.

use super::super::{PACKET, Perfetto, index, varint};
use super::*;

/// A trace of several packets, of which some are compressed.
fn mixed() -> Trace {
    let inner = Trace {
        packet: vec![
            bundle(0, (0..40).map(|at| idle(1_000 + at * 10, 1)).collect()),
            bundle(1, (0..40).map(|at| idle(1_005 + at * 10, 2)).collect()),
        ],
    };
    let later = Trace { packet: vec![bundle(1, (0..40).map(|at| idle(2_000 + at, 2)).collect())] };
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflated.write_all(&inner.encode_to_vec()).unwrap();
    Trace {
        packet: vec![
            snapshot(&[(clock::BOOTTIME, 5), (clock::MONOTONIC, 5)]),
            TracePacket {
                compressed_packets: Some(deflated.finish().unwrap()),
                ..TracePacket::default()
            },
            packet(FtraceEventBundle {
                cpu: Some(3),
                compact_sched: Some(compact()),
                ..FtraceEventBundle::default()
            }),
            TracePacket {
                zstd_compressed_packets: Some(
                    zstd::encode_all(later.encode_to_vec().as_slice(), 1).unwrap(),
                ),
                ..TracePacket::default()
            },
            bundle(0, (0..40).map(|at| idle(3_000 + at, 1)).collect()),
        ],
    }
}

#[test]
fn compressed_packets_are_as_good_as_others() {
    let read = read(&mixed().encode_to_vec());
    assert_eq!(read.error, None);
    let idle = read.events.iter().filter(|event| event.tag() == IdleEnter::TAG).count();
    assert_eq!(idle, 160);
}

#[test]
fn a_trace_cut_anywhere_yields_what_stands_before() {
    let whole = mixed().encode_to_vec();
    let mut most = 0;
    for percent in 1..100 {
        let cut = &whole[..whole.len() * percent / 100];
        let read = read(cut);
        assert_eq!(read.error, None, "at {percent} %");
        assert!(read.events.len() >= most, "at {percent} %");
        most = read.events.len();
        let begins_packet = read.closing.notes.iter().all(|note| !note.contains("ends within"));
        assert!(!begins_packet || cut.len() == whole_packets(cut), "at {percent} %");
    }
    assert!(most >= 120, "{most}");
}

/// Bytes of whole packets at the beginning.
fn whole_packets(mut bytes: &[u8]) -> usize {
    let length = bytes.len();
    while let [PACKET, rest @ ..] = bytes {
        let mut rest = rest;
        match varint(&mut rest) {
            Ok(packet) if packet as usize <= rest.len() => bytes = &rest[packet as usize..],
            _ => break,
        }
    }
    length - bytes.len()
}

#[test]
fn what_is_no_packet_is_told_after_what_stands_before() {
    let mut bytes = mixed().encode_to_vec();
    let events = read(&bytes).events.len();
    let at = bytes.len();
    bytes.extend(b"garbage");
    let with_garbage = read(&bytes);
    assert_eq!(with_garbage.events.len(), events);
    let error = with_garbage.error.unwrap();
    assert!(error.contains(&format!("at byte {at}")), "{error}");
}

#[test]
fn a_packet_that_is_too_long_is_passed_over_and_told() {
    let long = TracePacket {
        compressed_packets: Some(vec![0; PACKET_TOO_LONG]),
        ..TracePacket::default()
    };
    let read = read_packets(vec![bundle(0, vec![idle(10, 1)]), long, bundle(0, vec![idle(20, 1)])]);
    assert_eq!(read.events.len(), 2);
    assert!(
        read.closing.notes.iter().any(|note| note.contains("longer than")),
        "{:?}",
        read.closing
    );
}

const PACKET_TOO_LONG: usize = index::PACKET_BYTES_MAX as usize + 1;

#[test]
fn lengths_beyond_the_file_allocate_nothing() {
    // A packet of 2^62 bytes, and a bundle in a packet that claims as many.
    let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x0a, 1, 2];
    assert!(read(&huge).closing.notes.iter().any(|note| note.contains("ends within")));
    let inner = [0x0a, 11, 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 1];
    let read = read(&inner);
    assert!(read.closing.notes.iter().any(|note| note.contains("damaged")), "{:?}", read.closing);
}

#[test]
fn is_known_by_what_it_holds() {
    let trace = mixed().encode_to_vec();
    assert!(Perfetto.recognises(&trace));
    assert!(Perfetto.recognises(&trace[..40]), "the beginning of a packet");
    for other in [
        &b""[..],
        b"\n",
        b"\n# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3   #P:1\n",
        b"\n\n\n\n\n\n\n\n\n\n\n\n",
        b"\n[ 1234.5678] something else that begins with an empty line\n and goes on\n",
        b"\x17\x08\x44tracing6\0",
        b"PERFILE2",
        b"{\"traceEvents\": []}",
    ] {
        assert!(!Perfetto.recognises(other), "{:?}", String::from_utf8_lossy(other));
    }
}

#[test]
fn a_pipe_is_refused_in_one_sentence() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&mixed().encode_to_vec()).unwrap();
    drop(writer);
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let error = crate::open(std::path::Path::new(&path), &Options::default()).err().unwrap();
    assert!(error.to_string().contains("write it to a file first"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut packet = vec![PACKET, bytes.len() as u8 & 0x7f];
        packet.extend(&bytes);
        Perfetto.recognises(&packet);
        read(&packet);
        read(&bytes);
    }

    #[test]
    fn mutated_traces_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = mixed().encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        Perfetto.recognises(&bytes);
        read(&bytes);
    }
}

/// Of a compressed packet of millions of empty ones not more is inflated than a recorder's has.
#[test]
fn a_packet_of_a_thousand_times_its_bytes_is_damaged() {
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..8 << 20 {
        deflated.write_all(&[PACKET, 0]).unwrap();
    }
    let deflated = deflated.finish().unwrap();
    let (inflated, is_whole) = index::inflate(&deflated, index::Compression::Deflate);
    assert!(!is_whole && inflated.len() < 64 * deflated.len() + (16 << 10), "{}", inflated.len());
    let bomb = TracePacket { compressed_packets: Some(deflated), ..TracePacket::default() };
    let read = read_packets(vec![bundle(0, vec![idle(10, 1)]), bomb, bundle(0, vec![idle(20, 1)])]);
    assert_eq!(read.events.len(), 2);
    assert!(
        read.closing.notes.iter().any(|note| note.contains("1 packets are damaged")),
        "{:?}",
        read.closing
    );
}
