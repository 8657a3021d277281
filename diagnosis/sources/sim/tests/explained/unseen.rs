//! The same systems, with kinds of events left out: less can be said then, and nobody is blamed for another.

use crate::compare::{Stretch, merged, simulate};
use crate::maker::made;
use std::collections::{BTreeMap, HashMap};
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleEnter, IdleExit, IdleState, IrqBegin, IrqEnd, Loss, Migrate,
    Recorded, SoftirqBegin, SoftirqEnd, SoftirqRaise, TaskInfo, TaskName, TimerArm, TimerCancel,
};
use tardy_model::{Batch, CpuId, Culprit, Event, Kind, TaskId, Wakeup, WakeupKind};
use tardy_sim::truth::Truth;
use tardy_sim::{Cost, Device, START_NS, System};

/// How long each system runs, ns.
const SPAN_NS: u64 = 150_000_000;

/// Systems in a normal test run.
const SYSTEMS: u64 = 10;

/// An interrupt's way in and out, and an idle CPU's to its switch, are the idle state's or the task's where nothing tells
/// of them: of one wakeup this much of a kind may be.
const BLURRED_NS: u64 = 30_000;

/// What may be blamed on somebody else beyond that, of all lateness.
const SHARE_MAX: f64 = 0.0005;

/// The same where events were lost, of what says itself that a loss touches it: a loss is known only by the next event
/// of its CPU, so that a wakeup which ended before that may show the CPU as it was last seen. 0.21 % in 60 systems.
const SHARE_MAX_TOUCHED: f64 = 0.005;

/// So often, and for so long, events of a CPU may be lost.
const LOSES_EVERY_NS: u64 = 7_000_000;
const LOST_NS: u64 = 2_500_000;

/// What is told of the system is not lost.
const DEFINITIONS: &[u8] = &[Recorded::TAG, TaskName::TAG, TaskInfo::TAG, IdleState::TAG];

const IRQS: &[u8] = &[IrqBegin::TAG, IrqEnd::TAG];
const SOFTIRQS: &[u8] = &[SoftirqRaise::TAG, SoftirqBegin::TAG, SoftirqEnd::TAG];
const IDLE: &[u8] = &[IdleEnter::TAG, IdleExit::TAG, IdleState::TAG];
const TIMERS: &[u8] = &[TimerArm::TAG, TimerCancel::TAG, ExpireBegin::TAG, ExpireEnd::TAG];
const MIGRATIONS: &[u8] = &[Migrate::TAG];

/// What is left out, by name.
const LEFT_OUT: &[(&str, &[&[u8]])] = &[
    ("interrupts", &[IRQS]),
    ("softirqs", &[SOFTIRQS]),
    ("interrupts and softirqs", &[IRQS, SOFTIRQS]),
    ("idle states", &[IDLE]),
    ("interrupts, softirqs and idle states", &[IRQS, SOFTIRQS, IDLE]),
    ("timers", &[TIMERS]),
    ("migrations", &[MIGRATIONS]),
    ("all but the scheduler's events", &[IRQS, SOFTIRQS, IDLE, TIMERS]),
];

/// A system whose devices have much to do: what hides where they are not recorded weighs.
fn busy(seed: u64) -> System {
    let mut system = made(seed);
    let every = Some(Cost::Exponential { mean_ns: 2_000_000.0 });
    let handler = Cost::Uniform { from_ns: 10_000, to_ns: 300_000 };
    let device = |cpu| {
        let softirq = (cpu % 2 == 0).then_some(Cost::Uniform { from_ns: 50_000, to_ns: 500_000 });
        Device {
            name: format!("eth{cpu}"),
            cpu,
            every: every.clone(),
            handler: handler.clone(),
            softirq,
        }
    };
    system.workload.devices = (0..system.machine.cpus).map(device).collect();
    system
}

/// Takes events of some kinds out, and says so in what the source says of itself.
fn leave_out(batch: &mut Batch, tags: &[&[u8]]) {
    batch.events.retain_mut(|event| {
        if let Kind::Recorded(mut recorded) = event.kind() {
            recorded.kinds &=
                !tags.iter().copied().flatten().fold(0, |kinds, tag| kinds | 1 << tag);
            *event = Event::new(event.time_ns, event.cpu, event.task, recorded.into());
        }
        !tags.iter().any(|tags| tags.contains(&event.tag()))
    });
}

/// Loses events: on each CPU, now and then, all for some milliseconds.
#[derive(Default)]
struct Loser(HashMap<CpuId, Loss>);

impl Loser {
    fn lose(&mut self, batch: &mut Batch) {
        let mut kept = Vec::with_capacity(batch.events.len());
        for event in batch.events.drain(..) {
            let (of_ns, from_ns) = (event.time_ns / LOSES_EVERY_NS, event.time_ns % LOSES_EVERY_NS);
            let is_one = (of_ns * 7 + u64::from(event.cpu.0) * 3) % 4 == 0 && from_ns < LOST_NS;
            // A loss that the end of the stream hides is told by nobody.
            let is_told = event.time_ns < START_NS + SPAN_NS - LOSES_EVERY_NS;
            if is_one && is_told && !DEFINITIONS.contains(&event.tag()) {
                let first = Loss { since_ns: event.time_ns, count: 0 };
                self.0.entry(event.cpu).or_insert(first).count += 1;
                continue;
            }
            if let Some(loss) = self.0.remove(&event.cpu) {
                kept.push(Event::new(event.time_ns, event.cpu, event.task, loss.into()));
            }
            kept.push(event);
        }
        batch.events = kept;
    }
}

/// The wakeups of a system, as they are true and as they are explained from what is left of the events.
fn both(system: &System, leave: impl FnMut(&mut Batch)) -> Vec<(Truth, Wakeup)> {
    let (_, told, truths) = simulate(system, SPAN_NS, leave);
    let told = told.into_iter().filter(|wakeup| wakeup.kind != WakeupKind::Lock);
    let end_ns = |expiry_ns, lateness_ns| expiry_ns + lateness_ns;
    let mut by_end: HashMap<(TaskId, u64), Wakeup> = told
        .map(|wakeup| ((wakeup.task, end_ns(wakeup.expiry_ns, wakeup.lateness_ns)), wakeup))
        .collect();
    let truths = truths.into_iter().filter(|truth| !truth.is_cut);
    truths
        .filter_map(|truth| {
            let end_ns = end_ns(truth.expiry_ns, truth.lateness_ns);
            let wakeup = by_end.remove(&(truth.task, end_ns))?;
            Some((truth, wakeup))
        })
        .collect()
}

/// Whether it may be told of a stretch by who does not see all: the same culprit, none, or more than one.
fn may_be_told(truth: &Stretch, told: &Stretch) -> bool {
    let by_right = match told.3 {
        // Who has the CPU by right, or keeps preemption off in a section that is recorded, has it, whatever breaks in
        // unseen; so has a softirq, or a callback in one.
        Culprit::Task(_) => {
            matches!(
                told.2,
                "higher_priority"
                    | "cpu_contention"
                    | "own_kernel_work"
                    | "softirq_wait"
                    | "not_preemptible"
            )
        }
        Culprit::Softirq(_) | Culprit::SoftirqIn(..) | Culprit::Timer(..) => true,
        // A timer may fire at any time in its slack.
        Culprit::Setting(_) => told.2 == "slack",
        _ => false,
    };
    let breaks_in = matches!(
        truth.3,
        Culprit::Irq(_) | Culprit::Ipi(..) | Culprit::Softirq(_) | Culprit::Timer(..)
    );
    match (truth.3, told.3) {
        // The last is a CPU that runs no task, as far as is known.
        (_, Culprit::Nobody | Culprit::TaskOrInterrupt(_) | Culprit::IdleState(u32::MAX)) => true,
        (Culprit::SoftirqIn(_, thread), Culprit::Task(task)) if thread == task => true,
        _ if by_right && breaks_in => true,
        (truth, told) => truth == told,
    }
}

/// Nanoseconds by (what is true, who is blamed for it).
type Blamed = BTreeMap<(String, String), u64>;

fn blamed(truth: &Truth, wakeup: &Wakeup) -> Blamed {
    let truth = truth.segments.iter().map(|it| (it.start_ns, it.ns, it.cause, it.culprit));
    let told = wakeup.segments.iter().map(|it| (it.start_ns, it.ns, it.cause.0, it.culprit));
    let (truth, told) = (merged(truth), merged(told));
    let mut blamed = Blamed::new();
    let name = |it: &Stretch| format!("{} {:?}", it.2, it.3).split('(').next().map(str::to_owned);
    for one in &truth {
        for other in told.iter().filter(|other| !may_be_told(one, other)) {
            let end_ns = (one.0 + one.1).min(other.0 + other.1);
            let pair = (name(one).unwrap_or_default(), name(other).unwrap_or_default());
            *blamed.entry(pair).or_default() += end_ns.saturating_sub(one.0.max(other.0));
        }
    }
    blamed.retain(|_, ns| *ns > BLURRED_NS);
    blamed
}

/// Explains systems from what is left of their events, and adds up who is blamed for another: in wakeups that say
/// themselves that events are missing in them, and in the others.
fn nobody_is_guilty(what: &str, mut leaver: impl FnMut() -> Box<dyn FnMut(&mut Batch)>) {
    let asked = std::env::var("TARDY_SIM_SYSTEMS").ok().and_then(|text| text.parse().ok());
    let mut count = 0u64;
    let mut all_ns = [0; 2];
    let mut wrong: [Blamed; 2] = Default::default();
    for seed in 0..asked.unwrap_or(SYSTEMS) {
        for (truth, wakeup) in both(&busy(seed), leaver()) {
            let touched = usize::from(wakeup.touched_by_loss);
            count += 1;
            all_ns[touched] += wakeup.lateness_ns;
            for (pair, ns) in blamed(&truth, &wakeup) {
                *wrong[touched].entry(pair).or_default() += ns;
            }
        }
    }
    println!("{what}: {count} wakeups");
    let kinds = [("whole ones", SHARE_MAX), ("those touched by a loss", SHARE_MAX_TOUCHED)];
    for ((which, share_max), (wrong, all_ns)) in kinds.into_iter().zip(wrong.iter().zip(all_ns)) {
        let wrong_ns: u64 = wrong.values().sum();
        println!("  {which}: {wrong_ns} of {all_ns} ns blamed on somebody else");
        for ((truth, told), ns) in wrong {
            println!("    {truth} told as {told}, {ns} ns");
        }
        let is_fine = wrong_ns as f64 <= share_max * all_ns as f64;
        assert!(is_fine, "{what}, {which}: {wrong_ns} of {all_ns} ns");
    }
    assert!(count > 1000, "there is something to compare");
}

#[test]
fn what_is_not_recorded_makes_nobody_guilty() {
    for (name, tags) in LEFT_OUT {
        nobody_is_guilty(&format!("without {name}"), || {
            Box::new(|batch: &mut Batch| leave_out(batch, tags))
        });
    }
}

#[test]
fn what_is_lost_makes_nobody_guilty() {
    nobody_is_guilty("with losses", || {
        let mut loser = Loser::default();
        Box::new(move |batch: &mut Batch| loser.lose(batch))
    });
}
