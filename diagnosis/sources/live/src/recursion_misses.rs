//! Runs that the kernel has left out: it runs no eBPF program inside itself, on the same CPU.

use libbpf_rs::Link;
use libbpf_rs::query::ProgInfoIter;
use std::collections::BTreeMap;

/// By program, how many runs of those behind `links` were left out so far. What cannot be asked is
/// not there.
pub(crate) fn recursion_misses(links: &[Link]) -> BTreeMap<String, u64> {
    let ours: Vec<u32> =
        links.iter().filter_map(|link| link.info().ok()).map(|info| info.prog_id).collect();
    if ours.is_empty() {
        return BTreeMap::new();
    }
    ProgInfoIter::default()
        .filter(|program| program.recursion_misses > 0 && ours.contains(&program.id))
        .map(|program| (program.name.to_string_lossy().into_owned(), program.recursion_misses))
        .collect()
}

/// A remark on them, where there are any.
pub(crate) fn note(recursion_misses: &BTreeMap<String, u64>) -> Option<String> {
    let total: u64 = recursion_misses.values().sum();
    let each: Vec<String> =
        recursion_misses.iter().map(|(program, count)| format!("{program} {count}")).collect();
    (total > 0).then(|| {
        format!(
            "{total} events are missing, because they came while an event of the same kind was \
             being recorded on the same CPU, where the kernel runs no second program: {}",
            each.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_left_out_is_remarked_on() {
        assert_eq!(note(&BTreeMap::new()), None);
        let two = BTreeMap::from([("on_a".to_owned(), 2), ("on_b".to_owned(), 40)]);
        let said = note(&two).unwrap();
        assert!(said.starts_with("42 events are missing"), "{said}");
        assert!(said.ends_with(": on_a 2, on_b 40"), "{said}");
    }
}
