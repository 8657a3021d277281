//! A CPU with nothing to do.

use super::{Frame, NEVER, Need, Simulation, Step};
use crate::observer::Observer;
use tardy_model::event::{IdleEnter, IdleExit};

/// The number of the state in which a CPU waits that has none to choose.
const ONLY_STATE: u32 = u32::MAX;

impl<O: Observer> Simulation<O> {
    /// The idle task begins, or begins again.
    pub(super) fn goes_idle(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let ns = self.machine.idle_entry.draw(&mut cpu.streams.idle);
        let ns = cpu.paced(self.now_ns, ns);
        cpu.top = Frame::new(Step::IdleEntry, self.now_ns + ns);
    }

    /// It has chosen a state, if nobody has come meanwhile.
    pub(super) fn idles(&mut self, at: usize) {
        if self.cpus[at].need != Need::No {
            return self.schedules(at, false);
        }
        let has_tick = self.takes_tick(at);
        let next_ns = self.cpus[at].timers.device_ns().unwrap_or(NEVER);
        let far_ns = next_ns.saturating_sub(self.now_ns);
        let states = self.machine.idle_states.iter().enumerate();
        let deepest = states.rev().find(|(_, state)| state.residency_ns <= far_ns);
        let chosen = deepest.or_else(|| self.machine.idle_states.first().map(|first| (0, first)));
        let (number, polls) =
            chosen.map_or((ONLY_STATE, false), |(number, state)| (number as u32, state.polls));
        let only = number == ONLY_STATE;
        let state = if only { 0 } else { number };
        if has_tick {
            // A governor keeps the tick for a loop, and some do for a short sleep.
            self.stops_tick(at, !polls && far_ns >= self.kernel.nohz_from_ns);
        }
        let cpu = &mut self.cpus[at];
        (cpu.idle_state, cpu.asleep_ns) = (number, self.now_ns);
        self.event(at, IdleEnter { state, polls, only });
        let step = if polls { Step::Polling } else { Step::Asleep };
        let top = self.cpus[at].top_mut();
        (top.step, top.end_ns) = (step, NEVER);
    }

    /// An interrupt ends its sleep.
    pub(super) fn wakes_up(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        let slept_ns = self.now_ns - cpu.asleep_ns;
        let state = self.machine.idle_states.get(cpu.idle_state as usize);
        let polling = self.machine.halt_polling.as_ref();
        let looks = polling.filter(|_| cpu.window.is_open(slept_ns));
        let exit = match looks {
            Some(polling) => Some(&polling.exit),
            None => state.map(|state| state.exit_after(slept_ns)),
        };
        let ns = exit.map_or(0, |exit| exit.draw(&mut cpu.streams.idle));
        if let (Some(polling), None) = (polling, looks) {
            cpu.window.adapts(polling.limits, slept_ns + ns);
        }
        let cold = &self.machine.cold;
        if !cold.steps.is_empty() {
            cpu.cold = cold.after(slept_ns);
            cpu.cold_until_ns = self.now_ns + ns + cold.for_ns;
        }
        self.go(at, Step::IdleExit, ns);
    }

    /// It is awake, and takes the interrupt.
    pub(super) fn awake(&mut self, at: usize) {
        self.event(at, IdleExit);
        self.go(at, Step::Awake, 0);
    }

    /// It looks whether there is something to do.
    pub(super) fn idle_looks(&mut self, at: usize) {
        if self.cpus[at].top().step == Step::Polling {
            self.event(at, IdleExit);
            self.go(at, Step::Awake, 0);
            return;
        }
        if self.cpus[at].need == Need::No {
            self.goes_idle(at);
        } else {
            self.schedules(at, false);
        }
    }
}
