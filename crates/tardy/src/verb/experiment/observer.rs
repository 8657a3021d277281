//! Records the kernel's events beside a block of an experiment.

use crate::session::{Request, Session};
use crate::verb::measure::programmed;
use tardy_experiment::{MethodProgrammings, Observation, Observer, Programmings};
use tardy_host::Host;
use tardy_lab::rearm::RearmMeasurement;
use tardy_recording::Recording;
use tempfile::TempDir;

/// The best source that there is, recorded into a temporary folder.
pub(super) struct Recorder<'a>(pub(super) &'a Host);

struct Observed {
    session: Session,
    folder: TempDir,
}

impl Observer for Recorder<'_> {
    fn begin(&self) -> Result<Box<dyn Observation + '_>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let request = Request { folder: folder.path().join("block"), ..Request::default() };
        let session = Session::begin(self.0, request).map_err(|failure| failure.to_string())?;
        Ok(Box::new(Observed { session, folder }))
    }
}

impl Observation for Observed {
    fn programmings(
        self: Box<Self>,
        measurement: &RearmMeasurement,
    ) -> Result<Programmings, String> {
        let Self { session, folder } = *self;
        let sealed = session.end().map_err(|failure| failure.to_string())?;
        let mut recording = Recording::open(&sealed.dir).map_err(|error| error.to_string())?;
        let seen =
            programmed::seen(&mut recording, measurement).map_err(|failure| failure.to_string())?;
        drop(folder);
        let methods = seen.methods.iter().map(|method| MethodProgrammings {
            moves: method.moves,
            programmed: method.programmed,
        });
        Ok(Programmings { methods: methods.collect(), notes: seen.notes })
    }
}
