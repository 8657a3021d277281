//! Predictions in a terminal.

use super::Predictions;
use super::cells::{HEADS, cells, percent};
use crate::text::{Align, Table, Terminal, WIDTH_MAX, WIDTH_MIN};
use crate::units::{count, duration_mean};
use std::fmt::Write as _;
use std::io::{self, Write};
use tardy_whatif::{Figures, Prediction, Tried};

/// Causes that are compared.
const CAUSES_SHOWN: usize = 4;

/// Writes how well the recording is simulated, then a line for each change.
///
/// # Errors
/// Where `out` cannot be written.
pub fn whatif_text(
    predictions: &Predictions<'_>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = terminal.width.clamp(WIDTH_MIN, WIDTH_MAX);
    baseline(predictions, width, terminal, out)?;
    writeln!(out)?;
    let shown = &predictions.tried[..predictions.shown.min(predictions.tried.len())];
    writeln!(out, "{}", terminal.bold("What would change it"))?;
    let predicted = shown.iter().filter_map(|tried| Some((tried, tried.prediction.as_ref().ok()?)));
    ranking(predicted, width, terminal, out)?;
    let mut sentences: Vec<String> = Vec::new();
    for tried in shown {
        sentences.extend(remarks(tried));
    }
    let rest = predictions.tried.len() - shown.len();
    if rest > 0 {
        sentences.push(format!("{} more changes were tried; --json has them.", count(rest as u64)));
    }
    sentences.push(super::ranges());
    for sentence in sentences {
        for line in textwrap::wrap(&sentence, width - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
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
    let figures = Figures::NAMES.iter().zip(baseline.recorded.all());
    let figures = figures.zip(baseline.simulated.all().into_iter().zip(baseline.error));
    for ((name, recorded), (simulated, error)) in figures {
        table.row(vec![
            (*name).to_owned(),
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
             it the mean is {} and the worst 1 % {}.",
            duration_mean(whole.recorded.mean_ns),
            duration_mean(worst)
        );
    }
    if predictions.is_far_off() {
        text.push_str(
            " The simulated system differs much from the recorded one: treat what follows as a \
             direction, not as a number.",
        );
    }
    for line in textwrap::wrap(&text, width - 2) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// Writes a line for each.
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
    let mut table = Table::new(&columns).can_do_without(&[6, 2, 5]);
    table.row(HEADS.map(str::to_owned).to_vec());
    for row in rows {
        table.row(row.to_vec());
    }
    table.write(
        out,
        width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )
}

/// What is to be said of one in words.
fn remarks(tried: &Tried) -> Vec<String> {
    let name = crate::clean::clean(&tried.name());
    let bound = tried.bound.map(|bound| {
        format!(
            "at best p99 {} and worst 1 % {}",
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
            vec![format!("{name}: its effect is smaller than the error of the simulation.")]
        }
        (Ok(prediction), _) => {
            vec![format!("{name} costs: {}.", prediction.prices.join("; "))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
