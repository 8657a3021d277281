//! Timers that are due soon, in order.

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

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.hard_ns, self.sequence).cmp(&(other.hard_ns, other.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Up to this many, keeping a list sorted costs less than a heap.
const RUN_INSERT_MAX: usize = 64;

/// A sorted run, and a heap of what came after it had grown long. The first is the earlier of both.
#[derive(Debug)]
pub(super) struct Near {
    /// The earliest last.
    run: Vec<Entry>,
    late: BinaryHeap<Reverse<Entry>>,
}

impl Near {
    pub(super) fn with_capacity(entries: usize) -> Self {
        Self { run: Vec::with_capacity(entries), late: BinaryHeap::with_capacity(entries) }
    }

    pub(super) fn len(&self) -> usize {
        self.run.len() + self.late.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.run.is_empty() && self.late.is_empty()
    }

    pub(super) fn first(&self) -> Option<&Entry> {
        match (self.run.last(), self.late.peek()) {
            (Some(run), Some(Reverse(late))) => Some(run.min(late)),
            (Some(run), None) => Some(run),
            (None, late) => late.map(|Reverse(late)| late),
        }
    }

    pub(super) fn pop(&mut self) {
        match (self.run.last(), self.late.peek()) {
            (Some(run), Some(Reverse(late))) if late < run => drop(self.late.pop()),
            (Some(_), _) => drop(self.run.pop()),
            (None, _) => drop(self.late.pop()),
        }
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        if self.run.len() < RUN_INSERT_MAX {
            let at = self.run.partition_point(|other| *other > entry);
            self.run.insert(at, entry);
        } else {
            self.late.push(Reverse(entry));
        }
    }

    /// Adds one of many, in any order; [`sort`](Self::sort) when all are in.
    pub(super) fn load(&mut self, entry: Entry) {
        self.run.push(entry);
    }

    pub(super) fn sort(&mut self) {
        self.run.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// All in one run, in order.
    pub(super) fn merge(&mut self) {
        self.run.extend(self.late.drain().map(|Reverse(entry)| entry));
        self.sort();
    }

    /// Entry `at`, counted from the first, of what is one run.
    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        debug_assert!(self.late.is_empty());
        self.run.len().checked_sub(at + 1).map(|at| &self.run[at])
    }

    /// Drops those that are not to be kept. Keeps the order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.run.retain(&mut keep);
        self.late.retain(|Reverse(entry)| keep(entry));
    }
}
