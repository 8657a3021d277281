//! Tracks, and slices and counters on them.

use crate::message::declare;

declare! {
    /// A track: a thread's own, or one below another.
    TrackDescriptor = "TrackDescriptor" {
        1 uuid: (uint64, optional) Option<u64>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
        4 thread: (message, optional) Option<ThreadDescriptor>,
        5 parent_uuid: (uint64, optional) Option<u64>,
        8 counter: (message, optional) Option<CounterDescriptor>,
    }

    /// Which thread a track is of.
    ThreadDescriptor = "ThreadDescriptor" {
        1 pid: (int32, optional) Option<i32>,
        2 tid: (int64, optional) Option<i64>,
        5 thread_name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// What a counter counts.
    CounterDescriptor = "CounterDescriptor" {
        3 unit: (int32, optional) Option<i32>,
    }

    /// Something that happens on a track.
    TrackEvent = "TrackEvent" {
        3 category_iids: (uint64, repeated, packed = "false") Vec<u64>,
        4 debug_annotations: (message, repeated) Vec<DebugAnnotation>,
        9 r#type: (int32, optional) Option<i32>,
        10 name_iid: (uint64, optional) Option<u64>,
        11 track_uuid: (uint64, optional) Option<u64>,
        30 counter_value: (int64, optional) Option<i64>,
        47 flow_ids: (fixed64, repeated, packed = "false") Vec<u64>,
        48 terminating_flow_ids: (fixed64, repeated, packed = "false") Vec<u64>,
    }

    /// A remark on it.
    DebugAnnotation = "DebugAnnotation" {
        1 name_iid: (uint64, optional) Option<u64>,
        2 bool_value: (bool, optional) Option<bool>,
        3 uint_value: (uint64, optional) Option<u64>,
        4 int_value: (int64, optional) Option<i64>,
        6 string_value: (bytes = "vec", optional) Option<Vec<u8>>,
    }
}

/// `TrackEvent.Type`.
pub mod track_event {
    /// A slice begins.
    pub const SLICE_BEGIN: i32 = 1;
    /// The slice that began last on the track ends.
    pub const SLICE_END: i32 = 2;
    /// A slice of no length.
    pub const INSTANT: i32 = 3;
    /// A counter's value from now on.
    pub const COUNTER: i32 = 4;
}

/// `CounterDescriptor.Unit`: nanoseconds.
pub const UNIT_TIME_NS: i32 = 1;
