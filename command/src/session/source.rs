//! The best source that this system and these permissions allow, and what is lost by it.

use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser};
use tardy_host::Host;
use tardy_kernel::{FlightOptions, FlightRecorder, LiveSource, Options};
use tardy_model::SourceError;
use tardy_tracefs::Tracefs;

/// A way to record the running kernel.
struct Candidate {
    /// What `--source` calls it.
    name: &'static str,
    /// What it is, in a few words.
    what: &'static str,
    /// What is lost by it, against the first one.
    lost: &'static str,
    /// Whether it can take kernel stacks.
    takes_stacks: bool,
    start: fn(&Options) -> Result<Box<dyn LiveSource>, SourceError>,
}

/// All there are, the best first. A new one is a line here.
const CANDIDATES: &[Candidate] = &[
    Candidate {
        name: "ebpf",
        what: "eBPF programs",
        lost: "nothing",
        takes_stacks: true,
        start: start_ebpf,
    },
    Candidate {
        name: "tracefs",
        what: "the kernel's trace buffer",
        lost: "which costs more per event and shows less about timers",
        takes_stacks: false,
        start: |options| Ok(Box::new(Tracefs::start(options)?)),
    },
];

/// This machine, and what this program can do on it.
pub(crate) fn probe_host() -> Host {
    let host = Host::probe();
    if cfg!(feature = "ebpf") { host } else { host.without_ebpf() }
}

#[cfg(feature = "ebpf")]
fn start_ebpf(options: &Options) -> Result<Box<dyn LiveSource>, SourceError> {
    Ok(Box::new(tardy_live::Live::start(options)?))
}

#[cfg(not(feature = "ebpf"))]
fn start_ebpf(_: &Options) -> Result<Box<dyn LiveSource>, SourceError> {
    Err("this build of tardy has no eBPF".into())
}

/// Starts a flight recorder: eBPF alone can be one.
#[cfg(feature = "ebpf")]
pub(crate) fn fly(options: &FlightOptions) -> Result<Box<dyn FlightRecorder>, SourceError> {
    tardy_kernel::ids_are_the_kernels()?;
    Ok(Box::new(tardy_live::Flight::start(options)?))
}

#[cfg(not(feature = "ebpf"))]
pub(crate) fn fly(_: &FlightOptions) -> Result<Box<dyn FlightRecorder>, SourceError> {
    Err("this build of tardy has no eBPF".into())
}

/// Reads a source's name from the command line.
pub(crate) fn name_parser() -> PossibleValuesParser {
    let value = |candidate: &Candidate| PossibleValue::new(candidate.name).help(candidate.what);
    CANDIDATES.iter().map(value).collect::<Vec<_>>().into()
}

/// Starts the first one that can be had, or `only` the one of that name; with a sentence for each
/// that cannot: what is lost, and what would bring it back.
pub(super) fn start(
    options: &Options,
    only: Option<&str>,
) -> Result<(Box<dyn LiveSource>, Vec<String>), Failure> {
    tardy_kernel::ids_are_the_kernels().map_err(|error| Failure::new(error.to_string()))?;
    let mut refused = Vec::new();
    for candidate in CANDIDATES.iter().filter(|it| only.is_none_or(|only| only == it.name)) {
        match (candidate.start)(options) {
            Ok(source) => {
                let Candidate { name, lost, .. } = candidate;
                let note = |error| format!("recording by {name}, {lost}: {error}");
                let stackless = options.stacks_over_ns.is_some() && !candidate.takes_stacks;
                let stackless = stackless.then(|| {
                    format!(
                        "no kernel stacks are recorded: {name} cannot do it, only \
                        eBPF can"
                    )
                });
                return Ok((source, refused.into_iter().map(note).chain(stackless).collect()));
            }
            Err(error) => refused.push(error.to_string()),
        }
    }
    Err(Failure::new(refused.join("; and ")))
}
