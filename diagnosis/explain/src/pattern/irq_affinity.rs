//! Devices whose interrupts are taken where the victim runs.

use super::{Evidence, Found, Pattern, SHARE_MIN, Scene, WORST_SHARE_MIN, percent};
use tardy_model::event::{Irq, softirq};
use tardy_model::{Culprit, Segment, TaskId, duration};

/// What a rare instance must have taken.
const RARE_NS_MIN: u64 = 50_000;

/// A device's interrupt handler, threaded or not, or a softirq that works for devices, takes the
/// victim's CPU before it runs.
pub(super) struct IrqAffinity;

impl Pattern for IrqAffinity {
    fn name(&self) -> &'static str {
        "irq_affinity"
    }

    fn title(&self) -> &'static str {
        "interrupts of devices on the thread's CPU"
    }

    fn reference(&self) -> &'static str {
        "Documentation/core-api/irq/irq-affinity.rst; for the network's softirqs \
         Documentation/networking/scaling.rst"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["interrupts", "irq_delay", "higher_priority"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let mut count = 0;
        for segment in scene.own() {
            let by_priority = || segment.cause.0 == "higher_priority";
            let device = match segment.culprit {
                Culprit::Irq(irq @ Irq::Line(..)) if !by_priority() => {
                    clock_of(&scene.wakeup.segments) != Some(irq)
                }
                Culprit::Softirq(vector) => softirq::is_for_devices(vector) && !by_priority(),
                Culprit::Task(task) => by_priority() && is_handler(scene, task),
                _ => false,
            };
            if device {
                evidence.at(segment.start_ns);
                evidence.blame(&segment);
                count += 1;
            }
        }
        evidence.count(count);
        count > 0
    }

    /// Devices interrupt everybody now and then: a rare one is a story where it took long.
    fn is_worth_telling(&self, found: &Found) -> bool {
        let long = found.worst.as_ref().is_some_and(|worst| worst.ns >= RARE_NS_MIN);
        found.share >= SHARE_MIN || long && found.worst_share >= WORST_SHARE_MIN
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups {} took the CPU on which the thread was to run, {} of all \
             lateness and {} of {} in the worst wakeup, one of {}. Keep devices' interrupts off \
             that CPU: write a mask without it to /proc/irq/NUMBER/smp_affinity (and exclude them \
             in irqbalance, which may move them back); softirqs follow the interrupts that raise \
             them.",
            found.wakeups,
            found.of_wakeups,
            found.names(),
            percent(found.share),
            duration(worst.ns),
            duration(worst.lateness_ns),
            worst.victim.name,
        )
    }
}

/// The interrupt in which timers expired, which is the CPU's own clock: on machines without vectors
/// for it (ARM) it has a line like a device's, and can be sent nowhere else.
fn clock_of(segments: &[Segment]) -> Option<Irq> {
    segments.windows(2).find_map(|pair| match (pair[0].culprit, pair[1].culprit) {
        // What lies between is not shown to patterns.
        (Culprit::Irq(_), _) if pair[0].end_ns() < pair[1].start_ns => None,
        (Culprit::Irq(irq), Culprit::Timer(..)) => Some(irq),
        _ => None,
    })
}

/// Whether it is the thread of an interrupt handler: the kernel calls it irq/NUMBER-NAME.
fn is_handler(scene: &Scene<'_>, task: TaskId) -> bool {
    let (comm, of_kernel) = scene.comm(task);
    of_kernel && comm.0.starts_with(b"irq/")
}
