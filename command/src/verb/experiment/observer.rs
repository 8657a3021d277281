//! Records the kernel's events beside a block of an experiment.

use crate::failure::Failure;
use crate::session::{Request, Session};
use crate::verb::measure::{boosts, programmed};
use tardy_experiment::{Boosts, MethodProgrammings, Observation, Observer, Programmings};
use tardy_host::Host;
use tardy_lab::pi::PiMeasurement;
use tardy_lab::rearm::RearmMeasurement;
use tardy_recording::Recording;
use tempfile::TempDir;

/// The kernel's buffer per CPU. Two threads that contend for a lock make some million events a second,
/// at priorities that leave the recorder little time; a block is recorded for less than a second.
const BUFFER_BYTES: u64 = 16 << 20;

/// The best source that there is, recorded into a temporary folder.
pub(super) struct Recorder<'a>(pub(super) &'a Host);

struct Observed {
    session: Session,
    /// Where the recording is; goes with this.
    _folder: TempDir,
}

impl Observer for Recorder<'_> {
    fn begin(&self) -> Result<Box<dyn Observation + '_>, String> {
        let folder = tempfile::tempdir_in(tardy_files::owner::temporary_folder())
            .map_err(|error| error.to_string())?;
        let request = Request {
            folder: folder.path().join("block"),
            // Its system calls: of lock calls boosts are counted.
            watched_processes: vec![std::process::id()],
            buffer_bytes_per_cpu: Some(BUFFER_BYTES),
            ..Request::default()
        };
        let session = Session::begin(self.0, request).map_err(|failure| failure.to_string())?;
        Ok(Box::new(Observed { session, _folder: folder }))
    }
}

impl Observed {
    /// Ends the recording, and has `tell` read it.
    fn end<T>(self, tell: impl FnOnce(&mut Recording) -> Result<T, Failure>) -> Result<T, String> {
        let sealed = self.session.end().map_err(|failure| failure.to_string())?;
        let mut recording = Recording::open(&sealed.dir).map_err(|error| error.to_string())?;
        tell(&mut recording).map_err(|failure| failure.to_string())
    }
}

impl Observation for Observed {
    fn programmings(
        self: Box<Self>,
        measurement: &RearmMeasurement,
    ) -> Result<Programmings, String> {
        let seen = self.end(|recording| programmed::seen(recording, measurement))?;
        let methods = seen.methods.iter().map(|method| MethodProgrammings {
            moves: method.moves,
            programmed: method.programmed,
        });
        Ok(Programmings { methods: methods.collect(), notes: seen.notes })
    }

    fn boosts(self: Box<Self>, measurement: &PiMeasurement) -> Result<Boosts, String> {
        let seen = self.end(|recording| boosts::seen(recording, measurement))?;
        let lent: u64 = seen.by_boosts.iter().map(|(boosts, calls)| boosts * calls).sum();
        let per_call = (seen.calls > 0).then(|| lent as f64 / seen.calls as f64);
        Ok(Boosts { per_call, double: seen.double, notes: seen.notes })
    }
}
