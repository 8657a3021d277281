//! A load in a process of its own that counts one thing.

use super::Worker;
use crate::load::board::Board;
use crate::load::{LoadError, RunningLoad, Work};
use std::fmt::Display;
use std::time::Duration;

/// The process and its counts.
pub(in super::super) struct Counted {
    worker: Worker,
    board: Board,
    unit: &'static str,
}

impl Counted {
    /// Returns when all of `load` runs, which has `slots` counters of `unit`.
    pub(in super::super) fn start(
        load: &dyn Display,
        slots: u64,
        unit: &'static str,
    ) -> Result<Self, LoadError> {
        let board = Board::new(slots).map_err(|error| LoadError::Unfit {
            load: load.to_string(),
            why: format!("no memory for its counts ({error})"),
        })?;
        Ok(Self { worker: Worker::start(load, &board)?, board, unit })
    }
}

impl RunningLoad for Counted {
    fn tids(&self) -> Vec<u32> {
        self.worker.tids()
    }

    fn work(&self) -> Vec<Work> {
        vec![Work { unit: self.unit, count: self.board.sum() }]
    }

    fn notes(&self) -> Vec<String> {
        self.worker.notes()
    }

    fn over_after(&self) -> Option<Duration> {
        self.worker.over_after()
    }
}
