//! Whether a queue yields what a sorted list does, before it is timed.

use crate::bench::{Bench, Broken};
use crate::script::{Operation, Script};
use crate::workload::{LATE, WORKLOADS, Workload};
use std::collections::BTreeSet;

/// Enough for wheels to turn over and for garbage to be collected.
const OPERATIONS: u64 = 8_000;

/// Small ones, as a queue with one timer and one with many fail in different ways.
const SIZES: [u32; 3] = [1, 10, 1000];

/// What is wrong with a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It did not do what it was told.
    #[error("{0} of {1}: {2}")]
    Broken(&'static str, u32, Broken),
    /// It yielded other timers than a sorted list, or in another order of expiry.
    #[error("{0} of {1}: timers {2:?} came, due were {3:?}")]
    Other(&'static str, u32, Vec<u32>, Vec<u32>),
    /// An id of a timer that was no longer there named another.
    #[error("an id was still good when its timer had gone")]
    Stale,
}

/// Runs small scripts of all workloads, and of [`LATE`].
///
/// # Errors
/// The first thing that is wrong.
pub fn check(queue: &dyn Bench) -> Result<(), Wrong> {
    if !queue.refuses_stale_ids() {
        return Err(Wrong::Stale);
    }
    for workload in WORKLOADS.iter().chain([&LATE]) {
        for size in SIZES {
            hold(queue, workload, size)?;
        }
    }
    Ok(())
}

fn hold(queue: &dyn Bench, workload: &Workload, size: u32) -> Result<(), Wrong> {
    let script = workload.script(size, OPERATIONS, u64::from(size));
    let name = workload.name;
    let popped = queue.popped(&script).map_err(|broken| Wrong::Broken(name, size, broken))?;
    for (came, due) in popped.into_iter().zip(sorted_list(&script)) {
        // Timers of one time may come in any order; by time they are a list in order.
        let slots = |timers: &[(u64, u32)]| timers.iter().map(|timer| timer.1).collect::<Vec<_>>();
        let time = |slot: &u32| due.iter().find(|timer| timer.1 == *slot).map(|timer| timer.0);
        let times: Option<Vec<u64>> = came.iter().map(time).collect();
        let mut those = came.clone();
        those.sort_unstable();
        let mut expected = slots(&due);
        expected.sort_unstable();
        if those != expected || !times.is_some_and(|times| times.is_sorted()) {
            return Err(Wrong::Other(name, size, came, slots(&due)));
        }
    }
    Ok(())
}

/// What each pop has to yield, as (expiry, slot) in order.
fn sorted_list(script: &Script) -> Vec<Vec<(u64, u32)>> {
    let mut list = BTreeSet::new();
    let mut expiries = vec![0; script.slots as usize];
    let mut popped = Vec::new();
    for record in &script.records {
        match record.operation() {
            Operation::Insert { slot, expiry } => {
                expiries[slot as usize] = expiry;
                list.insert((expiry, slot));
            }
            Operation::Cancel { slot } => {
                list.remove(&(expiries[slot as usize], slot));
            }
            Operation::Rearm { slot, expiry } => {
                list.remove(&(expiries[slot as usize], slot));
                expiries[slot as usize] = expiry;
                list.insert((expiry, slot));
            }
            Operation::Pop { now, .. } => {
                let later = list.split_off(&(now + 1, 0));
                popped.push(std::mem::replace(&mut list, later).into_iter().collect());
            }
        }
    }
    popped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Made;
    use crate::queue::TimerQueue;
    use crate::registry::queues;

    #[test]
    fn every_queue_yields_what_a_sorted_list_does() {
        for entry in queues() {
            assert_eq!(check(&*entry.bench), Ok(()), "{}", entry.name);
        }
    }

    /// Takes the timers in the order of insertion, or gives ids for ever, or loses a timer.
    struct Bad {
        timers: Vec<Option<(u64, u32)>>,
        keeps_order: bool,
        forgets: bool,
    }

    impl TimerQueue for Bad {
        type Id = usize;
        fn insert(&mut self, expiry: u64, payload: u32) -> usize {
            self.timers.push(Some((expiry, payload)));
            self.timers.len() - 1
        }
        fn cancel(&mut self, id: usize) -> bool {
            self.timers[id].take().is_some()
        }
        fn rearm(&mut self, id: &mut usize, expiry: u64) -> bool {
            let Some((_, payload)) = self.timers[*id].take() else { return false };
            *id = self.insert(expiry, payload);
            true
        }
        fn pop(&mut self, now: u64) -> Option<u32> {
            let due =
                self.timers.iter().enumerate().filter_map(|(at, timer)| Some(((*timer)?, at)));
            let mut due: Vec<_> = due.filter(|timer| timer.0.0 <= now).collect();
            if self.keeps_order {
                due.sort_unstable();
            } else {
                due.sort_unstable_by(|left, right| right.cmp(left));
            }
            let (_, at) = *due.first()?;
            let (expiry, payload) = self.timers[at].take()?;
            (!self.forgets || expiry < 100_000).then_some(payload)
        }
    }

    fn bad(keeps_order: bool, forgets: bool) -> impl Fn(usize) -> Bad {
        move |_| Bad { timers: Vec::new(), keeps_order, forgets }
    }

    #[test]
    fn a_queue_out_of_order_is_found_out() {
        let script = |queue: &dyn Bench| hold(queue, &LATE, 1000);
        // No more than this, as the list above takes long.
        assert_eq!(script(&Made(bad(true, false))), Ok(()));
        assert!(matches!(script(&Made(bad(false, false))), Err(Wrong::Other(..))));
        assert!(matches!(script(&Made(bad(true, true))), Err(Wrong::Broken(..))));
    }
}
