//! What is exported to Perfetto's format is imported as the same.

mod export;
mod sample;
mod told;

use proptest::prelude::*;
use prost::Message;
use std::fs;
use tardy_import::{Closing, Origin};
use tardy_model::event::{IdleExit, Loss};
use tardy_model::{Batch, CpuId, Event, Kind, RECORD_BYTES, TaskId};
use tardy_perfetto::{Clock, Trace, TrackEvent, clock, own, track_event};
use told::{explain, import, sums, told};

#[test]
fn every_kind_of_event_comes_back_and_explains_the_same() {
    let batches = sample::batches(400);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pftrace");
    let explanation = export::export("perfetto", &path, &batches).unwrap();
    let (format, back, origin, closing) = import(&path);
    assert_eq!(format, "perfetto");
    let expected = Origin {
        clock: "mono".to_owned(),
        host: "sample".to_owned(),
        kernel_release: "6.12.1".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 3,
        hz: 0,
        written_by: "tardy 0.1.0".to_owned(),
    };
    let nothing = Closing { events: closing.events, ..Closing::default() };
    assert_eq!((origin, closing), (expected, nothing));

    let (expected, told) = (told(&batches), told(&back));
    for (at, (expected, told)) in expected.iter().zip(&told).enumerate() {
        assert_eq!(expected, told, "event {at}");
    }
    assert_eq!(expected.len(), told.len());
    // The sample is worth it: each kind that there is, and wakeups with causes.
    let tags: std::collections::BTreeSet<u8> =
        batches.iter().flat_map(|batch| &batch.events).map(Event::tag).collect();
    assert_eq!(tags.len(), Kind::TAGS.len(), "{tags:?}");
    assert!(explanation.causes.len() > 4 && explanation.latencies.count() > 1000);
    assert_eq!(sums(&explain(&back)), sums(&explanation));
}

fn trace(batches: &[Batch]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pftrace");
    export::export("perfetto", &path, batches).unwrap();
    Trace::decode(fs::read(&path).unwrap().as_slice()).unwrap()
}

#[test]
fn a_loss_is_a_bundle_that_says_so() {
    let trace = trace(&sample::batches(20));
    let bundles = trace.packet.iter().filter_map(|packet| packet.ftrace_events.as_ref());
    let lost: Vec<_> = bundles.filter(|bundle| bundle.lost_events()).collect();
    assert_eq!(lost.len(), 1);
    let first = lost[0].event[0].generic.as_ref().unwrap();
    assert_eq!(first.event_name(), own::LOSS.as_bytes());
    assert_eq!(first.field[0].uint_value, lost[0].previous_bundle_end_timestamp);
}

#[test]
fn a_cpu_that_begins_with_a_loss_tells_it_once() {
    let event = |time_ns, cpu, kind: Kind| Event::new(time_ns, CpuId(cpu), TaskId(7), kind);
    let loss = Loss { since_ns: 150, count: 3 };
    let events = vec![event(100, 0, IdleExit.into()), event(200, 1, loss.into())];
    let batches = [Batch { events, ..Batch::default() }];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pftrace");
    export::export("perfetto", &path, &batches).unwrap();
    assert_eq!(told(&import(&path).1), told(&batches));
}

#[test]
fn clocks_are_told_to_be_the_same() {
    let trace = trace(&sample::batches(2));
    let snapshot = trace.packet[0].clock_snapshot.as_ref().unwrap();
    assert_eq!(snapshot.primary_trace_clock(), clock::MONOTONIC as i32);
    let shown: Vec<_> = snapshot.clocks.iter().map(Clock::clock_id).collect();
    assert_eq!(shown, [clock::BOOTTIME, clock::MONOTONIC]);
    assert_eq!(snapshot.clocks[0].timestamp, snapshot.clocks[1].timestamp);
}

#[test]
fn wakeups_are_slices_with_their_segments_inside_and_arrows_from_culprits() {
    let batches = sample::batches(50);
    let trace = trace(&batches);
    let explanation = explain(&batches);
    let events: Vec<(u64, &TrackEvent)> = trace
        .packet
        .iter()
        .filter_map(|packet| Some((packet.timestamp(), packet.track_event.as_ref()?)))
        .collect();
    let of_type = |kind| events.iter().filter(move |(_, event)| event.r#type() == kind);

    // A counter's value and a slice for each wakeup; what slices say sums to the lateness.
    let counted: Vec<i64> =
        of_type(track_event::COUNTER).map(|(_, event)| event.counter_value()).collect();
    assert_eq!(counted.len() as u64, explanation.latencies.count());
    let total_ns: i64 = counted.iter().sum();
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut segments_ns = 0;
    for (time_ns, event) in &events {
        match event.r#type() {
            track_event::SLICE_BEGIN => open.push((*time_ns, event.track_uuid())),
            track_event::SLICE_END => {
                let (began_ns, on) = open.pop().unwrap();
                assert_eq!(on, event.track_uuid());
                // A wakeup's own slice is around those of its segments.
                if open.is_empty() {
                    assert_eq!(segments_ns, time_ns - began_ns);
                    segments_ns = 0;
                } else {
                    segments_ns += time_ns - began_ns;
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
    let causes_ns: u64 = explanation.causes.iter().map(|cause| cause.ns).sum();
    assert_eq!(total_ns as u64, causes_ns);

    let mut begun: Vec<u64> =
        of_type(track_event::INSTANT).flat_map(|(_, event)| event.flow_ids.clone()).collect();
    let mut ended: Vec<u64> = of_type(track_event::SLICE_BEGIN)
        .flat_map(|(_, event)| event.terminating_flow_ids.clone())
        .collect();
    begun.sort_unstable();
    ended.sort_unstable();
    assert!(!begun.is_empty());
    assert_eq!(begun, ended);
}

#[test]
fn names_are_told_before_they_are_used_and_once() {
    let trace = trace(&sample::batches(50));
    let mut names = std::collections::BTreeSet::new();
    let mut symbols = std::collections::BTreeSet::new();
    for packet in &trace.packet {
        if let Some(interned) = &packet.interned_data {
            for name in &interned.event_names {
                assert!(names.insert(name.iid()), "twice");
            }
            for symbol in &interned.kernel_symbols {
                assert!(symbols.insert(symbol.iid()), "twice");
            }
        }
        let event = packet.track_event.as_ref();
        if let Some(name) = event.and_then(|event| event.name_iid) {
            assert!(names.contains(&name));
        }
        for event in packet.ftrace_events.iter().flat_map(|bundle| &bundle.event) {
            if let Some(start) = &event.hrtimer_start {
                assert!(symbols.contains(&start.function()));
            }
        }
    }
    assert!(names.len() > 3 && symbols.len() > 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever a recording holds, what is written is a trace, and one that can be read.
    #[test]
    fn any_events(
        records in prop::collection::vec(prop::array::uniform32(any::<u8>()), 0..200),
        tags in prop::collection::vec(0_u8..30, 200),
    ) {
        let mut events: Vec<Event> = records
            .iter()
            .zip(tags)
            .map(|(record, tag)| {
                let mut record: [u8; RECORD_BYTES] = *record;
                record[14] = tag;
                Event::from_bytes(&record)
            })
            .collect();
        events.sort_by_key(|event| event.time_ns);
        let batch = Batch { events, ..Batch::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        export::export("perfetto", &path, &[batch]).unwrap();
        Trace::decode(fs::read(&path).unwrap().as_slice()).unwrap();
        import(&path);
    }
}
