//! Systems as files: a machine, a kernel and what runs, in TOML; and which timer policies to compare on them.
//!
//! ```toml
//! title = "a cyclic thread and a storm"
//! span = "10s"
//! policies = ["hardirq", "deferred"]
//!
//! [machine]
//! like = "x86-vm"
//! cpus = 1
//!
//! [kernel]
//! preemption = "rt"
//! softirqs = "ktimers"
//!
//! [[thread]]
//! name = "cyclic"
//! policy = "fifo:98"
//! program = [{ sleep-grid = { period = "1ms" } }, { run = "5us" }]
//! watched = true
//!
//! [[thread]]
//! name = "storm"
//! count = 10
//! program = [{ sleep = "0us..1ms" }]
//! ```

mod change;
mod known;
mod machine;
mod template;
mod workload;
mod written;

pub use known::{Known, MACHINES, SYSTEMS, machine as known_machine, system as known_system};
pub use template::{CONDITIONS_MAX, Condition, Free, Template, Values};

use crate::system::is_bandwidth;
use crate::{Bandwidth, Kernel, Preemption, Rtmutex, Softirqs, System, Throttles};
use machine::RawMachine;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::num::NonZeroU64;
use std::ops::Range;
use tardy_timers::policy::KNOWN;
use toml::Spanned;
use workload::{RawDevice, RawGroup, RawThread};
use written::Ns;

/// The period of real-time bandwidth where only the runtime is written (`sched_rt_period_us`).
const RT_PERIOD_NS: u64 = 1_000_000_000;

/// The most runs of each policy.
pub const RUNS_MAX: u32 = 10_000;

/// The longest text that is read, bytes.
pub const TEXT_MAX: usize = 16 << 20;

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", line.map_or(String::new(), |line| format!("line {line}: ")))]
pub struct FileError {
    /// Where, from 1 on, as far as that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub why: String,
}

impl FileError {
    fn at(text: &str, span: Range<usize>, why: String) -> Self {
        let before = text.as_bytes().get(..span.start).unwrap_or_default();
        let line = String::from_utf8_lossy(before).matches('\n').count() + 1;
        Self { line: Some(line), why }
    }
}

/// A file: a system, and how it is to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// What it is about.
    pub title: String,
    /// The system, with the first of the policies.
    pub system: System,
    /// Timer policies to compare.
    pub policies: Vec<String>,
    /// How much of its time is simulated in each run, ns.
    pub span_ns: u64,
    /// Runs of each policy, which differ in their seeds.
    pub runs: u32,
    /// So many runs after each other make one measurement; what its maximum is likely to be is over all of them.
    pub rounds: u32,
    /// The threads that come of each entry, by its name.
    pub groups: Vec<(String, Range<usize>)>,
}

impl File {
    /// The system of a run under a policy.
    pub fn system_of(&self, policy: &str, run: u32) -> System {
        let mut system = self.system.clone();
        policy.clone_into(&mut system.kernel.timers);
        system.seed = self.system.seed.wrapping_add(u64::from(run).wrapping_mul(RUN_SEED));
        system
    }
}

/// Between the seeds of two runs: odd, so that no two of them are alike.
const RUN_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    title: String,
    span: Option<Ns>,
    seed: Option<u64>,
    runs: Option<Spanned<u32>>,
    rounds: Option<Spanned<u32>>,
    policies: Option<Spanned<Vec<Spanned<String>>>>,
    machine: Option<Spanned<RawMachine>>,
    #[serde(default)]
    kernel: RawKernel,
    #[serde(default, rename = "thread")]
    threads: Vec<Spanned<RawThread>>,
    #[serde(default, rename = "device")]
    devices: Vec<Spanned<RawDevice>>,
    #[serde(default, rename = "group")]
    limits: Vec<Spanned<RawGroup>>,
    // Of the template, which has filled them in.
    #[serde(default, rename = "with")]
    _with: Option<IgnoredAny>,
    #[serde(default, rename = "condition")]
    _conditions: Option<IgnoredAny>,
    #[serde(default, rename = "free")]
    _free: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawKernel {
    preemption: Option<RawPreemption>,
    softirqs: Option<RawSoftirqs>,
    rtmutex: Option<RawRtmutex>,
    #[serde(default)]
    softirq_lock: bool,
    #[serde(default)]
    throttles_tasks: bool,
    #[serde(default)]
    nohz: bool,
    #[serde(default)]
    nohz_from: Ns,
    rt_runtime: Option<Spanned<Ns>>,
    rt_period: Option<Ns>,
    hz: Option<Spanned<u64>>,
    common_priority: Option<Spanned<u8>>,
    timer_thread_priority: Option<Spanned<u8>>,
    top_half_priority: Option<Spanned<u8>>,
    deferred_own_thread: Option<bool>,
    interrupt_rounds: Option<u32>,
    tells_sections: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawPreemption {
    None,
    Voluntary,
    Lazy,
    Full,
    Rt,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawRtmutex {
    Old,
    New,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawSoftirqs {
    IrqTail,
    Ksoftirqd,
    Ktimers,
}

/// Reads a file's text.
///
/// # Errors
/// Says which line cannot be used, and why.
pub fn read(text: &str) -> Result<File, FileError> {
    if text.len() > TEXT_MAX {
        let why = format!("it is longer than {} MiB", TEXT_MAX >> 20);
        return Err(FileError { line: None, why });
    }
    let raw: RawFile = parsed(text)?;
    let at = |span: Range<usize>, why: String| FileError::at(text, span, why);
    let runs = raw.runs.as_ref().map_or(1, |runs| *runs.get_ref());
    if let Some(spanned) = &raw.runs
        && !(1..=RUNS_MAX).contains(&runs)
    {
        return Err(at(
            spanned.span(),
            format!("from 1 to {RUNS_MAX} runs can be made, not {runs}"),
        ));
    }
    let rounds = raw.rounds.as_ref().map_or(1, |rounds| *rounds.get_ref());
    if let Some(spanned) = &raw.rounds
        && (rounds == 0 || !runs.is_multiple_of(rounds))
    {
        let why = format!("{runs} runs cannot be measurements of {rounds} rounds each");
        return Err(at(spanned.span(), why));
    }
    let policies = match &raw.policies {
        None => vec!["hardirq".to_owned()],
        Some(list) if list.get_ref().is_empty() => {
            return Err(at(list.span(), "at least one timer policy is needed".to_owned()));
        }
        Some(list) => list.get_ref().iter().map(|name| name.get_ref().clone()).collect(),
    };
    for name in raw.policies.iter().flat_map(Spanned::get_ref) {
        if !KNOWN.iter().any(|about| about.name == name.get_ref()) {
            let why =
                format!("there is no timer policy {}: tardy sim list shows them", name.get_ref());
            return Err(at(name.span(), why));
        }
    }
    let machine_span = raw.machine.as_ref().map(Spanned::span);
    let machine = raw.machine.map_or_else(RawMachine::default, Spanned::into_inner);
    let machine = machine.machine(text)?;
    if machine.cpus == 0 || machine.cpus > crate::CPUS_MAX {
        let why = format!("a machine has 1 to {} CPUs, not {}", crate::CPUS_MAX, machine.cpus);
        return Err(at(machine_span.unwrap_or(0..0), why));
    }
    let kernel = raw.kernel.kernel(text)?;
    let (workload, groups) =
        workload::workload(raw.threads, raw.devices, raw.limits, machine.cpus, text)?;
    let seed = raw.seed.unwrap_or(1);
    let mut system = System { machine, kernel, workload, seed };
    system.kernel.timers.clone_from(&policies[0]);
    system.check().map_err(|error| FileError { line: None, why: error.to_string() })?;
    let span_ns = raw.span.map_or(10_000_000_000, |span| span.0);
    Ok(File { title: raw.title, system, policies, span_ns, runs, rounds, groups })
}

impl RawKernel {
    fn kernel(self, text: &str) -> Result<Kernel, FileError> {
        let Self { softirq_lock, nohz, nohz_from: Ns(nohz_from_ns), .. } = self;
        let mut kernel = Kernel { softirq_lock, nohz, nohz_from_ns, ..Kernel::default() };
        if let Some(preemption) = self.preemption {
            kernel.preemption = match preemption {
                RawPreemption::None => Preemption::None,
                RawPreemption::Voluntary => Preemption::Voluntary,
                RawPreemption::Lazy => Preemption::Lazy,
                RawPreemption::Full => Preemption::Full,
                RawPreemption::Rt => Preemption::Rt,
            };
        }
        if let Some(softirqs) = self.softirqs {
            kernel.softirqs = match softirqs {
                RawSoftirqs::IrqTail => Softirqs::IrqTail,
                RawSoftirqs::Ksoftirqd => Softirqs::Ksoftirqd,
                RawSoftirqs::Ktimers => Softirqs::Ktimers,
            };
        }
        if let Some(rtmutex) = self.rtmutex {
            kernel.rtmutex = match rtmutex {
                RawRtmutex::Old => Rtmutex::Old,
                RawRtmutex::New => Rtmutex::New,
            };
        }
        if self.throttles_tasks {
            kernel.throttles = Throttles::Tasks;
        }
        if let Some(runtime) = self.rt_runtime {
            let period_ns = self.rt_period.map_or(RT_PERIOD_NS, |period| period.0);
            let runtime_ns = runtime.get_ref().0;
            if !is_bandwidth(runtime_ns, period_ns) {
                let why = "a runtime is above 0 and a period at least 1 ms".to_owned();
                return Err(FileError::at(text, runtime.span(), why));
            }
            kernel.rt_bandwidth = Some(Bandwidth { runtime_ns, period_ns });
        }
        if let Some(hz) = self.hz {
            let jiffy_ns = match hz.get_ref() {
                1..=100_000 => NonZeroU64::new(1_000_000_000 / hz.get_ref()),
                _ => None,
            };
            let Some(jiffy_ns) = jiffy_ns else {
                let why = format!("a tick rate is from 1 to 100000 a second, not {}", hz.get_ref());
                return Err(FileError::at(text, hz.span(), why));
            };
            kernel.settings.jiffy_ns = jiffy_ns;
        }
        for (written, least) in [
            (&self.common_priority, 0),
            (&self.timer_thread_priority, 0),
            (&self.top_half_priority, 1),
        ] {
            if let Some(written) = written
                && !(least..=99).contains(written.get_ref())
            {
                let why = format!("a thread's priority is from {least} to 99 here");
                return Err(FileError::at(text, written.span(), why));
            }
        }
        let settings = &mut kernel.settings;
        let priority = |written: Option<Spanned<u8>>| written.map(Spanned::into_inner);
        settings.common = priority(self.common_priority).unwrap_or(settings.common);
        settings.timer_thread =
            priority(self.timer_thread_priority).unwrap_or(settings.timer_thread);
        settings.top_half = priority(self.top_half_priority);
        settings.deferred_own_thread = self.deferred_own_thread.unwrap_or(false);
        settings.rounds = self.interrupt_rounds.unwrap_or(settings.rounds);
        kernel.tells_sections = self.tells_sections.unwrap_or(true);
        Ok(kernel)
    }
}

/// What a text says, or the line that cannot be.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| {
        let why = error.message().trim().replace('\n', "; ");
        match error.span() {
            Some(span) => FileError::at(text, span, why),
            None => FileError { line: None, why },
        }
    })
}
