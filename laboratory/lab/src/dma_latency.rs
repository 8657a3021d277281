//! Keeps the CPUs out of idle states that take long to leave.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// The kernel's file for it (`Documentation/power/pm_qos_interface.rst`).
const FILE: &str = "/dev/cpu_dma_latency";

/// A request to the kernel that no CPU enter an idle state with an exit latency above a bound. It
/// holds while this lives: the kernel forgets it when the file is closed, however the process ends.
#[derive(Debug)]
pub struct DmaLatency {
    _file: File,
}

impl DmaLatency {
    /// Asks for at most `latency_us` microseconds; 0 keeps the CPUs polling.
    ///
    /// # Errors
    /// A note for the reader: what is lost and what would bring it.
    pub fn hold(latency_us: i32) -> Result<Self, String> {
        OpenOptions::new()
            .write(true)
            .open(FILE)
            .and_then(|mut file| {
                file.write_all(&latency_us.to_ne_bytes())?;
                Ok(Self { _file: file })
            })
            .map_err(|error| {
                format!(
                    "The idle states could not be bounded to {latency_us} µs ({FILE}: {error}), \
                     so the latencies include the time a CPU takes to leave deep idle states; it \
                     needs root or write permission on {FILE}."
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_or_a_note_that_names_the_file() {
        match DmaLatency::hold(0) {
            Ok(held) => drop(held),
            Err(note) => assert!(note.contains(FILE) && note.ends_with('.'), "{note}"),
        }
    }
}
