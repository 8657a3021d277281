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
                h2 { "May this be compared?" }
                p.guest[fit != Fit::Fit] { (verdict(fit)) }
                @if !why.is_empty() { ul { @for reason in why { li { (unbroken(&reason)) } } } }
            }
        }
    }
}

fn verdict(fit: Fit) -> &'static str {
    match fit {
        Fit::Fit => {
            "Fit to be compared: nothing was found that hit one condition more than another."
        }
        Fit::Doubtful => {
            "Doubtful: something besides the conditions was at work, on all of them alike or a little. \
             Large differences hold, small ones may be that."
        }
        Fit::Unfit => {
            "Unfit to be compared: something besides the conditions hit one of them more than another. \
             A difference may be that; run it again on a quiet machine."
        }
    }
}

fn why(shown: &Shown<'_>) -> Vec<String> {
    shown.results.fitness.why.iter().map(|reason| clean(reason)).collect()
}
