//! What the kernel's trace events mean, whichever way their bytes or words come.
//!
//! The kernel describes each event by a *format*: names, places and sizes of its fields. The same
//! events come as records in the kernel's own buffer pages (tracefs, `trace.dat`), as lines of text
//! (`trace`, `trace-cmd report`, `perf script`), and as messages (Perfetto). [`page`] and
//! [`mod@format`] read the first; for the others, whoever reads them hands over the fields' values by
//! name. What an event means is written once, in [`decode`].
//!
//! Everything here is pure and takes other machines' bytes: any endianness, any word size, old and
//! new kernels.
#![forbid(unsafe_code)]

pub mod decode;
pub mod format;
pub mod page;
