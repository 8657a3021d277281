//! What has only the kernel's short name, with what it is: `softirq SCHED`, `interrupt local_timer`.

use super::{Kind, Place, Who};
use crate::label::IDLE_LOOP;
use tardy_model::Culprit;
use tardy_model::event::Irq;

pub(super) struct NamedByKernel;

impl Kind for NamedByKernel {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let label = who.label;
        let what = match who.culprit {
            Culprit::Softirq(_) => "softirq",
            Culprit::Irq(Irq::Vector(_)) => "interrupt",
            Culprit::IdleState(_) | Culprit::Polling(_) if label.name != IDLE_LOOP => "idle",
            _ => return None,
        };
        let name = format!("{what} {}", label.name);
        Some(Place { kind: label.kind, exact: name.clone(), name })
    }
}
