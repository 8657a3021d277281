//! Wakeups as rows of the two tables that an explanation has.

use std::convert::Infallible;
use tardy_explain::Named;
use tardy_recording::tables::{SegmentRow, TableWriter, WakeupRow};

/// A row of one of the two tables.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// Of `wakeups`.
    Wakeup(WakeupRow<'a>),
    /// Of `segments`.
    Segment(SegmentRow<'a>),
}

/// Makes rows of wakeups, which it counts from 0.
#[derive(Debug, Default)]
pub struct WakeupRows {
    wakeups: u64,
}

impl WakeupRows {
    /// Appends the rows of the next wakeup to both tables.
    pub fn append(&mut self, named: &Named<'_>, tables: &mut TableWriter) {
        let Ok(()) = self.rows::<Infallible>(named, |row| {
            match row {
                Row::Wakeup(row) => tables.wakeup(&row),
                Row::Segment(row) => tables.segment(&row),
            }
            Ok(())
        });
    }

    /// Hands over the rows of the next wakeup: its own, then its segments'.
    ///
    /// # Errors
    /// What `take` says; the wakeup counts all the same.
    pub fn rows<E>(
        &mut self,
        named: &Named<'_>,
        mut take: impl FnMut(Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let id = self.wakeups;
        self.wakeups += 1;
        let wakeup = named.wakeup();
        take(Row::Wakeup(WakeupRow {
            id,
            task: wakeup.task.0,
            task_name: &named.victim().name,
            victim: named.victim_id(),
            cpu: wakeup.cpu.0.into(),
            prio: wakeup.prio.0.into(),
            kind: wakeup.kind.name(),
            expiry_ns: wakeup.expiry_ns,
            lateness_ns: wakeup.lateness_ns,
            to_user: wakeup.to_user,
            touched_by_loss: wakeup.touched_by_loss,
        }))?;
        let segments = named.segments().zip(named.culprit_ids());
        for (position, ((segment, label), culprit)) in segments.enumerate() {
            take(Row::Segment(SegmentRow {
                wakeup_id: id,
                position: position as u32,
                cause: segment.cause.0,
                culprit_kind: label.kind,
                culprit_name: &label.name,
                culprit_pid: label.pid,
                culprit,
                start_ns: segment.start_ns,
                ns: segment.ns,
            }))?;
        }
        Ok(())
    }
}
