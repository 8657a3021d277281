//! What is told of the wakeups in a trace.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod text;

use std::fmt::Write as _;
use tardy_explain::{Explainer, Explanation, Named, Options, Sink, Watch};
use text::parse;

/// Explains a trace and tells each wakeup in one line:
/// `NAME KIND EXPIRY+LATENESS[ to user][ touched]: CAUSE NS CULPRIT, …`.
pub(crate) fn told(trace: &str) -> String {
    explain(trace, Watch::default()).0
}

pub(crate) fn explain(trace: &str, watch: Watch) -> (String, Explanation) {
    let mut explainer =
        Explainer::new(Options { watch, ..Options::default() }, Told(String::new()));
    explainer.batch(&parse(trace));
    let (explanation, told) = explainer.finish();
    (told.0.trim_end().to_owned(), explanation)
}

struct Told(String);

impl Sink for Told {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        let segments: Vec<String> = named
            .segments()
            .map(|(segment, culprit)| {
                let line = format!("{} {} {}", segment.cause.0, segment.ns, culprit.name);
                line.trim_end().to_owned()
            })
            .collect();
        let _ = writeln!(
            self.0,
            "{} {} {}+{}{}{}: {}",
            named.victim().name,
            wakeup.kind.name(),
            wakeup.expiry_ns,
            wakeup.lateness_ns,
            if wakeup.to_user { " to user" } else { "" },
            if wakeup.touched_by_loss { " touched" } else { "" },
            segments.join(", "),
        );
    }
}
