//! How arguments are written, as the flags want them.

pub(crate) use tardy_lab::written::{duration, interval_ns};

/// A process or a thread by its number.
pub(crate) fn pid(text: &str) -> Result<u32, String> {
    let no_number = || "a PID is a number, as ps and pidof show it".to_owned();
    text.parse().map_err(|_| no_number())
}

/// CPUs as in cyclictest's `-a`: `0-2,5`.
pub(crate) fn cpus(text: &str) -> Result<Cpus, String> {
    tardy_lab::written::cpus(text).map(Cpus)
}

/// A list of CPUs: a type of its own, because clap takes a `Vec` for a flag given several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cpus(pub(crate) Vec<u16>);
