//! A coarse timer of the timer service.

use super::{Kind, Make};
use crate::rearm::served::Served;

pub(super) const KIND: Kind = Kind {
    name: "service, coarse",
    summary: "a coarse timer of tardy_timers' service, up to 1.05 ms late by intent, whose \
              thread calls back; under the policy of the starting thread",
    make: Make::Fires(|log| Ok(Box::new(Served::new(tardy_timers::Kind::Coarse, log)?))),
};
