//! What is said of a case.

use std::fmt::{self, Display, Formatter, Write as _};
use std::io::Write as _;
use tardy_explain::timers::TimerTable;
use tardy_explain::{Explainer, Explanation, Named, Options, Seen, Sink, Watch};
use tardy_model::{Batch, TimerDef, Wakeup};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// A wakeup as it is compared.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) wakeup: Wakeup,
    /// Cause, nanoseconds, culprit.
    pub(crate) segments: Vec<(String, u64, String)>,
}

/// All that is said and compared.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) wakeups: Vec<Shown>,
    pub(crate) discarded: Vec<(String, u64)>,
    /// Kind, how many, nanoseconds, where the longest slept.
    pub(crate) waits: Vec<(String, u64, u64, String)>,
    pub(crate) advice: Vec<String>,
    /// Kind, name, nanoseconds.
    pub(crate) culprits: Vec<(String, String, u64)>,
    pub(crate) notes: Vec<String>,
    /// Who armed timers, and how often.
    pub(crate) arms: Vec<(String, u64)>,
}

/// With who armed timers.
#[derive(Default)]
struct Beside {
    all: Explained,
    table: TimerTable,
}

impl Sink for Beside {
    fn define(&mut self, timers: &[TimerDef]) {
        self.table.define(timers);
    }

    fn event(&mut self, seen: &Seen<'_>) {
        self.table.event(seen);
    }

    fn wakeup(&mut self, named: &Named<'_>) {
        self.table.wakeup(named);
        let wakeup = named.wakeup().clone();
        assert!(wakeup.is_balanced(), "{wakeup:?}");
        let segments = named.segments().map(|(segment, culprit)| {
            (segment.cause.0.to_owned(), segment.ns, culprit.name.clone())
        });
        let segments = segments.collect();
        self.all.wakeups.push(Shown { wakeup, segments });
    }
}

impl Explained {
    /// Imports and explains a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("room");
        let options = tardy_import::Options::default();
        let (_, mut import) = tardy_import::open(file.path(), &options).expect("a trace");
        let mut batches = Vec::new();
        loop {
            let mut batch = Batch::default();
            let more = import.next_batch(&mut batch).expect("readable");
            batches.push(batch);
            if !more {
                break;
            }
        }
        let mut explained = Self::of_batches(&batches, "victim");
        let closing = import.closing();
        explained.notes.extend(closing.notes.into_iter().chain(closing.missing));
        explained
    }

    /// Explains what was read of threads of this name.
    pub(crate) fn of_batches(batches: &[Batch], victim: &str) -> Self {
        let watch = Watch { comms: vec![victim.to_owned()], ..Watch::default() };
        let options = Options { watch, ..Options::default() };
        let mut explainer = Explainer::new(options, Beside::default());
        for batch in batches {
            explainer.batch(batch);
        }
        let (found, Beside { mut all, table }) = explainer.finish();
        all.findings(&found);
        all.arms = table
            .rows()
            .iter()
            .filter(|row| row.counts.armed > 0)
            .filter_map(|row| Some((row.thread?.name.to_string(), row.counts.armed)))
            .collect();
        all
    }

    /// What an explanation holds beside its wakeups.
    fn findings(&mut self, explanation: &Explanation) {
        let causes = explanation.causes.iter().filter_map(|cause| cause.advice.clone());
        let patterns = explanation.patterns.iter();
        let patterns =
            patterns.map(|found| format!("{} {}: {}", found.name, found.title, found.words));
        self.advice = causes.chain(patterns).collect();
        let culprits = explanation.culprits.iter();
        let culprits =
            culprits.map(|found| (found.label.kind.to_owned(), found.label.name.clone(), found.ns));
        self.culprits = culprits.collect();
        self.discarded = explanation
            .discarded
            .iter()
            .map(|(reason, count)| (reason.words().to_owned(), *count))
            .collect();
        self.waits = explanation
            .waits
            .iter()
            .map(|wait| {
                let place = wait.longest.slept_in.clone();
                (wait.kind.name().to_owned(), wait.count, wait.ns, place)
            })
            .collect();
        self.notes = explanation
            .bounds
            .iter()
            .map(|bound| {
                format!("at most {} ({} {}): {}", bound.limit, bound.count, bound.of, bound.what)
            })
            .chain(explanation.clocks_set.iter().map(|_| "CLOCK_REALTIME was set".to_owned()))
            .collect();
    }
}

impl Shown {
    /// `KIND EXPIRY +LATENESS cpu N`.
    pub(crate) fn head(&self) -> String {
        let Wakeup { kind, expiry_ns, lateness_ns, cpu, .. } = &self.wakeup;
        let (s, ns) = (expiry_ns / NS_PER_S, expiry_ns % NS_PER_S);
        format!("{} {s}.{ns:09} +{lateness_ns} cpu {}", kind.name(), cpu.0)
    }
}

impl Explained {
    /// The wakeups with their segments, as a case's remarks have them.
    pub(crate) fn balances(&self) -> String {
        let mut out = String::new();
        for shown in &self.wakeups {
            let _ = writeln!(out, "#= {}", shown.head());
            for (cause, ns, culprit) in &shown.segments {
                let line = format!("#=   {cause} {ns} {culprit}");
                let _ = writeln!(out, "{}", line.trim_end());
            }
        }
        if self.wakeups.is_empty() {
            out.push_str("#= no wakeups\n");
        }
        out
    }
}

impl Display for Explained {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.balances())?;
        for (reason, count) in &self.discarded {
            writeln!(out, "#= discarded {reason} {count}")?;
        }
        for (kind, count, ns, place) in &self.waits {
            let place = if place.is_empty() { "nowhere" } else { place };
            writeln!(out, "#= wait {kind} {count} {ns} in {place}")?;
        }
        for advice in &self.advice {
            writeln!(out, "#= advice {advice}")?;
        }
        for (name, count) in &self.arms {
            writeln!(out, "#= arms {name} {count}")?;
        }
        Ok(())
    }
}
