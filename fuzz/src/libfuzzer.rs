//! Runs a target under libFuzzer, whose options it takes; `fuzz/run.sh` says which.
//!
//! The target's name is in the environment, as the command line is libFuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tardy_fuzz::{Target, check, targets};

static TARGET: LazyLock<&'static dyn Target> = LazyLock::new(|| {
    let name = std::env::var("TARDY_FUZZ_TARGET").unwrap_or_default();
    targets().find(|target| target.name() == name).unwrap_or_else(|| {
        let names: Vec<_> = targets().map(Target::name).collect();
        eprintln!("TARDY_FUZZ_TARGET must be one of {}", names.join(", "));
        std::process::exit(2)
    })
});

fuzz_target!(|bytes: &[u8]| {
    check(*TARGET, bytes);
});
