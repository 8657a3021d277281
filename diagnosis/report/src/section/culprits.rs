//! Who held the threads up, as a person would name them: programs, kinds of kernel threads, devices.

use super::Section;
use crate::clean::{clean, cut};
use crate::data::Data;
use crate::names::{full_name, group_name, kind_name};
use crate::page::share_cell;
use crate::palette::look;
use crate::shares::tenths;
use crate::text::{Align, SHARE_BAR_COLUMNS, Table, Terminal, share_bar};
use crate::units::{count, counted, duration, percent};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{CulpritFinding, Explanation, GroupFinding};

pub(super) struct Culprits;

/// The columns of a name, in hundredths of all.
const NAME_SHARE: usize = 46;

/// Members of a group that are named on the terminal, and on the page.
const MEMBERS_TERMINAL: usize = 3;
const MEMBERS_PAGE: usize = 50;

/// The groups that are named, and the sum of the others, with shares that add up.
pub(crate) struct Ranking<'a> {
    pub(crate) named: &'a [GroupFinding],
    pub(crate) others: u64,
    pub(crate) others_ns: u64,
    /// One per named group and, last, that of the others.
    pub(crate) tenths: Vec<u32>,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(explanation: &'a Explanation, max: usize) -> Self {
        let (named, others) = explanation.groups.split_at(max.min(explanation.groups.len()));
        let others_ns = others.iter().map(|group| group.ns).sum();
        let mut weights: Vec<u64> = named.iter().map(|group| group.ns).collect();
        weights.push(others_ns);
        Self { named, others: others.len() as u64, others_ns, tenths: tenths(&weights) }
    }
}

/// The first members of a group of several, and how many more there are.
fn members<'a>(
    explanation: &'a Explanation,
    group: &GroupFinding,
    max: usize,
) -> (Vec<&'a CulpritFinding>, usize) {
    if group.members.len() < 2 {
        return (Vec::new(), 0);
    }
    let shown = group.members.iter().take(max);
    let shown = shown.filter_map(|at| explanation.culprits.get(*at)).collect();
    (shown, group.members.len().saturating_sub(max))
}

/// `hackbench (4711)`
fn member_name(member: &CulpritFinding) -> String {
    let label = &member.label;
    // Where there is a name, the kind stands with the group.
    let name = if label.name.is_empty() { full_name(label) } else { clean(&label.name) };
    member.label.pid.map_or(name.clone(), |pid| format!("{name} ({pid})"))
}

impl Section for Culprits {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(explanation) = data.explanation.filter(|e| !e.groups.is_empty()) else {
            return Ok(());
        };
        let ranking = Ranking::new(explanation, data.limits.culprits_terminal);
        writeln!(out, "{}", terminal.bold("Who: culprits, by their share of all lateness"))?;
        let columns =
            [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
        let mut table = Table::new(&columns).can_do_without(&[4, 1]);
        table.row(["culprit", "kind", "time", "of all", "", "mostly as"].map(str::to_owned).into());
        let columns = terminal.width * NAME_SHARE / 100;
        // The group of each row, where it is a group's.
        let mut rows = vec![None];
        for (found, &share) in ranking.named.iter().zip(&ranking.tenths) {
            rows.push(Some(found));
            table.row(vec![
                cut(&group_name(&found.group), columns),
                kind_name(found.group.kind),
                duration(found.ns),
                percent(share),
                share_bar(share, SHARE_BAR_COLUMNS),
                found.main_cause.0.to_owned(),
            ]);
            let (shown, more) = members(explanation, found, MEMBERS_TERMINAL);
            for member in &shown {
                rows.push(None);
                table.row(below(&member_name(member), columns, duration(member.ns)));
            }
            if more > 0 {
                rows.push(None);
                table.row(below(&format!("{} more", count(more as u64)), columns, String::new()));
            }
        }
        if ranking.others > 0 {
            let share = ranking.tenths[ranking.named.len()];
            rows.push(None);
            table.row(vec![
                format!("{} more", count(ranking.others)),
                String::new(),
                duration(ranking.others_ns),
                percent(share),
                share_bar(share, SHARE_BAR_COLUMNS),
                String::new(),
            ]);
        }
        table.write(out, terminal.width, |row, column, text| match (column, rows[row]) {
            (4 | 5, Some(found)) => terminal.in_cause(found.main_cause, text),
            (1, _) | (_, None) => terminal.dim(text),
            _ => text.to_owned(),
        })
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(explanation) = data.explanation.filter(|e| !e.groups.is_empty()) else {
            return Markup::default();
        };
        let ranking = Ranking::new(explanation, data.limits.culprits_page);
        html! {
            section #culprits {
                h2 { "Who: culprits" }
                div.scroll {
                    table {
                        thead { tr {
                            th { "culprit" } th { "kind" } th.number { "time" }
                            th.number { "share of all" } th { "mostly as" }
                        } }
                        tbody {
                            @for (found, &share) in ranking.named.iter().zip(&ranking.tenths) {
                                @let name = group_name(&found.group);
                                tr {
                                    th.who scope="row" {
                                        bdi { (name) }
                                        (members_list(explanation, found))
                                    }
                                    td { (kind_name(found.group.kind)) }
                                    td.number { (duration(found.ns)) }
                                    (share_cell(share, &look(found.main_cause).hex()))
                                    td { (found.main_cause.0) }
                                }
                            }
                        }
                        @if ranking.others > 0 {
                            tfoot { tr {
                                th scope="row" { (counted(ranking.others, "more culprit")) }
                                td {}
                                td.number { (duration(ranking.others_ns)) }
                                td.number { (percent(ranking.tenths[ranking.named.len()])) }
                                td {}
                            } }
                        }
                    }
                }
            }
        }
    }
}

/// A row of a member, below its group's.
fn below(name: &str, columns: usize, time: String) -> Vec<String> {
    let name = cut(&format!("  {name}"), columns);
    vec![name, String::new(), time, String::new(), String::new(), String::new()]
}

fn members_list(explanation: &Explanation, found: &GroupFinding) -> Markup {
    let (shown, more) = members(explanation, found, MEMBERS_PAGE);
    html! {
        @if !shown.is_empty() {
            details {
                summary { (counted(found.members.len() as u64, "member")) }
                ul.members {
                    @for member in shown {
                        li {
                            bdi { (member_name(member)) } " "
                            @if let Some(process) = member.process.filter(|of| Some(*of) != member.label.pid) {
                                "of process " (process) " "
                            }
                            (duration(member.ns))
                        }
                    }
                    @if more > 0 { li { "and " (count(more as u64)) " more" } }
                }
            }
        }
    }
}
