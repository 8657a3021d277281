//! `tardy undo`: takes back what tardy changed and what stays.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output, out};
use clap::Args;
use std::path::PathBuf;
use tardy_remedy::{Journal, Outcome as Became};
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
        let undone = Journal::system().undo_all()?;
        let unreadable = unreadable();
        if self.output.json {
            let all = undone.iter().map(|one| {
                serde_json::json!({
                    "place": one.entry.place.words(), "change": one.entry.why, "became": one.words(),
                })
            });
            let document = serde_json::json!({
                "schema": "tardy.undo/1", "undone": all.collect::<Vec<_>>(),
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
                out!("{}: {}", output::printable(&one.entry.why), output::printable(&one.words()))?;
            }
        }
        told(&unreadable)?;
        if has_failed {
            return Err(Failure::new(
                "some changes could not be taken back; the journal keeps them",
            ));
        }
        Ok(Outcome::Fine)
    }
}

/// What is changed now.
pub(super) fn list(output: &Output) -> Result<Outcome, Failure> {
    let entries = Journal::system().entries();
    if output.json {
        let all = entries.iter().map(|(entry, stays)| {
            serde_json::json!({
                "change": entry.why, "place": entry.place.words(), "old": entry.old,
                "new": entry.new, "unix_s": entry.unix_s, "stays": stays,
            })
        });
        let document =
            serde_json::json!({ "schema": "tardy.changed/1", "changed": all.collect::<Vec<_>>() });
        output::write_json(&document, None)?;
        return Ok(Outcome::Fine);
    }
    let unreadable = unreadable();
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
        out!("{}", output::printable(&line))?;
    }
    told(&unreadable)?;
    Ok(Outcome::Fine)
}

/// What is said of each journal of which lines cannot be read.
fn unreadable() -> Vec<String> {
    let unreadable = Journal::system().unreadable();
    let words = |(path, lines): &(PathBuf, usize)| {
        format!(
            "{} of {} cannot be read, so what {} changed is not known: a later version of tardy wrote {}, or the file is \
             damaged. It is left as it is; remove it once you have looked at it",
            counted(*lines as u64, "line"),
            path.display(),
            if *lines == 1 { "it" } else { "they" },
            if *lines == 1 { "it" } else { "them" },
        )
    };
    unreadable.iter().map(words).collect()
}

/// Nothing that is not known is undone.
fn told(unreadable: &[String]) -> Result<(), Failure> {
    if unreadable.is_empty() { Ok(()) } else { Err(Failure::new(unreadable.join("\n"))) }
}
