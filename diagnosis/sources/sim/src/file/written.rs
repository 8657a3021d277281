//! How times and distributions are written.

use crate::Cost;
use crate::cost::COST_NS_MAX;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor, value};
use std::fmt;

/// A time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ns(pub(super) u64);

/// Reads `1.5us` and its like.
pub(super) fn nanoseconds(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit_at = text.find(|it: char| it.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.trim().parse().map_err(|_| format!("\"{text}\" is no time: {HOW}"))?;
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" => return Err(format!("\"{text}\" has no unit: {HOW}")),
        _ => return Err(format!("\"{unit}\" is no unit of time: {HOW}")),
    };
    let ns = (number * unit_ns).round();
    if ns < 0.0 {
        Err(format!("{text} is negative: a time must be 0 or more"))
    } else if ns <= COST_NS_MAX as f64 {
        Ok(ns as u64)
    } else {
        Err(format!("{text} is too long: at most {} s can be written", COST_NS_MAX / 1_000_000_000))
    }
}

const HOW: &str = "write 50ns, 1.5us, 10ms, 2s";

/// Reads a distribution that is one text.
fn distribution(text: &str) -> Result<Cost, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let cost = match words[..] {
        ["exponential", mean] => Cost::Exponential { mean_ns: nanoseconds(mean)? as f64 },
        ["lognormal", median, sigma] => {
            let no_number = || format!("\"{sigma}\" is no number: write lognormal 2us 0.3");
            let sigma = sigma.parse().map_err(|_| no_number())?;
            Cost::LogNormal { median_ns: nanoseconds(median)? as f64, sigma }
        }
        _ => match text.split_once("..") {
            Some((from, to)) => {
                Cost::Uniform { from_ns: nanoseconds(from)?, to_ns: nanoseconds(to)? }
            }
            None => Cost::Constant(nanoseconds(text)?),
        },
    };
    cost.check().map_err(|error| format!("{text}: {error}"))?;
    Ok(cost)
}

impl<'de> Deserialize<'de> for Ns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        nanoseconds(&text).map(Self).map_err(Error::custom)
    }
}

/// A distribution as it is written.
#[derive(Clone, Debug)]
pub(super) struct Written(pub(super) Cost);

/// One that is more than a text.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Composed {
    /// Shares with distributions.
    Mixture(Vec<(f64, Written)>),
    /// From, to (both included), how often.
    HistogramNs(Vec<(u64, u64, u64)>),
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time (\"1.5us\", \"1us..2us\", \"exponential 100us\", \"lognormal 2us 0.3\"), \
             { mixture = [[0.9, \"1us\"], [0.1, \"5us\"]] }, or { histogram-ns = [[from, to, count], …] }",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Written, E> {
        distribution(text).map(Written).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
        let composed = Composed::deserialize(value::MapAccessDeserializer::new(map))?;
        let cost = match composed {
            Composed::Mixture(parts) => {
                Cost::mixture(parts.into_iter().map(|(share, part)| (share, part.0)).collect())
            }
            Composed::HistogramNs(bins) => Cost::histogram(bins),
        };
        cost.map(Written).map_err(A::Error::custom)
    }
}
