//! Packets, and what is in them once or seldom.

use crate::message::declare;
use crate::{FtraceEventBundle, TrackDescriptor, TrackEvent};

declare! {
    /// A whole trace, for who has it in memory; readers and writers of files go packet by packet.
    Trace = "Trace" {
        1 packet: (message, repeated) Vec<TracePacket>,
    }

    /// What a trace is made of.
    TracePacket = "TracePacket" {
        1 ftrace_events: (message, optional) Option<FtraceEventBundle>,
        2 process_tree: (message, optional) Option<ProcessTree>,
        6 clock_snapshot: (message, optional) Option<ClockSnapshot>,
        8 timestamp: (uint64, optional) Option<u64>,
        10 trusted_packet_sequence_id: (uint32, optional) Option<u32>,
        11 track_event: (message, optional) Option<TrackEvent>,
        12 interned_data: (message, optional) Option<InternedData>,
        13 sequence_flags: (uint32, optional) Option<u32>,
        42 previous_packet_dropped: (uint32, optional) Option<u32>,
        45 system_info: (message, optional) Option<SystemInfo>,
        50 compressed_packets: (bytes = "vec", optional) Option<Vec<u8>>,
        58 timestamp_clock_id: (uint32, optional) Option<u32>,
        59 trace_packet_defaults: (message, optional) Option<TracePacketDefaults>,
        60 track_descriptor: (message, optional) Option<TrackDescriptor>,
        98 machine_id: (uint32, optional) Option<u32>,
        133 zstd_compressed_packets: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// What holds for the packets that follow in a sequence.
    TracePacketDefaults = "TracePacketDefaults" {
        58 timestamp_clock_id: (uint32, optional) Option<u32>,
    }

    /// Names that packets use by number.
    InternedData = "InternedData" {
        1 event_categories: (message, repeated) Vec<EventCategory>,
        2 event_names: (message, repeated) Vec<EventName>,
        3 debug_annotation_names: (message, repeated) Vec<DebugAnnotationName>,
        26 kernel_symbols: (message, repeated) Vec<InternedString>,
    }

    /// A name with its number.
    InternedString = "InternedString" {
        1 iid: (uint64, optional) Option<u64>,
        2 str: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// A name with its number.
    EventCategory = "EventCategory" {
        1 iid: (uint64, optional) Option<u64>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// A name with its number.
    EventName = "EventName" {
        1 iid: (uint64, optional) Option<u64>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// A name with its number.
    DebugAnnotationName = "DebugAnnotationName" {
        1 iid: (uint64, optional) Option<u64>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// What several clocks showed at one time.
    ClockSnapshot = "ClockSnapshot" {
        1 clocks: (message, repeated) Vec<Clock>,
        2 primary_trace_clock: (int32, optional) Option<i32>,
    }

    /// What one clock showed.
    Clock = "ClockSnapshot.Clock" {
        1 clock_id: (uint32, optional) Option<u32>,
        2 timestamp: (uint64, optional) Option<u64>,
        3 is_incremental: (bool, optional) Option<bool>,
        4 unit_multiplier_ns: (uint64, optional) Option<u64>,
    }

    /// The machine.
    SystemInfo = "SystemInfo" {
        1 utsname: (message, optional) Option<Utsname>,
        4 tracing_service_version: (bytes = "vec", optional) Option<Vec<u8>>,
        8 num_cpus: (uint32, optional) Option<u32>,
        17 machine_name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// What `uname` says.
    Utsname = "Utsname" {
        1 sysname: (bytes = "vec", optional) Option<Vec<u8>>,
        2 version: (bytes = "vec", optional) Option<Vec<u8>>,
        3 release: (bytes = "vec", optional) Option<Vec<u8>>,
        4 machine: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// Processes and threads.
    ProcessTree = "ProcessTree" {
        1 processes: (message, repeated) Vec<Process>,
        2 threads: (message, repeated) Vec<Thread>,
    }

    /// A process.
    Process = "ProcessTree.Process" {
        1 pid: (int32, optional) Option<i32>,
        2 ppid: (int32, optional) Option<i32>,
        3 cmdline: (bytes = "vec", repeated) Vec<Vec<u8>>,
        8 is_kthread: (bool, optional) Option<bool>,
        9 cmdline_is_comm: (bool, optional) Option<bool>,
    }

    /// A thread.
    Thread = "ProcessTree.Thread" {
        1 tid: (int32, optional) Option<i32>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
        3 tgid: (int32, optional) Option<i32>,
    }
}
