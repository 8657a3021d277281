//! Sums over wakeups by victim, cause, group and culprit, for flame graphs.

use rustc_hash::FxHashMap;
use std::io::{self, Write};
use tardy_explain::Named;
use tardy_model::event::FRAME_SEPARATOR;

/// Different stacks that are told apart; the rest of a victim's time is summed by cause.
const STACKS_MAX: usize = 1 << 18;

/// Victims and causes whose rest is summed; a thread's name cannot grow it beyond that.
const RESTS_MAX: usize = 1 << 18;

/// Nanoseconds by stack: `victim;cause;group;culprit`, without the culprit where it is called as its group, and behind
/// it where in the kernel it was, the outermost function first, where that is known.
#[derive(Debug, Default)]
pub(crate) struct CauseStacks {
    ns: FxHashMap<String, u64>,
    /// What the group of each culprit is called, by the number of its name.
    groups: FxHashMap<u32, String>,
    line: String,
}

impl CauseStacks {
    pub(crate) fn wakeup(&mut self, named: &Named<'_>) {
        let victim = named.victim();
        for ((segment, culprit), id) in named.segments().zip(named.culprit_ids()) {
            self.line.clear();
            frame(&mut self.line, &victim.name, victim.pid);
            self.line.push(';');
            self.line.push_str(segment.cause.0);
            let cause_end = self.line.len();
            if !culprit.name.is_empty() {
                let group = || named.group_name(segment, culprit);
                let group = self.groups.entry(id).or_insert_with(group);
                self.line.push(';');
                frame(&mut self.line, group, None);
                if *group != culprit.name || culprit.pid.is_some() {
                    self.line.push(';');
                    frame(&mut self.line, &culprit.name, culprit.pid);
                }
            }
            for function in named.tables().name(segment.stack).rsplit(FRAME_SEPARATOR) {
                if !function.is_empty() {
                    self.line.push(';');
                    frame(&mut self.line, function, None);
                }
            }
            if !self.ns.contains_key(&self.line) && self.ns.len() >= STACKS_MAX {
                self.line.truncate(cause_end);
                self.line.push_str(";(others)");
                if !self.ns.contains_key(&self.line) && self.ns.len() >= STACKS_MAX + RESTS_MAX {
                    "(others)".clone_into(&mut self.line);
                }
            }
            if let Some(ns) = self.ns.get_mut(&self.line) {
                *ns = ns.saturating_add(segment.ns);
            } else {
                self.ns.insert(self.line.clone(), segment.ns);
            }
        }
    }

    /// Lines `victim;cause;culprit;function ns`, sorted.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.ns.iter().map(|(stack, ns)| format!("{stack} {ns}")).collect();
        lines.sort_unstable();
        lines
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.lines().iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// A name as a frame: neither what separates frames nor what ends a line.
fn frame(line: &mut String, name: &str, pid: Option<u32>) {
    line.extend(name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => '?',
        c => c,
    }));
    if let Some(pid) = pid {
        line.push_str(" (");
        line.push_str(&pid.to_string());
        line.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_a_stack() {
        let mut line = String::new();
        frame(&mut line, "a;b\nc 7", Some(3));
        assert_eq!(line, "a:b?c 7 (3)");
    }
}
