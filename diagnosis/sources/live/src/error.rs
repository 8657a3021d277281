//! Why the recorder cannot start.

/// Why the recorder cannot start; each says what would bring it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel tells nothing of its types.
    #[error(
        "this kernel has no BTF ({path}): tardy needs a kernel with CONFIG_DEBUG_INFO_BTF=y, as \
         distributions have had since about 2021"
    )]
    NoBtf {
        /// Where it would be.
        path: &'static str,
    },
    /// The kernel is too old for the rings.
    #[error(
        "this kernel's eBPF has no atomic operations that return a value, which Linux 5.12 brought (on arm64 \
         5.18)"
    )]
    NoAtomics,
    /// The kernel does not let this process load programs.
    #[error(
        "no permission to load eBPF programs ({reason}): run as root, or give CAP_BPF and \
         CAP_PERFMON with `setcap cap_bpf,cap_perfmon+ep {}`",
        own_path()
    )]
    Permission {
        /// What the kernel answered.
        reason: String,
    },
    /// A program or a map was refused.
    #[error("the kernel refused {what}: {reason}")]
    Refused {
        /// What was being done.
        what: String,
        /// What libbpf or the kernel answered.
        reason: String,
    },
    /// A ring's size is out of bounds.
    #[error("a buffer of {} KiB per CPU is out of bounds: 32 KiB to 128 MiB are possible", bytes / 1024)]
    BufferSize {
        /// What was asked for.
        bytes: u64,
    },
    /// All rings together are out of bounds.
    #[error(
        "a buffer of {} KiB on each of {cpus} CPUs is {} MiB in all: at most {} MiB are possible",
        bytes / 1024,
        bytes.saturating_mul((*cpus).into()) >> 20,
        crate::RINGS_BYTES_MAX >> 20
    )]
    BuffersSize {
        /// What was asked for.
        bytes: u64,
        /// For how many.
        cpus: u16,
    },
}

impl Error {
    /// An error of libbpf while doing `what`.
    pub(crate) fn from_libbpf(what: &str, error: &libbpf_rs::Error) -> Self {
        let reason = error.to_string();
        let warned = crate::warnings::take();
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
            return Self::Permission { reason };
        }
        // Without the verifier's own words nobody could tell what it dislikes.
        let reason = format!("{reason}\n{warned}").trim_end().to_owned();
        Self::Refused { what: what.to_owned(), reason }
    }
}

/// This program's file, as a command takes it.
fn own_path() -> String {
    std::env::current_exe().map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string())
}
