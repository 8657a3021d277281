//! Perfetto's traces: plain packets, compressed ones, compact scheduling, a process tree.

use super::Error;
use flate2::Compression;
use flate2::read::ZlibEncoder;
use prost::Message;
use std::io::Read;
use tardy_perfetto::{
    Clock, ClockSnapshot, CompactSched, FtraceEvent, FtraceEventBundle, GenericEvent, GenericField,
    HrtimerExpireEntry, HrtimerStart, InternedData, InternedString, SchedBlockedReason,
    SchedSwitch, SchedWaking, SysEnter, SystemInfo, TaskNewtask, TimerStart, Trace, TracePacket,
    Utsname,
};

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Every file, with its name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let plain = Trace { packet: vec![beginning(), events(0), events(1)] }.encode_to_vec();
    let compact = Trace { packet: vec![beginning(), compact(0), compact(1)] }.encode_to_vec();
    let mut deflated = Vec::new();
    ZlibEncoder::new(&plain[..], Compression::best()).read_to_end(&mut deflated)?;
    let deflated = TracePacket { compressed_packets: Some(deflated), ..TracePacket::default() };
    let zstd = TracePacket {
        zstd_compressed_packets: Some(zstd::bulk::compress(&compact, 3)?),
        ..TracePacket::default()
    };
    let zeros = zstd::bulk::compress(&vec![0; 64 << 20], 3)?;
    let large = TracePacket { zstd_compressed_packets: Some(zeros), ..TracePacket::default() };
    Ok(vec![
        ("large/broken-packets-of-64-mb", Trace { packet: vec![large; 4] }.encode_to_vec()),
        ("plain", plain),
        ("compact", compact),
        ("deflate", Trace { packet: vec![deflated, events(0)] }.encode_to_vec()),
        ("zstd", Trace { packet: vec![beginning(), zstd] }.encode_to_vec()),
    ])
}

fn beginning() -> TracePacket {
    let clock = |(clock, ns): (u32, u64)| Clock {
        clock_id: Some(clock),
        timestamp: Some(ns),
        ..Clock::default()
    };
    let symbol =
        |(iid, name): (u64, &str)| InternedString { iid: Some(iid), str: Some(text(name)) };
    TracePacket {
        trusted_packet_sequence_id: Some(2),
        sequence_flags: Some(1),
        previous_packet_dropped: Some(1),
        clock_snapshot: Some(ClockSnapshot {
            clocks: [(6, 1000), (3, 900), (5, 950), (1, 1_700_000_000_000)].map(clock).to_vec(),
            primary_trace_clock: Some(6),
        }),
        interned_data: Some(InternedData {
            kernel_symbols: [(1, "hrtimer_wakeup"), (2, "process_timeout")].map(symbol).to_vec(),
            ..InternedData::default()
        }),
        system_info: Some(SystemInfo {
            utsname: Some(Utsname {
                release: Some(text("6.12.1")),
                machine: Some(text("x86_64")),
                ..Utsname::default()
            }),
            tracing_service_version: Some(text("Perfetto v50")),
            num_cpus: Some(2),
            ..SystemInfo::default()
        }),
        ..TracePacket::default()
    }
}

fn packet(bundle: FtraceEventBundle) -> TracePacket {
    TracePacket {
        ftrace_events: Some(bundle),
        trusted_packet_sequence_id: Some(2),
        ..TracePacket::default()
    }
}

fn event(timestamp: u64, pid: u32) -> FtraceEvent {
    FtraceEvent { timestamp: Some(timestamp), pid: Some(pid), ..FtraceEvent::default() }
}

fn events(cpu: u32) -> TracePacket {
    let at = 1000 + u64::from(cpu);
    let field = GenericField {
        name: Some(text("vector")),
        uint_value: Some(253),
        ..GenericField::default()
    };
    let event = vec![
        FtraceEvent {
            sys_enter: Some(SysEnter { id: Some(202), args: vec![0x7000, 0x89, 5] }),
            ..event(at, 7)
        },
        FtraceEvent {
            hrtimer_start: Some(HrtimerStart {
                hrtimer: Some(0xaa),
                function: Some(1),
                expires: Some(1_050),
                softexpires: Some(1_000),
                mode: Some(1),
            }),
            ..event(at + 1, 7)
        },
        FtraceEvent {
            timer_start: Some(TimerStart {
                timer: Some(0xbb),
                function: Some(2),
                expires: Some(4_294_937_400),
                now: Some(4_294_937_398),
                flags: Some(0x0010_0000),
                bucket_expiry: Some(4_294_937_401),
            }),
            ..event(at + 2, 7)
        },
        FtraceEvent {
            sched_switch: Some(SchedSwitch {
                prev_comm: Some(text("seven")),
                prev_pid: Some(7),
                prev_prio: Some(19),
                prev_state: Some(1),
                next_comm: Some(text("swapper/0")),
                next_pid: Some(0),
                next_prio: Some(120),
            }),
            ..event(at + 3, 7)
        },
        FtraceEvent {
            hrtimer_expire_entry: Some(HrtimerExpireEntry {
                hrtimer: Some(0xaa),
                now: Some(1_002),
                function: Some(1),
            }),
            ..event(at + 40, 0)
        },
        FtraceEvent {
            sched_waking: Some(SchedWaking {
                comm: Some(text("seven")),
                pid: Some(7),
                prio: Some(19),
                success: Some(1),
                target_cpu: Some(1),
            }),
            ..event(at + 41, 0)
        },
        FtraceEvent {
            sched_blocked_reason: Some(SchedBlockedReason {
                pid: Some(7),
                caller: Some(2),
                io_wait: Some(1),
            }),
            ..event(at + 42, 0)
        },
        FtraceEvent {
            task_newtask: Some(TaskNewtask {
                pid: Some(8),
                comm: Some(text("seven")),
                clone_flags: Some(0x0001_0000),
            }),
            ..event(at + 50, 7)
        },
        FtraceEvent {
            generic: Some(GenericEvent {
                event_name: Some(text("reschedule_entry")),
                field: vec![field],
            }),
            ..event(at + 60, 7)
        },
    ];
    packet(FtraceEventBundle { cpu: Some(cpu), event, ..FtraceEventBundle::default() })
}

fn compact(cpu: u32) -> TracePacket {
    let compact_sched = CompactSched {
        intern_table: ["seven", "eight", "swapper/1"].map(text).to_vec(),
        switch_timestamp: vec![1100, 20, 30],
        switch_prev_state: vec![1, 0x100, 2],
        switch_next_pid: vec![7, 8, 0],
        switch_next_prio: vec![19, 120, 120],
        switch_next_comm_index: vec![0, 1, 2],
        waking_timestamp: vec![1090, 20],
        waking_pid: vec![7, 8],
        waking_target_cpu: vec![1, 1],
        waking_prio: vec![19, 120],
        waking_comm_index: vec![0, 1],
        waking_common_flags: vec![1, 1],
    };
    packet(FtraceEventBundle {
        cpu: Some(cpu),
        lost_events: Some(cpu == 1),
        compact_sched: Some(compact_sched),
        ..FtraceEventBundle::default()
    })
}
