//! Recordings on disk: write, seal, open, repair.
#![forbid(unsafe_code)]
