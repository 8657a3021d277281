//! The reports of experiments of the mailing lists, on made-up results.

mod fixture;

use fixture::Made;
use std::sync::LazyLock;
use tardy_experiment::{Comparisons, Experiment, Fit, Results};
use tardy_report::json::ExperimentDocument;
use tardy_report::{
    ExperimentData, Terminal, experiment_page, experiment_sentences, experiment_text,
};
use tardy_stats::ab::Verdict;
use unicode_width::UnicodeWidthStr;

/// All of them: stacking, pi, staircase, sleep, rearm, stacking-curve.
static ALL: LazyLock<Vec<Made>> = LazyLock::new(fixture::all);

#[test]
fn a_curve_has_a_line_per_context_and_both_begin_where_nobody_else_sleeps() {
    let made = ALL.last().unwrap();
    let page = experiment_page(data(made));
    for said in [">hard irq, n = 8,000 a point", ">deferred, n = 8,000 a point"] {
        assert!(page.contains(said), "{said}");
    }
    assert_eq!(page.matches("class=\"most line-0\"").count(), 5, "four points and the legend's");
    let said = experiment_sentences(data(made));
    assert!(
        said.last().unwrap().starts_with("At the end of each line: “hard irq” at 40 threads: ")
    );
    assert!(page.contains("Kernel threads in all of them: ktimers at fifo:1"));
    assert!(page.contains("ktimers at fifo:2") && page.contains("Time was counted, 500 MIPS"));
}

fn data(made: &Made) -> ExperimentData<'_> {
    ExperimentData { results: &made.results, comparisons: &made.comparisons }
}

fn text(data: ExperimentData<'_>, terminal: Terminal) -> String {
    let mut out = Vec::new();
    experiment_text(data, terminal, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn as_a_reader_sees_them() {
    for made in ALL.iter() {
        let name = &made.results.experiment.name;
        insta::assert_snapshot!(name.as_str(), text(data(made), Terminal::default()));
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for made in ALL.iter() {
        for asked in [0, 60, 80, 140, 500] {
            let text = text(data(made), Terminal { width: asked, colour: false });
            for line in text.lines() {
                assert!(line.width() <= asked.clamp(60, 140), "{asked}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let made = &ALL[1];
    let coloured = text(data(made), Terminal { colour: true, ..Terminal::default() });
    let plain = text(data(made), Terminal::default());
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn the_page_has_its_parts_in_order() {
    for made in ALL.iter() {
        let page = experiment_page(data(made));
        let ids = ["<header>", "fitness", "plots", "figures", "comparisons", "conditions", "run"];
        let places: Vec<usize> = ids
            .iter()
            .map(|id| {
                if id.starts_with('<') {
                    (*id).to_owned()
                } else {
                    format!("<section id=\"{id}\">")
                }
            })
            .map(|mark| page.find(&mark).unwrap_or_else(|| panic!("{mark} is missing")))
            .collect();
        assert!(places.is_sorted(), "{}: {places:?}", made.results.experiment.name);
        assert!(page.contains("<svg class=\"chart\""));
        assert!(
            !page.contains("NaN") && !page.contains("inf\""),
            "{}",
            made.results.experiment.name
        );
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains(" style=") && !page.contains(" src=") && !page.contains("href="));
    }
}

#[test]
fn what_the_source_reports_stands_beside_and_nothing_of_it_is_lost() {
    for made in ALL.iter() {
        let text = text(data(made), Terminal { width: 140, colour: false });
        for figures in made.results.experiment.reported.values() {
            for (name, value) in figures {
                let shown = [
                    format!("{value:.1}"),
                    format!("{value:.3}"),
                    format!("{:.2}", value * 100.0),
                    value.to_string(),
                ];
                assert!(shown.iter().any(|shown| text.contains(shown)), "{name} {value}: {text}");
            }
        }
        assert_eq!(text.matches("from another machine").count(), 1);
    }
    assert!(text(data(&ALL[0]), Terminal::default()).contains("load_average"));
}

#[test]
fn an_answer_says_what_the_comparisons_bear_and_what_speaks_against_it() {
    let answer = experiment_sentences(data(&ALL[0]));
    assert!(answer[0].starts_with("Later than “idle”: “storm” by "), "{answer:?}");
    assert!(
        answer[1].starts_with("The largest were: “idle” ") && answer[1].contains("(n = 48,000)")
    );
    let doubtful = experiment_sentences(data(&ALL[1]));
    assert!(doubtful[0].starts_with("With caution"), "{doubtful:?}");
    let unfit = experiment_sentences(data(&ALL[2]));
    assert!(unfit[0].starts_with("Do not rely on this"), "{unfit:?}");
    let sleeps = experiment_sentences(data(&ALL[3]));
    assert!(
        sleeps[0].starts_with("Shorter than “ordinary”: “fifo” by 50.")
            && sleeps[0].ends_with("(nanosleep alone)."),
        "{sleeps:?}"
    );
    let moved = experiment_sentences(data(&ALL[4]));
    assert!(moved.last().unwrap().contains("by the formula 0.925"), "{moved:?}");
}

#[test]
fn where_nothing_is_shown_nothing_is_claimed() {
    let Made { results, comparisons } = &ALL[0];
    let mut comparisons = comparisons.clone();
    for (number, pair) in comparisons.pairs.iter_mut().enumerate() {
        pair.comparison.verdict = if number < 2 {
            Verdict::NoDifferenceShown { detectable_ns: 900.0 }
        } else {
            Verdict::TooFew { why: "it has 3 values".to_owned() }
        };
    }
    let data = ExperimentData { results, comparisons: &comparisons };
    assert_eq!(
        experiment_sentences(data)[..2],
        [
            "No difference between “idle” and “storm” was found, which does not prove that they are \
             equal.",
            "There are too few values to compare “idle” with “hackbench”."
        ]
    );
    let page = experiment_page(data);
    assert!(
        page.contains("A difference of the medians of 900\u{a0}ns or more would have been found")
    );
}

#[test]
fn little_or_nothing_measured_makes_a_report_too() {
    for made in ALL.iter() {
        let none = Comparisons { pairs: vec![], tests: 0, alpha: 0.05 };
        for blocks in [0, 1, 2] {
            let mut results: Results = made.results.clone();
            results.blocks.truncate(blocks);
            for condition in 0..results.experiment.conditions.len() {
                // As a run that was ended early leaves them.
                assert!(results.blocks_of(condition).count() <= blocks);
            }
            let own = tardy_experiment::compare(&results, &tardy_stats::ab::Question::default());
            for comparisons in [&none, &own] {
                let data = ExperimentData { results: &results, comparisons };
                let page = experiment_page(data);
                assert!(page.ends_with("</html>") && !page.contains("NaN"));
                let text = text(data, Terminal::default());
                assert!(text.contains("it was ended early"), "{text}");
                let nothing = text.contains("Nothing was measured, so there is no answer.");
                assert_eq!(nothing, blocks == 0, "{text}");
                serde_json::to_string(&ExperimentDocument::from(data)).unwrap();
            }
        }
    }
}

#[test]
fn names_are_never_markup_nor_commands() {
    let attack = "\u{1b}[31m<img src=x onerror=alert(1)>\"' onload='x";
    for made in ALL.iter() {
        let mut results: Results = made.results.clone();
        let experiment = &mut results.experiment;
        for field in [&mut experiment.title, &mut experiment.source, &mut experiment.question] {
            attack.clone_into(field);
        }
        attack.clone_into(&mut experiment.name);
        for (number, condition) in experiment.conditions.iter_mut().enumerate() {
            condition.name = format!("{attack}{number}");
            attack.clone_into(&mut condition.load);
        }
        let reported = std::mem::take(&mut experiment.reported);
        experiment.reported = reported
            .into_iter()
            .map(|(name, figures)| {
                let figure = |(key, value): (String, f64)| (format!("{attack}{key}"), value);
                (format!("{attack}{name}"), figures.into_iter().map(figure).collect())
            })
            .collect();
        for block in &mut results.blocks {
            for (number, series) in block.series.iter_mut().enumerate() {
                series.name = format!("{attack}{number}");
            }
        }
        for field in [&mut results.run.kernel, &mut results.run.host] {
            attack.clone_into(field);
        }
        results.run.hypervisor = Some(attack.to_owned());
        results.run.left_out = vec![(attack.to_owned(), attack.to_owned())];
        results.notes = vec![attack.to_owned()];
        results.fitness.why = vec![attack.to_owned()];
        results.fitness.fit = Fit::Unfit;
        let mut comparisons = made.comparisons.clone();
        for pair in &mut comparisons.pairs {
            pair.a.series = format!("{attack}0");
            pair.b.series = format!("{attack}0");
            pair.comparison.verdict = Verdict::TooFew { why: attack.to_owned() };
        }
        let data = ExperimentData { results: &results, comparisons: &comparisons };
        let page = experiment_page(data);
        assert!(!page.contains("<img") && !page.contains('\u{1b}'));
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("\"' onload"), "no name ends an attribute");
        assert!(!text(data, Terminal::default()).contains('\u{1b}'));
    }
}

#[test]
fn the_document_has_all_of_it() {
    let mut document = serde_json::to_value(ExperimentDocument::from(data(&ALL[1]))).unwrap();
    assert_eq!(document["conditions"].as_array().unwrap().len(), 3);
    assert_eq!(document["comparisons"].as_array().unwrap().len(), 4);
    // One of each kind shows the schema.
    document["conditions"].as_array_mut().unwrap().truncate(1);
    let comparisons = document["comparisons"].as_array_mut().unwrap();
    comparisons.truncate(1);
    comparisons[0]["band"].as_array_mut().unwrap().truncate(1);
    comparisons[0]["quantiles"].as_array_mut().unwrap().truncate(1);
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn the_experiment_of_the_book_is_one() {
    let book = include_str!("../../../../docs/how-to/experiments.md");
    let (_, written) = book.split_once("```toml\n").unwrap();
    let (written, _) = written.split_once("```").unwrap();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("book.toml");
    std::fs::write(&file, written).unwrap();
    let experiment = Experiment::read(&file).unwrap();
    assert_eq!(experiment.conditions.len(), 4);
    assert_eq!(experiment.reported["disk"].len(), 2);
}
