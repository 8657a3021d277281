//! From figures of experiments to curves: over the first number that varies, a line for each
//! combination of what else varies.

use crate::plot::{CurveLine, CurvePoint, LINES_MAX, curve, curve_file};
use maud::Markup;
use std::collections::BTreeMap;
use tardy_experiment::{Column, Truth, TruthRow};

/// Curves, and over what they go.
pub(super) struct Curves {
    /// The name of what varies.
    pub(super) over: String,
    pub(super) lines: Vec<CurveLine>,
}

/// Curves of one or several experiments in one picture, as an SVG file. Lines of several are told
/// apart by their machines.
///
/// # Errors
/// Why there is nothing to draw, or too much.
pub fn curves_file(truths: &[Truth]) -> Result<String, String> {
    let names = names(truths);
    let mut over: Option<String> = None;
    let mut lines = Vec::new();
    for (truth, name) in truths.iter().zip(&names) {
        let curves = curves(truth).ok_or_else(|| {
            format!("{name}: no number varies between its conditions, so no curve can be drawn")
        })?;
        match &over {
            Some(over) if *over != curves.over => {
                return Err(format!(
                    "{name} is over {}, {} over {over}: draw them apart",
                    curves.over, names[0]
                ));
            }
            _ => over = Some(curves.over),
        }
        lines.extend(curves.lines.into_iter().map(|line| {
            match (truths.len(), line.name.as_str()) {
                (1, _) => line,
                (_, "") => CurveLine { name: name.clone(), ..line },
                (_, own) => CurveLine { name: format!("{name}, {own}"), ..line },
            }
        }));
    }
    if lines.len() > LINES_MAX {
        return Err(format!(
            "{} lines are too many for one picture: at most {LINES_MAX} can be distinguished",
            lines.len()
        ));
    }
    let title = truths.first().and_then(|truth| truth.told("experiment")).unwrap_or("Curves");
    let notes: Vec<String> =
        truths.iter().zip(&names).map(|(truth, name)| origin(truth, name)).collect();
    curve_file(title, &notes, &over.unwrap_or_default(), &lines)
        .ok_or_else(|| "there is no figure to draw".to_owned())
}

/// Curves of one table for a page, and over what they go; `None` where no number varies.
pub(crate) fn curve_of(truth: &Truth) -> Option<(String, Markup)> {
    let curves = curves(truth).filter(|curves| curves.lines.len() <= LINES_MAX)?;
    let picture = curve(&curves.over, &curves.lines);
    Some((curves.over, picture))
}

/// Curves of one experiment; `None` where no number varies.
pub(super) fn curves(truth: &Truth) -> Option<Curves> {
    let over = truth.parameters.iter().find(|name| varies_as_number(truth, name))?;
    let others: Vec<&String> = truth.parameters.iter().filter(|name| *name != over).collect();
    let mut lines: Vec<(String, Vec<&TruthRow>)> = Vec::new();
    // Rows that name none of them stand on every line.
    let mut shared: Vec<&TruthRow> = Vec::new();
    for row in &truth.rows {
        let words: Vec<&str> =
            others.iter().filter_map(|name| row.at.get(*name)).map(String::as_str).collect();
        let name = words.join(", ");
        if name.is_empty() && !others.is_empty() {
            shared.push(row);
            continue;
        }
        match lines.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row),
            None => lines.push((name, vec![row])),
        }
    }
    if lines.is_empty() {
        lines.push((String::new(), Vec::new()));
    }
    let lines = lines.into_iter().map(|(name, rows)| CurveLine {
        name,
        points: points(shared.iter().copied().chain(rows), over),
    });
    Some(Curves {
        over: over.clone(),
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    })
}

fn varies_as_number(truth: &Truth, name: &str) -> bool {
    let values = truth.rows.iter().filter_map(|row| row.at.get(name));
    let numbers: Option<Vec<f64>> = values.map(|value| number(value)).collect();
    numbers.is_some_and(|numbers| numbers.windows(2).any(|pair| (pair[0] - pair[1]).abs() > 0.0))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A point per place; series of one condition, and conditions of one place, are taken together.
fn points<'a>(rows: impl Iterator<Item = &'a TruthRow>, over: &str) -> Vec<CurvePoint> {
    let mut at: BTreeMap<u64, CurvePoint> = BTreeMap::new();
    for row in rows {
        let Some(x) = row.at.get(over).and_then(|text| number(text)) else { continue };
        let Some(point) = point(row, x) else { continue };
        at.entry(x.to_bits()).and_modify(|other| *other = together(other, &point)).or_insert(point);
    }
    let mut points: Vec<CurvePoint> = at.into_values().collect();
    points.sort_by(|one, two| one.x.total_cmp(&two.x));
    points
}

fn point(row: &TruthRow, x: f64) -> Option<CurvePoint> {
    let ns = |column| row.get(column).map(|ns| ns as f64);
    let has_rounds = row.get(Column::Rounds).is_some_and(|rounds| rounds > 1);
    Some(CurvePoint {
        x,
        n: row.get(Column::N).unwrap_or_default(),
        mean_ns: ns(Column::Mean)?,
        means_ns: ns(Column::MeanLow).zip(ns(Column::MeanHigh)).filter(|_| has_rounds),
        max_ns: ns(Column::Max)?,
        max_low_ns: ns(Column::MaxLow).filter(|_| has_rounds),
    })
}

fn together(one: &CurvePoint, two: &CurvePoint) -> CurvePoint {
    let weight = |point: &CurvePoint| point.n.max(1) as f64;
    let means = |(low, high): (f64, f64), (other_low, other_high): (f64, f64)| {
        (low.min(other_low), high.max(other_high))
    };
    CurvePoint {
        x: one.x,
        n: one.n.saturating_add(two.n),
        mean_ns: (one.mean_ns * weight(one) + two.mean_ns * weight(two))
            / (weight(one) + weight(two)),
        means_ns: one.means_ns.zip(two.means_ns).map(|(one, two)| means(one, two)),
        max_ns: one.max_ns.max(two.max_ns),
        max_low_ns: one.max_low_ns.zip(two.max_low_ns).map(|(one, two)| one.min(two)),
    }
}

/// A name for each that no other has: the first of its facts that tells all apart.
fn names(truths: &[Truth]) -> Vec<String> {
    let by = |key: &str| -> Option<Vec<String>> {
        let names: Vec<String> =
            truths.iter().map(|truth| truth.told(key).map(str::to_owned)).collect::<Option<_>>()?;
        let is_one_twice =
            names.iter().enumerate().any(|(place, name)| names[..place].contains(name));
        (!is_one_twice).then_some(names)
    };
    ["architecture", "kernel", "cpus", "clock", "command", "date"]
        .into_iter()
        .find_map(by)
        .unwrap_or_else(|| (1..=truths.len()).map(|number| number.to_string()).collect())
}

/// `x86_64: kernel 6.12.95, 1 CPU, clock counted, 500 MIPS, 2026-11-21`.
fn origin(truth: &Truth, name: &str) -> String {
    let told = |key: &str, before: &str, after: &str| {
        truth
            .told(key)
            .filter(|value| *value != name)
            .map(|value| format!("{before}{value}{after}"))
    };
    let facts = [
        told("architecture", "", ""),
        told("kernel", "kernel ", ""),
        told("cpus", "", if truth.told("cpus") == Some("1") { " CPU" } else { " CPUs" }),
        told("clock", "clock: ", ""),
        told("date", "", ""),
        told("command", "", ""),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!("{name}: {}", facts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(architecture: &str, rows: &str) -> Truth {
        let text = format!(
            "# tardy figures 1\n# experiment: stacking-curve\n# architecture: {architecture}\n# cpus: 1\n\
             condition,threads,context,series,n,rounds,mean_ns,max_ns,mean_low_ns,mean_high_ns,max_low_ns\n\
             {rows}"
        );
        Truth::parse(&text, architecture).unwrap()
    }

    const ROWS: &str = "\
idle,0,,a,100,1,7000,10000,7000,7000,10000
hard-10,10,hard irq,a,100,2,8000,18000,7900,8100,17000
hard-10,10,hard irq,b,300,2,9000,20000,8900,9100,16000
hard-5,5,hard irq,a,100,2,7500,15000,7500,7500,15000
deferred-10,10,deferred,a,100,2,7400,12000,7300,7500,11000
deferred-20,20,deferred,a,,,,,,,
";

    #[test]
    fn what_names_no_line_stands_on_all_and_series_are_taken_together() {
        let curves = curves(&truth("x86_64", ROWS)).unwrap();
        assert_eq!(curves.over, "threads");
        let [hard, deferred] = &curves.lines[..] else { panic!("two lines") };
        let places = |line: &CurveLine| line.points.iter().map(|point| point.x).collect::<Vec<_>>();
        assert_eq!((hard.name.as_str(), places(hard)), ("hard irq", vec![0.0, 5.0, 10.0]));
        assert_eq!((deferred.name.as_str(), places(deferred)), ("deferred", vec![0.0, 10.0]));
        assert_eq!(hard.points[0].means_ns, None, "one round has no spread");
        assert_eq!(
            hard.points[2],
            CurvePoint {
                x: 10.0,
                n: 400,
                mean_ns: 8_750.0,
                means_ns: Some((7_900.0, 9_100.0)),
                max_ns: 20_000.0,
                max_low_ns: Some(16_000.0),
            }
        );
    }

    #[test]
    fn several_are_told_apart_by_what_differs() {
        let (one, two) = (truth("x86_64", ROWS), truth("armv7l", ROWS));
        let file = curves_file(&[one.clone(), two]).unwrap();
        for said in ["x86_64, hard irq", "armv7l, deferred", "stacking-curve", "x86_64: 1 CPU"] {
            assert!(file.contains(said), "{said}: {file}");
        }
        let alone = curves_file(std::slice::from_ref(&one)).unwrap();
        assert!(alone.contains(">hard irq, n"), "{alone}");
        assert!(curves_file(&[one.clone(), one]).unwrap().contains(">1, hard irq, n"));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let none =
            Truth::parse("# tardy figures 1\ncondition,series,mean_ns\na,,5\n", "n").unwrap();
        let other = "# tardy figures 1\ncondition,size,series,mean_ns,max_ns\na,1,,5,6\nb,2,,5,6\n";
        let other = Truth::parse(other, "other").unwrap();
        let one = truth("x86_64", ROWS);
        for (truths, said) in [
            (vec![none], "no number varies"),
            (vec![], "no figure to draw"),
            (vec![one.clone(), other], "draw them apart"),
            (vec![one; 4], "8 lines are too many"),
        ] {
            let error = curves_file(&truths).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}
