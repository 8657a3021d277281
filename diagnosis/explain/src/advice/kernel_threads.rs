//! What takes a kernel thread off the late threads' CPUs, by what it is for.

/// How changes are written for the threads of a kind, of which one alone is asked for: those that stop its work first,
/// then those that have it done on these CPUs. None for a thread that each CPU has for itself and that nothing stops.
pub(super) fn changes(kind: &str, cpus: &str) -> Vec<String> {
    let (stops, moves): (&[&str], _) = match kind {
        "khugepaged" => (&["khugepaged=off"], Some("unbound-kthreads")),
        "kswapd" => (&["swappiness=1"], Some("unbound-kthreads")),
        // What is bound to a CPU and comes again and again are the memory statistics.
        "kworker" => (&["vmstat-interval=120s"], Some("workqueue-cpus")),
        // The detector of lockups runs in the highest thread of each CPU.
        "migration" | "watchdog" => (&["watchdog=off"], None),
        "ksoftirqd" | "ktimers" | "cpuhp" | "idle_inject" => (&[], None),
        kind if kind.starts_with("irq threads of ") || kind.starts_with("timer_level") => {
            (&[], None)
        }
        _ => (&[], Some("unbound-kthreads")),
    };
    let moves = moves.filter(|_| !cpus.is_empty()).map(|name| format!("{name}={cpus}"));
    stops.iter().map(|text| (*text).to_owned()).chain(moves).collect()
}

#[cfg(test)]
mod tests {
    use super::changes;
    use tardy_changes::Change;

    #[test]
    fn each_kind_has_its_own() {
        assert_eq!(changes("kworker", "1"), ["vmstat-interval=120s", "workqueue-cpus=1"]);
        assert_eq!(changes("khugepaged", ""), ["khugepaged=off"]);
        assert_eq!(changes("kdamond", "0,2"), ["unbound-kthreads=0,2"]);
        assert!(changes("ksoftirqd", "1").is_empty());
        for kind in ["khugepaged", "kswapd", "kworker", "migration", "kdamond"] {
            for text in changes(kind, "1") {
                assert!(text.parse::<Change>().is_ok(), "{text}");
            }
        }
    }
}
