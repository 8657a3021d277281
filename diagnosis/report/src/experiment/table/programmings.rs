//! How often the clock-event device was programmed per move of a timeout, beside what the formula of
//! the mail of 2021 says.

use super::{Plot, View};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Measured, Shown};
use crate::experiment::quantile::ns_with_interval;
use crate::plot::{Bar, BarRow, LINES_MAX, Mark, bars};
use crate::units::{count, duration_mean};
use tardy_experiment::Place;

pub(super) struct Programmings;

const PER_MOVE: &str = "programmings_per_move";

/// Kernels' HZ, where that of this one is not told.
const USUAL_HZ: [f64; 4] = [100.0, 250.0, 300.0, 1000.0];

/// The mail's timeout, where the experiment names none that can be read.
const TIMEOUT_NS: f64 = 300e3;

impl View for Programmings {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        let conditions = shown.by_condition();
        let mut grids: Vec<Grid> =
            conditions.iter().map(|group| programmed(shown, group)).collect();
        grids.push(formula(shown));
        grids.extend(conditions.iter().map(|group| cost(shown, group)));
        grids
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let all = shown.by_condition();
        let conditions = &all[..all.len().min(LINES_MAX)];
        let names: Vec<&str> = conditions.iter().map(|group| group[0].condition.as_str()).collect();
        let bar = |condition: usize, series: &str| {
            let told = per_move(shown, shown.of(condition, series)?)?;
            Some(Bar { value: told.mean, least: told.least, most: told.most })
        };
        let row = |name| BarRow {
            name,
            bars: conditions.iter().map(|group| bar(group[0].place.condition, name)).collect(),
        };
        let rows: Vec<BarRow<'_>> = shown.series_names().into_iter().map(row).collect();
        let marks = hz(shown).map_or_else(Vec::new, |hz| {
            let share = formula_share(shown, hz);
            vec![
                Mark { value: share, label: format!("once a move: {share:.3}") },
                Mark {
                    value: 2.0 * share,
                    label: format!("cancelled and armed: {:.3}", 2.0 * share),
                },
            ]
        });
        let mut note = String::from(
            "A bar is the mean; the thin line reaches from the least of a block to the most.",
        );
        if !marks.is_empty() {
            note.push_str(" The dashed line is the formula.");
        }
        let chart = bars(&names, &rows, &marks);
        if chart.0.is_empty() {
            return Vec::new();
        }
        vec![Plot { title: "Programmings of the device per move".to_owned(), note, chart }]
    }

    fn verbs(&self) -> [&'static str; 2] {
        ["More expensive per move", "Cheaper per move"]
    }

    fn says(&self, shown: &Shown<'_>) -> Option<String> {
        let group = *shown.by_condition().first()?;
        let mut told: Vec<(f64, &str)> = group
            .iter()
            .filter_map(|one| Some((per_move(shown, one)?.mean, one.place.series.as_str())))
            .collect();
        told.sort_by(|one, two| one.0.total_cmp(&two.0));
        let ((least, fewest), (most, often)) = (*told.first()?, *told.last()?);
        let condition = &group[0].condition;
        let range = if told.len() == 1 {
            format!("{most:.3} times per move (“{often}”)")
        } else {
            format!("{least:.3} (“{fewest}”) to {most:.3} times per move (“{often}”)")
        };
        let formula = hz(shown).map_or_else(String::new, |hz| {
            let share = formula_share(shown, hz);
            format!("; by the formula {share:.3} where a move programs once, at HZ={hz:.0}")
        });
        Some(format!("Under “{condition}” the clock-event device was programmed {range}{formula}."))
    }
}

fn programmed(shown: &Shown<'_>, group: &[Measured]) -> Grid {
    let mut grid = Grid::new(format!("Programmings per move: {}", group[0].condition));
    grid.column("method", Holds::Name);
    grid.measured(["moves recorded", "programmings", "per move", "of blocks"]);
    grid.column("formula, once a move", Holds::Formula);
    grid.column("source per move", Holds::Reported);
    let once = hz(shown).map(|hz| format!("{:.3}", formula_share(shown, hz)));
    for one in group {
        let sum = |name: &str| {
            let figure = shown.results.figure(&one.place, name);
            figure.map_or_else(String::new, |figure| count(figure.sum.max(0.0) as u64))
        };
        let Some(told) = per_move(shown, one) else { continue };
        let reported = shown.reported.get(&one.condition, &one.place.series, one.is_only, PER_MOVE);
        grid.row(vec![
            one.place.series.clone(),
            sum("recorded_moves"),
            sum("programmings"),
            format!("{:.3}", told.mean),
            format!("{:.3}–{:.3}", told.least, told.most),
            once.clone().unwrap_or_default(),
            reported.map_or_else(String::new, |reported| format!("{:.3}", reported.value)),
        ]);
    }
    for place in shown.reported_elsewhere() {
        if let Some(reported) = shown.elsewhere(place, PER_MOVE) {
            let mut row = vec![[place.0, place.1].join(" ").trim().to_owned()];
            row.resize(6, String::new());
            row.push(format!("{:.3}", reported.value));
            grid.row(row);
        }
    }
    if group.iter().all(|one| per_move(shown, one).is_none()) {
        grid.note("How often the device was programmed is not known here: that takes a recording.");
    }
    grid.without_empty_columns()
}

fn cost(shown: &Shown<'_>, group: &[Measured]) -> Grid {
    let mut grid = Grid::new(format!("Time of a move in ns: {}", group[0].condition));
    grid.column("method", Holds::Name);
    grid.measured(["moves", "mean", "p50 (95 %)", "p99 (95 %)", "max", "CPU per move"]);
    for one in group {
        let cpu = shown.results.figure(&one.place, "mover_cpu_ns_per_move");
        grid.row(vec![
            one.place.series.clone(),
            count(one.whole.count()),
            format!("{:.0}", one.whole.mean_ns()),
            ns_with_interval(one, 0.5),
            ns_with_interval(one, 0.99),
            one.whole.max_ns().map_or_else(String::new, count),
            cpu.map_or_else(String::new, |cpu| format!("{:.0}", cpu.mean)),
        ]);
    }
    grid.without_empty_columns()
}

/// What the formula says, for the HZ of this kernel, else for the usual ones.
fn formula(shown: &Shown<'_>) -> Grid {
    let timeout = duration_mean(timeout_ns(shown));
    let mut grid = Grid::new(format!("The formula: (tick − {timeout}) / tick of all moves"));
    grid.column("HZ", Holds::Name);
    grid.column("tick", Holds::Formula);
    grid.column("once a move", Holds::Formula);
    grid.column("cancelled and armed", Holds::Formula);
    let own = hz(shown);
    for hz in own.map_or_else(|| USUAL_HZ.to_vec(), |hz| vec![hz]) {
        let share = formula_share(shown, hz);
        grid.row(vec![
            format!("{hz:.0}"),
            duration_mean(1e9 / hz),
            format!("{share:.3}"),
            format!("{:.3}", 2.0 * share),
        ]);
    }
    grid.note(
        "A timer that is moved is the first of its CPU until the tick comes before it. A driver \
         in the kernel that restarts it programs once; timerfd and POSIX timers cancel and arm, \
         and program twice. The formula holds if only the tick and this timer expire on that CPU.",
    );
    grid
}

/// Programmings per move.
#[derive(Clone, Copy)]
struct PerMove {
    mean: f64,
    least: f64,
    most: f64,
}

fn per_move(shown: &Shown<'_>, one: &Measured) -> Option<PerMove> {
    let figure = |name| shown.results.figure(&one.place, name);
    let told = figure(PER_MOVE)?;
    // Where both are counted, all blocks' moves weigh alike.
    let mean = match (figure("programmings"), figure("recorded_moves")) {
        (Some(programmings), Some(moves)) if moves.sum > 0.0 => programmings.sum / moves.sum,
        _ => told.mean,
    };
    Some(PerMove { mean, least: told.min, most: told.max })
}

fn formula_share(shown: &Shown<'_>, hz: f64) -> f64 {
    let tick_ns = 1e9 / hz;
    ((tick_ns - timeout_ns(shown)) / tick_ns).max(0.0)
}

/// The kernel's HZ, where a block tells it as the figure `hz` of no series.
fn hz(shown: &Shown<'_>) -> Option<f64> {
    let of = |condition| Place { condition, series: String::new() };
    let mut conditions = 0..shown.results.experiment.conditions.len();
    let hz = conditions.find_map(|condition| shown.results.figure(&of(condition), "hz"))?.max;
    (1.0..=10_000.0).contains(&hz).then_some(hz)
}

/// The timeout that is moved: `timeout = "300us"`.
fn timeout_ns(shown: &Shown<'_>) -> f64 {
    const UNITS: [(&str, f64); 5] =
        [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let written = shown.results.experiment.measure.get("timeout").and_then(toml::Value::as_str);
    let read = |written: &str| {
        let (number, ns) = UNITS.iter().find_map(|&(unit, ns)| {
            let number = written.trim().strip_suffix(unit)?.trim_end();
            number.ends_with(|c: char| c.is_ascii_digit()).then_some((number, ns))
        })?;
        number.parse::<f64>().ok().map(|number| number * ns)
    };
    let ns = written.and_then(read);
    ns.filter(|ns| ns.is_finite() && *ns >= 0.0).unwrap_or(TIMEOUT_NS)
}
