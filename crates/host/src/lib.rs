//! What this machine is and allows: facts that bear on lateness, a file per check.
#![forbid(unsafe_code)]
