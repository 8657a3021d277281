//! What is fuzzed, a file each.
//!
//! A new target is one file here, one line in the registry, which also declares the file, and a
//! folder of inputs under `corpus/`.

/// Something that reads foreign bytes.
pub trait Target: Sync {
    /// Its name, which is that of its inputs' folder and of its dictionary.
    fn name(&self) -> &'static str;

    /// Reads `bytes` to the end; how many events, or whatever a file of its format has, there were.
    ///
    /// # Panics
    /// Where something does not hold that must.
    fn run(&self, bytes: &[u8]) -> usize;

    /// The most memory that it may take for an input of this length, in bytes.
    fn memory_max(&self, bytes: usize) -> u64 {
        MEMORY_MAX + 2 * bytes as u64
    }
}

/// What reading any file may take, besides twice its size.
const MEMORY_MAX: u64 = 64 << 20;

macro_rules! registry {
    ($($file:ident::$target:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every target.
        pub const REGISTRY: &[&dyn Target] = &[$(&$file::$target),*];
    };
}

registry![
    elf::Elf,
    event_format::EventFormats,
    explain::Explain,
    ftrace_page::FtracePage,
    ftrace_text::FtraceText,
    histogram::Histogram,
    manifest::Manifest,
    perf_script::PerfScript,
    perfetto::Perfetto,
    segment::Segment,
    trace_dat::TraceDat,
    wrapped::Wrapped,
];

/// Every target.
pub fn targets() -> impl Iterator<Item = &'static dyn Target> {
    REGISTRY.iter().copied()
}
