//! Loads and measurements that run on a live system; a file per load and per measurement.
//!
//! A measurement is made in two steps, so that a recorder can attach to its threads before they
//! begin: [`cyclic::prepare`] makes them, [`cyclic::Prepared::start`] lets them go. A load is read
//! from a text like `storm:40` ([`load::Spec`]) and runs until it is dropped.
//!
//! ```
//! use std::time::Duration;
//! use tardy_lab::{cyclic, load};
//!
//! let load: load::Spec = "storm:2".parse()?;
//! let load = load.start()?;
//! let plan = cyclic::Plan {
//!     duration: Some(Duration::from_millis(50)),
//!     marks: true,
//!     ..cyclic::Plan::default()
//! };
//! let mut prepared = cyclic::prepare(&plan)?;
//! let marks = prepared.take_marks(); // for the recorder
//! let measurement = prepared.start().finish();
//! load.stop();
//! for thread in &measurement.threads {
//!     println!("{}: at most {} ns late", thread.name, thread.latencies.max_ns());
//! }
//! for note in &measurement.notes {
//!     eprintln!("note: {note}");
//! }
//! # assert_eq!(marks.len(), measurement.threads.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it never does: handle signals (a [`cyclic::Stopper`] is for whoever does), print, or leave a
//! thread, a locked page or a request to the kernel behind. What is not permitted becomes a note in
//! the [`Measurement`], never a silent difference.
//!
//! Start reading at [`cyclic`]; the loop itself is in `cyclic/thread.rs`. [`staircase`] is a plan of
//! its; [`sleep`] compares ways to sleep, [`rearm`] ways to move a timeout, [`pi`] tells what a lock
//! with priority inheritance costs, [`kernel_timer`] what moving a timer within the kernel does.
#![forbid(unsafe_code)]

mod clock;
pub mod cyclic;
mod dma_latency;
pub mod kernel_timer;
pub mod load;
mod measurement;
mod memory;
pub mod pi;
pub mod rearm;
mod sched;
pub mod sleep;
pub mod staircase;
mod usage;
pub mod written;

pub use dma_latency::DmaLatency;
pub use measurement::{BoundBroken, Measurement, Policy, ThreadMeasurement};
pub use memory::MemoryLock;
pub use usage::ThreadUsage;
