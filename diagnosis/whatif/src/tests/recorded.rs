//! Recordings that tell less than all: what is missing is not made up.

use super::known::{Known, kernel, truth};
use super::{GRID, OFF_MAX as PREDICTED_OFF_MAX, hog, storm, system};
use crate::model::Model;
use crate::{Figures, KernelSeen, WhatIf};
use tardy_changes::Change;
use tardy_model::event::{Irq, IrqBegin, IrqEnd, Kind, Loss, Vector};
use tardy_model::{CpuId, Event, TaskId};
use tardy_sim::{Cost, Entity, IdleState, Pace, Stream};

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
            // The latest is one of thousands, and chance; 99.9 % are told by the four latest of them.
            let most = if *what == "p99.9" { 2.0 * OFF_MAX } else { OFF_MAX };
            assert!(
                off.abs() < most || *what == "max",
                "{name}: {what} {}, not {}",
                told[at],
                all[at]
            );
        }
    }
}

#[test]
fn without_a_cpuidle_driver_no_limit_is_predicted_to_forbid_anything() {
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    let mut known = Known::of(&system(&fifo, ""));
    known.system.machine.idle_states = vec![IdleState {
        name: "C1".to_owned(),
        exit: Cost::Constant(9_000),
        after: Vec::new(),
        latency_ns: 9_000,
        residency_ns: 0,
        polls: false,
    }];
    let change: Change = "idle-latency=0us".parse().unwrap();
    let untold = |mut events: Vec<Event>| {
        events.retain(|event| !matches!(event.kind(), Kind::IdleState(_)));
        events
    };
    for (told, observed) in [(true, known.observed()), (false, known.observed_as(untold))] {
        let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
        let predicted = whatif.predict(std::slice::from_ref(&change));
        match predicted {
            Ok(predicted) => {
                let [mean, ..] = predicted.figures;
                assert!(told && mean.predicted_ns < mean.recorded_ns - 8_000.0, "{mean:?}");
            }
            Err(refused) => {
                assert!(!told && refused.to_string().contains("cpuidle"), "{refused}");
            }
        }
        assert_eq!(whatif.bound(&observed, &change).is_some(), told, "nothing is gained at best");
    }
}

/// The victim's CPU is slow for 200 ms, as usual for 300 ms, and so on: by so many thousandths.
const SLOW: u16 = 1_800;

fn slow_at_times(known: &mut Known) {
    let slow = (0..known.span_ns / 500_000_000).flat_map(|at| {
        let at_ns = at * 500_000_000;
        let pace = Pace { at_ns, cpu: 0, permille: SLOW };
        [pace, Pace { at_ns: at_ns + 200_000_000, permille: 1_000, ..pace }]
    });
    known.system.workload.outside.paces = slow.collect();
}

#[test]
fn a_cpu_that_is_slow_at_times_is_simulated_as_that() {
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    let mut known = Known::of(&system(&fifo, &storm(40)));
    slow_at_times(&mut known);
    let observed = known.observed();
    let permille = |pace: &Pace| f64::from(pace.permille);
    let slowest = observed.paces.iter().filter(|pace| pace.cpu == 0).map(permille);
    let fastest = observed.paces.iter().filter(|pace| pace.cpu == 0).map(permille);
    let ratio = slowest.fold(0.0, f64::max) / fastest.fold(f64::MAX, f64::min);
    let truly = f64::from(SLOW) / 1e3;
    assert!((ratio / truly - 1.0).abs() < 0.1, "{ratio}, not {truly}");
    let others = observed.paces.iter().filter(|pace| pace.cpu != 0).map(permille);
    assert!(others.fold(0.0, f64::max) < 1_150.0, "the other CPU is as fast as usual");

    let whatif = WhatIf::new(&observed, &kernel(&known.system)).unwrap();
    let (recorded, simulated) = (&whatif.baseline().recorded, &whatif.baseline().simulated);
    let change: Change = "remove(storm)".parse().unwrap();
    let predicted = whatif.predict(&[change]).unwrap();
    let mut without = Known::of(&system(&fifo, ""));
    slow_at_times(&mut without);
    let truth = truth(&without, 9);
    let [mean_max, p99_max] = PREDICTED_OFF_MAX;
    for (at, off_max, moved_max) in [(0, 0.05, mean_max), (1, 0.05, mean_max), (2, 0.08, p99_max)] {
        let name = Figures::NAMES[at];
        let off = simulated.all()[at] / recorded.all()[at] - 1.0;
        println!("baseline {name}: {off:+.3}");
        assert!(off.abs() < off_max, "baseline {name}: {off}");
        let (moved, truly) = (predicted.figures[at].predicted_ns, truth.all()[at]);
        println!("without the storm {name}: {moved:.0}, truly {truly:.0}");
        assert!((moved / truly - 1.0).abs() < moved_max, "{name}: {moved}, truly {truly}");
    }
}

#[test]
fn what_sending_an_interrupt_takes_is_found() {
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    for send_ns in [0, 2_500] {
        let mut known = Known::of(&system(&fifo, &storm(40)));
        known.system.machine.ipi_send = Cost::Constant(send_ns);
        let model = Model::of(&known.observed(), &kernel(&known.system)).unwrap();
        let found = &model.system.machine.ipi_send;
        let mut stream = Stream::new(1, Entity::Maker, 2);
        let mut drawn: Vec<u64> = (0..999).map(|_| found.draw(&mut stream)).collect();
        drawn.sort_unstable();
        println!("sending takes {send_ns}, found {}", drawn[500]);
        assert!(drawn[500].abs_diff(send_ns) <= 250, "{} for {send_ns}", drawn[500]);
    }
}

/// A thread that another CPU wakes.
const ASKED: &str = r#"
[[thread]]
name = "asks"
cpus = [0]
program = [{ sleep = "700us" }, { wake = "answers" }]
[[thread]]
name = "answers"
cpus = [1]
program = ["wait", { run = "30us" }]
"#;

/// A kernel that has another CPU wake threads does so by calls.
fn by_calls(mut events: Vec<Event>) -> Vec<Event> {
    let call = Irq::Vector(Vector::CALL_FUNCTION_SINGLE);
    let is_it = |irq: Irq| irq == Irq::Vector(Vector::RESCHEDULE);
    for event in &mut events {
        let kind = match event.kind() {
            Kind::IrqBegin(begin) if is_it(begin.irq) => Kind::IrqBegin(IrqBegin { irq: call }),
            Kind::IrqEnd(end) if is_it(end.irq) => Kind::IrqEnd(IrqEnd { irq: call }),
            _ => continue,
        };
        *event = Event::new(event.time_ns, event.cpu, event.task, kind);
    }
    events
}

#[test]
fn an_interrupt_that_wakes_a_thread_does_not_come_by_the_clock_as_well() {
    let known = Known::of(&system(GRID, ASKED));
    let arrivals = |mend: fn(Vec<Event>) -> Vec<Event>| known.observed_as(mend).arrivals.len();
    assert_eq!(arrivals(by_calls), arrivals(|events| events));
}

#[test]
fn nor_does_one_for_a_thread_that_slept_on_another_cpu() {
    let mut known = Known::of(&system(GRID, &storm(10)));
    known.system.machine.idle_states = Vec::new();
    let arrivals = |mend: fn(Vec<Event>) -> Vec<Event>| known.observed_as(mend).arrivals.len();
    let (by_calls, as_told) = (arrivals(by_calls), arrivals(|events| events));
    println!(
        "{by_calls} interrupts come by the clock, and {as_told} where all are told as those of the scheduler"
    );
    // Some 17,000 are sent. Those to CPUs that run something are left: nobody knows what they are for.
    assert!(by_calls < as_told + 1_000);
}

#[test]
fn how_long_an_interrupt_is_on_its_way_is_found() {
    for ipi_ns in [0, 4_000] {
        let mut known = Known::of(&system(GRID, ASKED));
        known.system.machine.ipi = Cost::Constant(ipi_ns);
        known.system.machine.idle_states = vec![IdleState {
            name: "HLT".to_owned(),
            exit: Cost::Constant(9_000),
            after: Vec::new(),
            latency_ns: 15_000,
            residency_ns: 0,
            polls: false,
        }];
        let model = Model::of(&known.observed(), &kernel(&known.system)).unwrap();
        let Cost::Constant(found_ns) = model.system.machine.ipi else { panic!() };
        println!("{ipi_ns} ns on its way, found {found_ns}");
        assert!(found_ns.abs_diff(ipi_ns) <= 400, "{found_ns} for {ipi_ns}");
    }
}

#[test]
fn where_ordinary_sleepers_expire_is_seen_and_not_taken_for_granted() {
    let fifo = format!("policy = \"fifo:50\"\n{GRID}");
    for timers in ["hardirq", "softirq-expires-next-after"] {
        let text = system(&fifo, &storm(10)).replace("hardirq", timers);
        let text = text.replace("\"full\"", "\"rt\"").replace("irq-tail", "ktimers");
        let known = Known::of(&text);
        let seen =
            KernelSeen { preemption: Some("PREEMPT_RT".to_owned()), ..kernel(&known.system) };
        let model = Model::of(&known.observed(), &seen).unwrap();
        assert_eq!(model.system.kernel.timers, timers);
    }
}
