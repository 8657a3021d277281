//! Predictions in a terminal.

use super::Predictions;
use crate::clean::clean_cut;
use crate::text::{Align, Table, Terminal, WIDTH_MAX, WIDTH_MIN};
use crate::units::{count, duration_mean};
use std::fmt::Write as _;
use std::io::{self, Write};
use tardy_whatif::{Baseline, Figures, Moved, Prediction, Tried};

/// Causes that are compared.
const CAUSES_SHOWN: usize = 4;

/// A baseline that is further off than this in p99 is worth a warning.
const ERROR_LARGE: f64 = 0.25;

/// The figures that a line of the ranking shows, among [`Figures::all`].
const SHOWN: [usize; 4] = [0, 2, 3, 5];

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
    ranking(shown, width, terminal, out)?;
    let mut sentences: Vec<String> = Vec::new();
    for tried in shown {
        sentences.extend(remarks(tried));
    }
    let rest = predictions.tried.len() - shown.len();
    if rest > 0 {
        sentences
            .push(format!("{} more changes were tried and are in --json.", count(rest as u64)));
    }
    sentences.push(format!(
        "The ranges are to hold the true figure in {:.0} of 100 predictions. A maximum has no range that could be \
         relied on.",
        tardy_whatif::COVERAGE * 100.0
    ));
    for sentence in sentences {
        for line in textwrap::wrap(&sentence, width - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn signed(share: f64) -> String {
    format!("{:+.0} %", share * 100.0).replace('-', "\u{2212}")
}

fn baseline(
    predictions: &Predictions<'_>,
    width: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = predictions.baseline;
    let baseline: &Baseline = predictions.apart.unwrap_or(whole);
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
    if baseline.error[2] > ERROR_LARGE {
        text.push_str(
            " The simulated system is not much like the recorded one: take what follows for a direction, not for a \
             number.",
        );
    }
    for line in textwrap::wrap(&text, width - 2) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn figure(moved: &Moved, is_max: bool) -> String {
    let predicted = duration_mean(moved.predicted_ns);
    if is_max {
        return predicted;
    }
    let range = crate::confidence::range(moved.low_ns as u64, moved.high_ns as u64);
    format!("{predicted} ({range})")
}

/// A change of the host itself shows in what the host took, every other one without it.
fn shown_figures<'a>(tried: &Tried, prediction: &'a Prediction) -> &'a [Moved; 6] {
    if tried.is_of_theft() { &prediction.figures } else { prediction.own() }
}

fn ranking(
    tried: &[Tried],
    width: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", terminal.bold("What would change it"))?;
    let told: Vec<&Tried> = tried.iter().filter(|tried| tried.prediction.is_ok()).collect();
    if told.is_empty() {
        return Ok(());
    }
    let mut columns = [Align::Right; 7];
    columns[0] = Align::Left;
    let mut table = Table::new(&columns).can_do_without(&[6, 2, 5]);
    let names = SHOWN.map(|at| Figures::NAMES[at].to_owned());
    let [mean, p99, p999, max] = names;
    let heads = vec![
        "change".to_owned(),
        "worst 1 %".to_owned(),
        mean,
        p99,
        p999,
        max,
        "others, mean".to_owned(),
    ];
    table.row(heads);
    for tried in told {
        let Ok(prediction) = &tried.prediction else { continue };
        let figures = shown_figures(tried, prediction);
        let (before_ns, after_ns) = prediction.others_ns;
        let others = if before_ns > 0.0 { after_ns / before_ns - 1.0 } else { 0.0 };
        let mut cells = vec![clean_cut(&tried.name(), 40), signed(figures[4].change())];
        cells.extend(SHOWN.map(|at| figure(&figures[at], at == 5)));
        cells.push(signed(others));
        table.row(cells);
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
            vec![format!("{name}: cannot be told, because {why}. Without simulation: {bound}.")]
        }
        (Err(why), None) => vec![format!("{name}: cannot be told, because {why}.")],
        (Ok(prediction), _) if prediction.is_unsure => {
            vec![format!("{name}: its effect is smaller than what the simulation is off.")]
        }
        (Ok(prediction), _) => {
            vec![format!("{name} costs: {}.", prediction.prices.join("; "))]
        }
    }
}
