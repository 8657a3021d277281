//! The latest wakeups, each as a story.

mod details;
mod story;
mod timeline;
mod turns;

pub(crate) use story::{headline, summary};
pub(crate) use turns::{GroupNames, sums};

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::json::{MergedSegment, merge_segments};
use crate::names::full_name;
use crate::palette::look;
use crate::text::{Terminal, segment_bar};
use crate::units::{counted, duration, unbroken};
use crate::why::{is_of_the_whole, offset};
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::io::{self, Write};
use tardy_explain::{Explanation, Label, WorstWakeup, why};
use tardy_model::Cause;

pub(super) struct Worst;

/// A space at which no line is broken; it is written as a common one.
const UNBROKEN: char = '\u{a0}';

/// Parts of a wakeup in the terminal at most.
const PARTS_SHOWN: usize = 12;

/// The same in a page's table.
const PARTS_LISTED: usize = 400;

impl Section for Worst {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some((explanation, worst)) = with_worst(data) else { return Ok(()) };
        writeln!(out, "{}", terminal.bold("Worst: the latest wakeups, from expiry to running"))?;
        let names = GroupNames::new(explanation);
        let scale_ns = worst.iter().map(|entry| entry.wakeup.lateness_ns).max().unwrap_or(1).max(1);
        for (number, entry) in worst.iter().enumerate() {
            let segments = merged(entry);
            let head = format!("  {:>2}  {}", number + 1, story::headline(explanation, entry));
            let head = crate::clean::cut(&head, terminal.width);
            if entry.wakeup.touched_by_loss {
                writeln!(out, "{}", terminal.warn(&head))?;
            } else {
                writeln!(out, "{head}")?;
            }
            let room = terminal.width - 6;
            let share = entry.wakeup.lateness_ns as f64 / scale_ns as f64;
            let columns = ((room as f64 * share).ceil() as usize).max(segments.len()).min(room);
            writeln!(out, "      {}", segment_bar(&segments, columns, terminal))?;
            for line in textwrap::wrap(&story::parts(&entry.victim, &segments, &names), room) {
                writeln!(out, "      {}", terminal.dim(&line.replace(UNBROKEN, " ")))?;
            }
            for (name, text) in details::lines(entry) {
                let options = textwrap::Options::new(terminal.width - 6).subsequent_indent("  ");
                for line in textwrap::wrap(&format!("{name}: {text}"), options) {
                    writeln!(out, "      {}", line.replace(UNBROKEN, " "))?;
                }
            }
        }
        let legend: Vec<String> = causes_of(worst)
            .into_iter()
            .map(|cause| format!("{}{UNBROKEN}{}", look(cause).letter, cause.0))
            .collect();
        for line in textwrap::wrap(&legend.join("  "), terminal.width - 2) {
            writeln!(out, "  {}", terminal.dim(&line.replace(UNBROKEN, " ")))?;
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some((explanation, worst)) = with_worst(data) else { return Markup::default() };
        html! {
            section #worst {
                h2 { "Worst: the latest wakeups" }
                p.note {
                    "Each from its expiry to the moment the thread ran. Point at a part, or \
                        focus the "
                    "picture and use the arrow keys, to see what it was."
                }
                (legend(worst))
                @for (number, entry) in worst.iter().enumerate() {
                    @let segments = merged(entry);
                    article {
                        h3 { (number + 1) ". " bdi { (story::headline(explanation, entry)) } }
                        div.scroll { (timeline::timeline(entry, &segments)) }
                        @for (name, text) in details::lines(entry) {
                            p.note { (name) ": " bdi { (text) } }
                        }
                        details {
                            summary { "As a story" }
                            (sentences(explanation, entry))
                        }
                        details {
                            summary { "As a table" }
                            (table(entry, &segments))
                        }
                    }
                }
            }
        }
    }
}

fn with_worst<'a>(data: &Data<'a>) -> Option<(&'a Explanation, &'a [WorstWakeup])> {
    let explanation = data.explanation?;
    let worst = &explanation.worst[..data.limits.worst.min(explanation.worst.len())];
    (!worst.is_empty()).then_some((explanation, worst))
}

pub(crate) fn merged(entry: &WorstWakeup) -> Vec<MergedSegment<Label>> {
    merge_segments(&entry.wakeup.segments, |segment| entry.label(segment.culprit))
}

/// The longest parts, in order of time; how many the others are, and how long together.
fn longest(
    segments: &[MergedSegment<Label>],
    max: usize,
) -> (Vec<&MergedSegment<Label>>, Option<(u64, u64)>) {
    let mut all: Vec<_> = segments.iter().collect();
    if all.len() <= max {
        return (all, None);
    }
    all.sort_by_key(|segment| std::cmp::Reverse(segment.ns));
    let others = all.split_off(max);
    all.sort_by_key(|segment| segment.start_ns);
    let ns = others.iter().map(|segment| segment.ns).sum();
    (all, Some((others.len() as u64, ns)))
}

fn causes_of(worst: &[WorstWakeup]) -> BTreeSet<Cause> {
    worst.iter().flat_map(|entry| &entry.wakeup.segments).map(|segment| segment.cause).collect()
}

/// The causes that colour the victims' rows, and the kinds of what the CPUs did.
fn legend(worst: &[WorstWakeup]) -> Markup {
    let kinds = [
        ("span victim", "the thread itself"),
        ("span task", "task"),
        ("span kernel", "kernel task"),
        ("span irq", "interrupt or softirq"),
        ("span timer", "timer or function"),
        ("span idle", "idle"),
        ("unknown", "not known"),
    ];
    html! {
        ul.legend {
            @for cause in causes_of(worst) {
                li {
                    svg.swatch viewBox="0 0 12 12" aria-hidden="true" {
                        rect width="12" height="12" rx="2" fill=(look(cause).hex()) {}
                    }
                    " " (cause.0)
                }
            }
        }
        ul.legend {
            li { "CPUs:" }
            @for (class, words) in kinds {
                li {
                    svg.swatch viewBox="0 0 12 12" aria-hidden="true" {
                        rect class=(class) width="12" height="12" rx="2" {}
                    }
                    " " (words)
                }
            }
        }
    }
}

/// The culprits of a segment in words, at most `max` of them by name.
fn culprits_text(segment: &MergedSegment<Label>, max: usize) -> String {
    let with_time = segment.culprits.len() > 1;
    let mut names: Vec<String> = segment
        .culprits
        .iter()
        .take(max)
        .map(|(label, ns)| {
            let name = full_name(label);
            if with_time { format!("{name} {}", duration(*ns)) } else { name }
        })
        .collect();
    if let Some(more @ 1..) = segment.culprits.len().checked_sub(max) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// The wakeup's story, a row each.
fn sentences(explanation: &Explanation, entry: &WorstWakeup) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr {
                    th.number { "after expiry" } th { "CPU" } th { "event" } th { "what happened" }
                } }
                tbody {
                    @for sentence in why(entry, &explanation.patterns) {
                        tr {
                            @if is_of_the_whole(&sentence) {
                                td {} td {}
                            } @else {
                                td.number { (offset(entry, sentence.time_ns)) }
                                td { @if let Some(cpu) = sentence.cpu { (cpu) } }
                            }
                            td { (sentence.event) }
                            td.words { bdi { (unbroken(&clean(&sentence.text))) } }
                        }
                    }
                }
            }
        }
    }
}

fn table(entry: &WorstWakeup, segments: &[MergedSegment<Label>]) -> Markup {
    /// Culprits named in a row of the table.
    const NAMED: usize = 12;
    let (listed, others) = longest(segments, PARTS_LISTED);
    html! {
        div.scroll {
            table {
                thead { tr {
                    th.number { "after expiry" } th.number { "for" } th { "cause" } th { "culprit" }
                } }
                tbody {
                    @for segment in listed {
                        tr {
                            td.number {
                                (duration(segment.start_ns.saturating_sub(entry.wakeup.expiry_ns)))
                            }
                            td.number { (duration(segment.ns)) }
                            td { (segment.cause.0) }
                            td { bdi { (culprits_text(segment, NAMED)) } }
                        }
                    }
                }
                @if let Some((count, ns)) = others {
                    tr {
                        td {} td.number { (duration(ns)) }
                        td { (counted(count, "shorter part")) } td {}
                    }
                }
                tfoot { tr {
                    td {} td.number { (duration(entry.wakeup.lateness_ns)) } td { "together" } td {}
                } }
            }
        }
    }
}
