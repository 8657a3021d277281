//! Events that several data sources of one trace recorded.
//!
//! A recording session can have more than one data source of the kernel's events. Each gets those that it
//! asked for out of the same buffer, with the same stamps, and writes bundles of its own. What two of them
//! asked for is in the trace twice.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use tardy_ftrace::decode::EventId;

/// Of one CPU, what has come at the present time, and from whom.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    at_ns: u64,
    /// By which data source, and a hash of what. At most [`AT_ONCE_MAX`].
    seen: Vec<(u32, u64)>,
    /// The last switch: by whom it was told, when, and to whom.
    last_switch: Option<(u32, u64, u64)>,
}

/// Events of one CPU at one time that are compared; the kernel's stamps seldom meet at all.
const AT_ONCE_MAX: usize = 64;

/// Trace instances stamp the same event one after the other, some microseconds apart.
const INSTANCES_APART_NS: u64 = 100_000;

/// What makes an event the same in two data sources.
pub(super) enum Identity<'a> {
    /// A switch, by whom it is to; in compact form it tells no more.
    Switch(u64),
    /// A waking, by who is woken.
    Waking(u64),
    /// Any other, by its message.
    Event(EventId, &'a [u8]),
    /// One that tells its own name.
    Generic(&'a [u8]),
}

impl Identity<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        match self {
            Self::Switch(next) => (0, next).hash(&mut hasher),
            Self::Waking(target) => (1, target).hash(&mut hasher),
            Self::Event(event, message) => (2, event, message).hash(&mut hasher),
            Self::Generic(message) => (3, message).hash(&mut hasher),
        }
        hasher.finish()
    }
}

impl Duplicates {
    /// Whether an event that `source` tells at this time has been told by another.
    pub(super) fn has(&mut self, source: u32, time_ns: u64, identity: &Identity<'_>) -> bool {
        if self.at_ns != time_ns {
            self.at_ns = time_ns;
            self.seen.clear();
        }
        let hash = identity.hash();
        let mut has = self.seen.iter().any(|(by, known)| *by != source && *known == hash);
        if let Identity::Switch(next) = *identity {
            // Nobody is switched to twice in a row.
            has |= self.last_switch.is_some_and(|(by, at_ns, to)| {
                by != source && to == next && time_ns.abs_diff(at_ns) <= INSTANCES_APART_NS
            });
            if !has {
                self.last_switch = Some((source, time_ns, next));
            }
        }
        if !has && self.seen.len() < AT_ONCE_MAX {
            self.seen.push((source, hash));
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_sources_tell_is_told_once() {
        let mut seen = Duplicates::default();
        let idle = EventId::of("cpu_idle").unwrap();
        let message: &[u8] = &[8, 1];
        for (source, time_ns, identity, expected) in [
            (0, 10, Identity::Switch(7), false),
            (1, 10, Identity::Switch(7), true),
            (1, 10, Identity::Waking(7), false),
            (1, 10, Identity::Waking(7), false),
            (0, 10, Identity::Waking(7), true),
            (0, 11, Identity::Waking(7), false),
            (0, 11, Identity::Event(idle, message), false),
            (1, 11, Identity::Event(idle, message), true),
            (1, 11, Identity::Generic(message), false),
            // Another instance's stamp of the switch at 20.
            (1, 20, Identity::Switch(8), false),
            (0, 22, Identity::Switch(8), true),
            (0, 30, Identity::Switch(7), false),
        ] {
            assert_eq!(seen.has(source, time_ns, &identity), expected, "{source} {time_ns}");
        }
    }
}
