//! The host of a virtual machine, whether or not it is known when exactly it took the time.

use super::{Kind, Place, Who};
use tardy_model::Culprit;

pub(super) struct Hypervisor;

impl Kind for Hypervisor {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Hypervisor(_) = who.culprit else { return None };
        let name = "the hypervisor".to_owned();
        Some(Place { kind: who.label.kind, exact: name.clone(), name })
    }
}
