//! Whether the blocks may be compared with each other.

use super::{Part, write_sentences};
use crate::clean::clean;
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::unbroken;
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_experiment::Fit;

pub(super) struct FitnessPart;

impl Part for FitnessPart {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let fit = shown.results.fitness.fit;
        let verdict = verdict(fit);
        for line in textwrap::wrap(verdict, terminal.width) {
            let line = if fit == Fit::Fit { terminal.bold(&line) } else { terminal.warn(&line) };
            writeln!(out, "{line}")?;
        }
        write_sentences(&why(shown), terminal, str::to_owned, out)
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        let fit = shown.results.fitness.fit;
        let why = why(shown);
        html! {
            section #fitness {
                h2 { "Can the conditions be compared?" }
                p.guest[fit != Fit::Fit] { (verdict(fit)) }
                @if !why.is_empty() { ul { @for reason in why { li { (unbroken(&reason)) } } } }
            }
        }
    }
}

fn verdict(fit: Fit) -> &'static str {
    match fit {
        Fit::Fit => "Fit for comparison: nothing disturbed one condition more than another.",
        Fit::Doubtful => {
            "Doubtful: something besides the conditions had an influence, a small one or the \
             same on all. Large differences are real; small ones may be due to it."
        }
        Fit::Unfit => {
            "Unfit for comparison: something besides the conditions disturbed one of them more \
             than another. A difference may be due to it; run the experiment again on a quiet \
             machine."
        }
    }
}

fn why(shown: &Shown<'_>) -> Vec<String> {
    shown.results.fitness.why.iter().map(|reason| clean(reason)).collect()
}
