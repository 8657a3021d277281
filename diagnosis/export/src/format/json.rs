//! The wakeups' latencies in the form of cyclictest's `--json`, of rt-tests 2.x (`file_version` 1).
//!
//! As there, latencies are whole µs and what lies above the bins is in `cycles` only. Beyond it, each
//! thread has `name` and `pid`. Of what is in cyclictest's and not here, the run itself: start and end
//! by the calendar, and the NUMA node, which is −1.

use crate::latencies::{Latencies, Victim};
use crate::output::Output;
use crate::{About, Export, ExportError, Format};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use tardy_explain::{Explanation, Named};
use tardy_stats::Histogram;

pub(super) struct CyclictestJson;

impl Format for CyclictestJson {
    fn name(&self) -> &'static str {
        "json"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn meaning(&self) -> &'static str {
        "latencies of each thread, as cyclictest --json writes them"
    }

    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError> {
        let out = Output::create(path)?;
        Ok(Box::new(File { out, about: about.clone(), latencies: Latencies::default() }))
    }
}

struct File {
    out: Output,
    about: About,
    latencies: Latencies,
}

/// In cyclictest's order.
#[derive(Serialize)]
struct Document<'a> {
    file_version: u32,
    // The colons are cyclictest's.
    #[serde(rename = "cmdline:")]
    cmdline: &'a str,
    #[serde(rename = "rt_test_version:")]
    rt_test_version: &'a str,
    return_code: u32,
    sysinfo: SystemInfo<'a>,
    num_threads: usize,
    resolution_in_ns: u32,
    thread: Map<String, Value>,
}

#[derive(Serialize)]
struct SystemInfo<'a> {
    sysname: &'static str,
    nodename: &'a str,
    release: &'a str,
    machine: &'a str,
}

impl Export for File {
    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.latencies.wakeup(wakeup);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        let about = &self.about;
        let victims = self.latencies.victims();
        let histograms = self.latencies.histograms();
        let thread = victims.iter().zip(histograms).enumerate();
        let thread =
            thread.map(|(at, (victim, histogram))| (at.to_string(), one(victim, histogram)));
        let document = Document {
            file_version: 1,
            cmdline: "tardy export",
            rt_test_version: &about.written_by,
            return_code: 0,
            sysinfo: SystemInfo {
                sysname: "Linux",
                nodename: &about.host,
                release: &about.kernel_release,
                machine: &about.machine,
            },
            num_threads: victims.len(),
            resolution_in_ns: 0,
            thread: thread.collect(),
        };
        self.out.put(|out| {
            let text = escaped(&serde_json::to_string_pretty(&document)?);
            writeln!(out, "{text}")
        })?;
        self.out.finish()
    }
}

/// A document in which the control characters are escaped that JSON leaves as they are, and terminals obey (U+009B).
fn escaped(document: &str) -> String {
    use std::fmt::Write as _;
    let is_obeyed = |c: char| c.is_control() && c != '\n';
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        // All of them have four digits at most; writing to a String does not fail.
        if is_obeyed(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

fn one(victim: &Victim, histogram: &Histogram) -> Value {
    let (min, _, max) = histogram.min_avg_max_us();
    let bins = histogram.bins().iter().enumerate().filter(|(_, count)| **count > 0);
    let bins: Map<String, Value> =
        bins.map(|(us, count)| (us.to_string(), json!(*count))).collect();
    json!({
        "histogram": bins,
        "cycles": histogram.count(),
        "min": min,
        "max": max,
        "avg": histogram.mean_us(),
        "cpu": victim.cpu.map_or(-1, i32::from),
        "node": -1,
        "name": victim.name,
        "pid": victim.pid,
    })
}
