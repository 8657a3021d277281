//! What was measured at one place: of one series under one condition, all blocks.

use crate::{Block, Results, Series};
use tardy_stats::Sample;

/// One series under one condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The condition, by its place in [`Experiment::conditions`](crate::Experiment).
    pub condition: usize,
    /// The name of the series.
    pub series: String,
}

/// A figure over all blocks that tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureOver {
    /// The mean; each block counts by how many latencies its series has, as a figure per move or per
    /// lock is one per latency. Blocks without any count alike.
    pub mean: f64,
    /// The least of a block.
    pub min: f64,
    /// The most of a block.
    pub max: f64,
    /// The sum, for figures that count.
    pub sum: f64,
    /// How many blocks tell it.
    pub blocks: usize,
}

impl Results {
    /// Every place that any block has, by condition; series in the order in which blocks name them.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for condition in 0..self.experiment.conditions.len() {
            let first = places.len();
            for series in self.blocks_of(condition).flat_map(|block| &block.series) {
                if places[first..].iter().all(|place| place.series != series.name) {
                    places.push(Place { condition, series: series.name.clone() });
                }
            }
        }
        places
    }

    /// The blocks of one condition, in the order in which they ran.
    pub fn blocks_of(&self, condition: usize) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.condition == condition)
    }

    /// What was measured there, a block of the sample per block of the experiment; blocks without
    /// a latency are left out. Named by condition and series.
    pub fn sample(&self, place: &Place) -> Sample {
        let blocks = self.blocks_of(place.condition).filter_map(|block| {
            let series = series_of(block, &place.series)?;
            (!series.latencies.is_empty()).then(|| series.latencies.clone())
        });
        Sample { name: self.label(place), blocks: blocks.collect(), resolution_ns: 1 }
    }

    /// The names of the figures of that place, in the order in which its blocks tell them.
    pub fn figure_names(&self, place: &Place) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for figure in self.blocks_of(place.condition).flat_map(|block| &block.figures) {
            if figure.of == place.series && !names.contains(&figure.name.as_str()) {
                names.push(&figure.name);
            }
        }
        names
    }

    /// A figure of that place, or of its blocks where `place` has an empty series. `None` where no
    /// block tells it.
    pub fn figure(&self, place: &Place, name: &str) -> Option<FigureOver> {
        let told: Vec<(f64, f64)> = self
            .blocks_of(place.condition)
            .filter_map(|block| {
                let is_it = |of: &str, other: &str| of == place.series && other == name;
                let figure = block.figures.iter().find(|one| is_it(&one.of, &one.name))?;
                let count = series_of(block, &place.series).map_or(0, |one| one.latencies.count());
                figure.value.is_finite().then_some((figure.value, count as f64))
            })
            .collect();
        if told.is_empty() {
            return None;
        }
        let weights: f64 = told.iter().map(|(_, weight)| weight).sum();
        let sum = told.iter().map(|(value, _)| value).sum::<f64>();
        let mean = if weights > 0.0 {
            told.iter().map(|(value, weight)| value * weight).sum::<f64>() / weights
        } else {
            sum / told.len() as f64
        };
        let (min, max) =
            told.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &(value, _)| {
                (min.min(value), max.max(value))
            });
        Some(FigureOver { mean, min, max, sum, blocks: told.len() })
    }

    /// A name that tells the place from all others, as short as it goes: the condition where it has
    /// one series, the series where there is one condition, else both.
    pub fn label(&self, place: &Place) -> String {
        let condition = self.condition_name(place.condition);
        let has_others = self
            .blocks_of(place.condition)
            .flat_map(|block| &block.series)
            .any(|series| series.name != place.series);
        if place.series.is_empty() || !has_others {
            condition.to_owned()
        } else if self.experiment.conditions.len() == 1 {
            place.series.clone()
        } else {
            format!("{condition}, {}", place.series)
        }
    }

    /// A condition's name; `?` where there is none of that number.
    pub fn condition_name(&self, condition: usize) -> &str {
        self.experiment.conditions.get(condition).map_or("?", |condition| &condition.name)
    }
}

fn series_of<'a>(block: &'a Block, name: &str) -> Option<&'a Series> {
    block.series.iter().find(|series| series.name == name)
}
