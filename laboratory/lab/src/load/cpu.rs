//! Threads that compute and never wait: each CPU has something to run, and a wakeup something to
//! preempt.

use super::crew::{Crew, Duty, Post, Rank};
use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad};
use crate::sched::cpus;
use std::fmt;
use std::hint::black_box;

/// The most threads of one load.
pub const CPU_THREADS_MAX: u64 = 10_000;

/// Steps of a round: some microseconds, so that its count costs nothing and an end is seen at once.
const STEPS: u32 = 2_000;

const USAGE: &str = "cpu[:N][,nice=-20…19][,fifo[=PRIO]]";

pub(super) const KIND: Kind = Kind {
    name: "cpu",
    usage: USAGE,
    summary: "N threads (one per CPU) that compute without a pause, with integers and floating \
              point; `nice` and `fifo` (priority 1) choose their scheduling",
    parse: |arguments| Cpu::parse(arguments).map(|cpu| Box::new(cpu) as Box<dyn Load>),
};

/// Threads that compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// How many; at most [`CPU_THREADS_MAX`].
    pub threads: u64,
    /// Their nice value, −20 to 19, where not the one inherited.
    pub nice: Option<i32>,
    /// Under `SCHED_FIFO` at this priority, 1–99, instead of the default policy.
    pub fifo_prio: Option<u8>,
}

impl Cpu {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let threads = arguments.count("threads", cpus().min(CPU_THREADS_MAX), CPU_THREADS_MAX)?;
        let mut cpu = Self { threads, nice: None, fifo_prio: None };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("nice", Some(value)) => {
                    let nice = value.parse().ok().filter(|nice| (-20..=19).contains(nice));
                    let must = "it must be a number from -20 to 19";
                    cpu.nice = Some(nice.ok_or_else(|| arguments.wrong("nice", value, must))?);
                }
                ("fifo", value) => cpu.fifo_prio = Some(arguments.fifo_prio(value)?),
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        if let (Some(nice), Some(_)) = (cpu.nice, cpu.fifo_prio) {
            let must = "SCHED_FIFO knows no nice values; leave one of the two out";
            return Err(arguments.wrong("nice", &nice.to_string(), must));
        }
        Ok(cpu)
    }
}

/// Whether real-time threads that never wait would leave no CPU to anybody else: there is one for
/// each, and `sched_rt_runtime_us` sets nothing aside.
fn starves(threads: u64, cpus: u64, rt_runtime_us: &str) -> bool {
    threads >= cpus && rt_runtime_us.trim() == "-1"
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu:{}", self.threads)?;
        if let Some(nice) = self.nice {
            write!(f, ",nice={nice}")?;
        }
        if let Some(prio) = self.fifo_prio {
            write!(f, ",fifo={prio}")?;
        }
        Ok(())
    }
}

impl Load for Cpu {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let rt_runtime = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
        if self.fifo_prio.is_some()
            && starves(self.threads, cpus(), &rt_runtime.unwrap_or_default())
        {
            return Err(LoadError::Unfit {
                load: self.to_string(),
                why: "would leave no CPU for anything else, because throttling of real-time \
                      threads is off; use fewer threads than CPUs, or `sysctl \
                      kernel.sched_rt_runtime_us=950000`"
                    .to_owned(),
            });
        }
        let rank = Rank { fifo_prio: self.fifo_prio, nice: self.nice };
        let posts = (0..self.threads).map(|index| {
            Post::new(format!("cpu-{index:02}"), &["rounds"], move |duty| {
                compute(index, duty);
                Ok(())
            })
        });
        Ok(Box::new(Crew::start(self, rank, posts)?))
    }
}

fn compute(mut integer: u64, duty: &mut Duty) {
    let mut float = 1.0_f64;
    duty.begin();
    while duty.goes_on() {
        for _ in 0..STEPS {
            (integer, float) = step(integer, float);
        }
        black_box((integer, float));
        duty.did(1);
    }
}

/// A step of a linear congruential generator (the constants are those of Donald Knuth's MMIX) and one
/// of Heron's method for the square root of what that yields.
fn step(integer: u64, float: f64) -> (u64, f64) {
    let integer =
        integer.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let of = (integer >> 40) as f64 + 1.0;
    (integer, 0.5 * (float + of / float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_throttling_keeps_a_cpu_for_others() {
        assert!(starves(2, 2, "-1\n"));
        assert!(!starves(1, 2, "-1\n"));
        assert!(!starves(4, 2, "950000\n"));
        assert!(!starves(4, 2, ""));
    }

    #[test]
    fn steps_stay_finite_and_differ() {
        let mut seen = std::collections::HashSet::new();
        let (mut integer, mut float) = (0, 1.0);
        for _ in 0..1000 {
            (integer, float) = step(integer, float);
            assert!(float.is_finite() && float > 0.0);
            assert!(seen.insert(integer));
        }
    }
}
