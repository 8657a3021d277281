//! Recordings that tell less than all: what is missing is not made up.

use super::known::{Known, kernel};
use super::{GRID, hog, storm, system};
use crate::{Figures, WhatIf};
use tardy_model::event::{Kind, Loss};
use tardy_model::{CpuId, Event, TaskId};

/// What the baseline may be off from what the same recording with all events gives.
const OFF_MAX: f64 = 0.08;

/// A gap of so long at so many places.
const GAP_NS: u64 = 400_000;
const GAP_EVERY_NS: u64 = 100_000_000;

/// The victim's CPU dropped all events again and again and cannot say how many, each time from an interrupt's end until the
/// scheduler takes the CPU from somebody.
fn with_gaps(mut events: Vec<Event>) -> Vec<Event> {
    let start_ns = events.first().map_or(0, |event| event.time_ns);
    let mut next_ns = start_ns + GAP_EVERY_NS;
    let mut gap: Option<Loss> = None;
    let (mut gaps, mut is_end) = (Vec::new(), false);
    events.retain(|event| {
        if event.cpu != CpuId(0) || event.time_ns < next_ns {
            return true;
        }
        let was_end = std::mem::replace(&mut is_end, matches!(event.kind(), Kind::IrqEnd(_)));
        if gap.is_none() && !was_end {
            return true;
        }
        let loss = gap.get_or_insert(Loss { since_ns: event.time_ns, count: u32::MAX });
        let is_over = event.time_ns > loss.since_ns + GAP_NS;
        if is_over && matches!(event.kind(), Kind::Switch(switch) if switch.preempted) {
            gaps.push(Event::new(event.time_ns, CpuId(0), TaskId(0), Kind::Loss(*loss)));
            (gap, next_ns) = (None, event.time_ns + GAP_EVERY_NS);
            return true;
        }
        false
    });
    assert!(gaps.len() > 30, "there are gaps");
    // The loss is told before the first event after it.
    gaps.append(&mut events);
    gaps.sort_by_key(|event| event.time_ns);
    gaps
}

/// Nobody told where callbacks end: as the next one begins, or with the interrupt.
fn without_ends(mut events: Vec<Event>) -> Vec<Event> {
    for at in 0..events.len() {
        let Kind::ExpireEnd(_) = events[at].kind() else { continue };
        let cpu = events[at].cpu;
        let ends_ns = events[at + 1..]
            .iter()
            .filter(|event| event.cpu == cpu)
            .find(|event| matches!(event.kind(), Kind::ExpireBegin(_) | Kind::IrqEnd(_)))
            .map(|event| event.time_ns);
        events[at].time_ns = ends_ns.unwrap_or(events[at].time_ns);
    }
    events.sort_by_key(|event| event.time_ns);
    events
}

#[test]
fn what_is_missing_is_not_made_up() {
    type Mend = fn(Vec<Event>) -> Vec<Event>;
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    for (name, others, mend) in
        [("gaps", hog(0, ""), with_gaps as Mend), ("no ends", storm(40), without_ends)]
    {
        let known = Known::of(&system(&fifo, &others));
        let figures = |mend: Mend| {
            let observed = known.observed_as(mend);
            let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
            whatif.baseline().simulated.all()
        };
        let (all, told) = (figures(|events| events), figures(mend));
        for (at, what) in Figures::NAMES.iter().enumerate() {
            let off = told[at] / all[at] - 1.0;
            println!("{name}: {what} {:.0}, with all events {:.0}: {off:+.3}", told[at], all[at]);
            // The latest is one of thousands, and chance.
            assert!(
                off.abs() < OFF_MAX || *what == "max",
                "{name}: {what} {}, not {}",
                told[at],
                all[at]
            );
        }
    }
}
