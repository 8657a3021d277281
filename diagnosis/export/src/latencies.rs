//! Each victim's latencies in cyclictest's bins of 1 µs.

use rustc_hash::FxHashMap;
use tardy_explain::Named;
use tardy_stats::Histogram;

/// Victims that are told apart, 16 bytes a bin or 160 KB each; the rest share one row.
const VICTIMS_MAX: usize = 128;

/// Bins: 0 to 9,999 µs. What is later counts as an overflow.
const BINS: usize = 10_000;

/// One victim.
pub(crate) struct Victim {
    pub(crate) name: String,
    pub(crate) pid: Option<u32>,
    /// Where it ran; `None` where that was more than one CPU.
    pub(crate) cpu: Option<u16>,
    wakeups: u64,
}

/// Victims in the order in which their first wakeups came.
#[derive(Default)]
pub(crate) struct Latencies {
    victims: Vec<Victim>,
    /// One for each of them.
    histograms: Vec<Histogram>,
    by_who: FxHashMap<(Option<u32>, String), usize>,
}

impl Latencies {
    pub(crate) fn wakeup(&mut self, named: &Named<'_>) {
        let label = named.victim();
        let wakeup = named.wakeup();
        let who = (label.pid, label.name.clone());
        let at = match self.by_who.get(&who) {
            Some(at) => *at,
            None if self.victims.len() <= VICTIMS_MAX => {
                let is_rest = self.victims.len() == VICTIMS_MAX;
                self.victims.push(Victim {
                    name: if is_rest { "all others".to_owned() } else { who.1.clone() },
                    pid: if is_rest { None } else { who.0 },
                    cpu: Some(wakeup.cpu.0),
                    wakeups: 0,
                });
                self.histograms.push(Histogram::new(BINS));
                if !is_rest {
                    self.by_who.insert(who, self.victims.len() - 1);
                }
                self.victims.len() - 1
            }
            None => VICTIMS_MAX,
        };
        let victim = &mut self.victims[at];
        if victim.cpu != Some(wakeup.cpu.0) {
            victim.cpu = None;
        }
        // A lateness, not two readings of a clock: nothing is cut off twice.
        let cycle = victim.wakeups;
        victim.wakeups += 1;
        self.histograms[at].record(wakeup.lateness_ns, 0, cycle);
    }

    pub(crate) fn victims(&self) -> &[Victim] {
        &self.victims
    }

    /// One for each victim.
    pub(crate) fn histograms(&self) -> &[Histogram] {
        &self.histograms
    }
}
