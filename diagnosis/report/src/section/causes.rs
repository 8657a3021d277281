//! Why the threads were late.

use super::Section;
use crate::data::Data;
use crate::page::share_cell;
use crate::palette::look;
use crate::shares::tenths;
use crate::text::{Align, SHARE_BAR_COLUMNS, Table, Terminal, share_bar};
use crate::units::{count, counted, duration, duration_mean, percent};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{CauseFinding, Explanation};

pub(super) struct Causes;

/// A table of causes: letter, name, time, share and its bar, share of the worst wakeups, what it is.
pub(crate) const CAUSE_COLUMNS: [Align; 7] =
    [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Left];

impl Section for Causes {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(explanation) = with_causes(data) else { return Ok(()) };
        let causes = &explanation.causes;
        let (all, worst) = (shares(causes, |cause| cause.ns), worst_shares(explanation));
        writeln!(out, "{}", terminal.bold("Why: causes, by their share of all lateness"))?;
        let mut table = Table::new(&CAUSE_COLUMNS).can_do_without(&[4]);
        let worst_head = if worst.is_some() { "worst 1 %" } else { "" };
        table.row(
            ["", "cause", "time", "of all", "", worst_head, "what it is"].map(str::to_owned).into(),
        );
        let worst_cell =
            |at: usize| worst.as_ref().map_or_else(String::new, |shares| percent(shares[at]));
        for (at, cause) in causes.iter().enumerate() {
            table.row(vec![
                look(cause.cause).letter.to_string(),
                cause.cause.0.to_owned(),
                duration(cause.ns),
                percent(all[at]),
                share_bar(all[at], SHARE_BAR_COLUMNS),
                worst_cell(at),
                cause.meaning.to_owned(),
            ]);
        }
        let sum_ns = causes.iter().map(|cause| cause.ns).sum();
        let sum_worst = worst.as_ref().map(|shares| percent(shares.iter().sum()));
        table.row(vec![
            String::new(),
            "together".to_owned(),
            duration(sum_ns),
            percent(all.iter().sum()),
            String::new(),
            sum_worst.unwrap_or_default(),
            String::new(),
        ]);
        table.write(out, terminal.width, |row, column, text| match (row, column) {
            (0, _) => terminal.dim(text),
            (_, 0) => terminal.on_cause(causes[row - 1].cause, text),
            (_, 4) => terminal.in_cause(causes[row - 1].cause, text),
            _ => text.to_owned(),
        })?;
        if let Some(sentence) = worst_sentence(explanation) {
            for line in textwrap::wrap(&sentence, terminal.width - 2) {
                writeln!(out, "  {}", terminal.dim(&line))?;
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(explanation) = with_causes(data) else { return Markup::default() };
        let causes = &explanation.causes;
        let (all, worst) = (shares(causes, |cause| cause.ns), worst_shares(explanation));
        html! {
            section #causes {
                h2 { "Why: causes" }
                @if let Some(sentence) = worst_sentence(explanation) { p.note { (sentence) } }
                div.scroll { (stacked_bars(causes, &all, worst.as_deref())) }
                div.scroll {
                    table {
                        thead { tr {
                            th { "cause" } th { "what it is" } th.number { "time" }
                            th.number { "share of all" }
                            @if worst.is_some() { th.number { "of the worst 1 %" } }
                            th.number { "wakeups" }
                        } }
                        tbody {
                            @for (at, cause) in causes.iter().enumerate() {
                                tr {
                                    th scope="row" { (swatch(cause)) " " (cause.cause.0) }
                                    td.words { (cause.meaning) }
                                    td.number { (duration(cause.ns)) }
                                    (share_cell(all[at], &look(cause.cause).hex()))
                                    @if let Some(worst) = &worst {
                                        (share_cell(worst[at], &look(cause.cause).hex()))
                                    }
                                    td.number { (count(cause.wakeups)) }
                                }
                            }
                        }
                        tfoot { tr {
                            th scope="row" { "together" }
                            td {}
                            td.number { (duration(causes.iter().map(|cause| cause.ns).sum())) }
                            td.number { (percent(all.iter().sum())) }
                            @if let Some(worst) = &worst {
                                td.number { (percent(worst.iter().sum())) }
                            }
                            td {}
                        } }
                    }
                }
            }
        }
    }
}

fn with_causes<'a>(data: &Data<'a>) -> Option<&'a Explanation> {
    data.explanation.filter(|explanation| explanation.causes.iter().any(|cause| cause.ns > 0))
}

pub(crate) fn shares(causes: &[CauseFinding], ns: impl Fn(&CauseFinding) -> u64) -> Vec<u32> {
    tenths(&causes.iter().map(ns).collect::<Vec<_>>())
}

/// `None` where no wakeup is among the worst.
pub(crate) fn worst_shares(explanation: &Explanation) -> Option<Vec<u32>> {
    let shares = shares(&explanation.causes, |cause| cause.worst_ns);
    // Of fewer wakeups the worst 1 % is the latest one.
    let is_group = explanation.worst_group.wakeups > 0 && explanation.latencies.count() >= 100;
    (is_group && shares.iter().any(|&share| share > 0)).then_some(shares)
}

fn worst_sentence(explanation: &Explanation) -> Option<String> {
    let group = explanation.worst_group;
    (group.wakeups > 0).then(|| {
        format!(
            "The worst 1 %: {}, each late by {} or more; their mean is {}.",
            counted(group.wakeups, "wakeup"),
            duration(group.from_ns),
            duration_mean(group.ns as f64 / group.wakeups as f64)
        )
    })
}

fn swatch(cause: &CauseFinding) -> Markup {
    html! {
        svg.swatch viewBox="0 0 12 12" aria-hidden="true" {
            rect width="12" height="12" rx="2" fill=(look(cause.cause).hex()) {}
        }
    }
}

/// All lateness above, the worst 1 % below, each 100 % wide.
fn stacked_bars(causes: &[CauseFinding], all: &[u32], worst: Option<&[u32]>) -> Markup {
    const LEFT: f64 = 84.0;
    const WIDE: f64 = 910.0;
    let bars: Vec<(&str, &[u32])> =
        std::iter::once(("all", all)).chain(worst.map(|worst| ("worst 1 %", worst))).collect();
    let height = bars.len() * 40;
    html! {
        svg.chart viewBox=(format!("0 0 1000 {height}")) data-rove role="group"
            aria-label="Share of each cause, of all lateness and of the worst wakeups" {
            @for (row, (name, shares)) in bars.into_iter().enumerate() {
                @let y = row * 40 + 4;
                text x="0" y=(y + 20) { (name) }
                @let mut before = 0;
                @for (cause, &share) in causes.iter().zip(shares) {
                    @if share > 0 {
                        @let x = LEFT + f64::from(before) * WIDE / 1000.0;
                        @let width = f64::from(share) * WIDE / 1000.0;
                        @let look = look(cause.cause);
                        g.tip {
                            title {
                                (cause.cause.0) ": " (percent(share)) " of " (name) ". " (cause.meaning)
                            }
                            rect.part x=(format!("{x:.1}")) y=(y) width=(format!("{width:.1}"))
                                height="30" fill=(look.hex()) {}
                            @let label = bar_label(cause.cause.0, share, width);
                            @if !label.is_empty() {
                                text.ink.black[look.wants_black_ink()]
                                    x=(format!("{:.1}", x + width / 2.0)) y=(y + 19)
                                    text-anchor="middle" { (label) }
                            }
                        }
                        @let () = before += share;
                    }
                }
            }
        }
    }
}

/// As much of the label as the part has room for.
fn bar_label(cause: &str, share: u32, width: f64) -> String {
    const CHARACTER: f64 = 7.0;
    let full = format!("{cause} {}", percent(share));
    [full, cause.to_owned(), percent(share)]
        .into_iter()
        .find(|label| label.chars().count() as f64 * CHARACTER + 8.0 < width)
        .unwrap_or_default()
}
