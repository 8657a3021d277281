//! What was asked, by whom, and the answer.

use super::{Part, write_sentences};
use crate::clean::{clean, cut};
use crate::experiment::answer;
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::unbroken;
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Head;

impl Part for Head {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let experiment = &shown.results.experiment;
        let title = cut(&clean(&experiment.title), terminal.width);
        writeln!(out, "{}", terminal.bold(&title))?;
        if let Some(source) = source(shown) {
            for line in textwrap::wrap(&source, terminal.width) {
                writeln!(out, "{}", terminal.dim(&line))?;
            }
        }
        for line in textwrap::wrap(&clean(&experiment.question), terminal.width) {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        write_sentences(&answer(shown), terminal, |line| terminal.bold(line), out)
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        let experiment = &shown.results.experiment;
        html! {
            header {
                h1 { (clean(&experiment.title)) }
                @if let Some(source) = source(shown) { p.facts { (source) } }
                p.question { (clean(&experiment.question)) }
                ul.sentences { @for sentence in answer(shown) { li { (unbroken(&sentence)) } } }
            }
        }
    }
}

fn answer(shown: &Shown<'_>) -> Vec<String> {
    answer::sentences(shown).iter().map(|sentence| clean(sentence)).collect()
}

fn source(shown: &Shown<'_>) -> Option<String> {
    let source = clean(&shown.results.experiment.source);
    (!source.trim().is_empty()).then(|| format!("After {source}"))
}
