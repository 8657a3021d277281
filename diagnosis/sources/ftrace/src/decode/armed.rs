//! What is known of timers that are armed, by their address, in bounded memory.

use super::timer::Armed;
use rustc_hash::FxHashMap;
use tardy_model::CpuId;

/// The most timers held as armed at once; a machine has some thousands. Beyond it the quarter that was
/// armed first is forgotten: their expiries look as those of timers that were armed before the recording,
/// and a note counts them.
pub(super) const ARMED_MAX: usize = 1 << 18;

/// Timers that are armed.
#[derive(Default)]
pub(super) struct ArmedTimers {
    by_address: FxHashMap<u64, (u64, Armed)>,
    /// Counts armings.
    armings: u64,
    /// The last loss of each CPU: which armings were before it, and until when events are missing.
    losses: FxHashMap<CpuId, (u64, u64)>,
    forgotten: u64,
}

impl ArmedTimers {
    pub(super) fn arm(&mut self, address: u64, armed: Armed) {
        if self.by_address.len() >= ARMED_MAX && !self.by_address.contains_key(&address) {
            self.forget_oldest();
        }
        self.armings += 1;
        self.by_address.insert(address, (self.armings, armed));
    }

    /// Forgets a quarter, so that the search for who was armed first is paid for by as many armings.
    fn forget_oldest(&mut self) {
        let mut armings: Vec<u64> = self.by_address.values().map(|(arming, _)| *arming).collect();
        let (_, last_to_go, _) = armings.select_nth_unstable(ARMED_MAX / 4);
        let last_to_go = *last_to_go;
        let mut forgotten = 0;
        self.by_address.retain(|_, (arming, armed)| {
            let stays = *arming > last_to_go;
            forgotten += u64::from(!stays && !armed.is_cancelled());
            stays
        });
        self.forgotten += forgotten;
    }

    /// What is armed there, if anything is known of it.
    pub(super) fn get(&self, address: u64) -> Option<Armed> {
        let (arming, armed) = self.by_address.get(&address)?;
        self.after_losses(*arming, *armed)
    }

    pub(super) fn get_mut(&mut self, address: u64) -> Option<&mut Armed> {
        self.by_address.get_mut(&address).map(|(_, armed)| armed)
    }

    pub(super) fn take(&mut self, address: u64) -> Option<Armed> {
        let (arming, armed) = self.by_address.remove(&address)?;
        self.after_losses(arming, armed)
    }

    /// Events of `cpu` are missing until `time_ns`: of what must have expired among them the expiry is not
    /// known any more. A thread's next sleep has its timer at the same address, and was perhaps begun
    /// unseen.
    pub(super) fn lost(&mut self, cpu: CpuId, time_ns: u64) {
        self.losses.insert(cpu, (self.armings, time_ns));
    }

    fn after_losses(&self, arming: u64, armed: Armed) -> Option<Armed> {
        match self.losses.get(&armed.cpu) {
            Some((armings, until_ns)) if arming <= *armings && armed.soft_ns <= *until_ns => {
                (!armed.is_of_wheel()).then_some(Armed { is_unplaced: true, ..armed })
            }
            _ => Some(armed),
        }
    }

    /// A sentence for the reader, where timers were forgotten.
    pub(super) fn note(&self) -> Option<String> {
        (self.forgotten > 0).then(|| {
            format!(
                "more than {ARMED_MAX} timers were armed at once: {} of them were dropped, and \
                 look as if they had been armed before the recording",
                self.forgotten
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::TaskId;

    fn armed(soft_ns: u64) -> Armed {
        Armed { soft_ns, soft_raw_ns: soft_ns as i64, by: TaskId(7), ..Armed::default() }
    }

    #[test]
    fn those_armed_first_are_forgotten_and_counted() {
        let mut timers = ArmedTimers::default();
        let all = 3 * ARMED_MAX as u64;
        for address in 0..all {
            timers.arm(address, armed(address + 1));
            assert!(timers.by_address.len() <= ARMED_MAX);
        }
        assert_eq!(timers.take(all - 1).map(|armed| armed.soft_ns), Some(all));
        assert!(timers.take(0).is_none());
        let known = timers.by_address.len() as u64 + 1;
        assert!(known > ARMED_MAX as u64 / 2, "{known}");
        let note = timers.note().unwrap();
        assert!(note.contains(&format!("{} of them", all - known)), "{note}");
    }

    #[test]
    fn a_loss_counts_for_what_was_armed_before_it_on_its_cpu() {
        let mut timers = ArmedTimers::default();
        timers.arm(1, armed(1000));
        timers.arm(2, armed(9000));
        timers.arm(3, Armed { cpu: CpuId(1), ..armed(1000) });
        timers.lost(CpuId(0), 5000);
        timers.arm(4, armed(1000));
        let is_unplaced = |at| timers.get(at).map(|armed| armed.is_unplaced);
        assert_eq!([1, 2, 3, 4].map(is_unplaced), [true, false, false, false].map(Some));
    }
}
