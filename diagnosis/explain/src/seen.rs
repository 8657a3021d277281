//! An event, and what the followers tell of it.

use tardy_followers::{Followed, Followers};
use tardy_model::{Event, Kind, Tables};

/// An event as it goes through the explanation: whoever looks at it finds the followers as they are after
/// it, and follows nothing of that himself.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The event.
    pub event: &'a Event,
    /// What it tells.
    pub kind: &'a Kind,
    /// What it told beside what the followers keep.
    pub followed: &'a Followed,
    /// CPUs, timers and priorities after it.
    pub followers: &'a Followers,
    /// The definitions so far.
    pub tables: &'a Tables,
}
