//! Events of the running kernel.
