//! Stories that are known, and were found.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::names::full_name;
use crate::text::Terminal;
use crate::units::{count, counted, duration, unbroken, whole_percent};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{Explanation, PatternFinding};

pub(super) struct Patterns;

impl Section for Patterns {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(explanation) = with_patterns(data) else { return Ok(()) };
        writeln!(out, "{}", terminal.bold("Known problems recognised"))?;
        for finding in &explanation.patterns {
            let wrapped = |text: &str, first: &'static str| {
                let options = textwrap::Options::new(terminal.width)
                    .initial_indent(first)
                    .subsequent_indent("    ");
                textwrap::wrap(text, options).into_iter().map(String::from).collect::<Vec<_>>()
            };
            for line in wrapped(finding.title, "  ") {
                writeln!(out, "{}", terminal.bold(&line))?;
            }
            for line in wrapped(&clean(&finding.words), "    ") {
                writeln!(out, "{line}")?;
            }
            for text in seen(explanation, finding).into_iter().chain([see(finding)]) {
                for line in wrapped(&text, "    ") {
                    writeln!(out, "{}", terminal.dim(&line))?;
                }
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(explanation) = with_patterns(data) else { return Markup::default() };
        html! {
            section #patterns {
                h2 { "Known problems recognised" }
                p.note {
                    "Each was recognised from evidence in single wakeups. They overlap: their \
                        shares "
                    "need not sum to 100 %."
                }
                @for finding in &explanation.patterns {
                    article {
                        h3 { (finding.title) }
                        p { (unbroken(&clean(&finding.words))) }
                        @if let Some(seen) = seen(explanation, finding) {
                            p.note { (unbroken(&seen)) }
                        }
                        p.note { (see(finding)) }
                    }
                }
            }
        }
    }
}

fn with_patterns<'a>(data: &Data<'a>) -> Option<&'a Explanation> {
    data.explanation.filter(|explanation| !explanation.patterns.is_empty())
}

/// How much of it there is, and where it is worst; nothing where no single wakeup tells it.
fn seen(explanation: &Explanation, finding: &PatternFinding) -> Option<String> {
    let found = &finding.found;
    let worst = found.worst.as_ref()?;
    let after_ns = worst.at_ns.saturating_sub(explanation.start_ns);
    let (seconds, rest) = (after_ns / 1_000_000_000, after_ns / 1_000 % 1_000_000);
    Some(format!(
        "Seen in {} of {}, {} of all lateness. At its worst it took {} of {}, of {}, {seconds}.{rest:06} s \
         after the start.",
        count(found.wakeups),
        counted(found.of_wakeups, "wakeup"),
        whole_percent(found.share),
        duration(worst.ns),
        duration(worst.lateness_ns),
        full_name(&worst.victim),
    ))
}

fn see(finding: &PatternFinding) -> String {
    format!("See {}.", finding.reference)
}
