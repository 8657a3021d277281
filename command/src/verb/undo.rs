//! `tardy undo`: takes back what tardy changed and what stays.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output, out};
use clap::Args;
use tardy_remedy::{Damage, Journal, Outcome as Became, Unreadable};
use tardy_report::units::counted;

/// Flags of `tardy undo`.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Only list what is changed
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    output: Output,
}

impl Undo {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if self.list {
            return list(&self.output);
        }
        // All of it is put back and told before it ends.
        let _interrupt = Interrupt::catch()?;
        let journal = Journal::system();
        let undone = journal.undo_all();
        let unreadable = journal.unreadable();
        if self.output.json {
            let all = undone.iter().map(|one| {
                serde_json::json!({
                    "place": one.entry.place.words(), "change": one.entry.why, "became": one.words(),
                })
            });
            let document = serde_json::json!({
                "schema": "tardy.undo/1", "undone": all.collect::<Vec<_>>(),
                "unreadable": entries_of(&unreadable),
            });
            output::write_json(&document, None)?;
        } else if undone.is_empty() && unreadable.is_empty() {
            out!("nothing that tardy changed is left")?;
        }
        let mut has_failed = false;
        for one in &undone {
            has_failed |= matches!(
                one.outcome,
                Became::Failed { .. } | Became::InUse { .. } | Became::Elsewhere { .. }
            );
            if !self.output.json {
                out!("{}: {}", output::one_line(&one.entry.why), output::one_line(&one.words()))?;
            }
        }
        let mut failed = words_of(&unreadable);
        if has_failed {
            failed.push("some changes could not be taken back; the journal keeps them".to_owned());
        }
        told(&failed)
    }
}

/// What is changed now.
pub(super) fn list(output: &Output) -> Result<Outcome, Failure> {
    let journal = Journal::system();
    let (entries, unreadable) = (journal.entries(), journal.unreadable());
    if output.json {
        let all = entries.iter().map(|(entry, stays)| {
            serde_json::json!({
                "change": entry.why, "place": entry.place.words(), "old": entry.old,
                "new": entry.new, "unix_s": entry.unix_s, "stays": stays,
            })
        });
        let document = serde_json::json!({
            "schema": "tardy.changed/1", "changed": all.collect::<Vec<_>>(),
            "unreadable": entries_of(&unreadable),
        });
        output::write_json(&document, None)?;
        return told(&words_of(&unreadable));
    }
    if entries.is_empty() && unreadable.is_empty() {
        out!("nothing is changed")?;
    }
    for (entry, stays) in entries {
        let value = |value: &Option<String>| match value {
            Some(value) => entry.place.shown(value).to_owned(),
            None => "not there".to_owned(),
        };
        let until = match (stays, entry.is_elsewhere()) {
            (true, false) => "until tardy undo",
            (false, false) => "while a tardy is running",
            (true, true) => "until tardy undo in its PID namespace, which is another",
            (false, true) => "while a tardy is running in another PID namespace",
        };
        let line = format!(
            "{}: {}: {} -> {}, {until}",
            entry.why,
            entry.place.words(),
            value(&entry.old),
            value(&entry.new)
        );
        out!("{}", output::one_line(&line))?;
    }
    told(&words_of(&unreadable))
}

/// What cannot be read of the journals, for a document.
fn entries_of(unreadable: &[Unreadable]) -> Vec<serde_json::Value> {
    let entry = |one: &Unreadable| match &one.what {
        Damage::Lines(lines) => serde_json::json!({ "journal": one.path, "lines": lines }),
        Damage::All { why } => serde_json::json!({ "journal": one.path, "why": why }),
    };
    unreadable.iter().map(entry).collect()
}

/// What is said of each journal that cannot be read.
fn words_of(unreadable: &[Unreadable]) -> Vec<String> {
    unreadable.iter().map(words).collect()
}

fn words(Unreadable { path, what }: &Unreadable) -> String {
    let path = path.display();
    match what {
        Damage::Lines(lines) => format!(
            "{} of {path} cannot be read, so what {} changed is not known: a later version of tardy wrote {}, or the file is \
             damaged. It is left as it is; remove it once you have looked at it",
            counted(*lines as u64, "line"),
            if *lines == 1 { "it" } else { "they" },
            if *lines == 1 { "it" } else { "them" },
        ),
        Damage::All { why } => format!(
            "the journal {path} cannot be read, so what it tells of may still be changed: {why}; run as root, and remove \
             what is no journal of tardy's"
        ),
    }
}

/// Nothing that is not known is undone.
fn told(failed: &[String]) -> Result<Outcome, Failure> {
    if failed.is_empty() { Ok(Outcome::Fine) } else { Err(Failure::new(failed.join("\n"))) }
}
