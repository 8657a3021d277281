//! Every target over its committed inputs, and over some thousand changed ones: the same ones in
//! every run, so that what fails here fails again.

use fastrand::Rng;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tardy_fuzz::mutate::mutated;
use tardy_fuzz::{Inputs, Target, check, targets};

/// Where the changes begin; another number tries others (`TARDY_FUZZ_SEED`).
const SEED: u64 = 0x7a2d;

/// How many changed inputs each target gets: together they take some ten seconds where code is not
/// optimised. What takes long gets fewer.
const EXECUTIONS: [(&str, u32); 12] = [
    ("elf", 4000),
    ("event-format", 4000),
    ("explain", 1500),
    ("ftrace-page", 2000),
    ("ftrace-text", 3000),
    ("histogram", 2000),
    ("manifest", 4000),
    ("perf-script", 3000),
    ("perfetto", 4000),
    ("segment", 4000),
    ("trace-dat", 2000),
    ("wrapped", 2000),
];

/// How names of inputs begin in which there is nothing to be found.
const BROKEN: &[u8] = b"broken-";

fn inputs(target: &dyn Target) -> Inputs {
    Inputs::of(target.name()).unwrap_or_else(|error| panic!("{}: {error}", target.name()))
}

#[test]
fn committed_inputs() {
    for target in targets() {
        let inputs = inputs(target);
        assert!(!inputs.files.is_empty(), "{} has no inputs", target.name());
        for (path, bytes) in inputs.files.iter().chain(&inputs.large) {
            let done = catch_unwind(AssertUnwindSafe(|| check(target, bytes)));
            let Ok(found) = done else {
                panic!("{} breaks on {}", target.name(), path.display());
            };
            let is_broken =
                path.file_name().is_some_and(|name| name.as_bytes().starts_with(BROKEN));
            assert!(found > 0 || is_broken, "nothing is found in {}", path.display());
        }
        println!("{}: {} inputs", target.name(), inputs.files.len() + inputs.large.len());
    }
}

#[test]
fn changed_inputs() {
    let seed = std::env::var("TARDY_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    println!("seed {seed}");
    for target in targets() {
        let inputs = inputs(target);
        let (_, executions) = EXECUTIONS
            .into_iter()
            .find(|(name, _)| *name == target.name())
            .unwrap_or_else(|| panic!("{} is not in the table of executions", target.name()));
        let mut random = Rng::with_seed(seed);
        for _ in 0..executions {
            let bytes = mutated(&inputs, &mut random);
            let done = catch_unwind(AssertUnwindSafe(|| check(target, &bytes)));
            assert!(done.is_ok(), "{} breaks on {}", target.name(), kept(target, &bytes).display());
        }
        println!("{}: {executions} changed inputs", target.name());
    }
}

/// Writes an input that breaks something to where it can be looked at.
fn kept(target: &dyn Target, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{}-{:08x}", target.name(), crc32c::crc32c(bytes)));
    std::fs::write(&path, bytes).expect("room for an input");
    path
}
