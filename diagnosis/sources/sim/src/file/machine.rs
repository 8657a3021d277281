//! A machine as it is written: one that is known, with changes, or one of its own.

use super::written::{Ns, Written};
use super::{FileError, known};
use crate::{ColdStep, Coldness, HaltPolling, IdleState, LongSleep, Machine, PollLimits, Theft};
use serde::Deserialize;
use toml::Spanned;

/// How long a chain of machines that are like another one may be.
const LIKE_MAX: u32 = 8;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawMachine {
    /// What it is; for people.
    #[serde(default)]
    _about: String,
    like: Option<Spanned<String>>,
    cpus: Option<u16>,
    device_late: Option<Written>,
    program: Option<Written>,
    irq_entry: Option<Written>,
    irq_exit: Option<Written>,
    queue_operation: Option<Written>,
    callback: Option<Written>,
    tick: Option<Written>,
    softirq_entry: Option<Written>,
    softirq_callback: Option<Written>,
    wakeup: Option<Written>,
    switch: Option<Written>,
    wakeup_fair: Option<Written>,
    switch_fair: Option<Written>,
    ipi: Option<Written>,
    ipi_send: Option<Written>,
    ipi_handler: Option<Written>,
    syscall_entry: Option<Written>,
    syscall_exit: Option<Written>,
    futex: Option<Written>,
    idle_entry: Option<Written>,
    tick_restart: Option<Written>,
    idle_states: Option<Vec<RawIdleState>>,
    halt_polling: Option<RawHaltPolling>,
    cold: Option<RawColdness>,
    theft: Option<RawTheft>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawIdleState {
    name: String,
    exit: Written,
    #[serde(default)]
    after: Vec<RawLongSleep>,
    latency: Ns,
    #[serde(default)]
    residency: Ns,
    #[serde(default)]
    polls: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLongSleep {
    sleep: Ns,
    exit: Written,
}

/// What is not said is as in [`PollLimits::default`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHaltPolling {
    max: Option<Ns>,
    start: Option<Ns>,
    shrink: Option<u32>,
    exit: Written,
}

impl RawHaltPolling {
    fn polling(self) -> HaltPolling {
        let usual = PollLimits::default();
        let limits = PollLimits {
            max_ns: self.max.map_or(usual.max_ns, |max| max.0),
            start_ns: self.start.map_or(usual.start_ns, |start| start.0),
            shrink: self.shrink.unwrap_or(usual.shrink),
        };
        HaltPolling { limits, exit: self.exit.0 }
    }
}

impl RawIdleState {
    fn state(self) -> IdleState {
        let longer = |raw: RawLongSleep| LongSleep { from_ns: raw.sleep.0, exit: raw.exit.0 };
        let mut after: Vec<LongSleep> = self.after.into_iter().map(longer).collect();
        after.sort_by_key(|longer| longer.from_ns);
        IdleState {
            name: self.name,
            exit: self.exit.0,
            after,
            latency_ns: self.latency.0,
            residency_ns: self.residency.0,
            polls: self.polls,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColdness {
    r#for: Ns,
    steps: Vec<RawStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    sleep: Ns,
    factor: f64,
    /// The same for what threads run.
    #[serde(default = "as_usual")]
    runs: f64,
}

fn as_usual() -> f64 {
    1.0
}

impl RawColdness {
    fn coldness(self) -> Coldness {
        // What cannot be becomes 0 or the largest, and is refused with the whole system.
        let permille = |factor: f64| (factor * 1e3).round() as u16;
        let step = |raw: RawStep| ColdStep {
            from_ns: raw.sleep.0,
            work: permille(raw.factor),
            runs: permille(raw.runs),
        };
        let mut steps: Vec<ColdStep> = self.steps.into_iter().map(step).collect();
        steps.sort_by_key(|step| step.from_ns);
        Coldness { steps, for_ns: self.r#for.0 }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTheft {
    every: Written,
    length: Written,
}

impl RawMachine {
    /// The machine that is meant. `text` is where it stands.
    pub(super) fn machine(self, text: &str) -> Result<Machine, FileError> {
        self.built(text, LIKE_MAX)
    }

    fn built(self, text: &str, depth: u32) -> Result<Machine, FileError> {
        let mut machine = match &self.like {
            None => Machine::default(),
            Some(name) => {
                let refuse = |why| FileError::at(text, name.span(), why);
                let Some(known) = known::machine(name.get_ref()) else {
                    return Err(refuse(format!(
                        "there is no machine {}: tardy sim list shows them",
                        name.get_ref()
                    )));
                };
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(refuse("machines refer to each other in a circle".to_owned()));
                };
                let raw: RawMachine = super::parsed(known.text)?;
                raw.built(known.text, depth)?
            }
        };
        machine.cpus = self.cpus.unwrap_or(machine.cpus);
        let costs = [
            (&mut machine.device_late, self.device_late),
            (&mut machine.program, self.program),
            (&mut machine.irq_entry, self.irq_entry),
            (&mut machine.irq_exit, self.irq_exit),
            (&mut machine.queue_operation, self.queue_operation),
            (&mut machine.callback, self.callback),
            (&mut machine.tick, self.tick),
            (&mut machine.softirq_entry, self.softirq_entry),
            (&mut machine.softirq_callback, self.softirq_callback),
            (&mut machine.wakeup, self.wakeup),
            (&mut machine.switch, self.switch),
            (&mut machine.wakeup_fair, self.wakeup_fair),
            (&mut machine.switch_fair, self.switch_fair),
            (&mut machine.ipi, self.ipi),
            (&mut machine.ipi_send, self.ipi_send),
            (&mut machine.ipi_handler, self.ipi_handler),
            (&mut machine.syscall_entry, self.syscall_entry),
            (&mut machine.syscall_exit, self.syscall_exit),
            (&mut machine.futex, self.futex),
            (&mut machine.idle_entry, self.idle_entry),
            (&mut machine.tick_restart, self.tick_restart),
        ];
        for (cost, written) in costs {
            if let Some(written) = written {
                *cost = written.0;
            }
        }
        if let Some(states) = self.idle_states {
            machine.idle_states = states.into_iter().map(RawIdleState::state).collect();
        }
        if let Some(polling) = self.halt_polling {
            machine.halt_polling = Some(polling.polling());
        }
        if let Some(cold) = self.cold {
            machine.cold = cold.coldness();
        }
        if let Some(theft) = self.theft {
            machine.theft = Some(Theft { every: theft.every.0, length: theft.length.0 });
        }
        Ok(machine)
    }
}
