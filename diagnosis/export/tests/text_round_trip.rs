//! What is exported as text is imported as the same, but for what text cannot hold.

mod export;
mod sample;
mod told;

use std::collections::HashMap;
use told::{import, told};

/// What text can hold of an event; the export's own documentation lists what it cannot.
fn held(line: &str) -> Option<String> {
    // The sample has a timer whose address is not known.
    let line = &line.replace(" 0x1000003ea ", " 0x3ea ");
    // Names and what is known of threads come at other times, and names more than once; a loss is told
    // before its CPU's next event.
    if line.contains(" name [") || line.contains("TaskInfo") || line.contains("Loss(") {
        return None;
    }
    let until = |words: &str| line.find(words).map(|at| line[..at + words.len()].to_owned());
    let address = || line.split(' ').find(|word| word.starts_with("0x")).unwrap_or_default();
    // An end says no more than where the timer is.
    if let Some(head) = until(" end ") {
        return Some(format!("{head} {}", address()));
    }
    // Timers of the wheel are told in jiffies.
    if line.ends_with("TimerList")
        && let Some(head) = until("TimerArm").or_else(|| until("ExpireBegin"))
    {
        return Some(format!("{head} {}", address()));
    }
    // A priority that falls back to one that nobody knew.
    let line = line.replace("new: Prio(19), released: true", "new: Prio(19), released: false");
    let line = line.replace("RtLock", "Uninterruptible").replace("polls: true", "polls: false");
    Some(line)
}

#[test]
fn events_come_back() {
    let batches = sample::batches(400);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    export::export("text", &path, &batches).unwrap();
    let (format, back, origin, _) = import(&path);
    assert_eq!(format, "ftrace-text");
    assert_eq!((origin.clock.as_str(), origin.hz), ("mono", 250));
    let facts =
        |batches| -> Vec<String> { told(batches).iter().filter_map(|line| held(line)).collect() };
    let (expected, found) = (facts(&batches), facts(&back));
    for (at, (expected, found)) in expected.iter().zip(&found).enumerate() {
        assert_eq!(expected, found, "event {at}");
    }
    assert_eq!(expected.len(), found.len());
    assert!(expected.len() > 20_000);
    let losses = |batches| told(batches).iter().filter(|line| line.contains("Loss(")).count();
    assert_eq!(losses(&batches), losses(&back));
    let threads = |batches: &[_]| {
        told(batches).into_iter().filter_map(|line| {
            Some((line.split(' ').nth(2)?.to_owned(), line.split_once("TaskInfo(")?.1.to_owned()))
        })
    };
    let infos: HashMap<_, _> = threads(&back).collect();
    for (thread, info) in threads(&batches).collect::<HashMap<_, _>>() {
        assert_eq!(infos.get(&thread), Some(&info), "what is known of thread {thread}");
    }
}
