//! Expiry policies: against their definitions, against what all of them promise, and stories.

mod cpu;
mod early;
#[path = "../plain/mod.rs"]
mod plain;
mod random;
mod rearm;
mod reference;
mod rounds;
mod stories;
mod urgency;
