//! Which idle states there are, and which are no sleep.

use std::path::Path;

/// The idle states of the running system, by number.
#[derive(Clone, Debug, Default)]
pub struct IdleStates {
    states: Vec<State>,
    no_driver: bool,
}

#[derive(Clone, Debug, Default)]
struct State {
    name: String,
    /// How long the CPU takes to wake from it, by the driver's table.
    exit_latency_ns: u64,
}

/// The name of a state in which the CPU stays awake.
const POLL: &str = "POLL";

impl IdleStates {
    /// Reads them from the first CPU's cpuidle folder; without a cpuidle driver none polls.
    pub fn read() -> Self {
        Self::read_in(Path::new("/sys/devices/system/cpu"))
    }

    fn read_in(cpus: &Path) -> Self {
        let told = |state: usize, what: &str| {
            std::fs::read_to_string(cpus.join(format!("cpu0/cpuidle/state{state}/{what}"))).ok()
        };
        let state = |number: usize| {
            let name = told(number, "name")?.trim().to_owned();
            let us = told(number, "latency").and_then(|us| us.trim().parse::<u64>().ok());
            Some(State { name, exit_latency_ns: us.unwrap_or(0).saturating_mul(1000) })
        };
        // The kernel has ten at most (CPUIDLE_STATE_MAX).
        let states: Vec<State> = (0..10).map_while(state).collect();
        // Where nothing can be read of CPUs, nothing is known of their states.
        let no_driver = states.is_empty() && cpus.join("online").exists();
        Self { states, no_driver }
    }

    /// Whether the CPU stays awake in it.
    pub fn polls(&self, state: u32) -> bool {
        self.states.get(state as usize).is_some_and(|state| state.name == POLL)
    }

    /// Every state: its number, name and exit latency in nanoseconds.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str, u64)> {
        (0..)
            .zip(&self.states)
            .map(|(number, state)| (number, state.name.as_str(), state.exit_latency_ns))
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
            fs::write(state.join("latency"), "2\n").unwrap();
        }
        let states = IdleStates::read_in(folder.path());
        assert!(!states.is_without_choice());
        assert!(states.polls(0) && !states.polls(1) && !states.polls(2));
        assert_eq!(states.all().collect::<Vec<_>>(), [(0, "POLL", 2000), (1, "C1", 2000)]);
    }
}
