//! A program of one's own: what it sleeps for and when it runs is the measurement.

use super::{DURATION, LOAD_SETTLES, Run};
use crate::arguments;
use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::prediction;
use crate::program;
use crate::recordings;
use crate::session::{self, Request, Session, settings};
use crate::share::Share;
use crate::verb::WatchFlags;
use crate::verb::explain;
use clap::Args;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tardy_explain::Options;
use tardy_kernel::processes_with;
use tardy_lab::load::Spec;
use tardy_report::Data;
use tardy_report::json::{ExplainDocument, RunDocument};

/// Flags that only threads which measure have.
const OF_MEASURING: [&str; 10] = [
    "threads",
    "priority",
    "policy",
    "interval",
    "distance",
    "affinity",
    "break_over",
    "slack",
    "mlockall",
    "laptop",
];

/// Whose wakeups, instead of threads that measure.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct OwnFlags {
    /// Explain the threads of this process instead of measuring (repeatable)
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid, conflicts_with_all = OF_MEASURING)]
    pid: Vec<u32>,

    /// Explain the threads of this name instead of measuring (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with_all = OF_MEASURING)]
    comm: Vec<String>,

    /// Run the command as this user
    #[arg(long, value_name = "NAME", requires = "command")]
    user: Option<String>,

    /// A command to start and to explain instead of measuring
    #[arg(last = true, value_name = "CMD", conflicts_with_all = OF_MEASURING, conflicts_with_all = ["pid", "comm"])]
    command: Vec<String>,
}

impl OwnFlags {
    pub(super) fn is_chosen(&self) -> bool {
        !self.pid.is_empty() || !self.comm.is_empty() || !self.command.is_empty()
    }

    /// The processes whose system calls are recorded: those named, and those that have a thread so named now.
    fn processes(&self, output: &Output) -> Result<BTreeSet<u32>, Failure> {
        let mut processes: BTreeSet<u32> = self.pid.iter().copied().collect();
        processes.iter().try_for_each(|pid| program::must_exist(*pid))?;
        let named = processes_with(&self.comm);
        if !self.comm.is_empty() && named.is_empty() {
            output.remark(&format!(
                "no thread is called {} now: waiting for one (names are as ps -eLo comm shows them, at most 15 letters)",
                self.comm.join(" or ")
            ));
        }
        processes.extend(named);
        Ok(processes)
    }

    /// Whose wakeups are explained. A command's threads, and those of processes, are marked in the recording.
    fn watch(&self) -> WatchFlags {
        let pid = if self.comm.is_empty() { Vec::new() } else { self.pid.clone() };
        WatchFlags { pid, comm: self.comm.clone(), all: false }
    }
}

impl Run {
    pub(super) fn own_program(
        &self,
        load: &Spec,
        interrupt: &Interrupt,
    ) -> Result<Outcome, Failure> {
        let own = &self.own;
        let share = Share::claim();
        let host = session::probe_host();
        self.output.remark(&host.summary());
        let processes = own.processes(&self.output)?;
        program::must_be_there(&own.command)?;
        let folder = output::recording_folder(self.out.as_deref(), "run")?;
        let mut settings = settings::of_run(Some(load), self.duration_of_own());
        settings.extend(settings::of_processes(processes.iter().copied()));
        settings.extend(settings::of_command(&own.command));
        let request = Request {
            settings,
            watched_processes: processes.iter().copied().collect(),
            watch_children: !own.command.is_empty(),
            ..self.recorder.request(folder)
        };
        drop(share);
        let load_runs = load.start()?;
        if !load.is_none() {
            std::thread::sleep(LOAD_SETTLES);
        }
        let session = Session::begin(&host, request)
            .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
        for note in &session.notes {
            self.output.remark(note);
        }
        let quiet = self.output.hides_progress();
        let status = self.watch(&session, &processes, interrupt, quiet);
        let sealed = session.end()?;
        let mut notes = load_runs.notes();
        load_runs.stop();
        let failed = status.as_ref().ok().and_then(Option::as_ref).map(|status| {
            format!("the command ended with {status}: the figures are of what it did until then")
        });
        notes.extend(failed.clone());
        let outcome = self.explain_own(&host, &sealed.dir, notes)?;
        // What the command said is told last: the recording is there whatever it was.
        status?;
        failed.map_or(Ok(outcome), |failed| Err(Failure::new(failed)))
    }

    /// How long it is watched; `None` for until it ends.
    fn duration_of_own(&self) -> Option<Duration> {
        self.duration.or_else(|| self.own.command.is_empty().then_some(DURATION))
    }

    /// Watches until it is over; how the command ended, where it failed by itself.
    fn watch(
        &self,
        session: &Session,
        processes: &BTreeSet<u32>,
        interrupt: &Interrupt,
        quiet: bool,
    ) -> Result<Option<ExitStatus>, Failure> {
        let user = self.own.user.as_deref().map(program::user).transpose()?;
        let mut child = program::start(&self.own.command, user.as_ref(), self.output.json)?;
        session.started(child.as_ref());
        let duration = self.duration_of_own();
        let processes: Vec<u32> = processes.iter().copied().collect();
        let threads = program::threads(child.as_ref(), &processes, &self.own.comm);
        let words = || format!("{} events to {}", session.events(), session.folder.display());
        let attended =
            program::attend(session, interrupt, child.as_mut(), duration, quiet, threads, words);
        let ended =
            child.as_mut().map(|child| program::end(child, interrupt.signal())).transpose()?;
        attended.map(|()| ended.flatten().filter(|status| !status.success()))
    }

    fn explain_own(
        &self,
        host: &tardy_host::Host,
        folder: &Path,
        notes: Vec<String>,
    ) -> Result<Outcome, Failure> {
        let share = Share::claim();
        let mut recording = Input::own(folder)?;
        let watch = self.own.watch();
        let options = Options { watch: watch.watch(), ..Options::default() };
        let tables = self.tables.then(|| folder.to_owned());
        let wanted = Wanted { tables, observed: self.predicts(), ..Wanted::default() };
        let mut explained = explanation::explain(&mut recording, options, wanted)?;
        let manifest = recording.manifest();
        let predicted = prediction::for_report(&mut explained, &manifest, &self.output);
        let mut context = explanation::context(&recording, explained.notes);
        let page = session::page_path(folder);
        context.notes.extend(notes);
        context.ended = explanation::ended(&recording, &explained.explanation);
        context.page = Some(page.clone());
        context.again = explanation::again(folder, &watch);
        let chosen =
            WatchFlags { pid: self.own.pid.clone(), comm: self.own.comm.clone(), all: false };
        context.whom = explanation::whom(folder, &chosen);
        let explanation = &explained.explanation;
        let mut data = Data::new(&context);
        data.explanation = Some(explanation);
        data.predictions = prediction::shown(predicted.as_ref());
        let kept = output::write_page(&page, &tardy_report::page(&data))
            .and(recordings::remember(folder, explanation));
        drop(share);
        if self.output.json {
            let explain = ExplainDocument::new(explanation, Options::default().worst);
            let document = RunDocument::new(host, None, Some(explain), Some(folder), Some(&page));
            output::write_json(&document, None)?;
        } else {
            explain::tell(&data, None, self.text)?;
        }
        kept?;
        explained.tables?;
        // Who is not there, or slept all the time, was not judged.
        let nothing = explained.explanation.latencies.count() == 0;
        Ok(if nothing { Outcome::Undecided } else { Outcome::Fine })
    }
}
