//! The pictures as a browser gets them.

use super::*;
use tardy_stats::ab::BandPoint;
use tardy_stats::{Counted, Interval};

fn lines(values: &[Counted]) -> Vec<Line<'_>> {
    let names = ["A <quiet>", "B storm", "C", "D", "E"];
    let line = |(colour, values)| Line {
        name: names[colour],
        colour,
        values,
        resolution_ns: 1_000,
        known_share: 1.0,
    };
    values.iter().enumerate().map(line).collect()
}

#[test]
fn two_histograms_over_each_other() {
    let values = [
        Counted::new([(10_000, 50), (11_000, 40), (14_000, 9), (20_000, 1)]),
        Counted::new([(11_000, 5), (15_000, 4), (24_000, 1)]),
    ];
    insta::assert_snapshot!(histogram(&lines(&values)).into_string().replace('>', ">\n"));
}

#[test]
fn shares_above_a_latency() {
    let values = [Counted::new([(10_000, 90), (20_000, 9), (40_000, 1)])];
    insta::assert_snapshot!(ccdf(&lines(&values)).into_string().replace('>', ">\n"));
}

#[test]
fn differences_by_quantile() {
    let band = [0.1, 0.5, 0.9, 0.99]
        .map(|q| {
            let value = 1_000.0 / (1.0 - q);
            let b_minus_a = Interval { value, low: value / 2.0, high: value * 2.0 };
            BandPoint { q, b_minus_a }
        })
        .to_vec();
    let line = DifferenceLine { name: "B − A", colour: 1, band };
    insta::assert_snapshot!(differences(&[line]).into_string().replace('>', ">\n"));
}

#[test]
fn no_number_of_a_picture_is_lost_whatever_the_values() {
    let odd = [
        vec![Counted::of_values([0])],
        vec![Counted::of_values([5; 40])],
        vec![Counted::of_values([0, u64::MAX]), Counted::of_values([1])],
        vec![Counted::of_values([1_000; 3]), Counted::of_values((1..300).map(|at| at * at * 77))],
    ];
    for values in odd {
        let lines = lines(&values);
        for markup in [histogram(&lines), ccdf(&lines)] {
            let markup = markup.into_string();
            assert!(markup.contains("<svg"), "{values:?}");
            for bad in ["NaN", "inf", "<quiet>"] {
                assert!(!markup.contains(bad), "{bad}: {markup}");
            }
        }
    }
    let none = lines(&[]);
    assert!(histogram(&none).into_string().is_empty() && ccdf(&none).into_string().is_empty());
}
