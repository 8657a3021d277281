//! Threads and devices as they are written.

use super::FileError;
use super::written::{Ns, Written};
use crate::system::is_bandwidth;
use crate::workload::THREADS_MAX;
use crate::{
    Bandwidth, Cost, Device, Group, Measured, Operation, Policy, Sections, Thread, Workload,
};
use serde::{Deserialize, Deserializer, de::Error};
use std::ops::Range;
use tardy_model::weight::{CPU_WEIGHTS, of_cpu_weight};
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawThread {
    name: String,
    count: Option<u32>,
    #[serde(default)]
    per_cpu: bool,
    #[serde(default)]
    policy: RawPolicy,
    cpus: Option<Vec<u16>>,
    slack: Option<Ns>,
    returns: Option<Written>,
    callback: Option<Written>,
    program: Vec<RawOperation>,
    #[serde(default)]
    repeat_from: usize,
    #[serde(default)]
    once: bool,
    group: Option<String>,
    irqs_off: Option<RawSections>,
    preempt_off: Option<RawSections>,
    #[serde(default)]
    watched: RawWatched,
}

/// `true`, or `"sleeps"` or `"locks"` for how long those took.
#[derive(Clone, Copy, Debug, Default)]
struct RawWatched(Option<Measured>);

impl<'de> Deserialize<'de> for RawWatched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Is(bool),
            What(String),
        }
        match Either::deserialize(deserializer) {
            Ok(Either::Is(is)) => Ok(Self(is.then_some(Measured::Lateness))),
            Ok(Either::What(what)) if what == "sleeps" => Ok(Self(Some(Measured::Sleeps))),
            Ok(Either::What(what)) if what == "locks" => Ok(Self(Some(Measured::Locks))),
            _ => Err(D::Error::custom(
                "write watched = true, or \"sleeps\" or \"locks\" for how long those took",
            )),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawOperation {
    Run(Written),
    Kernel(Written),
    IrqsOff(Written),
    PreemptOff(Written),
    Sleep(Written),
    SleepGrid(RawGrid),
    Rearm(Written),
    Wake(String),
    Wait,
    Lock(String),
    Unlock(String),
    PiLock(String),
    PiUnlock(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGrid {
    period: Ns,
    phase: Option<Written>,
    from: Option<Ns>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSections {
    every: Written,
    length: Written,
}

#[derive(Clone, Copy, Debug)]
struct RawPolicy(Policy);

impl Default for RawPolicy {
    fn default() -> Self {
        Self(Policy::Other { nice: 0 })
    }
}

impl<'de> Deserialize<'de> for RawPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (name, value) = text.split_once(':').unwrap_or((&text, ""));
        let wrong = || {
            let how =
                "write other, other:5 (nice), batch, batch:5, idle, fifo:98, rr:50 or deadline:1ms";
            D::Error::custom(format!("\"{text}\" is no scheduling policy: {how}"))
        };
        let priority = || {
            let priority = value.parse().map_err(|_| wrong())?;
            if (1..=99).contains(&priority) {
                Ok(priority)
            } else {
                Err(D::Error::custom(format!("{text}: a real-time priority is from 1 to 99")))
            }
        };
        let nice = || match value {
            "" => Ok(0),
            value => match value.parse() {
                Ok(nice) if (-20..=19).contains(&nice) => Ok(nice),
                _ => Err(D::Error::custom(format!("{text}: nice is from -20 to 19"))),
            },
        };
        let policy = match name {
            "other" => Policy::Other { nice: nice()? },
            "batch" => Policy::Batch { nice: nice()? },
            "idle" if value.is_empty() => Policy::Idle,
            "fifo" => Policy::Fifo(priority()?),
            "rr" => Policy::RoundRobin(priority()?),
            "deadline" => {
                let deadline_ns = super::written::nanoseconds(value).map_err(D::Error::custom)?;
                Policy::Deadline { deadline_ns }
            }
            _ => return Err(wrong()),
        };
        Ok(Self(policy))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawDevice {
    name: String,
    #[serde(default)]
    cpu: u16,
    every: Written,
    handler: Written,
    softirq: Option<Written>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    name: String,
    within: Option<String>,
    weight: Option<u32>,
    quota: Option<Ns>,
    period: Option<Ns>,
}

/// What a group weighs that says nothing of it (`cpu.weight`).
const WEIGHT: u32 = 100;

/// The period of a group that says nothing of it (`cpu.max`), ns.
const PERIOD_NS: u64 = 100_000_000;

/// The threads that come of each entry, by its name.
type Groups = Vec<(String, Range<usize>)>;

/// Builds a workload of what is written.
pub(super) fn workload(
    raw_threads: Vec<Spanned<RawThread>>,
    raw_devices: Vec<Spanned<RawDevice>>,
    raw_groups: Vec<Spanned<RawGroup>>,
    cpus: u16,
    text: &str,
) -> Result<(Workload, Groups), FileError> {
    // Names stand for the first thread that has one.
    let mut first_of: Vec<(String, u32)> = Vec::new();
    let mut count = 0_u32;
    for raw in &raw_threads {
        let one = raw.get_ref();
        first_of.push((one.name.clone(), count));
        count = count.saturating_add(copies(one, cpus));
        if count as usize > THREADS_MAX {
            let why = format!("at most {THREADS_MAX} threads can be simulated");
            return Err(FileError::at(text, raw.span(), why));
        }
    }
    let mut locks: Vec<String> = Vec::new();
    let mut threads = Vec::new();
    let mut groups = Vec::new();
    for raw in raw_threads {
        let span = raw.span();
        let raw = raw.into_inner();
        let made = thread(&raw, &first_of, &raw_groups, &mut locks, cpus);
        let made =
            made.map_err(|why| FileError::at(text, span, format!("thread {}: {why}", raw.name)))?;
        let copies = copies(&raw, cpus);
        groups.push((raw.name.clone(), threads.len()..threads.len() + copies as usize));
        for copy in 0..copies {
            let name = if copies == 1 { raw.name.clone() } else { format!("{}-{copy}", raw.name) };
            let on = if raw.per_cpu { 1 << (copy % u32::from(cpus)) } else { made.cpus };
            threads.push(Thread { name, cpus: on, ..made.clone() });
        }
    }
    let mut devices = Vec::new();
    for raw in raw_devices {
        if raw.get_ref().cpu >= cpus {
            let why =
                format!("device {}: there is no CPU {}", raw.get_ref().name, raw.get_ref().cpu);
            return Err(FileError::at(text, raw.span(), why));
        }
        if raw.get_ref().every.0 == Cost::ZERO {
            let name = &raw.get_ref().name;
            let why = format!("device {name}: interrupts every 0 ns leave no time between them");
            return Err(FileError::at(text, raw.span(), why));
        }
        let raw = raw.into_inner();
        devices.push(Device {
            name: raw.name,
            cpu: raw.cpu,
            every: Some(raw.every.0),
            handler: raw.handler.0,
            softirq: raw.softirq.map(|cost| cost.0),
        });
    }
    let mut all_groups: Vec<Group> = Vec::new();
    for raw in raw_groups {
        let made = group(raw.get_ref(), &all_groups);
        let made = made.map_err(|why| {
            FileError::at(text, raw.span(), format!("group {}: {why}", raw.get_ref().name))
        })?;
        all_groups.push(made);
    }
    Ok((
        Workload {
            threads,
            devices,
            groups: all_groups,
            locks: locks.len() as u32,
            ..Workload::default()
        },
        groups,
    ))
}

fn group(raw: &RawGroup, before: &[Group]) -> Result<Group, String> {
    let within = raw.within.as_ref().map(|name| {
        let at = before.iter().position(|group| group.name == *name);
        at.map(|at| at as u32).ok_or_else(|| format!("it is in {name}, which is not above it"))
    });
    if raw.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    if before.iter().any(|group| group.name == raw.name) {
        return Err("there is one of this name above it".to_owned());
    }
    let weight = raw.weight.unwrap_or(WEIGHT);
    if !CPU_WEIGHTS.contains(&weight) {
        return Err("a weight is from 1 to 10000".to_owned());
    }
    let bandwidth = match (&raw.quota, &raw.period) {
        (None, None) => None,
        (None, Some(_)) => return Err("it has a period and no quota".to_owned()),
        (Some(quota), period) => {
            let period_ns = period.as_ref().map_or(PERIOD_NS, |period| period.0);
            if !is_bandwidth(quota.0, period_ns) {
                return Err("a quota is above 0 and a period at least 1 ms".to_owned());
            }
            Some(Bandwidth { runtime_ns: quota.0, period_ns })
        }
    };
    Ok(Group {
        name: raw.name.clone(),
        within: within.transpose()?,
        weight: Some(of_cpu_weight(weight)),
        bandwidth,
    })
}

fn copies(raw: &RawThread, cpus: u16) -> u32 {
    raw.count.unwrap_or(1).saturating_mul(if raw.per_cpu { cpus.into() } else { 1 })
}

fn thread(
    raw: &RawThread,
    first_of: &[(String, u32)],
    groups: &[Spanned<RawGroup>],
    locks: &mut Vec<String>,
    cpus: u16,
) -> Result<Thread, String> {
    let mut on = u64::MAX;
    if let Some(named) = &raw.cpus {
        on = 0;
        for cpu in named {
            if *cpu >= cpus {
                return Err(format!("there is no CPU {cpu}: the machine has {cpus}"));
            }
            on |= 1 << cpu;
        }
    }
    let mut lock = |name: &String| {
        let at = locks.iter().position(|known| known == name);
        at.unwrap_or_else(|| {
            locks.push(name.clone());
            locks.len() - 1
        }) as u32
    };
    let mut program = Vec::new();
    for operation in &raw.program {
        program.push(match operation {
            RawOperation::Run(cost) => Operation::Run(cost.0.clone()),
            RawOperation::Kernel(cost) => Operation::Kernel(cost.0.clone()),
            RawOperation::IrqsOff(cost) => Operation::IrqsOff(cost.0.clone()),
            RawOperation::PreemptOff(cost) => Operation::PreemptOff(cost.0.clone()),
            RawOperation::Sleep(cost) => Operation::Sleep(cost.0.clone()),
            RawOperation::Rearm(cost) => Operation::Rearm(cost.0.clone()),
            RawOperation::SleepGrid(RawGrid { period: Ns(0), .. }) => {
                return Err("a period cannot be 0".to_owned());
            }
            RawOperation::SleepGrid(grid) => {
                let phase = grid.phase.as_ref().map_or(Cost::ZERO, |phase| phase.0.clone());
                let from_ns = grid.from.as_ref().map_or(0, |from| from.0);
                Operation::SleepGrid { period_ns: grid.period.0, phase, from_ns }
            }
            RawOperation::Wake(name) => {
                let known = first_of.iter().find(|(known, _)| known == name);
                let (_, at) =
                    known.ok_or_else(|| format!("it wakes {name}, which does not exist"))?;
                Operation::Wake(*at)
            }
            RawOperation::Wait => Operation::Wait,
            RawOperation::Lock(name) => Operation::Lock(lock(name)),
            RawOperation::Unlock(name) => Operation::Unlock(lock(name)),
            RawOperation::PiLock(name) => Operation::PiLock(lock(name)),
            RawOperation::PiUnlock(name) => Operation::PiUnlock(lock(name)),
        });
    }
    let group = raw.group.as_ref().map(|name| {
        let at = groups.iter().position(|group| group.get_ref().name == *name);
        at.map(|at| at as u32).ok_or_else(|| format!("there is no group {name}"))
    });
    let sections = |raw: &Option<RawSections>| {
        let raw = raw.clone()?;
        Some(Sections { every: raw.every.0, length: raw.length.0 })
    };
    Ok(Thread {
        name: raw.name.clone(),
        policy: raw.policy.0,
        cpus: on,
        returns: raw.returns.as_ref().map_or(Cost::ZERO, |returns| returns.0.clone()),
        callback: raw.callback.as_ref().map_or(Cost::ZERO, |callback| callback.0.clone()),
        slack_ns: raw.slack.map_or(Thread::default().slack_ns, |slack| slack.0),
        program,
        repeat_from: if raw.once { usize::MAX } else { raw.repeat_from },
        script: None,
        again_ns: None,
        skips_passed: false,
        first_cpu: None,
        irqs_off: sections(&raw.irqs_off),
        preempt_off: sections(&raw.preempt_off),
        group: group.transpose()?,
        watched: raw.watched.0.is_some(),
        measured: raw.watched.0.unwrap_or_default(),
    })
}
