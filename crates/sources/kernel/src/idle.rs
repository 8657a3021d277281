//! Which idle states are no sleep.

/// The idle states of the running system, by number.
#[derive(Clone, Debug, Default)]
pub struct IdleStates {
    polls: Vec<bool>,
}

impl IdleStates {
    /// Reads them from the first CPU's cpuidle folder; without a cpuidle driver none polls.
    pub fn read() -> Self {
        let name = |state: usize| {
            let folder = "/sys/devices/system/cpu/cpu0/cpuidle";
            std::fs::read_to_string(format!("{folder}/state{state}/name")).ok()
        };
        // The kernel has ten at most (CPUIDLE_STATE_MAX).
        let polls = (0..10).map_while(name).map(|name| name.trim() == "POLL").collect();
        Self { polls }
    }

    /// Whether the CPU stays awake in it.
    pub fn polls(&self, state: u32) -> bool {
        self.polls.get(state as usize).copied().unwrap_or(false)
    }
}
