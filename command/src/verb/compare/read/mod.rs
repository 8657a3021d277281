//! What was given: found out by what is in it, and read.

mod experiment;
mod histogram;
mod latencies;

use super::opened::Opened;
use super::rows::listed;
use crate::failure::Failure;
use crate::input::{ImportFlags, Input};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tardy_experiment::Folder;

/// As much of a file as tells whether it is a document of tardy's.
const HEAD_BYTES: u64 = 4 << 10;

/// Reads one side. `thread` is what `--thread` says, for all sides.
pub(super) fn read(
    given: &str,
    thread: Option<&str>,
    import: &ImportFlags,
) -> Result<Opened, Failure> {
    let (name, given) = named(given);
    let mut opened = read_unnamed(given, thread, import)?;
    name.unwrap_or_default().clone_into(&mut opened.facts.name);
    Ok(opened)
}

/// The name before a path, where there is one: `before=recordings/run-1`.
fn named(given: &str) -> (Option<&str>, &str) {
    match given.split_once('=') {
        // A path may hold the sign itself.
        Some((name, path))
            if !name.is_empty() && !name.contains('/') && !Path::new(given).exists() =>
        {
            (Some(name), path)
        }
        _ => (None, given),
    }
}

fn read_unnamed(
    given: &str,
    thread: Option<&str>,
    import: &ImportFlags,
) -> Result<Opened, Failure> {
    let (path, chosen) = located(given)?;
    if path.is_dir() && Folder::is_one(&path) {
        return experiment::read(given, &path, chosen, thread);
    }
    let thread = match (chosen, thread) {
        (Some(chosen), Some(thread)) if chosen != thread => {
            return Err(Failure::usage(format!(
                "{given} chooses {chosen:?}, --thread {thread:?}: leave one out"
            )));
        }
        (chosen, thread) => chosen.or(thread),
    };
    if !path.is_dir() {
        if let Some(schema) = own_document(&path) {
            return Err(no_distribution(&path, &schema));
        }
        let is_trace = tardy_import::format::recognised(&path)?.is_some();
        if !is_trace && tardy_import::histogram::recognised(&path)?.is_some() {
            return histogram::read(given, &path, thread);
        }
    }
    latencies::read(given, Input::open(&path, import)?, thread)
}

/// The path, and what stands behind its last colon that is not part of it.
fn located(given: &str) -> Result<(PathBuf, Option<&str>), Failure> {
    if Path::new(given).exists() {
        return Ok((PathBuf::from(given), None));
    }
    given
        .rmatch_indices(':')
        .find(|(at, _)| *at > 0 && Path::new(&given[..*at]).exists())
        .map(|(at, _)| (PathBuf::from(&given[..at]), Some(&given[at + 1..])))
        .ok_or_else(|| {
            Failure::new(format!(
                "cannot read {given}: there is no such file or folder; give a recording (tardy list \
                 shows all), a trace, a histogram file or an experiment's folder"
            ))
        })
}

/// The schema of one of tardy's own JSON documents; `None` where it is none.
fn own_document(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    tardy_files::open_named(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let after = head.trim_start().strip_prefix('{')?.split_once("\"schema\"")?.1;
    let schema = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let schema = schema.split('"').next()?;
    schema.starts_with("tardy.").then(|| schema.to_owned())
}

fn no_distribution(path: &Path, schema: &str) -> Failure {
    let instead = if schema.starts_with("tardy.run/") || schema.starts_with("tardy.record/") {
        "give the folder that it names as recording"
    } else if schema.starts_with("tardy.measure/") {
        "give a histogram (tardy measure --histfile FILE) or a recording (tardy run)"
    } else {
        "give a recording, a trace, a histogram file or an experiment's folder"
    };
    Failure::new(format!(
        "{} has figures ({schema}) but no distribution, so nothing can be tested: {instead}",
        path.display()
    ))
}

/// Keeps the rows of one name.
fn choose<T>(
    given: &str,
    all: Vec<(String, T)>,
    thread: Option<&str>,
) -> Result<Vec<(String, T)>, Failure> {
    let Some(thread) = thread else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let kept: Vec<(String, T)> = all.into_iter().filter(|(name, _)| name == thread).collect();
    if kept.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(Failure::new(format!("{given} has no {thread:?}: it has {}", listed(&names))));
    }
    Ok(kept)
}

/// A circumstance, where it is told.
fn circumstance(name: &str, value: &str) -> Option<(String, String)> {
    (!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_path_is_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["trace.dat", "odd:name"] {
            std::fs::write(path(name), "").expect("a file");
        }
        for (given, file, chosen) in [
            ("trace.dat", "trace.dat", None),
            ("trace.dat:kworker/0:1", "trace.dat", Some("kworker/0:1")),
            ("odd:name", "odd:name", None),
            ("odd:name:t", "odd:name", Some("t")),
        ] {
            let given = path(given);
            let (found, name) = located(&given).expect("a file");
            assert_eq!((found, name), (PathBuf::from(path(file)), chosen), "{given}");
        }
        assert!(located(&path("none:t")).is_err() && located(":t").is_err());
    }

    #[test]
    fn what_stands_before_a_path_is_what_it_is_called() {
        let folder = tempfile::tempdir().expect("a folder");
        let odd = folder.path().join("x=y");
        std::fs::write(&odd, "").expect("a file");
        let odd = odd.display().to_string();
        for (given, name, path) in [
            ("before=run-1", Some("before"), "run-1"),
            ("before=a=b", Some("before"), "a=b"),
            ("run-1", None, "run-1"),
            ("=run-1", None, "=run-1"),
            ("a/b=c", None, "a/b=c"),
            (&odd, None, &odd),
        ] {
            assert_eq!(named(given), (name, path), "{given}");
        }
    }

    #[test]
    fn documents_of_ones_own_are_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("figures.json");
        for (text, schema) in [
            ("{\n  \"schema\": \"tardy.measure/1\",", Some("tardy.measure/1")),
            ("{\"a\":1,\"schema\":\"tardy.run/1\"}", Some("tardy.run/1")),
            ("{\"schema\":\"other/1\"}", None),
            ("# Histogram", None),
            ("{\"schema\"", None),
        ] {
            std::fs::write(&path, text).expect("a file");
            assert_eq!(own_document(&path).as_deref(), schema, "{text}");
        }
    }
}
