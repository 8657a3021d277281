//! How it was run, and how to run it again.

use super::{Part, write_sentences};
use crate::clean::clean;
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::{count, counted, duration, unbroken};
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Run;

impl Part for Run {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "{}", terminal.bold("How it was run"))?;
        write_sentences(&facts(shown), terminal, str::to_owned, out)?;
        let guest: Vec<String> = guest(shown).into_iter().collect();
        write_sentences(&guest, terminal, |line| terminal.warn(line), out)?;
        // A command is not wrapped, so that it can be copied.
        let line = format!("  To repeat: {}", clean(&shown.results.command()));
        let is_wide = line.chars().count() > terminal.width;
        writeln!(out, "{}", if is_wide { line.replacen(": ", ":\n  ", 1) } else { line })
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        html! {
            section #run {
                h2 { "How it was run" }
                ul { @for fact in facts(shown) { li { (unbroken(&fact)) } } }
                @if let Some(guest) = guest(shown) { p.guest { (guest) } }
                p { "To repeat it: " code { (clean(&shown.results.command())) } }
            }
        }
    }
}

fn facts(shown: &Shown<'_>) -> Vec<String> {
    const NS_PER_MS: u64 = 1_000_000;
    let results = shown.results;
    let experiment = &results.experiment;
    let length = if results.run.is_full { experiment.full } else { experiment.default };
    let (done, planned) = (results.blocks.len() as u64, results.planned as u64);
    let ended = if done < planned { ": it was ended early" } else { "" };
    let ms = |ms: u64| match ms {
        0..1_000 => format!("{ms} ms"),
        _ => duration(ms.saturating_mul(NS_PER_MS)),
    };
    let mut facts = vec![
        format!(
            "{} of every condition, a block of {} each; {}.",
            counted(u64::from(length.rounds), "round"),
            ms(length.block_ms),
            match length.warm_up_ms {
                0 => "there is no warm-up".to_owned(),
                warm_up_ms => format!("{} of warm-up before each are discarded", ms(warm_up_ms)),
            },
        ),
        format!(
            "The order of the conditions within a round is random, chosen by seed {}.",
            results.run.seed
        ),
        format!("{} of {} were done{ended}.", count(done), counted(planned, "planned block")),
        format!(
            "Host {}, kernel {}, {} online.",
            clean(&results.run.host),
            clean(&results.run.kernel),
            counted(u64::from(results.run.cpus), "CPU")
        ),
    ];
    if results.run.clock.starts_with("counted") {
        facts.push(format!(
            "Time was {}: it is a count of instructions, so other programs on the machine and \
             its caches have no influence on these figures.",
            clean(&results.run.clock)
        ));
        if results.run.cpus > 1 {
            facts.push(format!(
                "Its {} CPUs ran in turns within that one count, so latencies include the \
                 switching between them: rely on what happened, not on how late it was.",
                results.run.cpus
            ));
        }
    }
    let kind = if results.run.is_full {
        "It ran at full length (--full), as in its source."
    } else {
        "It ran at its default length; --full runs it as long as in its source."
    };
    facts.insert(1, kind.to_owned());
    facts
}

fn guest(shown: &Shown<'_>) -> Option<String> {
    // Of counted time nobody takes any; that it is counted is said elsewhere.
    let results = &shown.results;
    let hypervisor = results.run.hypervisor.as_deref().filter(|_| results.run.guest.is_empty())?;
    Some(format!(
        "This is a guest of {}: time that the hypervisor took counts as whatever ran then.",
        clean(hypervisor)
    ))
}
