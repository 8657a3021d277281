//! The kernel's preemption model.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

const FILE: &str = "/sys/kernel/debug/sched/preempt";

pub(super) struct Preempt;

impl Remedy for Preempt {
    fn name(&self) -> &'static str {
        "preempt"
    }

    fn price(&self) -> &'static str {
        "More switches: some per cent of throughput where much is done in the kernel."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_PREEMPT_DYNAMIC; debugfs"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let model = change.word();
        if !system.root().exists(FILE) {
            return Err(Lacking::new(
                "there is no /sys/kernel/debug/sched/preempt: mount debugfs there (mount -t debugfs none \
                 /sys/kernel/debug), or the kernel has no CONFIG_PREEMPT_DYNAMIC",
            ));
        }
        let models = system.root().text(FILE).unwrap_or_default();
        if !models.split_whitespace().any(|word| word.trim_matches(['(', ')']) == model) {
            return Err(Lacking::new(format!(
                "this kernel cannot become {model}: it has {}",
                models.trim()
            )));
        }
        system.file(FILE, Form::Choice, model)
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        (change.word() != "rt").then(|| format!("preempt={}", change.word()))
    }
}
