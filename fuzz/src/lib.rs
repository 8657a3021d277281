//! Any bytes through everything that reads other programs' files, and what must hold of it.
//!
//! A [`Target`] takes bytes as a file of its format and reads them to the end. Whatever they are, it
//! must not panic, its events must be in order of time and fit their records, and it must not take
//! more memory than it says. The same targets run in two ways: by libFuzzer, guided by coverage, for
//! as long as somebody wants (`run.sh`); and in a test, over the committed inputs and some thousand
//! changed ones ([`mutate`]).
//!
//! Start reading at [`target`]; [`built`] makes files of any bytes whose lengths and checksums are right.
#![forbid(unsafe_code)]

pub mod built;
mod drain;
mod inputs;
pub mod mutate;
pub mod target;

pub use inputs::Inputs;
pub use target::{Target, targets};

/// Runs a target over an input; how many events, or whatever a file of its format has, there were.
///
/// # Panics
/// Where something does not hold that must.
pub fn check(target: &dyn Target, bytes: &[u8]) -> usize {
    let mut found = 0;
    let memory = allocation_counter::measure(|| found = target.run(bytes));
    let bytes_max = target.memory_max(bytes.len());
    assert!(
        memory.bytes_max <= bytes_max,
        "{} takes {} bytes of memory for an input of {}, and {bytes_max} are allowed",
        target.name(),
        memory.bytes_max,
        bytes.len(),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Greedy;

    impl Target for Greedy {
        fn name(&self) -> &'static str {
            "greedy"
        }

        fn run(&self, bytes: &[u8]) -> usize {
            let times = usize::from(bytes[0]);
            std::hint::black_box(vec![0u8; times << 20]).len()
        }
    }

    #[test]
    fn memory_has_its_limit() {
        check(&Greedy, &[60]);
        assert!(std::panic::catch_unwind(|| check(&Greedy, &[65])).is_err());
    }
}
