//! The first screen, for each kind of recording: it fits, and a stranger can act on it.
#![allow(missing_docs)]

mod streams;

use tardy_explain::{Explainer, Explanation, Options, Watch};
use tardy_model::Batch;
use tardy_report::{Context, Data, SCREEN_LINES_MAX, Terminal};
use unicode_width::UnicodeWidthStr as _;

const COLUMNS: usize = 100;

fn explained(batches: &[Batch], watch: Watch) -> Explanation {
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, ());
    for batch in batches {
        explainer.batch(batch);
    }
    explainer.finish().0
}

/// The screen of an explanation of this machine, which fits.
fn screen(explanation: &Explanation) -> String {
    screen_of(explanation, "live-ebpf")
}

/// The same of another source.
fn screen_of(explanation: &Explanation, source: &str) -> String {
    let context = Context {
        host: "studio".to_owned(),
        kernel: "6.12.0 x86_64".to_owned(),
        source: source.to_owned(),
        again: "tardy explain recordings/run-1".to_owned(),
        page: Some("recordings/run-1/report.html".into()),
        ..Context::default()
    };
    let mut data = Data::new(&context);
    data.explanation = Some(explanation);
    let mut out = Vec::new();
    let terminal = Terminal { width: COLUMNS, colour: false };
    tardy_report::screen(&data, terminal, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().count() <= SCREEN_LINES_MAX, "{} lines", text.lines().count());
    for line in text.lines() {
        assert!(line.width() <= COLUMNS, "{line}");
    }
    text
}

#[test]
fn a_run_of_two_threads() {
    let explanation = explained(&[streams::two_threads()], Watch::default());
    assert_eq!(explanation.latencies.count(), 600);
    insta::assert_snapshot!(screen(&explanation));
}

#[test]
fn a_hackbench_of_400_tasks() {
    let explanation = explained(&[streams::hackbench()], Watch::default());
    let text = screen(&explanation);
    let first = &explanation.groups[0];
    assert_eq!(first.group.words(), "hackbench (400 threads of 10 processes)");
    assert!(first.share > 0.5, "{first:?}");
    assert!(text.contains("chrt -f -p 50 29014"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn ten_minutes() {
    let explanation = explained(&[streams::ten_minutes()], Watch::default());
    assert!(explanation.span_ns > 599_000_000_000);
    insta::assert_snapshot!(screen(&explanation));
}

#[test]
fn a_second_of_another_tools_trace() {
    let file = std::env::temp_dir().join(format!("tardy-screens-{}.txt", std::process::id()));
    std::fs::write(&file, streams::perf_script()).unwrap();
    let (_, mut import) = tardy_import::open(&file, &tardy_import::Options::default()).unwrap();
    let mut batches = Vec::new();
    loop {
        let mut batch = Batch::default();
        if !import.next_batch(&mut batch).unwrap() {
            break;
        }
        batches.push(batch);
    }
    import.closing();
    std::fs::remove_file(&file).unwrap();
    let watch = Watch { comms: vec!["player".to_owned()], ..Watch::default() };
    insta::assert_snapshot!(screen_of(&explained(&batches, watch), "import"));
}

#[test]
fn an_empty_recording() {
    insta::assert_snapshot!(screen(&explained(&[], Watch::default())));
}
