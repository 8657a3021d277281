//! `tardy sim`: a simulated kernel, a row per timer policy and condition.

mod cases;
mod fit;
mod list;
mod runs;
mod table;

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::prediction;
use cases::{Case, Changes};
use clap::{Args, Subcommand};
use runs::{Figures, Group, PolicyRuns};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tardy_experiment::Truth;
use tardy_model::{Batch, Source};
use tardy_recording::{Host, Manifest, ManifestEnd, Options, Writer};
use tardy_report::{
    SimulatedData, SimulatedLocks, SimulatedMoves, SimulatedRow, Terminal, curves_file,
    simulated_page, simulated_text,
};
use tardy_sim::file::File;
use tardy_sim::{Bandwidth, Preemption, START_NS, Simulated};

/// Flags of `tardy sim`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    verb: Option<SimVerb>,

    /// A system as a TOML file, or the name of one that comes with tardy (tardy sim list)
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,

    #[command(flatten)]
    changes: Changes,

    /// Number of threads that simulate; the results do not depend on it [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Write the events of the first run of the first policy as a recording to this folder
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write the figures to this file as a table, which tardy compare can check against measured ones
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the figures over what varies (--over), in one SVG picture
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Write the figures as one HTML page: a row per policy, each thread's tail, curves over what varies
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// What else to do with simulated systems.
#[derive(Debug, Subcommand)]
enum SimVerb {
    /// List the machines, systems and timer policies that come with tardy
    List(list::List),
    /// Print a machine or a system that comes with tardy, as a file
    Show(list::Show),
    /// Fit a system to a measurement: choose numbers with which its figures come out as measured
    Fit(Box<fit::Fit>),
}

impl Sim {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        match self.verb {
            Some(SimVerb::List(verb)) => return verb.execute(),
            Some(SimVerb::Show(verb)) => return verb.execute(),
            Some(SimVerb::Fit(verb)) => return verb.execute(),
            None => {}
        }
        // clap asks for it.
        let path = self.file.as_deref().ok_or_else(|| Failure::usage("tardy sim needs a FILE"))?;
        let cases = self.changes.cases(path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        self.simulate(&cases, &stem)
    }

    fn simulate(&self, cases: &[Case], name: &str) -> Result<Outcome, Failure> {
        let file = &cases.first().ok_or_else(|| Failure::usage("it has no condition"))?.file;
        let recorded = self.out.as_deref().map(|out| record(file, out)).transpose()?;
        let quiet = self.output.hides_progress();
        let results = runs::all(cases, self.jobs, quiet, &Interrupt::catch()?)?;
        let truth = table::table(&results, name);
        if let Some(csv) = &self.csv {
            output::write_file(csv, &truth.to_csv())?;
        }
        if let Some(plot) = &self.plot {
            let picture = curves_file(std::slice::from_ref(&truth)).map_err(Failure::usage)?;
            output::write_file(plot, &picture)?;
        }
        let by_group = |runs| PolicyRuns::by_group(runs).map(move |group| (runs, group));
        let groups: Vec<(&PolicyRuns<'_>, Group)> = results.iter().flat_map(by_group).collect();
        let shown = Self::shown(file, &results, &groups, &truth);
        if shown.rows.is_empty() && shown.moves.is_empty() && shown.locks.is_empty() {
            self.output.remark(&format!(
                "{name} has no thread with watched = true that woke up: there is nothing to show"
            ));
        }
        if let Some(page) = &self.page {
            output::write_file(page, &simulated_page(&shown))?;
        }
        if self.output.json {
            output::write_json(&Document::new(file, &results, recorded.as_deref()), None)?;
        } else {
            let mut out = output::writer(None);
            simulated_text(&shown, Terminal::of_stdout(), &mut out)?;
            out.finish()?;
        }
        if let Some(folder) = recorded {
            self.output.remark(&format!("next: tardy explain {} --all", folder.display()));
        }
        Ok(Outcome::Fine)
    }

    /// What there is to show, in any medium.
    fn shown<'a>(
        file: &'a File,
        results: &'a [PolicyRuns<'a>],
        groups: &'a [(&'a PolicyRuns<'a>, Group)],
        truth: &'a Truth,
    ) -> SimulatedData<'a> {
        let rows = groups.iter().map(|(runs, group)| SimulatedRow {
            condition: &runs.case.condition.name,
            policy: runs.policy,
            thread: &group.name,
            latencies: &group.all,
            programmed_per_s: runs.programmed_per_s(),
            programming_share: runs.programming_share(),
        });
        let moves = results.iter().filter_map(|runs| {
            let programmed = runs.programmed_per_move()?;
            Some(SimulatedMoves {
                condition: &runs.case.condition.name,
                policy: runs.policy,
                moves: runs.totals.moves,
                programmed,
                programmed_per_s: runs.programmed_per_s(),
                programming_share: runs.programming_share(),
            })
        });
        let locks = results.iter().filter(|runs| runs.totals.lock_calls > 0);
        let locks = locks.map(|runs| SimulatedLocks {
            condition: &runs.case.condition.name,
            policy: runs.policy,
            calls: runs.totals.lock_calls,
            boosts: runs.totals.boosts,
            double_boosts: runs.totals.double_boosts,
        });
        SimulatedData {
            title: &file.title,
            span_ns: file.span_ns,
            runs: file.runs,
            seed: file.system.seed,
            rows: rows.collect(),
            moves: moves.collect(),
            locks: locks.collect(),
            truth,
        }
    }
}

/// A preemption model as kernels call theirs.
const fn preemption(model: Preemption) -> &'static str {
    match model {
        Preemption::None => "PREEMPT_DYNAMIC (none)",
        Preemption::Voluntary => "PREEMPT_DYNAMIC (voluntary)",
        Preemption::Lazy => "PREEMPT_DYNAMIC (lazy)",
        Preemption::Full => "PREEMPT_DYNAMIC (full)",
        Preemption::Rt => "PREEMPT_RT",
    }
}

/// The bandwidth of real-time threads as a kernel shows it.
fn realtime_settings(bandwidth: Option<Bandwidth>) -> BTreeMap<String, String> {
    let runtime_us = bandwidth.map_or(-1, |it| i64::try_from(it.runtime_ns / 1_000).unwrap_or(-1));
    let period_us = bandwidth.map_or(1_000_000, |it| it.period_ns / 1_000);
    BTreeMap::from([
        ("kernel.sched_rt_period_us".to_owned(), period_us.to_string()),
        ("kernel.sched_rt_runtime_us".to_owned(), runtime_us.to_string()),
    ])
}

/// Writes the events of the first run of the first policy as a recording.
fn record(file: &File, out: &Path) -> Result<PathBuf, Failure> {
    let system = file.system_of(&file.policies[0], 0);
    let refuse = |error: tardy_sim::SystemError| Failure::usage(error.to_string());
    let mut source = Simulated::new(&system, file.span_ns, ()).map_err(refuse)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let hz = 1_000_000_000 / system.kernel.settings.jiffy_ns;
    let manifest = Manifest {
        tardy_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now.as_secs(),
        command_line: crate::shell::arguments().collect(),
        source: prediction::SIMULATED.to_owned(),
        host: Host {
            name: "simulated".to_owned(),
            cpus_online: system.machine.cpus.into(),
            preemption: Some(preemption(system.kernel.preemption).to_owned()),
            hz: u32::try_from(hz).ok(),
            ..Host::default()
        },
        settings: realtime_settings(system.kernel.rt_bandwidth),
        clock: "mono".to_owned(),
        notes: vec![format!(
            "simulated with seed {} under timer policy {}: {}",
            system.seed, system.kernel.timers, file.title
        )],
        ..Manifest::default()
    };
    let mut writer = Writer::create_with(out, manifest, Options::default())?;
    let mut batch = Batch::default();
    while source.next_batch(&mut batch)? {
        batch = writer.append_waiting(batch)?;
        batch.clear();
    }
    Ok(writer.seal(ManifestEnd::default())?.dir)
}

/// `tardy sim --json`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    title: &'a str,
    span_ns: u64,
    runs: u32,
    seed: u64,
    begins_ns: u64,
    recording: Option<&'a Path>,
    policies: Vec<PolicyDocument<'a>>,
}

#[derive(Serialize)]
struct PolicyDocument<'a> {
    /// Where there are several.
    #[serde(skip_serializing_if = "str::is_empty")]
    condition: &'a str,
    policy: &'a str,
    steps: u64,
    programmed: u64,
    programming_share: f64,
    moves: u64,
    lock_calls: u64,
    boosts: u64,
    double_boosts: u64,
    threads: Vec<ThreadDocument<'a>>,
}

#[derive(Serialize)]
struct ThreadDocument<'a> {
    name: &'a str,
    samples: u64,
    min_ns: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p99_low_ns: Option<u64>,
    p99_high_ns: Option<u64>,
    p999_ns: u64,
    p999_low_ns: Option<u64>,
    p999_high_ns: Option<u64>,
    max_ns: u64,
}

impl<'a> Document<'a> {
    fn new(file: &'a File, results: &'a [PolicyRuns<'a>], recording: Option<&'a Path>) -> Self {
        let policies = results.iter().map(|runs| PolicyDocument {
            condition: &runs.case.condition.name,
            policy: runs.policy,
            steps: runs.totals.steps,
            programmed: runs.totals.programmed,
            programming_share: runs.programming_share(),
            moves: runs.totals.moves,
            lock_calls: runs.totals.lock_calls,
            boosts: runs.totals.boosts,
            double_boosts: runs.totals.double_boosts,
            threads: threads(&runs.case.file, &runs.totals),
        });
        Self {
            schema: "tardy.sim/1",
            title: &file.title,
            span_ns: file.span_ns,
            runs: file.runs,
            seed: file.system.seed,
            begins_ns: START_NS,
            recording,
            policies: policies.collect(),
        }
    }
}

fn threads<'a>(file: &'a File, figures: &'a Figures) -> Vec<ThreadDocument<'a>> {
    let threads = file.system.workload.threads.iter().zip(&figures.latencies);
    let watched = threads.filter_map(|(thread, all)| Some((thread, all.as_ref()?)));
    watched
        .map(|(thread, latencies)| {
            let (p99, p999) = (latencies.quantile(0.99), latencies.quantile(0.999));
            ThreadDocument {
                name: &thread.name,
                samples: latencies.count(),
                min_ns: latencies.min_ns(),
                mean_ns: latencies.mean_ns(),
                p50_ns: latencies.quantile_ns(0.5),
                p99_ns: p99.ns,
                p99_low_ns: p99.low_ns,
                p99_high_ns: p99.high_ns,
                p999_ns: p999.ns,
                p999_low_ns: p999.low_ns,
                p999_high_ns: p999.high_ns,
                max_ns: latencies.max_ns(),
            }
        })
        .collect()
}
