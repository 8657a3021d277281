//! `tardy run`: measure, record, explain and report, one go; of a program of one's own (`own.rs`), or of threads
//! that do nothing but measure.

mod own;

use crate::arguments;
use crate::explanation::{self, Explained, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::pager::TextFlags;
use crate::prediction::{self, PredictFlags, Predicted};
use crate::recordings;
use crate::session::settings::Looks;
use crate::session::{self, Session, settings};
use crate::share::Share;
use crate::shell;
use crate::verb::explain::{self, WatchFlags};
use crate::verb::load;
use crate::verb::measure::{self, CyclicFlags};
use crate::verb::record::RecorderFlags;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_explain::Options;
use tardy_host::Host;
use tardy_lab::Measurement;
use tardy_lab::cyclic;
use tardy_lab::load::Spec;
use tardy_recording::Sealed;
use tardy_report::json::{ExplainDocument, MeasureDocument, RunDocument};
use tardy_report::{Context, Data};
use tardy_whatif::Refusal;

/// The load beside threads that measure.
const LOAD: &str = "storm:40";

/// How long it is measured, and a program watched that was not started here.
const DURATION: Duration = Duration::from_secs(10);

/// The load runs this long before the measurement begins, so that all its threads are there.
const LOAD_SETTLES: Duration = Duration::from_millis(200);

/// Flags of `tardy run`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy run                                  threads that measure, under a storm of timers\n\
    tardy run -- ./my-program                  your own program, until it ends\n\
    tardy run --pid 1234 -D 30s                a process that runs already\n\
    tardy run --comm pipewire --load hackbench threads of that name, beside a load")]
pub(crate) struct Run {
    /// How long; a bare number is seconds [default: 10s; of a command, until it ends]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    #[arg(
        long,
        help = load::help("What runs meanwhile, or none [default: storm:40; with a program of \
            your own, none]")
    )]
    load: Option<String>,

    /// Run the load's threads under SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIO", num_args = 0..=1, default_missing_value = "1")]
    fifo: Option<u8>,

    #[command(flatten)]
    own: own::OwnFlags,

    #[command(flatten)]
    cyclic: CyclicFlags,

    #[command(flatten)]
    recorder: RecorderFlags,

    /// The recording's folder, which also gets the page [default: recordings/run-N]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write wakeups.parquet and segments.parquet into the recording: a row per explained wakeup, and per
    /// segment of its balance
    #[arg(long)]
    tables: bool,

    #[command(flatten)]
    predict: PredictFlags,

    #[command(flatten)]
    text: TextFlags,

    #[command(flatten)]
    output: Output,
}

/// What was measured, and recorded meanwhile.
struct Measured {
    measurement: Measurement,
    took: Duration,
    sealed: Option<Sealed>,
    /// What was not to be had.
    notes: Vec<String>,
}

/// All that a run yields.
struct Results {
    host: Host,
    context: Context,
    measurement: Measurement,
    explained: Option<Explained>,
    predicted: Option<Result<Predicted, Refusal>>,
    recording: Option<PathBuf>,
    page: PathBuf,
}

impl Run {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        let usual = if self.own.is_chosen() { "none" } else { LOAD };
        let load = load::parse(self.load.as_deref().unwrap_or(usual), self.fifo, &self.output)?;
        if self.own.is_chosen() {
            return self.own_program(&load, &interrupt);
        }
        let host = session::probe_host();
        self.output.remark(&host.summary());
        let folder = output::recording_folder(self.out.as_deref(), "run")?;

        let Measured { measurement, took, sealed, mut notes } =
            self.measure(&host, &load, &folder, &interrupt)?;
        let share = Share::claim();
        let mut predicted = None;
        let (explained, mut context) = match &sealed {
            Some(sealed) => {
                let mut recording = Input::own(&sealed.dir)?;
                let tables = self.tables.then(|| sealed.dir.clone());
                let wanted = Wanted { tables, observed: self.predicts(), ..Wanted::default() };
                let mut explained =
                    explanation::explain(&mut recording, Options::default(), wanted)?;
                predicted =
                    prediction::for_report(&mut explained, &recording.manifest(), &self.output);
                notes.extend(explained.notes.clone());
                (Some(explained), explanation::context(&recording, Vec::new()))
            }
            None => (None, bare_context(&host)),
        };
        context.notes = notes;
        context.load = (!load.is_none()).then(|| load.to_string());
        context.duration_ns = took.as_nanos() as u64;
        let page = session::page_path(&folder);
        context.page = Some(page.clone());
        if let Some(sealed) = &sealed {
            context.again = explanation::again(&sealed.dir, &WatchFlags::default());
            context.whom = explanation::whom(&sealed.dir, &WatchFlags::default());
        }

        let results = Results {
            page,
            recording: sealed.map(|sealed| sealed.dir),
            host,
            context,
            measurement,
            explained,
            predicted,
        };
        // What was measured is told, whatever becomes of the files.
        let mut kept = output::write_page(&results.page, &tardy_report::page(&results.data()));
        if let (Some(folder), Some(explained)) = (&results.recording, &results.explained) {
            kept = kept.and(recordings::remember(folder, &explained.explanation));
        }
        drop(share);
        self.tell(&results)?;
        kept?;
        let broken = results.measurement.broken_by.is_some();
        results.explained.map_or(Ok(()), |explained| explained.tables)?;
        Ok(if broken { Outcome::BoundExceeded } else { Outcome::Fine })
    }

    /// Whether what changes would do is part of what is printed.
    fn predicts(&self) -> bool {
        !self.output.json && !self.predict.no_whatif
    }

    /// Measures under the load, recording if that can be done at all.
    fn measure(
        &self,
        host: &Host,
        load: &Spec,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Measured, Failure> {
        let duration = self.duration.unwrap_or(DURATION);
        let plan = cyclic::Plan { marks: true, ..self.cyclic.plan(Some(duration))? };
        let mut prepared = cyclic::prepare(&plan)?;
        let mut notes = Vec::new();
        let mut settings = settings::of_run(Some(load), Some(duration));
        settings.extend(settings::of_plan(&plan));
        settings.extend(settings::of_refusal(&plan, &prepared));
        let refused = prepared.notes().to_vec();
        let request = session::Request {
            settings,
            marks: prepared.take_marks(),
            ..self.recorder.request(folder.to_owned())
        };
        let session = match Session::begin(host, request) {
            Ok(session) => {
                notes.extend(session.notes.iter().cloned());
                // For whoever explains the recording without the measurement.
                for note in refused {
                    session.note(note);
                }
                Some(session)
            }
            Err(failure) if self.recorder.source.is_none() => {
                notes.push(format!(
                    "measured without recording, so tardy cannot explain the lateness: {failure}"
                ));
                None
            }
            Err(failure) => return Err(failure),
        };
        for note in &notes {
            self.output.remark(note);
        }
        let load = load.start()?;
        std::thread::sleep(LOAD_SETTLES);
        let running = prepared.start();
        let quiet = self.output.hides_progress();
        let looks = Looks::at_own(session.as_ref(), plan.name);
        let (_, took) = measure::attend(&running, Some(duration), quiet, interrupt, looks);
        let measurement = running.finish();
        let told_by_load = load.notes();
        load.stop();
        let sealed = session.map(Session::end).transpose()?;
        if sealed.is_some() {
            // They are in the manifest too, from which the explanation tells them.
            notes.clear();
        }
        for note in &told_by_load {
            self.output.remark(note);
        }
        notes.extend(told_by_load);
        Ok(Measured { measurement, took, sealed, notes })
    }

    fn tell(&self, results: &Results) -> Result<(), Failure> {
        let explanation = results.explained.as_ref().map(|explained| &explained.explanation);
        if self.output.json {
            let worst = Options::default().worst;
            let document = RunDocument::new(
                &results.host,
                Some(MeasureDocument::from(&results.measurement)),
                explanation.map(|explanation| ExplainDocument::new(explanation, worst)),
                results.recording.as_deref(),
                Some(&results.page),
            );
            return output::write_json(&document, None);
        }
        explain::tell(&results.data(), None, self.text)
    }
}

/// The circumstances where there is no recording to tell them.
fn bare_context(host: &Host) -> Context {
    let facts = host.facts();
    Context {
        title: format!("How late threads were on {}", facts.hostname),
        command_line: shell::line(shell::arguments()),
        kernel: format!("{} {}", facts.release, facts.arch),
        host: facts.hostname.clone(),
        hypervisor: facts.hypervisor.clone(),
        source: "measurement alone".to_owned(),
        ..Context::default()
    }
}

impl Results {
    fn data(&self) -> Data<'_> {
        let mut data = Data::new(&self.context);
        data.measurement = Some(&self.measurement);
        data.explanation = self.explained.as_ref().map(|explained| &explained.explanation);
        data.predictions = prediction::shown(self.predicted.as_ref());
        data
    }
}
