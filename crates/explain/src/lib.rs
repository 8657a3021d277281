//! From events to wakeups to balances; a file per cause. No clock, no I/O.
#![forbid(unsafe_code)]
