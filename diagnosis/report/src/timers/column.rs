//! The columns, and the order of lines.

use super::{Counted, TimerLine};
use crate::units::duration;
use std::cmp::{Ordering, Reverse};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerColumn {
    /// Who.
    Name,
    /// Whose id.
    Id,
    /// Armings a second.
    Armed,
    /// Cancels a second.
    Cancelled,
    /// Expiries a second.
    Expired,
    /// The share of armings that ended by a cancel.
    CancelledShare,
    /// The share of armings that programmed the device.
    ProgrammedShare,
    /// Lateness of others a second.
    CostRate,
    /// Armings since the start.
    ArmedTotal,
    /// Lateness of others since the start.
    CostTotal,
    /// The most frequent slack.
    Slack,
    /// The least slack and the most.
    SlackRange,
    /// What for.
    What,
}

/// By what lines are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerSort {
    /// Lateness of others in the interval, then since the start.
    Cost,
    /// Armings in the interval.
    Armed,
    /// Cancels in the interval.
    Cancelled,
    /// Expiries in the interval.
    Expired,
    /// The typical slack.
    Slack,
    /// The name, from A to Z.
    Name,
}

/// Nothing to tell.
const NONE: &str = "–";

impl TimerColumn {
    /// What stands above it.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Name => "who",
            Self::Id => "id",
            Self::Armed => "armed/s",
            Self::Cancelled => "cancel/s",
            Self::Expired => "expire/s",
            Self::CancelledShare => "canc%",
            Self::ProgrammedShare => "prog%",
            Self::CostRate => "cost/s",
            Self::ArmedTotal => "armings",
            Self::CostTotal => "cost",
            Self::Slack => "slack",
            Self::SlackRange => "from–to",
            Self::What => "what for",
        }
    }

    /// Whether it holds words, which stand on the left.
    pub fn is_words(self) -> bool {
        matches!(self, Self::Name | Self::What)
    }

    /// Where there is little room columns go, the least rank first; those without one stay.
    pub fn rank(self) -> Option<u8> {
        match self {
            Self::SlackRange => Some(0),
            Self::Cancelled => Some(1),
            Self::ArmedTotal => Some(2),
            Self::Slack => Some(3),
            Self::Expired => Some(4),
            Self::ProgrammedShare => Some(5),
            _ => None,
        }
    }

    /// A line's cell.
    pub fn cell(self, line: &TimerLine) -> String {
        let (now, total) = (&line.now, &line.total);
        let slacks = &total.counts.slacks;
        match self {
            Self::Name if line.is_below => format!("  {}", line.name),
            Self::Name => line.name.clone(),
            Self::Id => line.id.map_or_else(String::new, |id| id.to_string()),
            Self::Armed => rate(now.counts.armed, now),
            Self::Cancelled => rate(now.counts.cancelled, now),
            Self::Expired => rate(now.counts.expired, now),
            Self::CancelledShare => percent(now.counts.cancelled_share()),
            Self::ProgrammedShare => percent(now.counts.programmed_share()),
            Self::CostRate => match per_second(now.counts.inflicted_ns, now).round() as u64 {
                0 => NONE.to_owned(),
                ns => duration(ns),
            },
            Self::ArmedTotal => crate::units::count(total.counts.armed),
            Self::CostTotal => match total.counts.inflicted_ns {
                0 => NONE.to_owned(),
                ns => duration(ns),
            },
            Self::Slack => slacks.typical_ns().map_or_else(|| NONE.to_owned(), slack),
            Self::SlackRange => match slacks.range_ns() {
                Some((min, max)) if min != max => format!("{}–{}", slack(min), slack(max)),
                _ => String::new(),
            },
            Self::What => line.what.clone(),
        }
    }
}

fn slack(ns: u32) -> String {
    if ns == u32::MAX { ">4.2 s".to_owned() } else { duration(ns.into()) }
}

/// How often in a second; 0 where there was no time.
pub(crate) fn per_second(times: u64, over: &Counted) -> f64 {
    if over.ns == 0 { 0.0 } else { times as f64 * 1e9 / over.ns as f64 }
}

fn rate(times: u64, over: &Counted) -> String {
    match per_second(times, over) {
        0.0 => NONE.to_owned(),
        rate if rate < 9.95 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), |share| format!("{:.0}", share * 100.0))
}

impl TimerSort {
    /// All of them, with the key that chooses each and a word for it.
    pub const ALL: [(Self, char, &'static str); 6] = [
        (Self::Cost, 'c', "cost"),
        (Self::Armed, 'a', "armed"),
        (Self::Cancelled, 'x', "cancelled"),
        (Self::Expired, 'e', "expired"),
        (Self::Slack, 's', "slack"),
        (Self::Name, 'n', "name"),
    ];

    pub(super) fn sort(self, lines: &mut [TimerLine]) {
        lines.sort_by(|one, other| self.compare(one, other));
    }

    /// Most first; what is equal by most armings, then by name and id, so that lines keep their places.
    pub(super) fn compare(self, one: &TimerLine, other: &TimerLine) -> Ordering {
        let key = |line: &TimerLine| {
            let (now, total) = (&line.now.counts, &line.total.counts);
            match self {
                Self::Cost => (now.inflicted_ns, total.inflicted_ns),
                Self::Armed => (now.armed, total.armed),
                Self::Cancelled => (now.cancelled, total.cancelled),
                Self::Expired => (now.expired, total.expired),
                Self::Slack => (total.slacks.typical_ns().map_or(0, u64::from), 0),
                Self::Name => (0, 0),
            }
        };
        let then = |line: &TimerLine| {
            let rates =
                (self != Self::Name).then_some((line.now.counts.armed, line.total.counts.armed));
            Reverse(rates)
        };
        let first = key(other).cmp(&key(one)).then_with(|| then(one).cmp(&then(other)));
        first
            .then_with(|| one.name.cmp(&other.name))
            .then_with(|| one.id.cmp(&other.id))
            .then_with(|| one.what.cmp(&other.what))
    }
}
