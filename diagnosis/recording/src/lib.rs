//! Recordings on disk: write them while a system is measured, seal them, read them back.
//!
//! A recording is a folder:
//!
//! | path | what |
//! |---|---|
//! | `manifest.json` | where, when and how it was made ([`Manifest`]) |
//! | `events/000000.seg`, … | the events, append-only, with checksums ([`mod@format`]) |
//! | `wakeups.parquet`, `segments.parquet` | what an explanation found ([`tables`]) |
//!
//! A [`Writer`] never makes its caller wait for a disk, and a [`Recording`] opens whatever a crash
//! left: everything up to the first byte that is not good, which it names ([`Torn`]). This crate
//! reads no clock, and knows nothing of where events come from or what they mean beyond losses and
//! names.
//!
//! Start reading at [`mod@format`] for the bytes, at [`Writer`] for what survives what.
#![forbid(unsafe_code)]

pub mod format;
mod frame_buffer;
mod frame_reader;
mod manifest;
pub mod parquet_file;
mod payload;
mod queue;
mod recording;
mod seal;
mod segment_writer;
mod table_file;
pub mod tables;
mod torn;
mod trigger;
mod write_error;
mod writer;

pub use manifest::{Host, Manifest, ManifestEnd, ManifestError, Totals, Vm};
pub use recording::{OpenError, ReadError, Recording};
pub use torn::{Flaw, Torn};
pub use trigger::{Origin, Trigger};
pub use write_error::WriteError;
pub use writer::{Options, Sealed, Writer};
