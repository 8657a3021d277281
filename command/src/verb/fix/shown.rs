//! The plan as text: what was recorded, what a person must do, and each change with its gain, price and commands.

use super::advice_alone;
use super::plan::Candidate;
use crate::output;
use tardy_explain::Explanation;
use tardy_report::Terminal;
use tardy_report::units::{counted, duration};

/// Wakeups below which a p99 is no more than the latest.
const TAIL_MIN: u64 = 100;

/// Columns of text on standard output.
pub(super) fn width() -> usize {
    Terminal::of_stdout().clamped().width
}

/// Wrapped, without what a terminal would obey.
pub(super) fn paragraph(indent: &str, text: &str, width: usize) -> String {
    let options = textwrap::Options::new(width).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(&output::one_line(text), options)
}

/// The plan. Commands are not wrapped, so that they can be pasted.
pub(super) fn plan(explanation: &Explanation, candidates: &[Candidate], width: usize) -> String {
    let latencies = &explanation.latencies;
    let n = counted(latencies.count(), "wakeup");
    let tail = match latencies.count() {
        ..TAIL_MIN => String::new(),
        _ => format!(", p99 {}", duration(latencies.quantile_ns(0.99))),
    };
    let mut lines = vec![format!("Recorded: {n}{tail}, max {}", duration(latencies.max_ns()))];
    let by_hand: Vec<_> = advice_alone(explanation).collect();
    if !by_hand.is_empty() {
        lines.extend([String::new(), "For you to do (tardy has no change for it)".to_owned()]);
    }
    for advice in by_hand {
        lines.push(paragraph("   ", &format!("{}: {}", advice.cause.0, advice.text), width));
    }
    let heading = match candidates {
        [] => "tardy knows no change for what makes these threads late",
        _ => "What tardy can try, in this order",
    };
    lines.extend([String::new(), heading.to_owned()]);
    for (at, candidate) in candidates.iter().enumerate() {
        let change = &candidate.change;
        lines.push(String::new());
        let words = change.in_words_by(name_of);
        lines.push(paragraph("", &format!("{}. {words} ({change})", at + 1), width));
        let mut about = |text: String| lines.push(paragraph("   ", &text, width));
        about(format!("cause: {}", candidate.against()));
        about(format!("gain:  {}", candidate.gain.in_words()));
        about(format!("price: {}", candidate.remedy.price_of(change)));
        about(format!("needs: {}", candidate.remedy.needs()));
        if let Err(why) = &candidate.settings {
            about(format!("cannot be tried here: {why}"));
        }
        let commands = candidate.commands();
        lines.extend(commands.iter().map(|command| format!("     {}", output::one_line(command))));
        if let Some(parameter) = candidate.next_boot() {
            lines.push(format!(
                "     # on the kernel's command line, from the next boot on: {parameter}"
            ));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// What a thread that runs calls itself.
fn name_of(id: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::candidate;
    use super::*;
    use textwrap::core::display_width;

    #[test]
    fn a_plan_keeps_to_the_width_of_the_terminal() {
        let explanation = Explanation::default();
        let candidates = [candidate("prio(victim)=fifo:50", &["cpu_contention", "slack"])];
        for columns in [60, 80, 140] {
            let text = plan(&explanation, &candidates, columns);
            assert!(text.lines().all(|line| display_width(line) <= columns), "{columns}:\n{text}");
        }
        let text = plan(&explanation, &candidates, 140);
        for part in [
            "1. SCHED_FIFO 50 for the late threads (prio(victim)=fifo:50)",
            "\n   cause: cpu_contention and slack\n",
            "\n   gain:  at best 10 % of the lateness of the worst 1 %\n",
            "\n   price: Threads of lower priority wait",
        ] {
            assert!(text.contains(part), "no {part}:\n{text}");
        }
        assert!(plan(&explanation, &[], 80).contains("tardy knows no change for"));
    }
}
