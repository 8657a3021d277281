//! The scheduling policy and priority of threads: the victim's, a culprit's, or those of ktimers, ksoftirqd and
//! interrupts, which are threads too.

use super::{Lacking, Remedy, of_form};
use crate::behaviour::spinning;
use crate::place::{Place, Thread, without_time};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::{Change, Scheduling, Whom};

pub(super) struct Prio;

/// A thread that never sleeps would keep its CPU for good, and with it whoever could take that back. The kernel's own
/// threads are known to sleep.
fn must_sleep(threads: &[Thread]) -> Result<(), Lacking> {
    match spinning(threads) {
        None => Ok(()),
        Some(thread) => Err(Lacking::new(format!(
            "{} did not sleep while it was watched: with a real-time priority a thread that never sleeps keeps its CPU for \
             good, and the machine may hang",
            thread.words()
        ))),
    }
}

impl Remedy for Prio {
    fn name(&self) -> &'static str {
        "prio"
    }

    fn price(&self) -> &'static str {
        "Threads of lower priority wait while it runs; a real-time thread that never sleeps \
            keeps its CPU to itself."
    }

    fn price_of(&self, change: &Change) -> &'static str {
        match change.scheduling() {
            Some(Scheduling::Idle) => "It runs only when nobody else wants the CPU.",
            Some(policy) if !policy.is_real_time() => {
                "It shares the CPU with all ordinary threads."
            }
            _ => self.price(),
        }
    }

    fn needs(&self) -> &'static str {
        "CAP_SYS_NICE, or RLIMIT_RTPRIO for your own threads"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let scheduling = change.scheduling().ok_or_else(|| of_form(change))?;
        let to = scheduling.to_string();
        let threads = system.threads(change.whom())?;
        if scheduling.is_real_time() {
            must_sleep(&threads)?;
            if let Some(why) = threads.iter().find_map(|it| without_time(system.root(), it)) {
                return Err(Lacking::new(why));
            }
        }
        let setting = |thread| Setting { place: Place::Policy(thread), to: to.clone() };
        Ok(threads.into_iter().map(setting).collect())
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        // Interrupts are threads from the next boot on.
        let is_irq = matches!(change.whom(), Some(Whom::Name(name)) if name.starts_with("irq/"));
        is_irq.then(|| "threadirqs".to_owned())
    }
}
