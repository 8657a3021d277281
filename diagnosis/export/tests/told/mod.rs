//! What was exported, read back, as text to compare.
#![allow(dead_code)] // each test file uses its own part

use std::collections::HashMap;
use std::path::Path;
use tardy_explain::{Explainer, Explanation, Options};
use tardy_import::{Closing, Origin};
use tardy_model::event::Irq;
use tardy_model::{Batch, Event, Kind, Tables, TimerId};

/// A file's batches, and what it says of itself.
pub(crate) fn import(path: &Path) -> (&'static str, Vec<Batch>, Origin, Closing) {
    let options = tardy_import::Options::default();
    let (format, mut import) = tardy_import::open(path, &options).unwrap();
    let mut batches = Vec::new();
    loop {
        let mut batch = Batch::default();
        let more = import.next_batch(&mut batch).unwrap();
        batches.push(batch);
        if !more {
            break;
        }
    }
    (format.name(), batches, import.origin(), import.closing())
}

/// Events as text, with what ids stand for.
pub(crate) fn told(batches: &[Batch]) -> Vec<String> {
    let mut tables = Tables::default();
    for batch in batches {
        batch.define(&mut tables);
    }
    let events = batches.iter().flat_map(|batch| &batch.events);
    // Addresses are numbered anew when they are read: in the order of their first events they are the same.
    let mut places = HashMap::new();
    events.map(|event| told_event(event, &tables, &mut places)).collect()
}

fn told_event(event: &Event, tables: &Tables, places: &mut HashMap<u64, usize>) -> String {
    let mut timer = |id: TimerId| {
        let def = tables.timer(id);
        let address = if def.address == 0 { 1 << 32 | u64::from(id.0) } else { def.address };
        let next = places.len() + 1;
        let place = places.entry(address).or_insert(next);
        format!("{place:#x} {} {} {:?}", tables.function(id), def.owner, def.class)
    };
    let irq = |irq| match irq {
        Irq::Line(number, name) => format!("line {number} {}", tables.name(name)),
        vector @ Irq::Vector(_) => format!("{vector:?}"),
    };
    let what = match event.kind() {
        Kind::TimerArm(mut arm) => {
            let timer = timer(std::mem::take(&mut arm.timer));
            format!("{arm:?} {timer}")
        }
        Kind::TimerPending(it) => {
            format!("pending {} in {} at {}", timer(it.timer), it.thread, it.prio)
        }
        Kind::TimerCancel(cancel) => format!("cancel {}", timer(cancel.timer)),
        Kind::ExpireBegin(mut begin) => {
            let timer = timer(std::mem::take(&mut begin.timer));
            format!("{begin:?} {timer}")
        }
        Kind::ExpireEnd(end) => format!("end {}", timer(end.timer)),
        Kind::IrqBegin(begin) => format!("irq+ {}", irq(begin.irq)),
        Kind::IrqEnd(end) => format!("irq- {}", irq(end.irq)),
        Kind::WorkBegin(work) => format!("work+ {}", tables.name(work.function)),
        Kind::WorkEnd(work) => format!("work- {}", tables.name(work.function)),
        Kind::Nmi(nmi) => format!("nmi {} {}", nmi.ns, tables.name(nmi.handler)),
        Kind::IpiSend(mut send) => {
            let name = std::mem::take(&mut send.function);
            let low = send.targets.trailing_zeros().min(63) as u16;
            // The same CPUs from another place on are the same.
            let targets = u128::from(send.targets) >> low;
            format!("ipi {targets:x} from {} {}", send.first.0.wrapping_add(low), tables.name(name))
        }
        Kind::SectionBegin(it) => format!("{:?}+ {}", it.section, tables.name(it.caller)),
        Kind::SectionEnd(it) => format!("{:?}- {}", it.section, tables.name(it.caller)),
        Kind::IdleState(it) => {
            format!("state {} {} {}", it.state, it.exit_latency_ns, tables.name(it.name))
        }
        Kind::TaskGroup(group) => format!("group {}", tables.name(group.path)),
        Kind::GroupBandwidth(it) => {
            format!("{} of {} in {}", tables.name(it.path), it.quota_ns, it.period_ns)
        }
        Kind::GroupWeight(it) => format!("{} weighs {}", tables.name(it.path), it.weight),
        Kind::Stack(it) => {
            format!("stack {:?} {} {} {}", it.taken, it.of, it.late_ns, tables.name(it.frames))
        }
        // Names may be in no encoding.
        Kind::TaskName(name) => format!("name {:x?}", name.comm.0),
        kind => format!("{kind:?}"),
    };
    format!("{} {} {} {what}", event.time_ns, event.cpu, event.task)
}

/// What matters of an explanation.
pub(crate) fn sums(explanation: &Explanation) -> Vec<(String, u64)> {
    let causes = explanation.causes.iter().map(|found| (found.cause.0.to_owned(), found.ns));
    let culprits =
        explanation.culprits.iter().map(|found| (format!("{:?}", found.label), found.ns));
    causes.chain(culprits).chain([("lost".to_owned(), explanation.lost)]).collect()
}

pub(crate) fn explain(batches: &[Batch]) -> Explanation {
    let mut explainer = Explainer::new(Options::default(), ());
    for batch in batches {
        explainer.batch(batch);
    }
    explainer.finish().0
}
