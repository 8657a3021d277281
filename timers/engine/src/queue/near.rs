//! Timers that are due soon, in order.

use super::slots::Slot;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

/// A timer's time and where the timer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) hard_ns: u64,
    pub(super) sequence: u64,
    pub(super) slot: u32,
}

impl Entry {
    /// Both halves of the order as one number, which compares without a branch.
    fn key(&self) -> u128 {
        u128::from(self.hard_ns) << 64 | u128::from(self.sequence)
    }

    /// Whether the slot still holds the timer that the entry was made for, set to the same time.
    #[inline]
    pub(super) fn is_of<T>(&self, slot: &Slot<T>) -> bool {
        slot.sequence == self.sequence && slot.is_armed()
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Up to this many, keeping a list sorted costs less than a heap.
const RUN_INSERT_MAX: usize = 24;
/// From this many on, the place in the list is searched by halves.
const SCAN_MAX: usize = 16;
/// So many that are gone may stay in front of the list before the rest is moved up.
const GONE_MAX: usize = 256;

/// A sorted run, and a heap of what came after it had grown long. The first is the earlier of both.
#[derive(Debug)]
pub(super) struct Near {
    /// In order from `head` on; what comes before is gone.
    run: Vec<Entry>,
    head: usize,
    late: BinaryHeap<Reverse<Entry>>,
}

impl Near {
    pub(super) const fn new() -> Self {
        Self { run: Vec::new(), head: 0, late: BinaryHeap::new() }
    }

    /// Makes room for so many.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.run.reserve(entries);
        self.late.reserve(entries);
    }

    pub(super) fn clear(&mut self) {
        self.run.clear();
        self.head = 0;
        self.late.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.run.len() - self.head + self.late.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head == self.run.len() && self.late.is_empty()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Entry> {
        let run = self.run.get(self.head);
        if self.late.is_empty() {
            return run;
        }
        match (run, self.late.peek()) {
            (Some(run), Some(Reverse(late))) => Some(run.min(late)),
            (run, late) => run.or(late.map(|Reverse(late)| late)),
        }
    }

    /// Removes what [`first`](Self::first) said.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.late.is_empty() {
            self.pop_run();
            return;
        }
        let is_late = match (self.run.get(self.head), self.late.peek()) {
            (Some(run), Some(Reverse(late))) => late < run,
            (run, _) => run.is_none(),
        };
        if is_late {
            self.late.pop();
        } else {
            self.pop_run();
        }
    }

    #[inline]
    fn pop_run(&mut self) {
        self.head += 1;
        if self.head >= self.run.len() {
            self.run.clear();
            self.head = 0;
        }
    }

    /// Adds an entry. Whether there are many.
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry) -> bool {
        let count = self.run.len() - self.head;
        if count >= RUN_INSERT_MAX {
            self.late.push(Reverse(entry));
            return true;
        }
        if self.head >= GONE_MAX {
            self.close_up();
        }
        if count > SCAN_MAX {
            let at = self.run[self.head..].partition_point(|other| *other < entry);
            self.run.insert(self.head + at, entry);
            return false;
        }
        // Most timers are set to a time later than most others: from the end it is not far.
        self.run.push(entry);
        let Some((mut gap, before)) = self.run[self.head..].split_last_mut() else {
            return false;
        };
        for other in before.iter_mut().rev() {
            if *other < entry {
                break;
            }
            *gap = *other;
            gap = other;
        }
        *gap = entry;
        false
    }

    fn close_up(&mut self) {
        self.run.drain(..self.head);
        self.head = 0;
    }

    /// Adds one of many, in any order; [`sort`](Self::sort) when all are in.
    pub(super) fn load(&mut self, entry: Entry) {
        self.run.push(entry);
    }

    pub(super) fn sort(&mut self) {
        self.run[self.head..].sort_unstable();
    }

    /// All in one run, in order.
    pub(super) fn merge(&mut self) {
        self.close_up();
        self.run.extend(self.late.drain().map(|Reverse(entry)| entry));
        self.sort();
    }

    /// The entries of what is one run, in order.
    pub(super) fn merged(&self) -> &[Entry] {
        debug_assert!(self.late.is_empty());
        &self.run[self.head..]
    }

    /// Drops those that are not to be kept. Keeps the order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.close_up();
        self.run.retain(&mut keep);
        self.late.retain(|Reverse(entry)| keep(entry));
    }
}
