//! The kernel's state bits of tasks.

use tardy_model::event::TaskState;

/// What a task is in when the scheduler takes the CPU from it: `prev_state` of a switch.
pub(crate) fn of_bits(bits: u64) -> TaskState {
    match bits {
        0 => TaskState::Running,
        _ if bits & 0x1000 != 0 => TaskState::RtLock,
        // TASK_IDLE is uninterruptible and does not count as load.
        _ if bits & 0x402 == 0x402 => TaskState::Idle,
        _ if bits & 0x1 != 0 => TaskState::Interruptible,
        _ if bits & 0x2 != 0 => TaskState::Uninterruptible,
        _ if bits & 0xc != 0 => TaskState::Stopped,
        _ if bits & 0x40 != 0 => TaskState::Parked,
        _ => TaskState::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_most_about_a_state_comes_first() {
        for (bits, state) in [
            (0, TaskState::Running),
            (0x1, TaskState::Interruptible),
            (0x2, TaskState::Uninterruptible),
            (0x102, TaskState::Uninterruptible),
            (0x402, TaskState::Idle),
            (0x1002, TaskState::RtLock),
            (0x4, TaskState::Stopped),
            (0x8, TaskState::Stopped),
            (0x40, TaskState::Parked),
            (0x10, TaskState::Dead),
            (0x80, TaskState::Dead),
        ] {
            assert_eq!(of_bits(bits), state, "{bits:#x}");
        }
    }
}
