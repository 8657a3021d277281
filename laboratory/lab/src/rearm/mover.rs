//! The thread that moves the timeouts.

use super::method::KNOWN;
use super::plan::{Plan, RearmError};
use super::timeout::NONE_NS;
use super::waiter::Waiter;
use super::{MoverCpu, RearmMeasurement, RearmMethod, Turn};
use crate::clock::{cost_ns, cpu_ns, now_ns, sleep_until};
use crate::sched::tid;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tardy_stats::Latencies;

/// One method's turn, at most.
const TURN_NS: u64 = 50_000_000;

/// Turns that are remembered of a method: 29 hours of the nine methods there are. Later ones are
/// measured like all, but not kept as [`Turn`]s.
const TURNS_MAX: usize = 1 << 18;

/// How long a pause waits for the timeout beyond its time before it counts as missed.
const MISSED_AFTER_NS: u64 = 1_000_000_000;

/// How long after its expiry a pause first looks whether the timeout was delivered, and again.
const LOOK_NS: u64 = 20_000;

/// CPU time is taken of one move in so many: asking for it is a system call. What that costs is taken
/// as often, between the same waits: in a loop it would cost a tenth.
const CPU_EVERY: u64 = 8;

/// A method that is being moved.
struct Moving {
    waiter: Waiter,
    call: Latencies,
    late_moves: u64,
    pauses: u64,
    missed: u64,
    turns: Vec<Turn>,
    cpu: MoverCpu,
}

pub(super) fn run(plan: &Plan, stop: &AtomicBool) -> Result<RearmMeasurement, RearmError> {
    // Before: a thread inherits the slack of the one that makes it, and waiters choose their own.
    let mut methods = vec![];
    for kind in KNOWN {
        let waiter = Waiter::start(kind)?;
        let call = Latencies::default();
        methods.push(Moving {
            waiter,
            call,
            late_moves: 0,
            pauses: 0,
            missed: 0,
            turns: vec![],
            cpu: MoverCpu::default(),
        });
    }
    let mover = tid();
    // For pauses, and for the pace that sleeps.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let clock_ns = cost_ns(now_ns);
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let mut order: Vec<usize> = (0..methods.len()).collect();
    let mut left_ns = u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX);
    while left_ns > 0 && !stop.load(Relaxed) {
        let turn_ns = left_ns.min(TURN_NS);
        random.shuffle(&mut order);
        for &number in &order {
            methods[number].turn(plan, turn_ns, &mut random, stop)?;
        }
        left_ns -= turn_ns;
    }
    let methods = methods.into_iter().map(Moving::finish).collect::<Result<_, _>>()?;
    let Plan { timeout_ns, every_ns, pace, seed, .. } = *plan;
    Ok(RearmMeasurement { timeout_ns, every_ns, pace, seed, clock_ns, mover, methods })
}

impl Moving {
    /// Moves for `turn_ns`; ends in a pause, so that nothing is armed while others have their turn.
    fn turn(
        &mut self,
        plan: &Plan,
        turn_ns: u64,
        random: &mut fastrand::Rng,
        stop: &AtomicBool,
    ) -> Result<(), RearmError> {
        let (start_ns, before) = (now_ns(), self.call.count());
        while now_ns() < start_ns + turn_ns && !stop.load(Relaxed) {
            let moves = 1 + random.u64(0..=2 * plan.pause_after_ns / plan.every_ns);
            self.moves(plan, moves)?;
            self.pause();
        }
        if self.turns.len() < TURNS_MAX {
            self.turns.push(Turn { start_ns, end_ns: now_ns(), moves: self.call.count() - before });
        }
        Ok(())
    }

    fn moves(&mut self, plan: &Plan, moves: u64) -> Result<(), RearmError> {
        let mut next_ns = now_ns();
        // As the timeout is before the first of these moves: nothing is armed, nothing can be late.
        let mut armed_ns = NONE_NS;
        for _ in 0..moves {
            // Of all moves: the first after a pause is dearer, and would else always be among them.
            let number = self.call.count();
            plan.pace.wait_until(next_ns);
            if number % CPU_EVERY == CPU_EVERY / 2 {
                let before_ns = cpu_ns();
                self.cpu.nothings += 1;
                self.cpu.nothing_ns += cpu_ns() - before_ns;
            }
            let cpu_before_ns = number.is_multiple_of(CPU_EVERY).then(cpu_ns);
            let before_ns = now_ns();
            self.waiter.move_to(before_ns + plan.timeout_ns)?;
            let after_ns = now_ns();
            if let Some(cpu_before_ns) = cpu_before_ns {
                self.cpu.samples += 1;
                self.cpu.ns += cpu_ns() - cpu_before_ns;
            }
            self.call.record(after_ns - before_ns);
            // The time after: it passed somewhere before the move was made.
            self.late_moves += u64::from(armed_ns <= after_ns);
            armed_ns = before_ns + plan.timeout_ns;
            // A move that is missed is left out: to catch up would be another load.
            next_ns = (next_ns + plan.every_ns).max(after_ns);
        }
        Ok(())
    }

    /// Lets the timeout expire, and waits until it was delivered.
    fn pause(&mut self) {
        let timeout = &self.waiter.log.timeout;
        let due_ns = timeout.expiry_ns();
        if due_ns == NONE_NS {
            // Delivered before the pause began: as after a late move.
            self.late_moves += 1;
            return;
        }
        self.pauses += 1;
        let mut look_ns = due_ns + LOOK_NS;
        loop {
            let _ = sleep_until(look_ns);
            if timeout.expiry_ns() == NONE_NS {
                return;
            }
            if now_ns() > due_ns + MISSED_AFTER_NS {
                self.missed += 1;
                return;
            }
            look_ns = now_ns() + LOOK_NS;
        }
    }

    fn finish(self) -> Result<RearmMethod, RearmError> {
        let kind = self.waiter.kind;
        let log = Arc::clone(&self.waiter.log);
        let waited = self.waiter.finish()?;
        Ok(RearmMethod {
            name: kind.name,
            summary: kind.summary,
            moves: self.call.count(),
            call: self.call,
            late_moves: self.late_moves,
            kernel_timers: waited.kernel_timers,
            pauses: self.pauses,
            missed: self.missed,
            lateness: log.lateness(),
            mover_cpu: self.cpu,
            waiter_cpu_ns: waited.thread.cpu_ns,
            waiter: waited.thread.id,
            turns: self.turns,
        })
    }
}
