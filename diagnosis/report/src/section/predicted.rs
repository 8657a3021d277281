//! What would help, by simulation of the recorded system.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::text::Terminal;
use crate::units::duration_mean;
use crate::whatif::{GAIN_MIN, HEADING, HEADS, P99, Predictions, cells, percent, ranges, ranking};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_whatif::Refusal;

pub(super) struct Predicted;

impl Section for Predicted {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(predictions) = data.predictions else { return Ok(()) };
        writeln!(out, "{}", terminal.bold(HEADING))?;
        if let Ok(predictions) = predictions {
            ranking(predictions.best(), terminal.width, terminal, out)?;
        }
        for sentence in sentences(predictions) {
            for line in textwrap::wrap(&sentence, terminal.width - 2) {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(predictions) = data.predictions else { return Markup::default() };
        let best: Vec<_> = predictions.iter().flat_map(Predictions::best).collect();
        html! {
            section #predicted {
                h2 { (HEADING) }
                @if !best.is_empty() {
                    div.scroll {
                        table {
                            thead { tr {
                                th { (HEADS[0]) }
                                @for head in &HEADS[1..] { th.number { (head) } }
                            } }
                            tbody {
                                @for (tried, prediction) in best {
                                    @let cells = cells(tried, prediction);
                                    tr {
                                        td { code { (cells[0]) } }
                                        @for cell in &cells[1..] { td.number { (cell) } }
                                    }
                                }
                            }
                        }
                    }
                }
                @for sentence in sentences(predictions) { p.note { (sentence) } }
            }
        }
    }
}

/// What must be known of the table, or why there is none.
fn sentences(predictions: Result<Predictions<'_>, &Refusal>) -> Vec<String> {
    let predictions = match predictions {
        Ok(predictions) => predictions,
        Err(why) => {
            return vec![clean(&format!("Nothing can be predicted from it, because {why}."))];
        }
    };
    let mut sentences = Vec::new();
    for (tried, prediction) in predictions.best() {
        let prices = prediction.prices.join("; ");
        sentences.push(clean(&format!("{} costs: {prices}.", tried.name())));
    }
    let is_any = !sentences.is_empty();
    sentences.extend(predictions.warning().filter(|_| is_any || !predictions.is_ground()));
    if is_any {
        sentences.extend(predictions.left_out());
        sentences.push(ranges());
    } else if predictions.is_ground() {
        sentences.push(format!(
            "None of the {} changes that were tried is predicted to help by {} or more, and by more than the \
             simulation is off.",
            predictions.tried.len(),
            percent(GAIN_MIN),
        ));
    }
    let baseline = predictions.shown_baseline();
    sentences.push(format!(
        "The recorded system was simulated, changed, and simulated again. Its p99 is {} as \
         recorded and {} as simulated: off by {} in the second half of the time. All changes: \
         tardy whatif; proof: tardy fix.",
        duration_mean(baseline.recorded.p99_ns),
        duration_mean(baseline.simulated.p99_ns),
        percent(baseline.error[P99]),
    ));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::whatif::Shown;
    use crate::whatif::fixture::with_predictions;

    fn both(data: &Data<'_>) -> (String, String) {
        let mut out = Vec::new();
        Predicted.terminal(data, Terminal::default(), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), Predicted.html(data).into_string())
    }

    #[test]
    fn the_best_with_their_price() {
        fixture::with_data(|data| {
            with_predictions(|predictions| {
                let (text, page) = both(&Data { predictions: Some(Ok(predictions)), ..*data });
                insta::assert_snapshot!(text);
                assert!(page.contains("idle-latency=0us"), "{page}");
                assert!(!page.contains("<b>") && !page.contains('\u{1b}'), "{page}");
            });
        });
    }

    #[test]
    fn a_simulation_that_is_far_off_advises_nothing() {
        fixture::with_data(|data| {
            with_predictions(|predictions| {
                let mut baseline = predictions.baseline.clone();
                baseline.error[P99] = 0.65;
                let shown = Shown::IN_REPORTS;
                let predictions =
                    Predictions { baseline: &baseline, apart: None, shown, ..predictions };
                let (text, _) = both(&Data { predictions: Some(Ok(predictions)), ..*data });
                assert!(text.contains("Nothing is predicted by itself, because the simulation misses the recorded p99 by 65 %"), "{text}");
                assert!(!text.contains("None of the") && text.contains("off by 65 %"), "{text}");
            });
        });
    }

    #[test]
    fn a_refusal_says_why() {
        let why = Refusal::Unrecorded("switches");
        fixture::with_data(|data| {
            let (text, page) = both(&Data { predictions: Some(Err(&why)), ..*data });
            assert!(text.contains("because it has no events of switches."), "{text}");
            assert!(page.contains("because it has no events of switches."), "{page}");
            assert_eq!(both(data), (String::new(), String::new()));
        });
    }
}
