//! Small traces, and what must come out.

mod compact;
mod damage;
mod events;
mod sources;
mod whole;

use crate::Options;
use crate::format::Format;
use crate::{Closing, Origin};
use proptest::prelude::*;
use prost::Message;
use std::fs;
use std::io::Write;
use tardy_model::event::{
    Call, Comm, IdleEnter, Irq, IrqEnd, Loss, Mark, PageFault, Priority, Switch, SyscallExit,
    Taken, TaskInfo, TaskName, TaskState, TimerMode, Vector, Waking,
};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, Tables, TaskId, TimerClass};
use tardy_perfetto::*;

/// What a trace says.
#[derive(Debug, Default)]
struct Read {
    events: Vec<Event>,
    tables: Tables,
    origin: Origin,
    closing: Closing,
    error: Option<String>,
}

impl Read {
    /// The events' times, CPUs, tasks and kinds.
    fn kinds(&self) -> Vec<(u64, u16, u32, Kind)> {
        let parts = |event: &Event| (event.time_ns, event.cpu.0, event.task.0, event.kind());
        self.events.iter().map(parts).collect()
    }
}

fn read(bytes: &[u8]) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    fs::write(&path, bytes).unwrap();
    let mut read = Read::default();
    let options = Options { format: Some("perfetto".to_owned()), ..Options::default() };
    let mut import = match crate::open(&path, &options) {
        Ok((_, import)) => import,
        Err(error) => {
            read.error = Some(error.to_string());
            return read;
        }
    };
    let mut last_ns = 0;
    loop {
        let mut batch = Batch::default();
        let more = import.next_batch(&mut batch);
        batch.define(&mut read.tables);
        for event in &batch.events {
            assert!(event.time_ns >= last_ns, "times go back at {event:?}");
            last_ns = event.time_ns;
        }
        read.events.append(&mut batch.events);
        match more {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                read.error = Some(error.to_string());
                break;
            }
        }
    }
    read.origin = import.origin();
    read.closing = import.closing();
    read
}

fn read_packets(packet: Vec<TracePacket>) -> Read {
    read(&Trace { packet }.encode_to_vec())
}

#[expect(clippy::unnecessary_wraps, reason = "fields of messages are options")]
fn text(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

fn bundle(cpu: u32, event: Vec<FtraceEvent>) -> TracePacket {
    packet(FtraceEventBundle { cpu: Some(cpu), event, ..FtraceEventBundle::default() })
}

fn packet(bundle: FtraceEventBundle) -> TracePacket {
    TracePacket {
        ftrace_events: Some(bundle),
        trusted_packet_sequence_id: Some(2),
        ..TracePacket::default()
    }
}

/// An event of one message.
macro_rules! event {
    ($time:expr, $pid:expr, $name:ident: $message:ident { $($field:ident: $value:expr),* $(,)? }) => {
        FtraceEvent {
            timestamp: Some($time),
            pid: Some($pid),
            #[allow(clippy::needless_update)]
            $name: Some($message { $($field: $value,)* ..$message::default() }),
            ..FtraceEvent::default()
        }
    };
}
use event;

fn idle(time: u64, state: u32) -> FtraceEvent {
    event!(time, 0, cpu_idle: CpuIdle { state: Some(state), cpu_id: Some(0) })
}

fn snapshot(shown: &[(u32, u64)]) -> TracePacket {
    let clock = |(clock, ns): &(u32, u64)| Clock {
        clock_id: Some(*clock),
        timestamp: Some(*ns),
        ..Clock::default()
    };
    TracePacket {
        clock_snapshot: Some(ClockSnapshot {
            clocks: shown.iter().map(clock).collect(),
            primary_trace_clock: None,
        }),
        ..TracePacket::default()
    }
}

fn generic(time: u64, pid: u32, name: &str, fields: &[(&str, u64)]) -> FtraceEvent {
    let field = |(name, value): &(&str, u64)| GenericField {
        name: text(name),
        uint_value: Some(*value),
        ..GenericField::default()
    };
    let field = fields.iter().map(field).collect();
    event!(time, pid, generic: GenericEvent { event_name: text(name), field: field })
}

/// Two switches and a waking between them, whose CPU begins with unknown.
fn compact() -> CompactSched {
    CompactSched {
        intern_table: vec![b"seven".to_vec(), b"eight".to_vec(), b"swapper/3".to_vec()],
        switch_timestamp: vec![100, 20, 30],
        switch_prev_state: vec![1, 0x100, 2],
        switch_next_pid: vec![7, 8, 0],
        switch_next_prio: vec![19, 120, 120],
        switch_next_comm_index: vec![0, 1, 2],
        waking_timestamp: vec![90, 20],
        waking_pid: vec![7, 8],
        waking_target_cpu: vec![3, 3],
        waking_prio: vec![19, 120],
        waking_comm_index: vec![0, 1],
        waking_common_flags: vec![1, 1],
    }
}
