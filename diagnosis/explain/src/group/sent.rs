//! Interrupts that other CPUs send, by the program that had them sent.

use super::program::program;
use super::{Kind, Place, Who};
use tardy_model::{Culprit, TaskId};

pub(super) struct Sent;

impl Kind for Sent {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Ipi(_, by, _) = who.culprit else { return None };
        let name = if by == TaskId::IDLE {
            "interrupts sent by idle CPUs".to_owned()
        } else {
            let comm = who.labels.comm(by).to_string();
            format!("interrupts sent by {}", program(by, &comm, who.labels).0)
        };
        Some(Place { kind: "irq", name, exact: who.label.name.clone() })
    }
}
