//! Settings, whatever their value.

use super::program::program;
use super::{Kind, Place, Who};
use tardy_model::{Culprit, Setting};

pub(super) struct SettingOf;

impl Kind for SettingOf {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Setting(setting) = who.culprit else { return None };
        let name = match setting {
            Setting::TimerSlack(_) => "timer slack".to_owned(),
            Setting::DeadlineBudget(task) => {
                let comm = who.labels.comm(task).to_string();
                format!("deadline budget of {}", program(task, &comm, who.labels).0)
            }
            _ => return None,
        };
        Some(Place { kind: who.label.kind, name, exact: who.label.name.clone() })
    }
}
