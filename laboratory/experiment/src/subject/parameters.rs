//! How a measurement's parameters are written.

use serde::{Deserialize, Deserializer, de::Error as _};
use tardy_lab::cyclic::Affinity;
use tardy_lab::written;

/// A time between two expiries: `237us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) ns: u64,
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        written::interval_ns(&text).map(|ns| Self { ns }).map_err(D::Error::custom)
    }
}

/// CPUs: `0-2,5`; `each` for a thread per CPU; `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cpus(pub(super) Affinity);

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "each" => Ok(Self(Affinity::EachCpu)),
            "any" => Ok(Self(Affinity::Unbound)),
            list => written::cpus(list)
                .map(|cpus| Self(Affinity::Cpus(cpus)))
                .map_err(|error| D::Error::custom(format!("{error}, each, or any"))),
        }
    }
}
