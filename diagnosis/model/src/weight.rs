//! What threads and groups of the ordinary class weigh: whoever has twice the weight gets twice the CPU time.

/// The weight of nice 0, and of a group that was given no other.
pub const NICE_0: u32 = 1024;

/// The weight of `SCHED_IDLE`, and of a group whose `cpu.idle` is set (`WEIGHT_IDLEPRIO`).
pub const IDLE: u32 = 3;

/// What `cpu.weight` can be (`CGROUP_WEIGHT_MIN` and `_MAX`).
pub const CPU_WEIGHTS: std::ops::RangeInclusive<u32> = 1..=10_000;

/// Weights by nice, from −20 on (`sched_prio_to_weight` in `kernel/sched/core.c`): a step is 10 % of the CPU.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a nice value; of one beyond −20 to 19 that of the nearest.
pub const fn of_nice(nice: i8) -> u32 {
    let at = nice as i32 + 20;
    WEIGHTS[if at < 0 {
        0
    } else if at > 39 {
        39
    } else {
        at as usize
    }]
}

/// What `cpu.weight` is as a weight: 100 are nice 0 (`sched_weight_from_cgroup`).
pub const fn of_cpu_weight(cpu_weight: u32) -> u32 {
    ((cpu_weight as u64 * NICE_0 as u64 + 50) / 100) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_and_cpu_weight_are_weights() {
        assert_eq!([-128, -20, 0, 19, 127].map(of_nice), [88761, 88761, NICE_0, 15, 15]);
        assert_eq!([1, 100, 150, 10_000].map(of_cpu_weight), [10, NICE_0, 1536, 102_400]);
    }
}
