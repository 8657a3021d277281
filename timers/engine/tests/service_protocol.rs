//! The timer service's shared part under many schedules of its threads.
//!
//! The files of the service are compiled a second time here, with the atomics and locks of a scheduler
//! that chooses at each of them which thread goes on. It treats every access as sequentially
//! consistent: what depends on a weaker ordering is not tried. It needs no flags:
//! `cargo test -p tardy-timers --test service_protocol`, some seconds.
#![allow(dead_code, unreachable_pub)]

extern crate alloc;

/// What the service's files find at the root of their crate.
pub use tardy_timers::{Expiry, Handle, Stale, queue};

mod service {
    mod sync {
        pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
        pub(super) use shuttle::sync::{Mutex, MutexGuard};
    }

    #[path = "../../src/service/due.rs"]
    mod due;
    #[path = "../../src/service/free.rs"]
    mod free;
    #[path = "../../src/service/inbox.rs"]
    mod inbox;
    #[path = "../../src/service/lane.rs"]
    mod lane;
    #[path = "../../src/service/run.rs"]
    mod run;
    #[path = "../../src/service/slots.rs"]
    mod slots;
    #[path = "../../src/service/word.rs"]
    mod word;

    mod protocol;
}
