//! A long recording from a short one.

use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use tardy_model::event::{ClockSet, ExpireBegin, Loss, Mark, TimerArm};
use tardy_model::{Batch, Event, Kind};
use tardy_recording::{ManifestEnd, Recording, Writer};

/// Writes `rec` to `out` again and again until there are `events_min` events, each time later by
/// its own length; definitions once. Whole repetitions only. Memory does not grow with the length:
/// the short recording is read anew each time, and the writer's queue is bounded.
pub(crate) fn lengthen(rec: &Path, out: &Path, events_min: u64) -> Result<Value, Box<dyn Error>> {
    let mut recording = Recording::open(rec)?;
    let mut manifest = recording.manifest().clone();
    manifest.notes.push("Made long by repetition, for a benchmark.".to_owned());
    let mut writer = Writer::create(out, manifest)?;
    let repetitions =
        repeat(&mut recording, events_min, |batch| Ok(writer.append_waiting(batch)?))?;
    let sealed = writer.seal(ManifestEnd::default())?;
    Ok(json!({
        "events": sealed.totals.events,
        "bytes": sealed.totals.bytes,
        "repetitions": repetitions,
    }))
}

/// Gives the batches of a recording to `take` again and again until there were `events_min` events, as [`lengthen`]
/// says; `take` gives a batch back, to be filled anew. How many repetitions there were.
pub(crate) fn repeat(
    recording: &mut Recording,
    events_min: u64,
    mut take: impl FnMut(Batch) -> Result<Batch, Box<dyn Error>>,
) -> Result<u64, Box<dyn Error>> {
    let (first_ns, last_ns) = reach(recording)?;
    let period_ns = last_ns - first_ns + 1;
    let (mut events, mut repetitions) = (0u64, 0u64);
    let mut batch = Batch::default();
    while events < events_min {
        recording.rewind()?;
        batch.clear();
        while recording.read(&mut batch)? {
            if repetitions > 0 {
                batch.names.clear();
                batch.timers.clear();
            }
            for event in &mut batch.events {
                *event = later(event, repetitions * period_ns);
            }
            events += batch.events.len() as u64;
            batch = take(batch)?;
            batch.clear();
        }
        repetitions += 1;
    }
    Ok(repetitions)
}

/// The times of the first and the last event.
fn reach(recording: &mut Recording) -> Result<(u64, u64), Box<dyn Error>> {
    let mut reach = None;
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
            let (first_ns, _) = reach.unwrap_or((first.time_ns, 0));
            reach = Some((first_ns, last.time_ns));
        }
        batch.clear();
    }
    reach.ok_or_else(|| format!("{} has no events", recording.dir().display()).into())
}

/// The same event `by_ns` later, with all the times that it speaks of.
fn later(event: &Event, by_ns: u64) -> Event {
    let kind = match event.kind() {
        Kind::TimerArm(arm) => {
            TimerArm { soft_ns: arm.soft_ns.saturating_add(by_ns), ..arm }.into()
        }
        Kind::ExpireBegin(begin) => {
            ExpireBegin { soft_ns: begin.soft_ns.saturating_add(by_ns), ..begin }.into()
        }
        Kind::Mark(mark) => Mark { expiry_ns: mark.expiry_ns + by_ns, ..mark }.into(),
        Kind::ClockSet(set) => ClockSet { since_ns: set.since_ns + by_ns, ..set }.into(),
        Kind::Loss(loss) => Loss { since_ns: loss.since_ns + by_ns, ..loss }.into(),
        // No other kind holds a time; and one that is not known here stays as it is.
        _ => {
            let time_ns = event.time_ns + by_ns;
            return Event::from_parts(time_ns, event.cpu, event.task, event.tag(), event.payload());
        }
    };
    Event::new(event.time_ns + by_ns, event.cpu, event.task, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use tardy_explain::{Explainer, Options};

    fn explain(dir: &Path) -> (u64, u64, u128) {
        let mut recording = Recording::open(dir).unwrap();
        let mut explainer = Explainer::new(Options::default(), ());
        let (mut batch, mut last_ns) = (Batch::default(), 0);
        while recording.read(&mut batch).unwrap() {
            for event in &batch.events {
                assert!(event.time_ns >= last_ns);
                last_ns = event.time_ns;
            }
            explainer.batch(&batch);
            batch.clear();
        }
        let (explanation, ()) = explainer.finish();
        (explanation.events, explanation.latencies.count(), explanation.latencies.sum_ns())
    }

    #[test]
    fn three_times_as_long_has_three_times_the_wakeups_as_late_as_before() {
        let folder = std::env::temp_dir().join(format!("tardy-lengthen-{}", std::process::id()));
        let (short, long) = (folder.join("short"), folder.join("long"));
        synthetic::write(&short, 30_000).unwrap();
        let once = explain(&short);
        lengthen(&short, &long, 2 * once.0 + 1).unwrap();
        let thrice = explain(&long);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(once.1 > 100 && once.2 > 0);
        assert_eq!(thrice, (3 * once.0, 3 * once.1, 3 * once.2));
    }
}
