//! A trace instance of our own: buffers, clock and events that touch nobody else's tracing.

use crate::Error;
use crate::root::Root;
use rustix::fs::OFlags;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What our instances' names begin with; the process id follows, then a counter within it.
const PREFIX: &str = "tardy-";

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// An instance. Removed when dropped, and otherwise by the next one that is made.
#[derive(Debug)]
pub(crate) struct Instance {
    root: Root,
    below: PathBuf,
    /// The kernel stops tracing and gives the buffers' memory back when this is closed, even after
    /// `kill -9`; what is left then is an empty directory.
    free_buffer: Option<File>,
}

impl Instance {
    /// Removes what dead processes left, and makes a new instance, not tracing yet.
    pub(crate) fn make(root: Root) -> Result<Self, Error> {
        remove_stale(&root);
        let name =
            format!("{PREFIX}{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let below = Path::new("instances").join(name);
        root.make(&below)?;
        let mut instance = Self { root, below, free_buffer: None };
        instance.write("tracing_on", "0")?;
        // Both are a safety net only; old kernels may lack the option.
        if instance.write("options/disable_on_free", "1").is_ok() {
            instance.free_buffer = instance.file("free_buffer", OFlags::WRONLY).ok();
        }
        // Old events give way to new ones: only so does the kernel say in its pages how many were
        // lost.
        instance.write("options/overwrite", "1")?;
        instance.write("trace_clock", "mono")?;
        Ok(instance)
    }

    /// Sets the buffer's size. Returns what the kernel made of it, in bytes per CPU.
    pub(crate) fn set_buffer(&self, bytes_per_cpu: u64) -> Result<u64, Error> {
        self.write("buffer_size_kb", &bytes_per_cpu.div_ceil(1024).to_string())?;
        let text = self.root.read(self.below.join("buffer_size_kb"))?;
        // "7 (expanded: 1408)" as long as nothing is traced.
        let digits = text.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty());
        Ok(digits.and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(0) * 1024)
    }

    /// Enables an event. `Ok(false)` where this kernel has none of that name.
    pub(crate) fn enable(&self, group: &str, event: &str) -> Result<bool, Error> {
        let path = Path::new("events").join(group).join(event).join("enable");
        if !self.root.has(self.below.join(&path)) {
            return Ok(false);
        }
        self.write(path, "1")?;
        Ok(true)
    }

    /// Starts or stops tracing.
    pub(crate) fn set_tracing(&self, on: bool) -> Result<(), Error> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Every CPU with its raw pipe, opened so that reading never waits.
    pub(crate) fn pipes(&self) -> Result<Vec<(u16, File)>, Error> {
        let names = self.root.list(self.below.join("per_cpu"))?;
        let mut cpus: Vec<u16> =
            names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
        cpus.sort_unstable();
        let open = |cpu: u16| {
            let path = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
            Ok((cpu, self.file(path, OFlags::RDONLY | OFlags::NONBLOCK)?))
        };
        cpus.into_iter().map(open).collect()
    }

    /// The tracefs that it is in.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// A path as messages show it.
    pub(crate) fn shown(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.shown(self.below.join(path))
    }

    fn write(&self, path: impl AsRef<Path>, value: &str) -> Result<(), Error> {
        self.root.write(self.below.join(path), value)
    }

    fn file(&self, path: impl AsRef<Path>, flags: OFlags) -> Result<File, Error> {
        self.root.file(self.below.join(path), flags)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set_tracing(false);
        self.free_buffer = None;
        // Nothing can be done here about a failure; the next start tries again.
        let _ = self.root.remove(&self.below);
    }
}

/// Removes instances of dead processes. A name of ours in another PID namespace looks dead from
/// here: the kernel refuses to remove an instance whose files are open, so a living one stays.
fn remove_stale(root: &Root) {
    for name in root.list("instances").unwrap_or_default() {
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        let Ok(pid) = rest.split('-').next().unwrap_or("").parse::<u32>() else { continue };
        if !Path::new("/proc").join(pid.to_string()).exists() {
            let _ = root.remove(Path::new("instances").join(&name));
        }
    }
}
