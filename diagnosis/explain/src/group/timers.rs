//! Timers, by who armed them and what for.

use super::program::program;
use super::{Kind, Place, Who};
use tardy_model::{Culprit, TaskId};

pub(super) struct Timers;

impl Kind for Timers {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Timer(timer, armed_by) = who.culprit else { return None };
        let function = who.labels.tables.function(timer);
        let owner = who.labels.timer_owner(timer, armed_by);
        let (name, exact) = if owner == TaskId::IDLE {
            let name = of_nobody(function);
            (name.clone(), name)
        } else {
            let comm = who.labels.comm(owner).to_string();
            let (name, exact) = program(owner, &comm, who.labels);
            let what = what_for(function);
            (format!("{what} of {name}"), format!("{what} of {exact}"))
        };
        Some(Place { kind: "timer", name, exact })
    }
}

/// What timers with this function are for, as a reader calls them.
fn what_for(function: &str) -> String {
    match function {
        "" => "timers",
        // nanosleep, futex, poll, select and epoll with a timeout
        "hrtimer_wakeup" => "sleep timers",
        "timerfd_tmrproc" => "timerfds",
        "posix_timer_fn" => "POSIX timers",
        "it_real_fn" => "interval timers",
        "process_timeout" => "timeouts",
        other => return format!("{other} timers"),
    }
    .to_owned()
}

fn of_nobody(function: &str) -> String {
    match function {
        "" => "unknown timers".to_owned(),
        "tick_nohz_handler" | "tick_sched_timer" => "the tick".to_owned(),
        "hrtick" => "the scheduler's tick (hrtick)".to_owned(),
        other => other.to_owned(),
    }
}
