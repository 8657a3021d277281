//! What to do about it.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::sentences::FEW;
use crate::text::Terminal;
use crate::units::{counted, unbroken, whole_percent};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{ADVICE_SHARE_MIN, Advice as Finding, WorstWakeup};
use tardy_model::Cause;
use tardy_whatif::Tried;
use unicode_width::UnicodeWidthStr as _;

pub(super) struct Advice;

impl Section for Advice {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let advice = advice(data);
        if advice.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", terminal.bold(&heading(data)))?;
        let all = advice.iter().map(|finding| lines(data, finding, terminal));
        for line in all.flat_map(|Lines { sentence, commands }| [sentence, commands].concat()) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let advice = advice(data);
        html! {
            @if !advice.is_empty() {
                section #advice {
                    h2 { "What to do" @if let Some(hint) = hint(data) { ": " (hint) } }
                    dl {
                        @for finding in &advice {
                            dt { (finding.cause.0) ": at best " (gain(data, finding)) }
                            dd {
                                (unbroken(&clean(&finding.text)))
                                @if is_refused(data, finding) {
                                    p.note { "Real-time priorities are refused here: allow them first (" code { "tardy doctor" } " says how)." }
                                } @else if let Some(command) = command(data, finding) {
                                    pre { code { (command) } }
                                }
                                @if let Some(fix) = fix(data, finding) {
                                    p { code { (fix) } " tries it, and undoes it if it does not \
                                        help." }
                                }
                            }
                        }
                    }
                    p.note { (BOUND) }
                }
            }
        }
    }
}

/// What is over it.
pub(crate) fn heading(data: &Data<'_>) -> String {
    if data.caught().is_some() {
        return "What to do (gain: share of the wakeup that this was kept for, at best)".to_owned();
    }
    let hint = hint(data).map_or_else(String::new, |hint| format!(": {hint}"));
    format!("What to do{hint} (gain: share of all lateness, at best)")
}

/// That it is from few wakeups, where it is.
fn hint(data: &Data<'_>) -> Option<String> {
    let count = data.latencies().count();
    (count < FEW).then(|| format!("no more than a hint from {}", counted(count, "wakeup")))
}

const BOUND: &str = "The gain of a change is an upper bound from the balance: all the lateness \
    with this cause. Where one wait ends, another may begin.";

/// The advice that is shown, the most gain first. Where a recording was kept for one wakeup, it is what helps against
/// that, whatever made others late.
pub(crate) fn advice<'a>(data: &Data<'a>) -> Vec<&'a Finding> {
    let Some(explanation) = data.explanation else { return Vec::new() };
    let mut all: Vec<&Finding> = explanation.advice.iter().collect();
    if let Some(caught) = data.caught() {
        let gain = |finding: &Finding| share(caught, finding.cause);
        all.retain(|finding| gain(finding) >= ADVICE_SHARE_MIN);
        all.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    } else if let Some(Ok(predictions)) = data.predictions {
        // One order for both: first what is predicted to help, as it is ranked there.
        let best: Vec<&Tried> = predictions.best().map(|(tried, _)| tried).collect();
        let does = |finding: &&Finding, tried: &Tried| {
            finding.changes.iter().any(|change| tried.changes == [change.clone()])
        };
        let rank = |finding: &&Finding| best.iter().position(|tried| does(finding, tried));
        all.sort_by_key(|finding| rank(finding).unwrap_or(usize::MAX));
    }
    all.truncate(data.limits.advice);
    all
}

/// The part of a wakeup's lateness that is of a cause, 0–1.
fn share(worst: &WorstWakeup, cause: Cause) -> f64 {
    let segments = worst.wakeup.segments.iter().filter(|segment| segment.cause == cause);
    let ns: u64 = segments.map(|segment| segment.ns).sum();
    ns as f64 / worst.wakeup.lateness_ns.max(1) as f64
}

/// "−52 %", or "−13 % (−31 % of that of the worst 1 %)".
fn gain(data: &Data<'_>, finding: &Finding) -> String {
    if let Some(caught) = data.caught() {
        return format!("−{}", whole_percent(share(caught, finding.cause)));
    }
    let all = whole_percent(finding.gain);
    // Where the cause is the tail's, that is what the change is for.
    if finding.worst_gain > 2.0 * finding.gain {
        let worst = whole_percent(finding.worst_gain);
        return format!("−{all} (−{worst} of that of the worst 1 %)");
    }
    format!("−{all}")
}

/// The command that tries what helps against it, where tardy can: on the system that was recorded, not on that of
/// another's trace or of a guest.
fn fix(data: &Data<'_>, finding: &Finding) -> Option<String> {
    if !data.context.source.starts_with("live") {
        return None;
    }
    // Of a command that has ended there is nobody left: it is started again.
    let command = &data.context.recorded_command;
    let behind = if command.is_empty() { String::new() } else { format!(" -- {}", clean(command)) };
    let whom = match clean(&data.context.whom) {
        whom if whom.is_empty() || !command.is_empty() => String::new(),
        recording if !recording.starts_with('-') && nobody_runs(data) => {
            format!("-p {WHOEVER_RUNS} ")
        }
        whom => format!("{whom} "),
    };
    let fix = |change: &str| format!("tardy fix {whom}--only {change}{behind}");
    finding.changes.first().map(|change| without_ended(&fix(change.name()), data))
}

/// The command, clean. One that starts the program anew starts the one that was recorded.
fn command(data: &Data<'_>, finding: &Finding) -> Option<String> {
    let command = clean(finding.command.as_ref()?);
    let recorded = clean(&data.context.recorded_command);
    match command.strip_suffix(" CMD") {
        Some(before) if !recorded.is_empty() => Some(format!("{before} {recorded}")),
        _ => Some(without_ended(&command, data)),
    }
}

/// Whether all late threads of the recording have ended, so that nothing can be tried on them. Those that measured are
/// started again for that.
fn nobody_runs(data: &Data<'_>) -> bool {
    let victims = data.explanation.map_or(&[][..], |explanation| &explanation.victims);
    let has_ended = |id: u32| data.context.ended.contains(&id);
    !victims.is_empty()
        && victims.iter().all(|victim| !victim.measures && victim.label.pid.is_some_and(has_ended))
}

/// In place of the id of who has ended.
const WHOEVER_RUNS: &str = "PID";

/// A command in which nobody is named who has ended. What it says of that a shell takes for a remark.
fn without_ended(command: &str, data: &Data<'_>) -> String {
    let is_between = |c: char| !(c.is_alphanumeric() || "-_.,".contains(c));
    let (mut text, mut ended) = (String::with_capacity(command.len()), Vec::new());
    for piece in command.split_inclusive(is_between) {
        let word = piece.trim_end_matches(is_between);
        if word.parse().is_ok_and(|id| data.context.ended.contains(&id)) {
            text += WHOEVER_RUNS;
            ended.push(word);
        } else {
            text += word;
        }
        text += &piece[word.len()..];
    }
    match ended.as_slice() {
        [] => text,
        [one] => format!("{text}  # {one} has ended: pgrep NAME tells the PID that runs now"),
        many => {
            format!("{text}  # {} have ended: pgrep NAME tells those that run now", many.join(", "))
        }
    }
}

/// Before a command.
const COMMAND_INDENT: &str = "      ";

/// Behind a command of tardy's own: a shell takes it for a remark, so both can be copied.
const TRIES: &str = "  # tries it, and undoes it if it does not help";

/// In place of a command that this system refuses.
const ALLOW_FIRST: &str =
    "real-time priorities are refused here: allow them first (tardy doctor says how)";

/// Whether what is advised is what the threads asked for and did not get.
fn is_refused(data: &Data<'_>, finding: &Finding) -> bool {
    data.context.policy_refused.is_some()
        && finding.changes.iter().any(|change| change.name() == "prio")
}

/// One advice for a terminal: its sentence, and commands below it.
pub(crate) struct Lines {
    pub(crate) sentence: Vec<String>,
    pub(crate) commands: Vec<String>,
}

/// One advice as lines: its sentence, then its command, both indented.
pub(crate) fn lines(data: &Data<'_>, finding: &Finding, terminal: Terminal) -> Lines {
    let text = format!("{} {}: {}", gain(data, finding), finding.cause.0, clean(&finding.text));
    let options =
        textwrap::Options::new(terminal.width).initial_indent("  ").subsequent_indent("    ");
    let sentence = textwrap::wrap(&text, options).into_iter().map(String::from).collect();
    let mut commands = Vec::new();
    if is_refused(data, finding) {
        commands.push(format!("{COMMAND_INDENT}{ALLOW_FIRST}"));
        return Lines { sentence, commands };
    }
    if let Some(fix) = fix(data, finding) {
        // Wrapped by a terminal it would be no line to copy.
        let fits = COMMAND_INDENT.len() + fix.width() + TRIES.len() <= terminal.width;
        let tries = if fits { TRIES } else { "" };
        commands.push(format!("{COMMAND_INDENT}{}{tries}", terminal.bold(&fix)));
    }
    if let Some(command) = command(data, finding) {
        // Never broken: it is there to be copied.
        commands.push(format!("{COMMAND_INDENT}{}", terminal.bold(&command)));
    }
    Lines { sentence, commands }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Context;
    use crate::fixture;

    #[test]
    fn no_command_is_for_an_id_that_has_ended() {
        let context = Context { ended: [29014, 29015].into(), ..Context::default() };
        let told = |command: &str| without_ended(command, &Data::new(&context));
        assert_eq!(told("chrt -f -p 50 7"), "chrt -f -p 50 7");
        assert_eq!(
            told("chrt -f -p 50 29014"),
            "chrt -f -p 50 PID  # 29014 has ended: pgrep NAME tells the PID that runs now"
        );
        assert_eq!(
            told("echo 1 > /proc/29015/timerslack_ns"),
            "echo 1 > /proc/PID/timerslack_ns  # 29015 has ended: pgrep NAME tells the PID that runs now"
        );
        assert_eq!(
            told("for id in 29014 29015; do taskset -acp 2,29014 $id; done"),
            "for id in PID PID; do taskset -acp 2,29014 $id; done  # 29014, 29015 have ended: pgrep NAME tells \
             those that run now"
        );
    }

    #[test]
    fn what_is_tried_is_tried_on_somebody_who_runs() {
        fixture::with_data(|data| {
            let mut explanation = data.explanation.unwrap().clone();
            explanation.victims.iter_mut().for_each(|victim| victim.measures = false);
            let mut finding = explanation.advice[0].clone();
            finding.changes = vec!["slack(victim)=1ns".parse().unwrap()];
            let ids: Vec<u32> = explanation.victims.iter().filter_map(|it| it.label.pid).collect();
            let tries = |ended: &[u32]| {
                let context = Context {
                    ended: ended.iter().copied().collect(),
                    whom: "recordings/run-1".to_owned(),
                    recorded_command: String::new(),
                    source: "live-ebpf".to_owned(),
                    ..data.context.clone()
                };
                let data = Data { context: &context, explanation: Some(&explanation), ..*data };
                fix(&data, &finding).unwrap()
            };
            assert!(ids.len() > 1, "{ids:?}");
            assert_eq!(tries(&ids[1..]), "tardy fix recordings/run-1 --only slack");
            assert_eq!(tries(&ids), "tardy fix -p PID --only slack");
        });
    }

    #[test]
    fn advice_from_few_wakeups_is_a_hint() {
        fixture::with_data(|data| {
            assert!(!heading(data).contains("hint"), "{}", heading(data));
            let mut explanation = data.explanation.unwrap().clone();
            explanation.latencies = tardy_stats::Latencies::default();
            (0..7).for_each(|at| explanation.latencies.record(1_000 * at));
            let few = Data { explanation: Some(&explanation), measurement: None, ..*data };
            assert!(heading(&few).starts_with("What to do: no more than a hint from 7 wakeups ("));
            let page = Advice.html(&few).into_string();
            assert!(page.contains("no more than a hint from 7 wakeups"), "{page}");
        });
    }
}
