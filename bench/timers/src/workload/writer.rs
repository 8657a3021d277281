//! Writes a script, and knows while it does which timers are armed and when they are due.

use crate::script::{Operation, Script};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NOT_ARMED: u64 = u64::MAX;

pub(super) struct Writer {
    pub(super) size: u32,
    pub(super) random: fastrand::Rng,
    operations_min: u64,
    operations: u64,
    script: Script,
    /// By slot.
    expiries: Vec<u64>,
    /// Every time that any timer ever had, with its slot; true where it is that slot's expiry.
    times: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Writer {
    pub(super) fn new(size: u32, operations_min: u64, seed: u64) -> Self {
        Self {
            size,
            random: fastrand::Rng::with_seed(seed),
            operations_min,
            operations: 0,
            script: Script { slots: size, setup: 0, records: Vec::new() },
            expiries: vec![NOT_ARMED; size as usize],
            times: BinaryHeap::new(),
        }
    }

    /// What was written so far fills the queue.
    pub(super) fn filled(&mut self) {
        self.script.setup = self.script.records.len();
        self.operations = 0;
    }

    /// Whether there are too few operations yet.
    pub(super) fn wants_more(&self) -> bool {
        self.operations < self.operations_min
    }

    pub(super) fn insert(&mut self, slot: u32, expiry: u64) {
        self.arm(slot, expiry);
        self.push(Operation::Insert { slot, expiry });
    }

    pub(super) fn cancel(&mut self, slot: u32) {
        self.expiries[slot as usize] = NOT_ARMED;
        self.push(Operation::Cancel { slot });
    }

    pub(super) fn rearm(&mut self, slot: u32, expiry: u64) {
        self.arm(slot, expiry);
        self.push(Operation::Rearm { slot, expiry });
    }

    /// Takes what is due, if anything is, and inserts it again at times that `expiry` gives. By slot:
    /// in which order timers of one time come out is each queue's own affair.
    pub(super) fn turn(
        &mut self,
        now: u64,
        mut expiry: impl FnMut(&mut fastrand::Rng, u32) -> u64,
    ) {
        let mut due = Vec::new();
        while let Some(&Reverse((time, slot))) = self.times.peek().filter(|first| first.0.0 <= now)
        {
            self.times.pop();
            if self.expiries[slot as usize] == time {
                self.expiries[slot as usize] = NOT_ARMED;
                due.push(slot);
            }
        }
        if due.is_empty() {
            return;
        }
        due.sort_unstable();
        self.push(Operation::Pop { count: due.len() as u32, now });
        for slot in due {
            let expiry = expiry(&mut self.random, slot);
            self.insert(slot, expiry);
        }
    }

    /// When the first timer is due. There is one.
    pub(super) fn next(&mut self) -> u64 {
        while let Some(&Reverse((time, slot))) = self.times.peek() {
            if self.expiries[slot as usize] == time {
                return time;
            }
            self.times.pop();
        }
        unreachable!("every workload keeps its timers armed")
    }

    pub(super) fn expiry(&self, slot: u32) -> u64 {
        self.expiries[slot as usize]
    }

    pub(super) fn script(self) -> Script {
        self.script
    }

    fn arm(&mut self, slot: u32, expiry: u64) {
        self.expiries[slot as usize] = expiry;
        self.times.push(Reverse((expiry, slot)));
    }

    fn push(&mut self, operation: Operation) {
        self.operations += operation.weight();
        self.script.records.push(operation.into());
    }
}
