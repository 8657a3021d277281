//! Where a recording says that a CPU was stopped.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use tardy_followers::{Activity, Followers, SPANS_MAX};
use tardy_model::event::{IrqBegin, Switch};
use tardy_model::{Batch, CpuId, Kind, Tables};
use tardy_recording::Recording;

/// How far back from a stolen time's event its stretches are looked for: a tick comes more often.
const BACK_NS: u64 = 1_000_000_000;

/// `stretches`: from when to when, and whether it is sure; `busy`: the times of interrupts that began and of
/// switches; `told`: when the steal clock had risen, and by how much; `stolen_ns`, `unsure_ns`, `unplaced_ns`: the sums.
pub(crate) fn stretches(rec: &Path, cpu: u16) -> Result<Value, Box<dyn Error>> {
    let mut recording = Recording::open(rec)?;
    let (mut followers, mut tables) = (Followers::new(SPANS_MAX), Tables::default());
    let mut found: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
    let (mut busy, mut told) = (Vec::new(), Vec::new());
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        batch.define(&mut tables);
        followers.timers.define(&batch.timers);
        for event in &batch.events {
            followers.event(event, &event.kind(), &tables);
            if event.cpu != CpuId(cpu) {
                continue;
            }
            if event.tag() == IrqBegin::TAG || event.tag() == Switch::TAG {
                busy.push(event.time_ns);
            }
            let Kind::Stolen(stolen) = event.kind() else { continue };
            told.push((event.time_ns, stolen.ns));
            let Some(it) = followers.cpu(event.cpu) else { continue };
            let from_ns = event.time_ns.saturating_sub(BACK_NS);
            it.between(from_ns, event.time_ns, |start_ns, stop_ns, activity| {
                if let Activity::Stolen(sure) = activity {
                    found.insert(start_ns, (stop_ns, sure));
                }
            });
        }
        batch.clear();
    }
    let sum = followers.cpu(CpuId(cpu)).map(tardy_followers::Cpu::stolen_time).unwrap_or_default();
    let stretches: Vec<_> =
        found.into_iter().map(|(start_ns, (stop_ns, sure))| (start_ns, stop_ns, sure)).collect();
    Ok(json!({
        "stretches": stretches,
        "busy": busy,
        "told": told,
        "stolen_ns": sum.ns,
        "unsure_ns": sum.unsure_ns,
        "unplaced_ns": sum.unplaced_ns,
    }))
}
