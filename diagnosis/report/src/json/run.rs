//! `tardy.run/1`.

use super::{ExplainDocument, MeasureDocument};
use serde::Serialize;
use std::path::Path;

/// All that one `tardy run` yields: `run --json`.
#[derive(Debug, Serialize)]
pub struct RunDocument<'a, D: Serialize> {
    schema: &'static str,
    doctor: D,
    measure: Option<MeasureDocument<'a>>,
    explain: Option<ExplainDocument<'a>>,
    recording: Option<String>,
    report: Option<String>,
}

impl<'a, D: Serialize> RunDocument<'a, D> {
    /// Joins the parts; one that is missing becomes `null`. `doctor` is in its own form. Bytes of a
    /// path that are not UTF-8 become U+FFFD.
    pub fn new(
        doctor: D,
        measure: Option<MeasureDocument<'a>>,
        explain: Option<ExplainDocument<'a>>,
        recording: Option<&Path>,
        report: Option<&Path>,
    ) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            schema: "tardy.run/1",
            doctor,
            measure,
            explain,
            recording: recording.map(text),
            report: report.map(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::json;

    #[test]
    fn parts_keep_their_own_form() {
        let (measurement, explanation) = (fixture::measurement(), fixture::explanation());
        let document = RunDocument::new(
            json!({"schema": "tardy.doctor/1"}),
            Some(MeasureDocument::from(&measurement)),
            Some(ExplainDocument::new(&explanation, 2)),
            Some(Path::new("storm.tardy")),
            None,
        );
        let value = serde_json::to_value(&document).unwrap();
        assert_eq!(value["schema"], "tardy.run/1");
        assert_eq!(value["doctor"]["schema"], "tardy.doctor/1");
        assert_eq!(value["measure"]["schema"], "tardy.measure/1");
        assert_eq!(value["explain"]["schema"], "tardy.explain/1");
        assert_eq!(value["explain"]["wakeups"].as_array().unwrap().len(), 2);
        assert_eq!(value["recording"], "storm.tardy");
        assert!(value["report"].is_null());
    }
}
