//! What to do about it.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::text::Terminal;
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Advice;

impl Section for Advice {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let advice = advice(data);
        if advice.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", terminal.bold("What to do"))?;
        for (cause, line) in advice {
            let options = textwrap::Options::new(terminal.width)
                .initial_indent("  ")
                .subsequent_indent("    ");
            for line in textwrap::wrap(&format!("{cause}: {line}"), options) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let advice = advice(data);
        html! {
            @if !advice.is_empty() {
                section #advice {
                    h2 { "What to do" }
                    dl {
                        @for (cause, line) in advice {
                            dt { (cause) }
                            dd { (line) }
                        }
                    }
                }
            }
        }
    }
}

/// Cause and advice, of the heaviest causes that have any.
fn advice(data: &Data<'_>) -> Vec<(&'static str, String)> {
    let causes = data.explanation.into_iter().flat_map(|explanation| &explanation.causes);
    causes
        .filter_map(|cause| Some((cause.cause.0, clean(cause.advice.as_deref()?))))
        .take(data.limits.advice)
        .collect()
}
