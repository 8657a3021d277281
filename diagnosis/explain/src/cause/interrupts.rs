//! Interrupts and softirqs took the CPU.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::advice::softirq::remedy;
use crate::piece::{Doing, Phase};
use tardy_model::Cause;

/// Interrupt and softirq time after the timer interrupt's entry: its own way in and out, and
/// whatever else broke in.
pub(super) struct Interrupts;

impl Rule for Interrupts {
    fn cause(&self) -> Cause {
        Cause("interrupts")
    }

    fn meaning(&self) -> &'static str {
        "interrupt and softirq time, the timer interrupt's own included"
    }

    fn phases(&self) -> &'static [Phase] {
        &[
            Phase::Interrupt,
            Phase::DeferredRun,
            Phase::Callback,
            Phase::Placing,
            Phase::Runnable,
            Phase::Running,
            Phase::Faulting,
        ]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Interrupt, Doing::Expiry]
    }

    fn has_all(&self) -> bool {
        true
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first().filter(|_| weight.is_weighty())?;
        let who = first.group.words();
        let takes = first.group.verb("takes", "take");
        let remedy = if let Some(vector) = weight.softirq() {
            // A softirq runs where it was raised, and takes all tasks there along.
            Remedy::text(format!("{who} {takes} the CPU. {}", remedy(vector)?)).by(weight.leave())
        } else if weight.is_sent() {
            // No interrupt of another CPU's making can be sent elsewhere: who makes it can be changed, or who suffers.
            Remedy::text(format!(
                "{who} take the CPU: other CPUs send them to it. Have the sender send fewer, or \
                 let {} run on CPUs to which it sends none.",
                weight.victims()
            ))
            .by(weight.leave())
        } else if weight.is_of_timers() {
            // They came while the thread was not waiting for its own timer: no expiry is to be moved.
            Remedy::text(format!(
                "{who} {takes} the CPU. Make their owners sleep less often, or keep them off these CPUs."
            ))
            .with(weight.move_away())
            .by(weight.keep_away())
        } else {
            // Of vectors each CPU has its own.
            let irq = weight.irq_number()?;
            Remedy::text(format!(
                "{who} take the CPU. Move them to other CPUs (/proc/irq/{irq}/smp_affinity_list; \
                 irqbalance may move them back)."
            ))
            .with(weight.send_away(irq))
            .by(weight.keep_irq_away().into_iter().chain(weight.leave()))
        };
        Some(remedy.against(first))
    }
}
