//! Events of the running kernel through tracefs, where eBPF is not to be had.
#![forbid(unsafe_code)]
