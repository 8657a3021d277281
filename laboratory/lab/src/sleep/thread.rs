//! The measuring thread: getting ready, the rounds, the result.

use super::method::{Kind, Slack, Sleep};
use super::plan::{Plan, SleepError, WARM_UP_ROUNDS};
use super::{MethodMeasurement, Shared, SleepMeasurement};
use crate::clock::{cost_ns, cpu_ns, now_ns};
use crate::sched;
use crate::{Policy, ThreadUsage};
use rustix::io::Errno;
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering::Relaxed;
use tardy_stats::Latencies;

/// The thread's life.
pub(super) fn run(plan: &Plan, shared: &Shared) -> Result<SleepMeasurement, SleepError> {
    let mut notes = vec![];
    let (policy, prio) = take_policy(plan, &mut notes);
    if let Some(cpu) = plan.cpu {
        sched::bind(cpu).map_err(|source| SleepError::Cpu { cpu, source })?;
    }
    let slack_ns = current_timer_slack().map_err(slack_error)?;
    let least_slack_ns = {
        set_slack(1)?;
        let told = current_timer_slack().map_err(slack_error);
        set_slack(slack_ns)?;
        told?
    };
    let mut methods = vec![];
    for (kind, slack) in plan.chosen() {
        match (kind.make)() {
            Ok(sleep) => methods.push(Method::new(kind, slack, sleep, plan.rounds)),
            Err(error) => notes.push(format!(
                "{} was left out: the kernel does not offer it ({error}).",
                kind.name
            )),
        }
    }
    if methods.is_empty() {
        return Err(SleepError::NoneOffered(plan.methods.join("; ")));
    }
    let cpu_clock_ns = cost_ns(cpu_ns);
    let mut rounds = Rounds {
        order: (0..methods.len()).collect(),
        taken: vec![Taken::default(); methods.len()],
        random: fastrand::Rng::with_seed(plan.seed),
        request_ns: plan.request_ns,
        slack_ns,
        // Making a method may have changed it.
        slack_now_ns: None,
    };
    let mut result = SleepMeasurement {
        request_ns: plan.request_ns,
        rounds: 0,
        warm_up_rounds: 0,
        interrupted: 0,
        slack_ns,
        least_slack_ns,
        policy,
        prio,
        cpu: plan.cpu,
        seed: plan.seed,
        cpu_clock_ns,
        usage: None,
        methods: vec![],
        notes,
    };
    let mut before = ThreadUsage::now();
    while result.rounds < plan.rounds && !shared.stop.load(Relaxed) {
        if !rounds.run(&mut methods)? {
            result.interrupted += 1;
        } else if result.warm_up_rounds < WARM_UP_ROUNDS {
            result.warm_up_rounds += 1;
            before = ThreadUsage::now();
        } else {
            for (method, &taken) in methods.iter_mut().zip(&rounds.taken) {
                method.record(taken, plan.request_ns, cpu_clock_ns);
            }
            result.rounds += 1;
            shared.rounds.store(result.rounds, Relaxed);
        }
    }
    result.usage = ThreadUsage::now().zip(before).map(|(after, before)| after.since(before));
    set_slack(slack_ns)?;
    result.methods = methods.into_iter().map(Method::finish).collect();
    Ok(result)
}

fn take_policy(plan: &Plan, notes: &mut Vec<String>) -> (Policy, u8) {
    let Some(prio) = plan.fifo_prio else { return (Policy::Other, 0) };
    match sched::set_fifo(prio) {
        Ok(()) => (Policy::Fifo, prio),
        Err(error) => {
            notes.push(format!(
                "SCHED_FIFO was refused ({error}), so the thread ran under SCHED_OTHER with its \
                 timer slack; it needs CAP_SYS_NICE or `ulimit -r {prio}`."
            ));
            (Policy::Other, 0)
        }
    }
}

/// 0 is what a real-time thread has; setting it would bring back the default, which is 0 there too.
fn set_slack(ns: u64) -> Result<(), SleepError> {
    set_current_timer_slack(NonZeroU64::new(ns)).map_err(slack_error)
}

fn slack_error(error: Errno) -> SleepError {
    SleepError::Slack(error.into())
}

/// One sleep.
#[derive(Clone, Copy, Default)]
struct Taken {
    elapsed_ns: u64,
    cpu_ns: u64,
}

struct Rounds {
    order: Vec<usize>,
    /// This round's sleeps, by method: they count only when the round is whole.
    taken: Vec<Taken>,
    random: fastrand::Rng,
    request_ns: u64,
    slack_ns: u64,
    slack_now_ns: Option<u64>,
}

impl Rounds {
    /// Sleeps once by each method. Says whether the round is whole: not where a signal came.
    fn run(&mut self, methods: &mut [Method]) -> Result<bool, SleepError> {
        self.random.shuffle(&mut self.order);
        for place in 0..self.order.len() {
            let number = self.order[place];
            let method = &mut methods[number];
            self.slacken(method.slack)?;
            // The CPU clock outside, so that the sleep's own time does not hold its reading.
            let cpu_before_ns = cpu_ns();
            let from_ns = now_ns();
            let slept = method.sleep.sleep(from_ns, self.request_ns);
            let until_ns = now_ns();
            let cpu_after_ns = cpu_ns();
            match slept {
                Ok(()) => {}
                Err(Errno::INTR) => return Ok(false),
                Err(error) => {
                    return Err(SleepError::Sleep {
                        method: method.kind.name,
                        source: error.into(),
                    });
                }
            }
            self.taken[number] = Taken {
                elapsed_ns: until_ns.saturating_sub(from_ns),
                cpu_ns: cpu_after_ns.saturating_sub(cpu_before_ns),
            };
        }
        Ok(true)
    }

    fn slacken(&mut self, slack: Slack) -> Result<(), SleepError> {
        let wanted_ns = match slack {
            Slack::Thread => self.slack_ns,
            Slack::OneNs | Slack::Own => 1,
        };
        if self.slack_now_ns != Some(wanted_ns) {
            set_slack(wanted_ns)?;
            self.slack_now_ns = Some(wanted_ns);
        }
        Ok(())
    }
}

struct Method {
    kind: &'static Kind,
    slack: Slack,
    sleep: Box<dyn Sleep>,
    elapsed: Latencies,
    cpu: Latencies,
    early: u64,
    series: Vec<u32>,
}

impl Method {
    fn new(kind: &'static Kind, slack: Slack, sleep: Box<dyn Sleep>, rounds: u64) -> Self {
        // Memory that is only promised would fault while it is filled: a copy has been written.
        let promised = Latencies::default();
        let mut series = vec![1; rounds as usize];
        series.clear();
        Self {
            kind,
            slack,
            sleep,
            elapsed: promised.clone(),
            cpu: promised.clone(),
            early: 0,
            series,
        }
    }

    fn record(&mut self, taken: Taken, request_ns: u64, cpu_clock_ns: u64) {
        self.elapsed.record(taken.elapsed_ns);
        self.cpu.record(taken.cpu_ns.saturating_sub(cpu_clock_ns));
        self.early += u64::from(taken.elapsed_ns < request_ns);
        self.series.push(u32::try_from(taken.elapsed_ns).unwrap_or(u32::MAX));
    }

    fn finish(self) -> MethodMeasurement {
        let mut micros = BTreeMap::new();
        for ns in &self.series {
            *micros.entry(u64::from(ns / 1000)).or_insert(0) += 1;
        }
        MethodMeasurement {
            call: self.kind.name,
            summary: self.kind.summary,
            slack: self.slack,
            elapsed: self.elapsed,
            micros: micros.into_iter().collect(),
            cpu: self.cpu,
            early: self.early,
            series: self.series,
        }
    }
}
