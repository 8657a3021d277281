//! What a source is: batches of definitions and events, in time order.

use crate::{Event, NameId, Tables, TimerDef};

/// A run of events with the definitions they need, which come first.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// New names.
    pub names: Vec<(NameId, String)>,
    /// New timers.
    pub timers: Vec<TimerDef>,
    /// Events, in time order, none earlier than the last of the batch before.
    pub events: Vec<Event>,
}

impl Batch {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.names.clear();
        self.timers.clear();
        self.events.clear();
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.timers.is_empty() && self.events.is_empty()
    }

    /// Enters its definitions into `tables`.
    pub fn define(&self, tables: &mut Tables) {
        for (id, name) in &self.names {
            tables.define_name(*id, name);
        }
        for timer in &self.timers {
            tables.define_timer(*timer);
        }
    }
}

/// Why a source could not go on: a sentence that names the file or the setting.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Anything that yields events in time order. A new source implements this and nothing after it
/// changes.
pub trait Source {
    /// Fills `batch`, which comes empty, with the next events. `Ok(false)` at the end of the
    /// stream; `Ok(true)` with an empty batch where there is nothing yet.
    ///
    /// # Errors
    /// Where the source broke; events yielded before stay good.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError>;
}
