//! Timer policies of the kernel that a condition asks for: `rearm = "lazy"` is that word in
//! `/sys/kernel/timer_policy/rearm`, which the kernel `policies` has for guests.

use std::collections::BTreeMap;
use std::path::Path;
use tardy_remedy::{Form, Place, Setting};

/// Where a kernel has its switches.
const FOLDER: &str = "/sys/kernel/timer_policy";

/// The most switches in one condition.
const SWITCHES_MAX: usize = 16;

/// Positions by switch.
pub(crate) type Wanted = BTreeMap<String, String>;

/// What is written down, checked.
pub(crate) fn wanted(written: &BTreeMap<String, String>) -> Result<Wanted, String> {
    if written.len() > SWITCHES_MAX {
        return Err(format!("{} switches; there may be {SWITCHES_MAX}", written.len()));
    }
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match written.iter().find(|(name, to)| !is_word(name) || !is_word(to)) {
        Some((name, to)) => {
            Err(format!("{name} = {to:?}: write a switch and its position, as in rearm = \"lazy\""))
        }
        None => Ok(written.clone()),
    }
}

/// Why they cannot be had here; `None` where all switches are there.
pub(crate) fn lacking(wanted: &Wanted) -> Option<String> {
    let is_missing = |name: &&String| !Path::new(FOLDER).join(name).exists();
    let missing = wanted.keys().find(is_missing)?;
    Some(format!(
        "this kernel has no timer policy {missing}; use `--vm --kernel policies`, after `tardy \
         vm build policies`"
    ))
}

/// What sets them.
pub(crate) fn settings(wanted: &Wanted) -> Vec<Setting> {
    let setting = |(name, to): (&String, &String)| Setting {
        place: Place::File { path: format!("{FOLDER}/{name}"), form: Form::Choice },
        to: to.clone(),
    };
    wanted.iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, to: &str) -> Wanted {
        BTreeMap::from([(name.to_owned(), to.to_owned())])
    }

    #[test]
    fn a_switch_is_a_word_and_so_is_its_position() {
        assert_eq!(wanted(&of("rearm", "lazy")).unwrap(), of("rearm", "lazy"));
        for (name, to) in [("../rearm", "lazy"), ("", "1"), ("rearm", ""), ("rearm", "la zy")] {
            assert!(wanted(&of(name, to)).unwrap_err().contains("write a switch"), "{name} {to}");
        }
    }

    #[test]
    fn what_no_kernel_has_is_lacking_and_says_which_kernel_has_switches() {
        assert_eq!(lacking(&Wanted::new()), None);
        assert!(lacking(&of("no_such_switch", "1")).unwrap().contains("--kernel policies"));
    }
}
