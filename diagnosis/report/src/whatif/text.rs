//! Predictions in a terminal.

use super::cells::{Cell, HEADS, InShort, MEAN_OF_WORST, cells, in_short, names, percent};
use super::{GAIN_MIN, HEADING, HEADING_ASKED, Predictions, Shown, helps};
use crate::clean::cut;
use crate::text::{Align, Table, Terminal};
use crate::units::{count, counted, duration_mean};
use std::fmt::Write as _;
use std::io::{self, Write};
use tardy_whatif::{Figures, Prediction, Tried};

/// Causes that are compared.
const CAUSES_SHOWN: usize = 4;

/// Changes that are named where they do not help.
const NAMED_MAX: usize = 8;

/// Writes a line for each change, then how well the recording is simulated, which is what those lines rest on.
///
/// # Errors
/// Where `out` cannot be written.
pub fn whatif_text(
    predictions: &Predictions<'_>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = terminal.clamped().width;
    let shown = predictions.shown();
    for note in predictions.notes {
        for line in textwrap::wrap(&format!("Note: {}.", crate::clean::clean(note)), width) {
            writeln!(out, "{line}")?;
        }
    }
    let heading = if predictions.shown == Shown::Asked { HEADING_ASKED } else { HEADING };
    writeln!(out, "{}", terminal.bold(heading))?;
    if let ([one], Shown::Asked) = (predictions.tried, predictions.shown)
        && let Ok(prediction) = &one.prediction
    {
        paragraph(&answer(one, prediction), width, out)?;
    }
    let predicted =
        shown.iter().filter_map(|tried| Some((*tried, tried.prediction.as_ref().ok()?)));
    ranking(predicted, width, terminal, out)?;
    let mut sentences: Vec<String> = Vec::new();
    let recorded = &predictions.baseline.recorded;
    let any = shown.iter().any(|tried| tried.prediction.is_ok());
    sentences.extend(predictions.warning().filter(|_| any || !predictions.is_ground()));
    sentences.extend(shown.iter().flat_map(|tried| remarks(tried, recorded)));
    sentences.extend(others(predictions, shown.len()));
    sentences.extend(any.then(super::ranges));
    for sentence in sentences {
        paragraph(&sentence, width, out)?;
    }
    writeln!(out)?;
    baseline(predictions, width, terminal, out)
}

fn paragraph(text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    // A number and its per cent stay together.
    for line in textwrap::wrap(&text.replace(" %", "\u{a0}%"), width - 2) {
        writeln!(out, "  {}", line.replace('\u{a0}', " "))?;
    }
    Ok(())
}

/// What one change would do, in words.
fn answer(tried: &Tried, prediction: &Prediction) -> String {
    let InShort { worst, mean, .. } = in_short(tried, prediction);
    let change = crate::clean::clean(&tried.in_words());
    match change.strip_prefix("without ") {
        Some(whom) => format!("Without {whom}: {worst}, {mean}."),
        None => format!("With {change}: {worst}, {mean}."),
    }
}

/// A sentence on the changes that are not shown by themselves.
fn others(predictions: &Predictions<'_>, shown: usize) -> Option<String> {
    let rest = predictions.tried.len() - shown;
    let (helping, useless): (Vec<&Tried>, Vec<&Tried>) =
        predictions.tried.iter().partition(|tried| helps(tried));
    let more = helping.len().saturating_sub(shown);
    let names: Vec<String> = useless
        .iter()
        .map(|tried| crate::clean::clean(&tried.name()))
        .take(NAMED_MAX + 1)
        .collect();
    let names = match names.get(..NAMED_MAX) {
        Some(first) if names.len() > NAMED_MAX => format!("{}, \u{2026}", first.join(", ")),
        _ => names.join(", "),
    };
    if rest > 0 && !predictions.is_ground() {
        let all = counted(rest as u64, "change");
        return Some(format!("{all} simulated all the same; --full shows each."));
    }
    let none = if shown == 0 { "No change that was tried is predicted to help. " } else { "" };
    match (rest, more) {
        (0, _) => None,
        (rest, 0) => {
            let all = match rest {
                1 => "--full shows it".to_owned(),
                rest => format!("{} in all; --full shows each", count(rest as u64)),
            };
            Some(format!(
                "{none}Not shown, because the gain is predicted to be below {} or smaller than the simulation is off, or is \
                 not known: {names} ({all}).",
                percent(GAIN_MIN)
            ))
        }
        (rest, more) => Some(format!(
            "{} more changes were tried, of which {} would help less; --full shows each.",
            count(rest as u64),
            count(more as u64)
        )),
    }
}

fn baseline(
    predictions: &Predictions<'_>,
    width: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = predictions.baseline;
    let baseline = predictions.shown_baseline();
    let n = count(baseline.recorded.n);
    writeln!(out, "{}", terminal.bold(&format!("The recording, simulated as it was (n = {n})")))?;
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    let heads = ["", "recorded", "simulated", "off in the second half"];
    table.row(heads.map(str::to_owned).to_vec());
    let figures = names().into_iter().zip(baseline.recorded.all());
    let figures = figures.zip(baseline.simulated.all().into_iter().zip(baseline.error));
    for ((name, recorded), (simulated, error)) in figures {
        table.row(vec![
            name.to_owned(),
            duration_mean(recorded),
            duration_mean(simulated),
            percent(error),
        ]);
    }
    table.write(
        out,
        width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )?;
    let causes = baseline.causes.iter().take(CAUSES_SHOWN);
    let causes: Vec<String> = causes
        .map(|(cause, was, is)| format!("{cause} {} and {}", percent(*was), percent(*is)))
        .collect();
    let mut text = format!(
        "Costs were fitted on the first half of the time. Causes as recorded and as simulated: {}.",
        causes.join(", ")
    );
    if predictions.apart.is_some() {
        let worst = whole.recorded.worst_percent_ns;
        let _ = write!(
            text,
            " What the hypervisor took is left out of all figures, because no change of this system alters it: with \
             it the mean is {} and that of the worst 1 % {}.",
            duration_mean(whole.recorded.mean_ns),
            duration_mean(worst)
        );
    }
    if whole.waking_is_assumed {
        text.push_str(
            " CPUs hardly ever slept for longer than a KVM host waits for them (200 µs), so how long waking up takes \
             after longer sleeps is assumed.",
        );
    }
    if let Some(wakeups) = predictions.near_missing() {
        let _ = write!(
            text,
            " {wakeups} near which events are missing {} in no figure, because nobody knows what was in the way.",
            if baseline.left_out == 1 { "is" } else { "are" }
        );
    }
    paragraph(&text, width, out)
}

/// Columns of the ranking that a narrow terminal can do without, the least needed first: the others' mean, the victims'
/// mean, p99.9.
const DISPENSABLE: [usize; 3] = [6, 2, 4];

/// Columns of the figures that are left then.
const FIGURES_COLUMNS: usize = 40;

/// Writes a line for each; where lines would be too long, its ranges in a second one.
pub(crate) fn ranking<'a>(
    predicted: impl Iterator<Item = (&'a Tried, &'a Prediction)>,
    width: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<_> = predicted.map(|(tried, prediction)| cells(tried, prediction)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut columns = [Align::Right; 7];
    columns[0] = Align::Left;
    let with_heads = || {
        let mut table = Table::new(&columns).can_do_without(&DISPENSABLE);
        table.row(HEADS.map(str::to_owned).to_vec());
        table
    };
    let mut table = with_heads();
    for row in &rows {
        table.row(row.iter().map(Cell::to_string).collect());
    }
    let has_room = table.fits(width);
    if !has_room {
        table = with_heads();
        for row in rows {
            let (mut figures, ranges): (Vec<String>, Vec<String>) =
                row.into_iter().map(|cell| (cell.figure, cell.range)).unzip();
            figures[0] = cut(&figures[0], width.saturating_sub(FIGURES_COLUMNS));
            table.row(figures);
            table.row(ranges);
        }
    }
    table.write(out, width, |row, _, text| {
        // After the heads, rows are figures and ranges in turn.
        let is_beside = row == 0 || (!has_room && row.is_multiple_of(2));
        if is_beside { terminal.dim(text) } else { text.to_owned() }
    })
}

/// What is to be said of one in words.
fn remarks(tried: &Tried, recorded: &Figures) -> Vec<String> {
    let name = crate::clean::clean(&tried.name());
    let gains = |best: &Figures| {
        best.p99_ns < recorded.p99_ns || best.worst_percent_ns < recorded.worst_percent_ns
    };
    let bound = tried.bound.filter(|bound| gains(&bound.best)).map(|bound| {
        format!(
            "at best p99 {} and {MEAN_OF_WORST} {}",
            duration_mean(bound.best.p99_ns),
            duration_mean(bound.best.worst_percent_ns)
        )
    });
    match (&tried.prediction, bound) {
        (Err(why), Some(bound)) => {
            vec![format!("{name}: not known, because {why}. Without simulation: {bound}.")]
        }
        (Err(why), None) => vec![format!("{name}: not known, because {why}.")],
        (Ok(prediction), _) if prediction.is_unsure => {
            vec![format!(
                "{name}: its predicted effect is smaller than the error of the simulation."
            )]
        }
        (Ok(prediction), _) => {
            vec![format!("{name} costs: {}.", prediction.prices.join("; "))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{WIDTH_MAX, WIDTH_MIN};
    use crate::whatif::fixture::with_predictions;
    use unicode_width::UnicodeWidthStr;

    fn text(predictions: &Predictions<'_>, width: usize) -> String {
        let mut out = Vec::new();
        whatif_text(predictions, Terminal { width, colour: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_fixture() {
        with_predictions(|predictions| insta::assert_snapshot!(text(&predictions, 100)));
    }

    #[test]
    fn it_fits_and_no_name_commands_the_terminal() {
        with_predictions(|predictions| {
            for width in [WIDTH_MIN, 80, 100, WIDTH_MAX] {
                let text = text(&predictions, width);
                assert!(!text.contains('\u{1b}'));
                for line in text.lines() {
                    assert!(line.width() <= width, "{} > {width}: {line}", line.width());
                }
            }
        });
    }
    #[test]
    fn one_change_is_answered_first_and_what_would_not_help_is_only_named() {
        with_predictions(|all| {
            let one = Predictions { tried: &all.tried[..1], shown: Shown::Asked, ..all };
            let text = text(&one, 100);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines[1].starts_with("  With timer slack 1ns"), "{text}");
            assert!(lines[1].contains("worst 1 % mean 230.0 → 46.0 µs"), "{text}");
        });
        with_predictions(|all| {
            let best = Predictions { shown: Shown::Helping(2), ..all };
            let text = text(&best, 100);
            assert!(
                text.contains("slack(victim)=1ns  ") && !text.contains("remove(<b>$x&y)  "),
                "{text}"
            );
            assert!(
                text.contains("4 more changes were tried, of which 2 would help less"),
                "{text}"
            );
            let mut off = all.baseline.clone();
            off.error[2] = 0.7;
            let no_ground = self::text(&Predictions { baseline: &off, ..best }, 100);
            for part in ["misses the recorded p99 by 70 %", "6 changes simulated all the same"] {
                assert!(no_ground.contains(part) && !no_ground.contains("slack"), "{no_ground}");
            }
            let notes = ["the recording ends early\u{1b}[2J".to_owned()];
            let text = self::text(&Predictions { notes: &notes, ..best }, 100);
            assert!(text.starts_with("Note: the recording ends early"), "{text}");
            assert!(!text.contains('\u{1b}'));
            let useless = Predictions { tried: &all.tried[5..], ..best };
            let text = self::text(&useless, 100);
            assert!(text.contains("No change that was tried is predicted to help."), "{text}");
            assert!(text.contains("not known: remove(pipewire)"), "{text}");
        });
    }
}
