//! The devices of all CPUs, beside the followers of contexts and of timers' lives.

use super::first::{Cpu, Timer};
use super::{Programming, Why};
use crate::seen::Seen;
use rustc_hash::FxHashMap;
use tardy_followers::{Ended, TICKS, place_of};
use tardy_model::event::{ExpireBegin, Irq, TimerArm, Vector, softirq};
use tardy_model::{CpuId, Kind, Tables, TaskId, TimerClass, TimerDef, TimerId};

/// Armed timers that are followed, over all CPUs. One more is left out, and counted in
/// [`Devices::left_out`](super::Devices::left_out): whether it was first is not known.
pub const ARMED_MAX: usize = 1 << 16;

/// Timers of these functions are cancelled before they are armed again, by another call of the kernel's
/// (`fs/timerfd.c`, `kernel/time/posix-timers.c`, `kernel/time/itimer.c`; a sleeper is new each time).
const CANCELLED_FIRST: &[&str] =
    &["timerfd_tmrproc", "posix_timer_fn", "it_real_fn", "hrtimer_wakeup"];

/// What of devices no other follower keeps: the timers that each CPU has armed, in order. For who looks on while others
/// follow the stream ([`Sink`](crate::Sink)).
#[derive(Debug, Default)]
pub struct DeviceFollower {
    armed: FxHashMap<TimerId, Timer>,
    cpus: Vec<Cpu>,
    pub(super) losses: u64,
    pub(super) unseen: u64,
    pub(super) left_out: u64,
}

/// The first timer of a CPU was cancelled, and it is not known yet whether to be moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    timer: TimerDef,
    hard_ns: u64,
    by: TaskId,
}

impl DeviceFollower {
    /// Takes an event. `told` gets each programming, in order.
    #[inline]
    pub fn event(&mut self, seen: &Seen<'_>, told: &mut impl FnMut(&Programming)) {
        let Seen { event, followers, tables, .. } = *seen;
        let place = place_of(event.cpu);
        if place >= self.cpus.len() {
            self.cpus.resize_with(place + 1, Cpu::default);
        }
        let mut tell = |why, timer: TimerDef, by| {
            told(&Programming { time_ns: event.time_ns, cpu: event.cpu, why, timer, by });
        };
        let cpu = &mut self.cpus[place];
        let held = cpu.held.take();
        let moved = match (held, seen.kind) {
            (Some(held), Kind::TimerArm(arm)) => {
                is_one_call(tables, &held, arm, seen.followed.ended)
            }
            _ => false,
        };
        if let Some(held) = held
            && !moved
            && cpu.look_again()
        {
            tell(Why::Cancelled, held.timer, held.by);
        }
        // With its end, or where that was not told with whatever shows that it is over.
        if let Some(entry_ns) = cpu.expiring_since_ns()
            && !followers.cpus[place].runs_interrupt(entry_ns)
        {
            let (timer, owner) = self.end_interrupt(place);
            tell(Why::Interrupt, tables.timer(timer), owner);
        }
        let cpu = &mut self.cpus[place];
        match *seen.kind {
            Kind::TimerArm(arm) => self.arm(place, &arm, moved, seen, tell),
            Kind::TimerCancel(cancel) => self.cancel(place, cancel.timer, seen, tell),
            Kind::ExpireBegin(begin) => self.expire(place, &begin, seen),
            Kind::IrqBegin(begin) if begin.irq == Irq::Vector(Vector::LOCAL_TIMER) => {
                cpu.begin_interrupt(event.time_ns);
            }
            Kind::SoftirqRaise(raise) if raise.vector == softirq::HRTIMER => cpu.softirq_due = true,
            Kind::SoftirqEnd(end) if end.vector == softirq::HRTIMER => {
                if let Some(timer) = cpu.end_softirq() {
                    let owner = followers.timers.owner(timer, tables);
                    tell(Why::Softirq, tables.timer(timer), owner);
                }
            }
            Kind::Loss(_) => {
                self.losses += 1;
                self.armed.retain(|_, timer| timer.place != place);
                self.cpus[place] = Cpu::default();
            }
            _ => {}
        }
    }

    /// Whether what a CPU programs is known: from the end of its first timer interrupt on, and after a
    /// loss again from the next.
    pub fn is_followed(&self, cpu: CpuId) -> bool {
        self.cpus.get(place_of(cpu)).is_some_and(Cpu::is_known)
    }

    fn end_interrupt(&mut self, place: usize) -> (TimerId, TaskId) {
        while let Some(timer) = self.cpus[place].overdue() {
            self.take(timer);
            self.unseen += 1;
        }
        self.cpus[place].end_interrupt()
    }

    fn arm(
        &mut self,
        place: usize,
        arm: &TimerArm,
        moved: bool,
        seen: &Seen<'_>,
        mut tell: impl FnMut(Why, TimerDef, TaskId),
    ) {
        let Some(def) = self.hrtimer(arm.timer, seen.tables) else { return };
        // Kernels differ: some tell of a move as a cancel and an arm, some as an arm alone.
        let was_first = self.cpus[place].waits_for(arm.timer);
        let was_here = self.take(arm.timer).is_some_and(|timer| timer.place == place);
        let moved = moved || was_first && was_here;
        if self.armed.len() >= ARMED_MAX {
            self.left_out += 1;
            return;
        }
        let cpu = &mut self.cpus[place];
        let hard_ns = arm.soft_ns.saturating_add(arm.slack_ns.into());
        let timer = Timer { place, hard_ns, soft: arm.mode.is_soft() };
        self.armed.insert(arm.timer, timer);
        cpu.insert(arm.timer, &timer);
        let owner = seen.followed.owner;
        if moved {
            let later = is_lazy(seen.tables, &def) && cpu.is_set_for_earlier(hard_ns);
            if !later && cpu.look_again() {
                tell(Why::Moved, def, owner);
            }
        } else if cpu.armed(arm.timer, &timer) {
            tell(Why::Armed, def, owner);
        }
    }

    /// Where it may be the first half of a move, what it changes is known with the CPU's next event.
    fn cancel(
        &mut self,
        place: usize,
        id: TimerId,
        seen: &Seen<'_>,
        mut tell: impl FnMut(Why, TimerDef, TaskId),
    ) {
        let Some(timer) = self.take(id) else { return };
        let cpu = &mut self.cpus[place];
        let def = seen.tables.timer(id);
        if timer.place != place || !cpu.waits_for(id) || is_lazy(seen.tables, &def) {
            return;
        }
        let by = seen.followers.timers.owner(id, seen.tables);
        if !CANCELLED_FIRST.contains(&seen.tables.name(def.function)) {
            cpu.held = Some(Held { timer: def, hard_ns: timer.hard_ns, by });
        } else if cpu.look_again() {
            tell(Why::Cancelled, def, by);
        }
    }

    fn expire(&mut self, place: usize, begin: &ExpireBegin, seen: &Seen<'_>) {
        if self.hrtimer(begin.timer, seen.tables).is_none() {
            return;
        }
        let was_armed = self.take(begin.timer).is_some();
        let cpu = &mut self.cpus[place];
        self.unseen += u64::from(!was_armed && cpu.is_known());
        let entry_ns = seen.followers.cpus[place].interrupt_entry_ns();
        if let Some(entry_ns) = entry_ns.filter(|_| !begin.mode.is_soft()) {
            cpu.expired(entry_ns, begin.timer, seen.followed.owner);
        }
    }

    /// Takes it from wherever it is armed.
    fn take(&mut self, id: TimerId) -> Option<Timer> {
        let timer = self.armed.remove(&id)?;
        self.cpus[timer.place].remove(id, &timer);
        Some(timer)
    }

    fn hrtimer(&mut self, id: TimerId, tables: &Tables) -> Option<TimerDef> {
        if id == TimerId::UNKNOWN {
            self.left_out += 1;
            return None;
        }
        let def = tables.timer(id);
        (def.class == TimerClass::Hrtimer).then_some(def)
    }
}

/// The scheduler's tick (`HRTIMER_MODE_LAZY_REARM`).
const LAZY: &str = "hrtick";

/// Whether a needless interrupt is cheaper to the kernel than programming the device once more.
fn is_lazy(tables: &Tables, timer: &TimerDef) -> bool {
    tables.name(timer.function) == LAZY
}

/// Whether a cancel that was held and the arm that follows are one `hrtimer_start`: all that is moved is,
/// but for the tick, which is moved by one call to later alone (`kernel/time/tick-sched.c`).
fn is_one_call(tables: &Tables, held: &Held, arm: &TimerArm, ended: Ended) -> bool {
    let is_tick = TICKS.contains(&tables.name(held.timer.function));
    let goes_on = ended.is_move() || ended.is_handed_on();
    held.timer.id == arm.timer && goes_on && (!is_tick || arm.soft_ns >= held.hard_ns)
}
