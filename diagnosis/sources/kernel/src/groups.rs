//! Paths of the control groups in which CPU time is counted.

use crate::Definitions;
use std::collections::HashMap;
use tardy_model::{Batch, NameId};

/// Groups whose paths are remembered; those beyond are looked up each time.
const GROUPS_MAX: usize = 4096;

/// The paths of groups that were asked for, by the kernel's number of each.
#[derive(Debug, Default)]
pub struct Groups(HashMap<u64, NameId>);

impl Groups {
    /// The path of group `number`, of which `thread` is a member: none where that has ended.
    pub fn path(
        &mut self,
        number: u64,
        thread: u32,
        definitions: &mut Definitions,
        batch: &mut Batch,
    ) -> NameId {
        if let Some(known) = self.0.get(&number) {
            return *known;
        }
        let text = std::fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
        let Some(path) = cpu_group(&text) else { return NameId::NONE };
        let id = definitions.name(path, batch);
        if self.0.len() < GROUPS_MAX {
            self.0.insert(number, id);
        }
        id
    }
}

/// The path in the hierarchy that has the CPU controller, from the lines of `/proc/PID/cgroup`:
/// `NUMBER:CONTROLLERS:PATH`, where the second version has number 0 and no controllers.
fn cpu_group(text: &str) -> Option<&str> {
    let mut unified = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(',').any(|name| name == "cpu") {
            return Some(path);
        }
        if number == "0" && controllers.is_empty() {
            unified = Some(path);
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_controllers_hierarchy_counts() {
        let mixed = "9:name=systemd:/a\n3:cpuset:/b\n1:cpu,cpuacct:/c:d\n0::/e\n";
        assert_eq!(cpu_group(mixed), Some("/c:d"));
        assert_eq!(cpu_group("0::/user.slice/x.scope\n"), Some("/user.slice/x.scope"));
        assert_eq!(cpu_group("3:cpuset:/b\nnot a line\n"), None);
    }
}
