//! The first screen of findings that were made up.

use super::*;
use crate::fixture;
use crate::text::{WIDTH_MAX, WIDTH_MIN};
use crate::whatif::fixture::with_predictions;
use unicode_width::UnicodeWidthStr;

fn shown(data: &Data<'_>, width: usize) -> String {
    let mut out = Vec::new();
    screen(data, Terminal { width, colour: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_fixture() {
    fixture::with_data(|data| insta::assert_snapshot!(shown(data, 100)));
}

#[test]
fn measurement_only() {
    fixture::with_measurement_only(|data| insta::assert_snapshot!(shown(data, 100)));
}

/// It fits at any width, and no name commands the terminal.
fn fits(data: &Data<'_>) {
    for width in [WIDTH_MIN, 80, 100, WIDTH_MAX] {
        let text = shown(data, width);
        assert!(text.lines().count() <= LINES_MAX, "{}", text.lines().count());
        assert!(!text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
    }
}

#[test]
fn it_fits_and_no_name_commands_the_terminal() {
    fixture::with_data(fits);
}

#[test]
fn many_threads_that_measured_are_counted() {
    let one = fixture::measurement().threads.remove(0);
    let measurement = tardy_lab::Measurement { threads: vec![one; 128], ..fixture::measurement() };
    fixture::with_measurement_only(|data| {
        let text = shown(&Data { measurement: Some(&measurement), ..*data }, 100);
        assert!(text.lines().count() <= LINES_MAX);
        assert!(text.contains("and 113 more"), "{text}");
    });
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    fixture::with_data(|data| {
        let mut out = Vec::new();
        screen(data, Terminal { colour: true, ..Terminal::default() }, &mut out).unwrap();
        let coloured = String::from_utf8(out).unwrap();
        assert!(coloured.contains("\u{1b}["));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), shown(data, 100));
    });
}

#[test]
fn what_would_help_is_right_under_the_verdict() {
    fixture::with_data(|data| {
        with_predictions(|predictions| {
            let data = Data { predictions: Some(Ok(predictions)), ..*data };
            insta::assert_snapshot!(shown(&data, 100));
            fits(&data);
        });
    });
}

#[test]
fn what_cannot_be_told_is_not_on_the_screen() {
    let refusal = tardy_whatif::Refusal::Unrecorded("switches");
    fixture::with_data(|data| {
        let refused = Data { predictions: Some(Err(&refusal)), ..*data };
        assert_eq!(shown(&refused, 100), shown(data, 100));
    });
}
