//! A precise timer of the timer service.

use super::{Kind, Make};
use crate::rearm::served::Served;

pub(super) const KIND: Kind = Kind {
    name: "service, precise",
    summary: "a precise timer of tardy_timers' service, whose thread calls back, and spins for \
              up to 20 µs before it does; under the policy of the starting thread",
    make: Make::Fires(|log| Ok(Box::new(Served::new(tardy_timers::Kind::Precise, log)?))),
};
