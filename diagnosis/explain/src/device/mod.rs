//! How often the clock-event device of each CPU is programmed, by the events of its timers.
//!
//! No event tells it. But the kernel follows a rule, and the rule needs only what events tell: which
//! high-resolution timers a CPU has armed. The rule (`kernel/time/hrtimer.c` since "hrtimer: Avoid
//! double reprogramming in `__hrtimer_start_range_ns()`", Thomas Gleixner, 2021; the same in 6.18):
//!
//! | what happens | the device is programmed |
//! |---|---|
//! | a timer is armed | if it expires earlier than what the device is set for |
//! | the first timer is cancelled | if the next one expires at another time; with none, it is stopped |
//! | the first timer is moved by one `hrtimer_start` | once, if there is now another time to wait for |
//! | the timer interrupt ends | once, for whatever is first now |
//! | arms within that interrupt | no: its end does it |
//! | the softirq of timers ends | if a timer of its own is earlier than what the device is set for |
//! | a timer of another CPU is cancelled | no |
//!
//! timerfd, POSIX timers and sleeps never move a timer: they cancel and arm it, which is two rows. Some
//! kernels tell of a move by a cancel and an arm, others (Linux 6.18) by an arm alone.
//!
//! What is approximated: timers that were armed before the stream began, or during a loss, are not
//! known until they expire; a CPU counts from the end of its first timer interrupt on, when the tick is
//! known. A timer is armed where it is asked for, though an idle CPU may hand it on. A write that the
//! kernel repeats because its time has passed counts once. Nothing is counted where the kernel itself
//! programs the device past its timers (idle states, low resolution).
//!
//! Held against what the kernel wrote to the device (`msr:write_msr` of the TSC deadline, Linux 6.18 in
//! a guest, 2.3 s of moved timeouts): 41,332 followed, 41,358 written.

mod first;

use first::{Cpu, Timer};
use rustc_hash::FxHashMap;
use tardy_model::event::{ExpireBegin, Irq, TimerArm, Vector, softirq};
use tardy_model::{Batch, CpuId, Event, Kind, Tables, TaskId, TimerClass, TimerDef, TimerId};

/// Armed timers that are followed, over all CPUs. One more is left out, and counted in
/// [`Devices::left_out`]: whether it was first is not known.
pub const ARMED_MAX: usize = 1 << 16;

/// CPUs that can be told apart; what is above is read as the last one.
const CPUS_MAX: usize = 8192;

/// Timers of these functions are cancelled before they are armed again, by another call of the kernel's
/// (`fs/timerfd.c`, `kernel/time/posix-timers.c`, `kernel/time/itimer.c`; a sleeper is new each time).
const CANCELLED_FIRST: &[&str] =
    &["timerfd_tmrproc", "posix_timer_fn", "it_real_fn", "hrtimer_wakeup"];

/// The tick: moved by one call to later, when the CPU goes idle; cancelled and armed for an earlier time
/// when it is back (`kernel/time/tick-sched.c`).
pub(crate) const TICKS: &[&str] = &["tick_nohz_handler", "tick_sched_timer"];

/// The device of a CPU was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programming {
    /// When.
    pub time_ns: u64,
    /// Where.
    pub cpu: CpuId,
    /// Why.
    pub why: Why,
    /// The timer that was armed, cancelled or moved; of an interrupt, the first that expired in it. An
    /// entry with id 0 where there is none.
    pub timer: TimerDef,
    /// The thread that armed that timer; [`TaskId::IDLE`] where it was no thread, or is not known.
    pub by: TaskId,
}

/// Why a device was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A timer was armed that is the first now.
    Armed,
    /// The first timer was cancelled.
    Cancelled,
    /// The first timer was moved in one call.
    Moved,
    /// The timer interrupt ended.
    Interrupt,
    /// The softirq of timers ended.
    Softirq,
}

/// Follows the devices of all CPUs. Pure: time comes in as numbers.
#[derive(Debug, Default)]
pub struct Devices {
    tables: Tables,
    armed: FxHashMap<TimerId, Timer>,
    cpus: Vec<Cpu>,
    losses: u64,
    unseen: u64,
    left_out: u64,
}

impl Devices {
    /// Takes a batch: its definitions, then its events. `told` gets each programming, in order.
    pub fn batch(&mut self, batch: &Batch, mut told: impl FnMut(&Programming)) {
        let mut tables = std::mem::take(&mut self.tables);
        batch.define(&mut tables);
        for event in &batch.events {
            self.event(event, &tables, &mut told);
        }
        self.tables = tables;
    }

    /// Takes one event, for who keeps the definitions himself. `told` gets each programming, in order.
    pub fn event(&mut self, event: &Event, tables: &Tables, told: &mut impl FnMut(&Programming)) {
        let place = place_of(event.cpu);
        if place >= self.cpus.len() {
            self.cpus.resize_with(place + 1, Cpu::default);
        }
        let kind = event.kind();
        let mut tell = |why, timer: TimerDef, by| {
            told(&Programming { time_ns: event.time_ns, cpu: event.cpu, why, timer, by });
        };
        let held = self.cpus[place].held.take();
        let moved = match (held, kind) {
            (Some(held), Kind::TimerArm(arm)) => is_one_call(tables, &held, &arm),
            _ => false,
        };
        if let Some(held) = held
            && !moved
            && self.cpus[place].look_again()
        {
            tell(Why::Cancelled, held.timer, held.by);
        }
        let cpu = &mut self.cpus[place];
        match kind {
            Kind::TimerArm(arm) => self.arm(place, event.task, &arm, moved, tables, tell),
            Kind::TimerCancel(cancel) => self.cancel(place, cancel.timer, tables, tell),
            Kind::ExpireBegin(begin) => self.expire(place, &begin, tables),
            Kind::IrqBegin(begin) => {
                let is_timers = begin.irq == Irq::Vector(Vector::LOCAL_TIMER);
                cpu.begin_interrupt(event.time_ns, is_timers);
            }
            Kind::IrqEnd(_) => {
                while let Some(timer) = self.cpus[place].overdue() {
                    self.take(timer);
                    self.unseen += 1;
                }
                if let Some((timer, by)) = self.cpus[place].end_interrupt() {
                    tell(Why::Interrupt, tables.timer(timer), by);
                }
            }
            Kind::SoftirqRaise(raise) if raise.vector == softirq::HRTIMER => cpu.softirq_due = true,
            Kind::SoftirqBegin(_) => cpu.in_softirq = true,
            Kind::SoftirqEnd(end) => {
                cpu.in_softirq = false;
                if end.vector == softirq::HRTIMER
                    && let Some(timer) = cpu.end_softirq()
                {
                    let by = self.armed.get(&timer).map_or(TaskId::IDLE, |timer| timer.by);
                    tell(Why::Softirq, tables.timer(timer), by);
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

    /// Losses told of so far: after each a CPU counts nothing until its next timer interrupt has ended.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Expiries of timers that were not seen to be armed, and expiries not seen that must have been: there
    /// the kernel was silent.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Timers not followed, see [`ARMED_MAX`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn arm(
        &mut self,
        place: usize,
        task: TaskId,
        arm: &TimerArm,
        moved: bool,
        tables: &Tables,
        mut tell: impl FnMut(Why, TimerDef, TaskId),
    ) {
        let Some(def) = self.hrtimer(arm.timer, tables) else { return };
        // Kernels differ: some tell of a move as a cancel and an arm, some as an arm alone.
        let was_first = self.cpus[place].waits_for(arm.timer);
        let was_here = self.take(arm.timer).is_some_and(|timer| timer.place == place);
        let moved = moved || was_first && was_here;
        if self.armed.len() >= ARMED_MAX {
            self.left_out += 1;
            return;
        }
        let cpu = &mut self.cpus[place];
        let by = if cpu.in_task_context() { task } else { TaskId::IDLE };
        let hard_ns = arm.soft_ns.saturating_add(arm.slack_ns.into());
        let timer = Timer { place, hard_ns, soft: arm.mode.is_soft(), by };
        self.armed.insert(arm.timer, timer);
        cpu.insert(arm.timer, &timer);
        if moved {
            if cpu.look_again() {
                tell(Why::Moved, def, by);
            }
        } else if cpu.armed(arm.timer, &timer) {
            tell(Why::Armed, def, by);
        }
    }

    /// Where it may be the first half of a move, what it changes is known with the CPU's next event.
    fn cancel(
        &mut self,
        place: usize,
        id: TimerId,
        tables: &Tables,
        mut tell: impl FnMut(Why, TimerDef, TaskId),
    ) {
        let Some(timer) = self.take(id) else { return };
        let cpu = &mut self.cpus[place];
        if timer.place != place || !cpu.waits_for(id) {
            return;
        }
        let def = tables.timer(id);
        if !CANCELLED_FIRST.contains(&tables.name(def.function)) {
            cpu.held = Some(Held { timer: def, hard_ns: timer.hard_ns, by: timer.by });
        } else if cpu.look_again() {
            tell(Why::Cancelled, def, timer.by);
        }
    }

    fn expire(&mut self, place: usize, begin: &ExpireBegin, tables: &Tables) {
        let Some(def) = self.hrtimer(begin.timer, tables) else { return };
        let timer = self.take(begin.timer);
        let cpu = &mut self.cpus[place];
        self.unseen += u64::from(timer.is_none() && cpu.is_known());
        if !begin.mode.is_soft() {
            let armed_by = timer.map_or(TaskId::IDLE, |timer| timer.by);
            cpu.expired(begin.timer, if def.owner == TaskId::IDLE { armed_by } else { def.owner });
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

/// Whether a cancel that was held and the arm that follows are one `hrtimer_start`.
fn is_one_call(tables: &Tables, held: &Held, arm: &TimerArm) -> bool {
    let is_tick = TICKS.contains(&tables.name(held.timer.function));
    held.timer.id == arm.timer && (!is_tick || arm.soft_ns >= held.hard_ns)
}

/// Where a CPU is kept.
fn place_of(cpu: CpuId) -> usize {
    usize::from(cpu.0).min(CPUS_MAX - 1)
}

/// The first timer of a CPU was cancelled, and it is not known yet whether to be moved.
#[derive(Clone, Copy, Debug)]
struct Held {
    timer: TimerDef,
    hard_ns: u64,
    by: TaskId,
}
