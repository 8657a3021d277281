//! Which idle states there are, and which are no sleep.

use std::path::Path;

/// The idle states of the running system, by number.
#[derive(Clone, Debug, Default)]
pub struct IdleStates {
    polls: Vec<bool>,
    no_driver: bool,
}

impl IdleStates {
    /// Reads them from the first CPU's cpuidle folder; without a cpuidle driver none polls.
    pub fn read() -> Self {
        Self::read_in(Path::new("/sys/devices/system/cpu"))
    }

    fn read_in(cpus: &Path) -> Self {
        let name = |state: usize| {
            std::fs::read_to_string(cpus.join(format!("cpu0/cpuidle/state{state}/name"))).ok()
        };
        // The kernel has ten at most (CPUIDLE_STATE_MAX).
        let polls: Vec<bool> = (0..10).map_while(name).map(|name| name.trim() == "POLL").collect();
        // Where nothing can be read of CPUs, nothing is known of their states.
        let no_driver = polls.is_empty() && cpus.join("online").exists();
        Self { polls, no_driver }
    }

    /// Whether the CPU stays awake in it.
    pub fn polls(&self, state: u32) -> bool {
        self.polls.get(state as usize).copied().unwrap_or(false)
    }

    /// Whether there are none to choose from.
    pub fn is_without_choice(&self) -> bool {
        self.no_driver
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn without_a_driver_there_is_no_choice() {
        let folder = tempfile::tempdir().unwrap();
        let nothing_known = IdleStates::read_in(folder.path());
        assert!(!nothing_known.is_without_choice());

        fs::write(folder.path().join("online"), "0\n").unwrap();
        assert!(IdleStates::read_in(folder.path()).is_without_choice());

        for (state, name) in [(0, "POLL\n"), (1, "C1\n")] {
            let state = folder.path().join(format!("cpu0/cpuidle/state{state}"));
            fs::create_dir_all(&state).unwrap();
            fs::write(state.join("name"), name).unwrap();
        }
        let states = IdleStates::read_in(folder.path());
        assert!(!states.is_without_choice());
        assert!(states.polls(0) && !states.polls(1) && !states.polls(2));
    }
}
