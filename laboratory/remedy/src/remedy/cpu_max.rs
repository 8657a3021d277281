//! The CPU bandwidth of a control group.

use super::{Lacking, Remedy};
use crate::place::{Form, Place};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

/// The kernel's own period, µs, for groups that tell none.
const PERIOD_US: &str = "100000";

pub(super) struct CpuMax;

impl Remedy for CpuMax {
    fn name(&self) -> &'static str {
        "cpu-max"
    }

    fn price(&self) -> &'static str {
        "The group takes as much CPU time as it can get beside others, no longer only its quota."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_CFS_BANDWIDTH; a control group with the CPU controller"
    }

    /// `off` lifts the limits of those above too: each of them holds for what is in it.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let groups = system.groups(change.whom(), "cpu")?;
        let us = |ns: u64| (ns / 1_000).to_string();
        let file = |folder: &str, name: &str, to: String| Setting {
            place: Place::File { path: format!("{folder}/{name}"), form: Form::Word },
            to,
        };
        let word = |folder: &str, name: &str| system.root().word(&format!("{folder}/{name}"));
        let mut settings = Vec::new();
        match change.bandwidth_ns() {
            None => {
                for folder in &groups.folders {
                    if groups.is_v2 {
                        let Some(now) = word(folder, "cpu.max") else { continue };
                        let period = now.split_whitespace().nth(1).unwrap_or(PERIOD_US);
                        if !now.starts_with("max") {
                            settings.push(file(folder, "cpu.max", format!("max {period}")));
                        }
                    } else if word(folder, "cpu.cfs_quota_us").is_some_and(|now| now != "-1") {
                        settings.push(file(folder, "cpu.cfs_quota_us", "-1".to_owned()));
                    }
                }
                if settings.is_empty() {
                    return Err(Lacking::new(
                        "neither the control group nor one above has a limit",
                    ));
                }
                // The outermost first: none may have more than the one above.
                settings.reverse();
            }
            Some((runtime_ns, period_ns)) => {
                let folder = &groups.folders[0];
                if groups.is_v2 {
                    let to = format!("{} {}", us(runtime_ns), us(period_ns));
                    settings.push(file(folder, "cpu.max", to));
                } else {
                    settings.push(file(folder, "cpu.cfs_period_us", us(period_ns)));
                    settings.push(file(folder, "cpu.cfs_quota_us", us(runtime_ns)));
                }
            }
        }
        Ok(settings)
    }
}
