//! Dumps a little of the running kernel's tracing for the tests: formats, functions, raw pages, and
//! the kernel's own reading of them (microseconds and names).
//!
//! As root: `mount -t tracefs nodev DIR`, then
//! `cargo run -p tardy-tracefs --example capture_fixture -- DIR diagnosis/sources/ftrace/tests/data`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Pages kept of each CPU.
const PAGES: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [tracefs, out] = paths.as_slice() else {
        return Err("usage: capture_fixture TRACEFS OUT".into());
    };
    fs::create_dir_all(out)?;
    let instance = tracefs.join("instances/tardy_fixture");
    fs::create_dir(&instance)?;
    let result = capture(tracefs, &instance, out);
    fs::remove_dir(&instance)?;
    result
}

fn capture(tracefs: &Path, instance: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    fs::write(instance.join("tracing_on"), "0")?;
    fs::write(instance.join("trace_clock"), "mono")?;
    let mut formats = String::new();
    for (group, event) in tardy_ftrace::decode::wanted() {
        let directory = instance.join("events").join(group).join(event);
        let Ok(format) = fs::read_to_string(directory.join("format")) else { continue };
        writeln!(formats, "group: {group}\n{format}")?;
        fs::write(directory.join("enable"), "1")?;
    }
    fs::write(out.join("formats"), formats)?;
    // In one read: the file ends after the first.
    let mut header = vec![0; 4096];
    let bytes = File::open(tracefs.join("events/header_page"))?.read(&mut header)?;
    fs::write(out.join("header_page"), &header[..bytes])?;

    fs::write(instance.join("tracing_on"), "1")?;
    for _ in 0..60 {
        sleep(Duration::from_millis(1));
    }
    fs::write(instance.join("tracing_on"), "0")?;
    let trace = fs::read_to_string(instance.join("trace"))?;
    for cpu in 0..2 {
        // Before the raw pages, whose reading consumes them.
        let text = told(&fs::read_to_string(instance.join(format!("per_cpu/cpu{cpu}/trace")))?);
        let path = instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let mut pages = vec![0; PAGES * 4096];
        let mut pipe = File::open(path)?;
        for page in pages.chunks_mut(4096) {
            pipe.read_exact(page)?;
        }
        fs::write(out.join(format!("cpu{cpu}.pages")), pages)?;
        fs::write(out.join(format!("cpu{cpu}.text")), text)?;
    }
    // Only functions that the trace speaks of: the whole table has megabytes.
    let functions: BTreeSet<&str> =
        trace.split_whitespace().filter_map(|word| word.strip_prefix("function=")).collect();
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    let mut kept = String::new();
    for line in symbols.lines() {
        if line.split_whitespace().nth(2).is_some_and(|name| functions.contains(name)) {
            writeln!(kept, "{line}")?;
        }
    }
    fs::write(out.join("kallsyms"), kept)?;
    Ok(())
}

/// Of lines like `bash-6625 [001] d..2. 2833.441222: sched_switch: …` the time in microseconds and
/// the name, as many as the pages can have.
fn told(trace: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| !word.starts_with('['));
        let time_us = words.nth(2)?.strip_suffix(':')?.replace('.', "");
        Some(format!("{time_us} {}\n", words.next()?.trim_end_matches(':')))
    };
    trace.lines().filter(|line| !line.starts_with('#')).filter_map(line).take(PAGES * 170).collect()
}
