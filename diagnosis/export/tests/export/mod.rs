//! Batches into a file of some format, explained on the way.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use tardy_explain::{Explainer, Explanation, Named, Options, Sink};
use tardy_export::{About, Export, ExportError, formats};
use tardy_model::Batch;

/// Hands wakeups to an export.
struct ToExport(Rc<RefCell<Box<dyn Export>>>, Option<ExportError>);

impl Sink for ToExport {
    fn wakeup(&mut self, wakeup: &Named<'_>) {
        if let Err(error) = self.0.borrow_mut().wakeup(wakeup) {
            self.1.get_or_insert(error);
        }
    }
}

/// Writes `batches` to `path`; returns what they explain.
pub(crate) fn export(
    format: &str,
    path: &Path,
    batches: &[Batch],
) -> Result<Explanation, ExportError> {
    let about = About {
        clock: "mono".to_owned(),
        host: "sample".to_owned(),
        kernel_release: "6.12.1".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 3,
        hz: Some(250),
        written_by: "tardy 0.1.0".to_owned(),
        no_formulas: false,
    };
    let missing = || ExportError::Needs(format!("there is no format {format}"));
    let format = formats().find(|known| known.name() == format).ok_or_else(missing)?;
    let export = Rc::new(RefCell::new(format.create(path, &about)?));
    let mut explainer = Explainer::new(Options::default(), ToExport(Rc::clone(&export), None));
    for batch in batches {
        explainer.batch(batch);
        export.borrow_mut().batch(batch)?;
    }
    let (explanation, sink) = explainer.finish();
    if let Some(error) = sink.1 {
        return Err(error);
    }
    drop(sink.0);
    let Some(export) = Rc::into_inner(export) else {
        return Err(ExportError::Needs("the export is still in use".to_owned()));
    };
    export.into_inner().finish(&explanation)?;
    Ok(explanation)
}
