//! What a report is made from.

use crate::screen::{ROWS, STORIES};
use crate::whatif::Predictions;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tardy_explain::timers::TimerFindings;
use tardy_explain::{Explanation, WorstWakeup};
use tardy_lab::Measurement;
use tardy_stats::Latencies;
use tardy_whatif::Refusal;

/// Everything that a report may show. What is missing is left out of the report.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Where the findings come from.
    pub context: &'a Context,
    /// What a recording explained.
    pub explanation: Option<&'a Explanation>,
    /// What threads measured of themselves.
    pub measurement: Option<&'a Measurement>,
    /// Who armed timers, where that was asked for.
    pub timers: Option<&'a TimerFindings>,
    /// What changes would do, or why that cannot be told, where it was predicted.
    pub predictions: Option<Result<Predictions<'a>, &'a Refusal>>,
    /// How much of each list is shown.
    pub limits: Limits,
}

/// The circumstances of the findings, as the caller knows them.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The report's title.
    pub title: String,
    /// The command that made it, as typed; empty where there was none.
    pub command_line: String,
    /// The kernel that ran.
    pub kernel: String,
    /// The machine's name.
    pub host: String,
    /// The hypervisor, where the machine is a guest of one.
    pub hypervisor: Option<String>,
    /// The load that ran meanwhile.
    pub load: Option<String>,
    /// Where the events came from.
    pub source: String,
    /// The recording, where one was kept.
    pub recording: Option<PathBuf>,
    /// The command whose own threads were recorded, as a shell takes it; empty where there was none.
    pub recorded_command: String,
    /// On whom a remedy is to be tried, as arguments of `tardy fix`: the recording, or `-p PID`; empty where nobody is known.
    pub whom: String,
    /// Threads and processes of the recording that do not run any more, by id: no command can be for them.
    pub ended: BTreeSet<u32>,
    /// The command that explains the same, for more of it; empty where nothing does.
    pub again: String,
    /// The policy that the threads asked for and did not get, where that was so: `SCHED_FIFO 80`.
    pub policy_refused: Option<String>,
    /// Whether the recording has no proper end: it was killed, or goes on.
    pub is_cut_short: bool,
    /// The wakeup for which the recording was kept, where it was for one.
    pub caught: Option<Caught>,
    /// The page with the same findings, where one was written.
    pub page: Option<PathBuf>,
    /// What the reader must know besides: a sentence each.
    pub notes: Vec<String>,
    /// How long it took; 0 where that is not known.
    pub duration_ns: u64,
}

/// A wakeup for which a recording was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caught {
    /// When it ran, by the clock on the wall, in words.
    pub when: String,
    /// Whose it was: the thread id.
    pub task: u32,
    /// From when its lateness counts.
    pub expiry_ns: u64,
    /// The bound that it exceeded.
    pub over_ns: u64,
}

/// How much of each list is shown. What is cut is counted and summed in a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The worst wakeups in the whole report.
    pub worst: usize,
    /// The worst wakeups on the first screen.
    pub stories: usize,
    /// Causes, and culprits, on the first screen; fewer where the advice needs the room.
    pub rows: usize,
    /// Culprits named on the terminal.
    pub culprits_terminal: usize,
    /// Culprits named on the page.
    pub culprits_page: usize,
    /// Lines of advice.
    pub advice: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            worst: 10,
            stories: STORIES,
            rows: ROWS,
            culprits_terminal: 10,
            culprits_page: 30,
            advice: 3,
        }
    }
}

impl<'a> Data<'a> {
    /// Data with nothing found yet.
    pub fn new(context: &'a Context) -> Self {
        Self {
            context,
            explanation: None,
            measurement: None,
            timers: None,
            predictions: None,
            limits: Limits::default(),
        }
    }

    /// The latencies that the report is about: those explained, else all that were measured.
    pub(crate) fn latencies(&self) -> Latencies {
        if let Some(explanation) = self.explanation {
            return explanation.latencies.clone();
        }
        let mut all = Latencies::default();
        for thread in self.measurement.iter().flat_map(|measurement| &measurement.threads) {
            all.merge(&thread.latencies);
        }
        all
    }
}

/// The latencies of one thread.
pub(crate) struct Series<'a> {
    /// The thread's name, not yet clean.
    pub(crate) name: &'a str,
    pub(crate) latencies: &'a Latencies,
}

impl<'a> Data<'a> {
    /// Each thread's latencies: of those explained, else of those that measured.
    pub(crate) fn series(&self) -> Vec<Series<'a>> {
        match (self.explanation, self.measurement) {
            (Some(explanation), _) => explanation
                .victims
                .iter()
                .map(|victim| Series { name: &victim.label.name, latencies: &victim.latencies })
                .collect(),
            (None, Some(measurement)) => measurement
                .threads
                .iter()
                .map(|thread| Series { name: &thread.name, latencies: &thread.latencies })
                .collect(),
            (None, None) => Vec::new(),
        }
    }

    /// The wakeup that the recording was kept for, where it was for one and that is among those explained.
    pub(crate) fn caught(&self) -> Option<&'a WorstWakeup> {
        let (caught, explanation) = (self.context.caught.as_ref()?, self.explanation?);
        explanation.worst.iter().find(|worst| {
            (worst.wakeup.task.0, worst.wakeup.expiry_ns) == (caught.task, caught.expiry_ns)
        })
    }
}
