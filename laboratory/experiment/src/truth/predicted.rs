//! How far predicted figures are from measured ones.

use super::{Column, Truth, TruthRow};

/// How far a prediction may be off to be called right. It is where the error is within the share of
/// the measured value, or within `floor_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of the mean, as a share: 0.05 is 5 %.
    pub mean: f64,
    /// Of the 99th percentile.
    pub p99: f64,
    /// Of the maximum.
    pub max: f64,
    /// An error up to this is right whatever its share.
    pub floor_ns: u64,
}

/// The error of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureError {
    /// The condition's name.
    pub condition: String,
    /// The measured series' name.
    pub series: String,
    /// Mean, p99 or max.
    pub column: Column,
    /// As measured.
    pub measured_ns: u64,
    /// As predicted.
    pub predicted_ns: u64,
    /// Predicted less measured, as a share of measured; `None` where that is 0 and the prediction is
    /// not.
    pub error: Option<f64>,
    /// Whether that is within the bound.
    pub is_within: bool,
}

/// A prediction beside what was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// Every figure that both have.
    pub errors: Vec<FigureError>,
    /// Measured rows that are not predicted: condition and series.
    pub not_predicted: Vec<(String, String)>,
    /// Predicted rows that were not measured.
    pub not_measured: Vec<(String, String)>,
}

/// The figures that are compared.
const COMPARED: [Column; 3] = [Column::Mean, Column::P99, Column::Max];

impl Bounds {
    fn of(&self, column: Column) -> f64 {
        match column {
            Column::P99 => self.p99,
            Column::Max => self.max,
            _ => self.mean,
        }
    }
}

impl Truth {
    /// Holds predicted figures against these, by condition and series. Where a condition has one
    /// series on each side, their names do not matter.
    pub fn against(&self, predicted: &Self, bounds: &Bounds) -> Predicted {
        let mut found = Predicted::default();
        let mut used = vec![false; predicted.rows.len()];
        for row in self.rows.iter().filter(|row| has_any(row)) {
            let Some(place) = partner(self, row, predicted) else {
                found.not_predicted.push((row.condition.clone(), row.series.clone()));
                continue;
            };
            used[place] = true;
            let other = &predicted.rows[place];
            let errors =
                COMPARED.into_iter().filter_map(|column| error(row, other, column, bounds));
            found.errors.extend(errors);
        }
        let left = predicted.rows.iter().zip(used).filter(|(row, used)| !used && has_any(row));
        found.not_measured =
            left.map(|(row, _)| (row.condition.clone(), row.series.clone())).collect();
        found
    }
}

impl Predicted {
    /// Whether all that was measured is predicted, and within the bounds.
    pub fn is_right(&self) -> bool {
        self.not_predicted.is_empty() && self.errors.iter().all(|error| error.is_within)
    }

    /// The largest error of a figure, without its sign; `None` where there is none.
    pub fn worst(&self, column: Column) -> Option<&FigureError> {
        let size = |error: &FigureError| error.error.map_or(f64::INFINITY, f64::abs);
        let of = self.errors.iter().filter(|error| error.column == column);
        of.max_by(|one, two| size(one).total_cmp(&size(two)))
    }
}

/// Whether it has a figure that is compared: rows of a condition's own figures have none.
fn has_any(row: &TruthRow) -> bool {
    COMPARED.into_iter().any(|column| row.get(column).is_some())
}

fn partner(truth: &Truth, row: &TruthRow, predicted: &Truth) -> Option<usize> {
    let rows =
        || predicted.rows.iter().enumerate().filter(|(_, one)| one.condition == row.condition);
    let same = rows().find(|(_, one)| one.series == row.series && has_any(one));
    let only = || {
        let mut rows = rows().filter(|(_, one)| has_any(one));
        let is_only = truth.of(&row.condition).filter(|one| has_any(one)).count() == 1;
        let first = rows.next().filter(|_| is_only);
        first.filter(|_| rows.next().is_none())
    };
    same.or_else(only).map(|(place, _)| place)
}

fn error(row: &TruthRow, other: &TruthRow, column: Column, bounds: &Bounds) -> Option<FigureError> {
    let (measured_ns, predicted_ns) = (row.get(column)?, other.get(column)?);
    let off = predicted_ns as f64 - measured_ns as f64;
    let error = match (measured_ns, predicted_ns) {
        (0, 0) => Some(0.0),
        (0, _) => None,
        _ => Some(off / measured_ns as f64),
    };
    let is_within = measured_ns.abs_diff(predicted_ns) <= bounds.floor_ns
        || error.is_some_and(|error| error.abs() <= bounds.of(column));
    Some(FigureError {
        condition: row.condition.clone(),
        series: row.series.clone(),
        column,
        measured_ns,
        predicted_ns,
        error,
        is_within,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { mean: 0.05, p99: 0.1, max: 0.2, floor_ns: 100 };

    fn table(rows: &str) -> Truth {
        let text =
            format!("# tardy figures 1\ncondition,series,mean_ns,p99_ns,max_ns,moves\n{rows}");
        Truth::parse(&text, "table").unwrap()
    }

    #[test]
    fn an_error_is_told_per_condition_and_figure_with_whether_it_is_within_bounds() {
        let truth =
            table("idle,cyclic-0,7000,9000,10000,\nhard,cyclic-0,8000,12000,,\nhard,,,,,5\n");
        let predicted = table("hard,,8500,12100,30000,\nidle,,7090,9900,13000,\n");
        let found = truth.against(&predicted, &BOUNDS);
        let told: Vec<(&str, Column, bool)> = found
            .errors
            .iter()
            .map(|one| (one.condition.as_str(), one.column, one.is_within))
            .collect();
        assert_eq!(
            told,
            [
                ("idle", Column::Mean, true),
                ("idle", Column::P99, true),
                ("idle", Column::Max, false),
                ("hard", Column::Mean, false),
                ("hard", Column::P99, true),
            ]
        );
        assert_eq!(found.errors[2].error, Some(0.3));
        assert_eq!(found.worst(Column::Mean).unwrap().condition, "hard");
        assert!(!found.is_right() && found.not_predicted.is_empty());
        assert!(truth.against(&truth, &BOUNDS).is_right());
    }

    #[test]
    fn what_only_one_side_has_is_named() {
        let truth = table("idle,a,1,1,1,\nidle,b,0,0,0,\nstorm,a,1,1,1,\n");
        let predicted = table("idle,b,900,0,50,\nidle,c,1,1,1,\nnet,a,1,1,1,\n");
        let found = truth.against(&predicted, &BOUNDS);
        let name = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        assert_eq!(found.not_predicted, [name("idle", "a"), name("storm", "a")]);
        assert_eq!(found.not_measured, [name("idle", "c"), name("net", "a")]);
        let errors: Vec<_> = found.errors.iter().map(|one| (one.error, one.is_within)).collect();
        assert_eq!(errors, [(None, false), (Some(0.0), true), (None, true)]);
    }
}
