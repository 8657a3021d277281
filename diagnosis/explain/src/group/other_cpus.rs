//! CPUs that had to be told of a wakeup, whichever they are.

use super::{Kind, Place, Who};
use tardy_model::Culprit;

pub(super) struct OtherCpus;

impl Kind for OtherCpus {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Cpu(_) = who.culprit else { return None };
        let name = "wakeups across CPUs".to_owned();
        Some(Place { kind: "cpu", exact: name.clone(), name })
    }
}
