//! What ran, under which circumstances, and the verdict.

use super::Section;
use crate::clean::{clean, cut};
use crate::data::Data;
use crate::sentences::top_sentences;
use crate::text::Terminal;
use crate::units::{duration, unbroken};
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Header;

impl Section for Header {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let title = cut(&clean(&data.context.title), terminal.width);
        writeln!(out, "{}", terminal.bold(&title))?;
        for line in textwrap::wrap(&facts(data).join(" · "), terminal.width) {
            writeln!(out, "{}", terminal.dim(&line))?;
        }
        if let Some(sentence) = guest(data) {
            for line in textwrap::wrap(&sentence, terminal.width) {
                writeln!(out, "{}", terminal.warn(&line))?;
            }
        }
        let sentences = top_sentences(data);
        if !sentences.is_empty() {
            writeln!(out)?;
        }
        for line in textwrap::wrap(&sentences.join(" "), terminal.width) {
            writeln!(out, "{}", terminal.bold(&line))?;
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        html! {
            header {
                h1 { (clean(&data.context.title)) }
                p.facts {
                    @for (number, fact) in facts(data).iter().enumerate() {
                        @if number > 0 { " · " }
                        span { (fact) }
                    }
                }
                @if let Some(sentence) = guest(data) { p.guest { (sentence) } }
                ul.sentences { @for sentence in top_sentences(data) { li { (unbroken(&sentence)) } } }
            }
        }
    }
}

/// The circumstances, a fact each, clean.
fn facts(data: &Data<'_>) -> Vec<String> {
    let context = data.context;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            facts.push(format!("{name} {}", clean(value)));
        }
    };
    fact("$", &context.command_line);
    fact("host", &context.host);
    fact("kernel", &context.kernel);
    fact("load", context.load.as_deref().unwrap_or_default());
    fact("source", &context.source);
    if context.duration_ns > 0 {
        fact("for", &duration(context.duration_ns));
    }
    facts
}

fn guest(data: &Data<'_>) -> Option<String> {
    let hypervisor = data.context.hypervisor.as_deref()?;
    let counts_as = match data.explanation.and_then(|explanation| explanation.stolen) {
        Some(_) => "has the cause hypervisor, as far as the kernel counted it",
        None => "counts as whatever ran then",
    };
    Some(format!(
        "This is a guest of {}: time that the hypervisor took {counts_as}.",
        clean(hypervisor)
    ))
}
