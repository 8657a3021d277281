//! Where things are kept by thread id.

use rustc_hash::FxHashMap;
use tardy_model::TaskId;

/// Ids below this have a place in an array: as many as Linux has (`PID_MAX_LIMIT`), 16 MB where all are
/// used. Others, which only made-up traces have, are looked up.
const DENSE_MAX: usize = 1 << 22;

/// No place.
const NONE: u32 = u32::MAX;

/// Places by thread id.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    dense: Vec<u32>,
    sparse: FxHashMap<TaskId, u32>,
}

impl Slots {
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<usize> {
        let at = task.0 as usize;
        let slot = match self.dense.get(at) {
            Some(slot) => *slot,
            None if at < DENSE_MAX => return None,
            None => *self.sparse.get(&task)?,
        };
        (slot != NONE).then_some(slot as usize)
    }

    pub(crate) fn set(&mut self, task: TaskId, slot: usize) {
        let at = task.0 as usize;
        if at >= DENSE_MAX {
            self.sparse.insert(task, slot as u32);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at + 1, NONE);
        }
        self.dense[at] = slot as u32;
    }

    pub(crate) fn remove(&mut self, task: TaskId) -> Option<usize> {
        let slot = self.get(task)?;
        if (task.0 as usize) < DENSE_MAX {
            self.dense[task.0 as usize] = NONE;
        } else {
            self.sparse.remove(&task);
        }
        Some(slot)
    }
}
