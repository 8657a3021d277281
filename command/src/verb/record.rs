//! `tardy record`: the kernel's events to disk.

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::program;
use crate::session::{self, Request, Session, Settings, settings};
use crate::share::Share;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use tardy_recording::Sealed;

/// Flags of `tardy record`.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Watch this process: also record its threads' system calls (repeatable)
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid)]
    pid: Vec<u32>,

    /// How long; a bare number is seconds [default: until Ctrl-C, or until the command ends]
    #[arg(short = 'D', long, value_parser = arguments::duration)]
    duration: Option<Duration>,

    /// Was what tardy watch is now
    #[arg(long, hide = true)]
    flight: bool,

    /// Was what tardy watch is now
    #[arg(long, value_name = "TIME", hide = true)]
    over: Option<String>,

    /// The recording's folder [default: recordings/record-N]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Run the command as this user
    #[arg(long, value_name = "NAME", requires = "command")]
    user: Option<String>,

    #[command(flatten)]
    recorder: RecorderFlags,

    #[command(flatten)]
    output: Output,

    /// A command to start and record until it ends
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// How to record.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecorderFlags {
    /// The kernel's buffer per CPU, in KiB [default: 4096; with tracefs 8192]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(32..=131_072))]
    pub(crate) buffer: Option<u64>,

    /// Compress when the recording ends: a quarter of the size, slower to read
    #[arg(long)]
    pub(crate) compress: bool,

    /// Record kernel stacks if something is later than TIME (a bare number is µs), to name the function
    /// responsible [default TIME: 50us]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = arguments::interval_ns,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "50us"
    )]
    pub(crate) stacks: Option<u64>,

    /// Use this source only
    #[arg(long, value_parser = session::name_parser())]
    pub(crate) source: Option<String>,
}

impl RecorderFlags {
    /// A request with these flags.
    pub(crate) fn request(&self, folder: PathBuf) -> Request {
        Request {
            folder,
            buffer_bytes_per_cpu: self.buffer.map(|kib| kib << 10),
            compress: self.compress,
            stacks_over_ns: self.stacks,
            only: self.source.clone(),
            ..Request::default()
        }
    }
}

impl Record {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if self.flight || self.over.is_some() {
            return Err(Failure::usage(format!(
                "to wait for a late wakeup, use tardy watch --over {}",
                self.over.as_deref().unwrap_or("100us")
            )));
        }
        self.pid.iter().try_for_each(|pid| program::must_exist(*pid))?;
        let user = self.user.as_deref().map(program::user).transpose()?;
        program::must_be_there(&self.command)?;
        let interrupt = Interrupt::catch()?;
        let share = Share::claim();
        let host = session::probe_host();
        let folder = output::recording_folder(self.out.as_deref(), "record")?;
        let request = Request {
            watched_processes: self.pid.clone(),
            watch_children: !self.command.is_empty(),
            settings: self.settings(),
            ..self.recorder.request(folder)
        };
        let session = Session::begin(&host, request)
            .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
        for note in &session.notes {
            self.output.remark(note);
        }
        drop(share);
        let mut child = match program::start(&self.command, user.as_ref(), self.output.json) {
            Ok(child) => child,
            Err(failure) => {
                // What was recorded until now is little, but whole.
                session.end()?;
                return Err(failure);
            }
        };
        session.started(child.as_ref());
        let words = || format!("{} events to {}", session.events(), session.folder.display());
        let quiet = self.output.hides_progress();
        let threads = program::threads(child.as_ref(), &self.pid, &[]);
        let attended = program::attend(
            &session,
            &interrupt,
            child.as_mut(),
            self.duration,
            quiet,
            threads,
            words,
        );
        // Whatever becomes of one, the other is ended in good order.
        let sealed = session.end();
        let ended =
            child.map_or(Ok(None), |mut child| program::end(&mut child, interrupt.signal()));
        let sealed = sealed?;
        attended?;
        let failed = ended?.filter(|status| !status.success());
        self.tell(&sealed)?;
        match failed {
            None => Ok(Outcome::Fine),
            Some(status) => Err(Failure::new(format!(
                "the command ended with {status}: the recording is of what it did until then"
            ))),
        }
    }

    /// What is kept of how it was made.
    fn settings(&self) -> Settings {
        let mut kept = settings::of_run(None, self.duration);
        // What runs beside is not tardy's here.
        kept.remove(settings::LOAD);
        kept.extend(settings::of_processes(self.pid.iter().copied()));
        kept.extend(settings::of_command(&self.command));
        kept
    }

    fn tell(&self, sealed: &Sealed) -> Result<(), Failure> {
        let totals = &sealed.totals;
        if self.output.json {
            let document = serde_json::json!({
                "schema": "tardy.record/1",
                "recording": sealed.dir,
                "events": totals.events,
                "lost": totals.lost,
                "span_ns": totals.last_ns.saturating_sub(totals.first_ns),
                "bytes": totals.bytes,
            });
            return output::write_json(&document, None);
        }
        output::out!(
            "{}: {} events, {} lost, {:.1} s, {:.1} MB",
            output::one_line(&sealed.dir.display().to_string()),
            totals.events,
            totals.lost,
            totals.last_ns.saturating_sub(totals.first_ns) as f64 / 1e9,
            totals.bytes as f64 / 1e6
        )?;
        // Where nobody was watched, somebody has to be chosen.
        let nobody = self.pid.is_empty() && self.command.is_empty();
        let all = if nobody { " --all" } else { "" };
        self.output.remark(&format!("next: tardy explain {}{all}", sealed.dir.display()));
        Ok(())
    }
}
