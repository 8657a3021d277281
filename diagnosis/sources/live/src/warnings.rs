//! What libbpf warns of: kept for the error that follows, instead of printed over the program's own
//! messages.

use libbpf_rs::PrintLevel;
use std::sync::{Mutex, PoisonError};

/// Bytes that are kept, the last ones: a verifier's verdict is at the end of its log.
const BYTES_MAX: usize = 4096;

static KEPT: Mutex<String> = Mutex::new(String::new());

/// Keeps what libbpf warns of from now on.
pub(crate) fn keep() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| add(&text))));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn add(text: &str) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push_str(text);
    let over = kept.len().saturating_sub(BYTES_MAX);
    let from = (over..=kept.len()).find(|at| kept.is_char_boundary(*at));
    kept.drain(..from.expect("the end is one"));
}

/// What was kept since the last call.
pub(crate) fn take() -> String {
    std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_it_is_kept_within_the_bound() {
        for line in 0..1000 {
            add(&format!("line {line} of a long µ log\n"));
        }
        let kept = take();
        assert!(kept.len() <= BYTES_MAX && kept.ends_with("line 999 of a long µ log\n"));
        assert_eq!(take(), "");
    }
}
