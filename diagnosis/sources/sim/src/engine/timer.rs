//! Timers: armed, fired, and the device that interrupts for them.

use super::cpu::{COMMON, CONTEXTS};
use super::softirq::policy_context;
use super::tell::timer_id;
use super::thread::Purpose;
use super::{NEVER, NOBODY, Simulation, Step, Timer};
use crate::observer::{Fired, Observer, PutOff, ThreadAt, TimerAt, Waker};
use tardy_model::CpuId;
use tardy_model::event::{Call, ExpireBegin, ExpireEnd, TimerArm, TimerCancel, TimerMode};
use tardy_timers::Expiry;
use tardy_timers::policy::{Arm, Context, Program, Step as Does};

impl<O: Observer> Simulation<O> {
    /// Puts a timer into the queue of a CPU, and says how often that wrote the device.
    pub(super) fn arm(&mut self, at: usize, timer: TimerAt, soft_ns: u64, slack_ns: u64) -> u64 {
        let expiry = Expiry::with_slack(soft_ns, slack_ns);
        let now_ns = self.now_ns;
        let entry = &mut self.timers[timer as usize];
        let owner = &self.threads[entry.owner as usize];
        let sleeps = entry.purpose == Purpose::Sleep;
        let arm = Arm { sleeper: sleeps, ..Arm::sleep(expiry, owner.timer_priority()) };
        // A timeout is there to be moved.
        let arm = if sleeps { arm } else { arm.coarse() };
        let soft =
            self.soft_timers && (!sleeps || self.soft_sleepers && owner.timer_priority() == 0);
        let arm = if soft { arm.in_softirq() } else { arm };
        let before = self.cpus[at].timers.programmed();
        let armed_here = entry.key.filter(|_| usize::from(entry.cpu) == at);
        let elsewhere = entry.key.filter(|_| armed_here.is_none());
        if let Some(key) = elsewhere {
            // The kernel hands it over to where it is armed now.
            let old = usize::from(entry.cpu);
            let _ = self.cpus[old].timers.cancel(key);
            self.programs(old);
            self.disturb(old);
        }
        let entry = &mut self.timers[timer as usize];
        let timers = &mut self.cpus[at].timers;
        let was_armed = entry.key.is_some();
        self.moves += u64::from(was_armed);
        let moves = armed_here.is_some_and(|key| timers.rearm(key, expiry).is_ok());
        if !moves {
            entry.key = timers.arm(arm, timer).ok();
        }
        (entry.cpu, entry.armed_ns) = (at as u16, now_ns);
        (entry.soft_ns, entry.hard_ns) = (expiry.soft_ns(), expiry.hard_ns());
        if moves || elsewhere.is_some() {
            self.event(at, TimerCancel { timer: timer_id(timer) });
        }
        self.tell_arm(at, timer, if sleeps { Call::ClockNanosleep } else { Call::Timerfd });
        self.programs(at);
        let written = self.cpus[at].timers.programmed() - before;
        if was_armed {
            self.programmed_by_moves += written;
        }
        written
    }

    pub(super) fn tell_arm(&mut self, at: usize, timer: TimerAt, call: Call) {
        let entry = &self.timers[timer as usize];
        let slack_ns = u32::try_from(entry.hard_ns - entry.soft_ns).unwrap_or(u32::MAX);
        let (timer, soft_ns) = (timer_id(timer), entry.soft_ns);
        self.event(at, TimerArm { timer, soft_ns, slack_ns, mode: TimerMode(0), call });
    }

    /// Tells the device what the policy wants of it.
    pub(super) fn programs(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        if let Program::At { at_ns } = cpu.timers.program() {
            let late_ns = self.machine.device_late.draw(&mut cpu.streams.late);
            // A device that is given a time which has passed interrupts at once, before whoever gave it goes on.
            let has_passed = at_ns < self.now_ns;
            cpu.device_ns = if has_passed { self.now_ns } else { at_ns + late_ns };
        }
    }

    /// What it takes this time to write the device, so often.
    pub(super) fn programming_ns(&mut self, at: usize, writes: u64) -> u64 {
        let (cost, stream) = (&self.machine.program, &mut self.cpus[at].streams.program);
        let ns = (0..writes).map(|_| cost.draw(stream)).sum();
        self.programming_ns += ns;
        ns
    }

    /// The timer interrupt's handler comes to look at its queue.
    pub(super) fn timer_entered(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        cpu.timers.interrupt(self.now_ns);
        (cpu.longest, cpu.was_put_off) = ((0, 0), cpu.puts_off.take());
        match self.raises(at) {
            0 => self.fires_next(at),
            moving_ns => self.go(at, Step::Moving, moving_ns),
        }
    }

    /// The next thing that an interrupt or a softirq does for timers.
    pub(super) fn fires_next(&mut self, at: usize) {
        let now_ns = self.now_ns;
        let in_interrupt = self.cpus[at].in_interrupt();
        let served = self.cpus[at].top().context;
        let context = if in_interrupt { Context::HardIrq } else { policy_context(served) };
        if self.follows_timers && !in_interrupt && self.cpus[at].depth == 1 {
            let runnables = self.cpus[at].timers.runnable();
            let own = runnables.iter().find(|runnable| runnable.context == context);
            let priority = own.map(|own| own.priority);
            let thread = self.cpus[at].current;
            let ns = priority.map_or(0, |priority| self.follows(at, thread, priority, true));
            if ns > 0 {
                return self.go(at, Step::Moving, ns);
            }
        }
        let cpu = &mut self.cpus[at];
        let step = cpu.timers.step(context, now_ns);
        match step {
            Some(Does::Fire(fire)) => {
                let entry = &mut self.timers[fire.payload as usize];
                entry.key = None;
                let expiry = fire.arm.expiry;
                (entry.soft_ns, entry.hard_ns) = (expiry.soft_ns(), expiry.hard_ns());
                self.fires(at, fire.payload);
            }
            Some(Does::Tick { .. }) => {
                let tick = self.ticks_at + at as u32;
                let jiffy_ns = self.kernel.settings.jiffy_ns;
                let entry = &mut self.timers[tick as usize];
                entry.armed_ns = entry.hard_ns;
                entry.soft_ns = entry.hard_ns;
                entry.hard_ns = now_ns / jiffy_ns * jiffy_ns.get();
                entry.soft_ns = entry.hard_ns;
                self.fires(at, tick);
            }
            Some(Does::Move { timers }) => {
                let cost = &self.machine.queue_operation;
                let stream = &mut self.cpus[at].streams.kernel;
                let ns = (0..timers).map(|_| cost.draw(stream)).sum();
                self.go(at, Step::Moving, ns);
            }
            Some(Does::Wait { until_ns }) => {
                self.go(at, Step::Waiting, until_ns.saturating_sub(now_ns));
            }
            None if in_interrupt => {
                // What has become due meanwhile.
                let moving_ns = self.raises(at);
                if moving_ns > 0 {
                    return self.go(at, Step::Moving, moving_ns);
                }
                let cpu = &mut self.cpus[at];
                let (before, by) = (cpu.device_ns, cpu.longest.1);
                cpu.puts_off = cpu.timers.put_off_ns().map(|until_ns| PutOff { until_ns, by });
                self.programs(at);
                if self.cpus[at].device_ns != NEVER && before == NEVER {
                    let ns = self.programming_ns(at, 1);
                    self.go(at, Step::ProgramAfter, ns);
                } else {
                    self.leaves_timer(at);
                }
            }
            None => {
                let before = self.cpus[at].timers.programmed();
                self.programs(at);
                let writes = self.cpus[at].timers.programmed() - before;
                if writes == 0 {
                    return self.softirq_done(at);
                }
                let ns = self.programming_ns(at, writes);
                self.go(at, Step::SoftirqProgram, ns);
            }
        }
    }

    pub(super) fn leaves_timer(&mut self, at: usize) {
        let ns = self.machine.irq_exit.draw(&mut self.cpus[at].streams.exit);
        self.go(at, Step::IrqExit, ns);
    }

    /// A timer is taken off its queue to be fired; of the first one that is part of how this began.
    fn fires(&mut self, at: usize, timer: TimerAt) {
        let top = self.cpus[at].top_mut();
        top.timer = timer;
        if !std::mem::replace(&mut top.has_fired, true) {
            return self.callback_begins(at);
        }
        let ns = self.machine.queue_operation.draw(&mut self.cpus[at].streams.kernel);
        self.go(at, Step::Dequeue, ns);
    }

    pub(super) fn callback_begins(&mut self, at: usize) {
        let timer = self.cpus[at].top().timer;
        let in_interrupt = self.cpus[at].in_interrupt();
        let now_ns = self.now_ns;
        let entry = &mut self.timers[timer as usize];
        entry.begin_ns = now_ns;
        entry.is_running = true;
        let (purpose, owner) = (entry.purpose, entry.owner);
        if O::EVENTS {
            let slack_ns = u32::try_from(entry.hard_ns - entry.soft_ns).unwrap_or(u32::MAX);
            let mode = TimerMode(if in_interrupt { 0 } else { TimerMode::SOFT });
            let (timer, soft_ns) = (timer_id(timer), entry.soft_ns);
            self.event(at, ExpireBegin { timer, soft_ns, slack_ns, mode });
        }
        if matches!(purpose, Purpose::Tick | Purpose::StoppedTick) {
            let ns = self.machine.tick.draw(&mut self.cpus[at].streams.tick);
            return self.go(at, Step::Tick, ns);
        }
        let callback = &self.machine.callback;
        let ns = match purpose {
            Purpose::Sleep | Purpose::Timeout => {
                let owner = &mut self.threads[owner as usize];
                let stream = &mut owner.streams.callback;
                callback.draw(stream) + owner.callback.draw(stream)
            }
            _ => callback.draw(&mut self.cpus[at].streams.kernel),
        };
        self.go(at, Step::Callback, ns);
    }

    /// A callback comes to where it wakes its thread, if it does.
    pub(super) fn callback_done(&mut self, at: usize) {
        let Timer { owner, purpose, .. } = self.timers[self.cpus[at].top().timer as usize];
        if purpose == Purpose::Sleep {
            let ns = self.tell_waking(at, owner);
            return self.go(at, Step::CallbackWakes, ns);
        }
        self.replenishes(at, purpose);
        self.callback_ends(at);
    }

    pub(super) fn callback_woke(&mut self, at: usize) {
        let owner = self.timers[self.cpus[at].top().timer as usize].owner;
        if self.enqueues_and_sends(at, owner, Step::CallbackWakes) {
            return;
        }
        let mut ns = 0;
        // Threads that a timer policy has for itself take no lock of softirqs.
        if !self.cpus[at].in_interrupt() && self.cpus[at].top().context == COMMON {
            ns = self.machine.softirq_callback.draw(&mut self.cpus[at].streams.softirq);
        }
        if ns > 0 || self.kernel.softirq_lock && self.runs_softirqs_in_thread(at) {
            return self.go(at, Step::CallbackEnd, ns);
        }
        self.callback_ends(at);
    }

    pub(super) fn ticked(&mut self, at: usize) {
        self.tick(at);
        self.balances(at);
        self.cpus[at].has_ticked = true;
        let tick = self.cpus[at].top().timer;
        self.expired(at, tick);
        if self.timers[tick as usize].purpose == Purpose::StoppedTick {
            self.arms_tick(at);
            return self.fires_next(at);
        }
        let entry = &mut self.timers[tick as usize];
        entry.soft_ns += self.kernel.settings.jiffy_ns.get();
        entry.hard_ns = entry.soft_ns;
        self.tell_arm(at, tick, Call::Unknown);
        self.fires_next(at);
    }

    /// The tick that a CPU stops while it idles, where it does.
    fn stopped_tick(&self, at: usize) -> Option<TimerAt> {
        self.stopped_ticks_at.map(|first| first + at as u32)
    }

    /// Whether a CPU that has nothing to do has stopped its tick for that.
    pub(super) fn tick_is_stopped(&self, at: usize) -> bool {
        self.stopped_tick(at).is_some_and(|timer| self.timers[timer as usize].key.is_none())
    }

    /// The tick of a CPU that has something to do, where it stops else: the next multiple of a jiffy.
    pub(super) fn arms_tick(&mut self, at: usize) {
        let Some(timer) = self.stopped_tick(at) else { return };
        let jiffy_ns = self.kernel.settings.jiffy_ns;
        let next_ns = (self.now_ns / jiffy_ns + 1) * jiffy_ns.get();
        let entry = &mut self.timers[timer as usize];
        if entry.key.is_some() {
            return;
        }
        (entry.soft_ns, entry.hard_ns) = (next_ns, next_ns);
        (entry.armed_ns, entry.cpu) = (self.now_ns, at as u16);
        entry.key =
            self.cpus[at].timers.arm(Arm::kernel(Expiry::at(next_ns)).in_interrupt(), timer).ok();
        self.tell_arm(at, timer, Call::Unknown);
        self.programs(at);
    }

    /// The tick of a CPU that is about to idle leaves the queue, so that it shows what comes beside it: whether there was one.
    pub(super) fn takes_tick(&mut self, at: usize) -> bool {
        let Some(timer) = self.stopped_tick(at) else { return false };
        let Some(key) = self.timers[timer as usize].key.take() else { return false };
        let _ = self.cpus[at].timers.cancel(key);
        true
    }

    /// It stops, or goes on as it was.
    pub(super) fn stops_tick(&mut self, at: usize, stops: bool) {
        let Some(timer) = self.stopped_tick(at) else { return };
        if stops {
            self.event(at, TimerCancel { timer: timer_id(timer) });
        } else {
            let entry = &mut self.timers[timer as usize];
            let arm = Arm::kernel(Expiry::at(entry.soft_ns)).in_interrupt();
            entry.key = self.cpus[at].timers.arm(arm, timer).ok();
        }
        self.programs(at);
    }

    pub(super) fn callback_ends(&mut self, at: usize) {
        let timer = self.cpus[at].top().timer;
        self.expired(at, timer);
        if matches!(
            self.timers[timer as usize].purpose,
            Purpose::RtPeriod | Purpose::GroupPeriod(_)
        ) {
            self.arms_period(at, timer);
        }
        self.fires_next(at);
    }

    fn expired(&mut self, at: usize, timer: TimerAt) {
        let entry = &mut self.timers[timer as usize];
        entry.is_running = false;
        let took_ns = self.now_ns - entry.begin_ns;
        let cpu = &mut self.cpus[at];
        if cpu.in_interrupt() {
            cpu.longest = cpu.longest.max((took_ns, timer));
        }
        self.event(at, ExpireEnd { timer: timer_id(timer) });
    }

    /// Who wakes a thread now: the callback that runs, or who runs.
    pub(super) fn waker(&self, at: usize, thread: ThreadAt) -> Waker {
        let cpu = &self.cpus[at];
        let top = cpu.top();
        match top.step {
            Step::Callback => Waker::Timer(self.fired(at, top.timer)),
            _ if cpu.in_interrupt() => Waker::Interrupt,
            _ if cpu.current == NOBODY || cpu.current == thread => Waker::Start,
            _ => Waker::Thread(cpu.current),
        }
    }

    fn fired(&self, at: usize, timer: TimerAt) -> Fired {
        let cpu = &self.cpus[at];
        let entry = &self.timers[timer as usize];
        let (mut arrival_ns, mut entry_ns) = cpu.interrupt_times();
        let (mut softirq, mut put_off) = (None, cpu.was_put_off);
        if !cpu.in_interrupt() {
            debug_assert!(usize::from(cpu.top().context) < CONTEXTS);
            if let Some((raise, begin_ns)) = cpu.contexts[usize::from(cpu.top().context)].runs {
                softirq = Some((raise.time_ns, begin_ns));
                (arrival_ns, entry_ns) = (raise.arrival_ns, raise.entry_ns);
                put_off = raise.put_off;
            }
        }
        Fired {
            timer,
            cpu: CpuId(at as u16),
            armed_ns: entry.armed_ns,
            soft_ns: entry.soft_ns,
            hard_ns: entry.hard_ns,
            put_off,
            arrival_ns,
            entry_ns,
            softirq,
            begin_ns: entry.begin_ns,
        }
    }
}
