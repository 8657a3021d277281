//! Wakings, preemption, switches.

use super::thread::Standing;
use super::{NOBODY, Need, Simulation, Step};
use crate::engine::cpu::{Frame, NEVER};
use crate::observer::{Observer, ThreadAt, Waker};
use crate::sched::{Class, Here, RR_SLICE_NS};
use crate::{Policy, Preemption, Throttles};
use tardy_model::event::{IpiSend, Migrate, Priority, Switch, TaskState, Waking, Woken, WokenNew};
use tardy_model::{CpuId, NameId, Prio};

impl<O: Observer> Simulation<O> {
    /// A thread is being woken: tells so, and says how long it takes until it is in a queue.
    pub(super) fn tell_waking(&mut self, at: usize, thread: ThreadAt) -> u64 {
        let by = self.waker(at, thread);
        let now_ns = self.now_ns;
        let woken = &mut self.threads[thread as usize];
        let (target, prio, cpu) = (woken.task, woken.prio, woken.cpu);
        woken.prepared = false;
        woken.leaves = false;
        let was = woken.standing;
        woken.wakes_up = was == Standing::Asleep;
        let mut ns = self.machine.wakeup.draw(&mut woken.streams.wakeup);
        if woken.class == Class::Fair {
            ns += self.machine.wakeup_fair.draw(&mut woken.streams.wakeup);
        }
        self.tell_irqs(at, true);
        self.event(at, Waking { target, target_cpu: CpuId(cpu), prio });
        // Who was on the way to sleep and has lost the CPU there waits for it all the same. Who has not goes on at once.
        let of_timer = matches!(by, Waker::Timer(_));
        let goes_on = was == Standing::Current && usize::from(cpu) == at;
        if was == Standing::Asleep || of_timer && (was == Standing::Ready || goes_on) {
            self.observer.woken(now_ns, thread, cpu, prio, by);
        }
        if of_timer && goes_on {
            self.observer.ran(now_ns, thread, cpu);
        }
        if was != Standing::Asleep {
            // It has not gone to sleep yet, and will not.
            self.event(at, Woken { target, target_cpu: CpuId(cpu), prio });
        }
        ns
    }

    /// A thread that is being woken comes to a queue.
    pub(super) fn enqueues(&mut self, at: usize, thread: ThreadAt) {
        let woken = &mut self.threads[thread as usize];
        if !std::mem::take(&mut woken.wakes_up) {
            return;
        }
        let (from, is_fair) = (usize::from(woken.cpu), woken.class == Class::Fair);
        let mut here = Here { cpu: from, now_ns: self.now_ns, loads: &mut self.loads };
        let stays = is_fair && self.cpus[from].queue.fair.stays(thread, &mut here);
        let to = if stays { from } else { self.chooses(at, thread) };
        if to != from {
            self.migrates(at, thread, to, true);
        }
        let woken = &self.threads[thread as usize];
        let (target, prio) = (woken.task, woken.prio);
        self.event(at, Woken { target, target_cpu: CpuId(to as u16), prio });
        let wakes_group = is_fair && !stays && self.cpus[to].queue.fair.wakes_group(thread);
        if wakes_group {
            self.comes(to, thread);
        }
        // One that stays is one of those who are there already (`update_curr`).
        if self.charge(to) && self.cpus[to].queue.fair.turn_ends() {
            self.turn_ends(at, to);
        }
        if stays {
            self.has_stayed(to, thread);
        } else if !wakes_group {
            self.comes(to, thread);
        }
        self.resched(at, to, thread);
    }

    /// The same at the end of a step, which goes on for as long as sending an interrupt takes where one is sent: whether
    /// it does.
    pub(super) fn enqueues_and_sends(&mut self, at: usize, thread: ThreadAt, step: Step) -> bool {
        if std::mem::take(&mut self.cpus[at].top_mut().is_sending) {
            return false;
        }
        // What is done again has taken as long as it did, with all that was sent.
        let waker = self.threads.get(self.cpus[at].current as usize);
        let is_scripted = step == Step::WakesOther && waker.is_some_and(|it| it.script.is_some());
        let is_again = is_scripted || self.cpus[at].top().is_recorded;
        self.cpus[at].has_sent = false;
        self.enqueues(at, thread);
        if is_again || !self.cpus[at].has_sent {
            return false;
        }
        let ns = self.machine.ipi_send.draw(&mut self.cpus[at].streams.send);
        if ns > 0 {
            self.cpus[at].top_mut().is_sending = true;
            self.go(at, step, ns);
        }
        ns > 0
    }

    /// Other fair threads are to have their turn on a CPU.
    fn turn_ends(&mut self, at: usize, to: usize) {
        let lazy = self.kernel.preemption == Preemption::Lazy;
        self.needs(at, to, if lazy { Need::Lazy } else { Need::Now });
    }

    /// A thread that was woken before it left the queue of a CPU is in that.
    fn has_stayed(&mut self, to: usize, thread: ThreadAt) {
        self.threads[thread as usize].standing = Standing::Ready;
        if let Some(balance) = &mut self.balance {
            balance.stays(thread, self.now_ns);
        }
        if self.kernel.throttles == Throttles::Queues && self.parks(thread) {
            self.takes_out(thread);
            self.wants_no_cpu(thread);
        }
        self.tells_throttle(to, thread);
    }

    /// A fair thread is in no queue any more, if it was.
    pub(super) fn takes_out(&mut self, thread: ThreadAt) {
        let taken = &mut self.threads[thread as usize];
        let at = usize::from(taken.cpu);
        let mut here = Here { cpu: at, now_ns: self.now_ns, loads: &mut self.loads };
        if let Some(fair) = self.cpus[at].queue.remove(thread, taken.class, &mut here) {
            taken.fair = fair;
        }
    }

    /// A thread that has slept enters the queue of a CPU.
    pub(super) fn comes(&mut self, to: usize, thread: ThreadAt) {
        let woken = &mut self.threads[thread as usize];
        woken.standing = Standing::Ready;
        woken.cpu = to as u16;
        if self.kernel.throttles == Throttles::Queues && self.parks(thread) {
            return self.tells_throttle(to, thread);
        }
        let woken = &mut self.threads[thread as usize];
        let cpu = &mut self.cpus[to];
        match woken.class {
            Class::Deadline => {
                if let Policy::Deadline { deadline_ns } = woken.policy
                    && woken.deadline_ns <= self.now_ns
                {
                    woken.deadline_ns = self.now_ns + deadline_ns;
                }
                cpu.queue.push_deadline(thread, woken.deadline_ns);
            }
            Class::RealTime(prio) => cpu.queue.push_realtime(thread, prio, false),
            Class::Fair => {
                let mut here = Here { cpu: to, now_ns: self.now_ns, loads: &mut self.loads };
                cpu.queue.fair.comes(thread, woken.fair, &mut here);
                self.wants_cpu(to, thread);
            }
        }
        self.tells_throttle(to, thread);
    }

    /// Where a woken thread is to run: where it ran last if that has nothing to do, else where somebody has
    /// nothing to do, else, of a real-time thread, where it may run at once; else where it ran last, or, of a fair one, on
    /// the CPU of its waker `at` if that has less to do.
    fn chooses(&self, at: usize, thread: ThreadAt) -> usize {
        let woken = &self.threads[thread as usize];
        let last = usize::from(woken.cpu);
        let allowed = |at: usize| woken.may_be_on(at);
        if woken.cpus.is_power_of_two() {
            return woken.cpus.trailing_zeros() as usize;
        }
        // A thread of `SCHED_IDLE` is nobody to any other (`sched_idle_cpu`).
        let is_nobody = |current: ThreadAt| {
            let current = self.threads.get(current as usize);
            current.is_none_or(|it| it.policy == Policy::Idle && woken.policy != Policy::Idle)
        };
        let idles = |at: usize| {
            let cpu = &self.cpus[at];
            is_nobody(cpu.current) && cpu.queue.is_empty() && cpu.need == Need::No
        };
        let all = || (0..self.cpus.len()).filter(|at| allowed(*at));
        if allowed(last) && idles(last) {
            return last;
        }
        if let Some(at) = all().find(|at| idles(*at)) {
            return at;
        }
        let runs_at_once = |at: usize| {
            let cpu = &self.cpus[at];
            let current = self.threads.get(cpu.current as usize).map(|current| current.class);
            current.is_none_or(|class| woken.class < class)
                && cpu.queue.first_class().is_none_or(|class| woken.class < class)
        };
        if woken.class != Class::Fair
            && !(allowed(last) && runs_at_once(last))
            && let Some(at) = all().find(|at| runs_at_once(*at))
        {
            return at;
        }
        if self.is_drawn(thread, at, last) {
            at
        } else if allowed(last) {
            last
        } else {
            all().next().unwrap_or(last)
        }
    }

    /// A thread that is in no queue is moved to another CPU.
    pub(super) fn migrates(&mut self, at: usize, thread: ThreadAt, to: usize, by_waker: bool) {
        let moved = &mut self.threads[thread as usize];
        let (target, from) = (moved.task, CpuId(moved.cpu));
        moved.cpu = to as u16;
        self.event(at, Migrate { target, from, to: CpuId(to as u16) });
        self.observer.moved(self.now_ns, thread, to as u16, by_waker);
    }

    /// A thread that waits leaves its queue for another CPU; `at` is the one that has it do so.
    pub(super) fn goes_over(&mut self, at: usize, thread: ThreadAt, to: usize) {
        self.takes_out(thread);
        self.migrates(at, thread, to, false);
    }

    /// A thread has come to a queue: does it preempt who runs there?
    pub(super) fn resched(&mut self, at: usize, to: usize, thread: ThreadAt) {
        let woken = &self.threads[thread as usize];
        let waits_aside = woken.class == Class::Fair
            && self.kernel.throttles == Throttles::Queues
            && woken.group.is_some_and(|group| self.groups[group as usize].is_throttled(to));
        let rt_off = self.cpus[to].queue.realtime_off && matches!(woken.class, Class::RealTime(_));
        if waits_aside || rt_off {
            return;
        }
        let need = match self.threads.get(self.cpus[to].current as usize) {
            None => Need::Now,
            Some(current) => match (woken.class, current.class) {
                (Class::Deadline, Class::Deadline) if woken.deadline_ns < current.deadline_ns => {
                    Need::Now
                }
                (Class::Fair, Class::Fair) if self.cpus[to].queue.fair.prefers(thread) => {
                    if self.kernel.preemption == Preemption::Lazy { Need::Lazy } else { Need::Now }
                }
                (woken, current) if woken < current => Need::Now,
                _ => Need::No,
            },
        };
        self.needs(at, to, need);
    }

    /// A CPU is to call the scheduler; `at` is the one that finds so.
    pub(super) fn needs(&mut self, at: usize, to: usize, need: Need) {
        let had = self.cpus[to].need;
        self.cpus[to].need = had.max(need);
        if need == Need::No || had >= need && self.cpus[to].current != NOBODY {
            return;
        }
        let now_ns = self.now_ns;
        if self.cpus[to].top().step == Step::Polling {
            self.cpus[to].top_mut().end_ns = now_ns;
            self.disturb(to);
        } else if at != to && (need == Need::Now || self.cpus[to].current == NOBODY) {
            let by = self.cpus[at].current;
            let late_ns = self.machine.ipi.draw(&mut self.cpus[at].streams.ipi);
            self.event(at, IpiSend::to(CpuId(to as u16), NameId::NONE));
            self.cpus[at].has_sent = true;
            let cpu = &mut self.cpus[to];
            if cpu.ipi_ns == NEVER {
                (cpu.ipi_ns, cpu.ipi_by) = (now_ns + late_ns, by);
            }
            self.disturb(to);
        }
    }

    /// The scheduler is called; `leaves` where the current thread goes to sleep.
    pub(super) fn schedules(&mut self, at: usize, leaves: bool) {
        let cpu = &mut self.cpus[at];
        let comes_fair = cpu.queue.first_class() == Some(Class::Fair);
        let mut fair = u64::from(comes_fair);
        let stream = match self.threads.get_mut(cpu.current as usize) {
            Some(current) => {
                current.leaves = leaves;
                fair += u64::from(current.class == Class::Fair);
                &mut current.streams.switch
            }
            None => &mut cpu.streams.switch,
        };
        let mut ns = self.machine.switch.draw(stream);
        for _ in 0..fair {
            ns += self.machine.switch_fair.draw(stream);
        }
        if cpu.current == NOBODY && self.tick_is_stopped(at) {
            let cpu = &mut self.cpus[at];
            ns += self.machine.tick_restart.draw(&mut cpu.streams.idle);
            self.arms_tick(at);
        }
        let cpu = &mut self.cpus[at];
        let ns = cpu.paced(self.now_ns, ns);
        cpu.push(Frame::new(Step::Switch, self.now_ns + ns), self.now_ns);
    }

    /// The scheduler has chosen.
    pub(super) fn switches(&mut self, at: usize) {
        let now_ns = self.now_ns;
        self.charge(at);
        let cpu = &mut self.cpus[at];
        cpu.pop(now_ns);
        cpu.need = Need::No;
        let prev = cpu.current;
        let (mut state, mut after) = (TaskState::Running, None);
        if let Some(thread) = self.threads.get_mut(prev as usize) {
            let class = thread.class;
            let is_fair = class == Class::Fair;
            after = is_fair.then_some(prev);
            if std::mem::take(&mut thread.leaves) {
                state = thread.sleep_state;
                thread.standing = Standing::Asleep;
                self.observer.sleeps(now_ns, prev, at as u16);
                if is_fair {
                    self.wants_no_cpu(prev);
                    self.leaves_queue(at, prev, true);
                    self.gives_back(at, prev);
                }
            } else {
                let first = !std::mem::take(&mut thread.yields);
                match class {
                    Class::Deadline => cpu.queue.push_deadline(prev, thread.deadline_ns),
                    Class::RealTime(prio) => cpu.queue.push_realtime(prev, prio, first),
                    Class::Fair if self.parks_when_taken_off(prev) => {
                        self.wants_no_cpu(prev);
                        self.leaves_queue(at, prev, false);
                        if self.kernel.throttles == Throttles::Tasks {
                            // As one that sleeps (`throttle_cfs_rq_work`).
                            let thread = &mut self.threads[prev as usize];
                            thread.fair = thread.fair.without_slice();
                        }
                        self.tell_group(at, prev, true);
                    }
                    Class::Fair => {}
                }
            }
        }
        let was = self.threads.get(prev as usize).map_or(Class::Fair, |thread| thread.class);
        let pulled = if was == Class::Fair { None } else { self.pulls_realtime(at) };
        let next = pulled.or_else(|| {
            let mut here = Here { cpu: at, now_ns, loads: &mut self.loads };
            let next = self.cpus[at].queue.pop(after, &mut here);
            next.or_else(|| self.pulls(at))
        });
        let next = next.unwrap_or(NOBODY);
        if next != prev {
            self.runs(at, prev, next, state);
            if was != Class::Fair && state == TaskState::Running {
                self.pushes(at, prev);
            }
        } else if let Some(thread) = self.threads.get_mut(prev as usize) {
            thread.standing = Standing::Current;
            if self.cpus[at].top().step == Step::User {
                self.returns_to_user(at, prev);
            }
        } else {
            self.goes_idle(at);
        }
    }

    /// The fair thread that runs is to have its CPU time elsewhere, later, or as one of another class.
    fn leaves_queue(&mut self, at: usize, thread: ThreadAt, sleeps: bool) {
        let mut here = Here { cpu: at, now_ns: self.now_ns, loads: &mut self.loads };
        if let Some(fair) = self.cpus[at].queue.fair.leaves(thread, sleeps, &mut here) {
            self.threads[thread as usize].fair = fair;
        }
    }

    /// A thread that runs is one of the fair ones from now on.
    fn runs_as_fair(&mut self, at: usize, thread: ThreadAt) {
        self.wants_cpu(at, thread);
        let mut here = Here { cpu: at, now_ns: self.now_ns, loads: &mut self.loads };
        let fair = self.threads[thread as usize].fair;
        self.cpus[at].queue.fair.runs_from_now(thread, fair, &mut here);
    }

    /// A CPU that would have nothing to do takes a thread from another one's queue.
    fn pulls(&mut self, at: usize) -> Option<ThreadAt> {
        for from in (0..self.cpus.len()).filter(|from| *from != at) {
            let queue = &self.cpus[from].queue;
            let threads = &self.threads;
            // Who alone waits for an idle CPU is about to run there.
            if self.cpus[from].current == NOBODY {
                continue;
            }
            let rt_off = self.cpus[at].queue.realtime_off;
            let found = queue.find(|thread| {
                let thread = &threads[thread as usize];
                let is_off = rt_off && matches!(thread.class, Class::RealTime(_));
                thread.may_be_on(at) && !is_off
            });
            if let Some(thread) = found {
                self.goes_over(at, thread, at);
                if self.threads[thread as usize].class == Class::Fair {
                    self.runs_as_fair(at, thread);
                }
                return Some(thread);
            }
        }
        None
    }

    /// A CPU on which a real-time thread no longer runs takes the first one that waits elsewhere, where its own are none
    /// (`pull_rt_task`).
    fn pulls_realtime(&mut self, at: usize) -> Option<ThreadAt> {
        let is_realtime = |class: Option<Class>| class.is_some_and(|class| class < Class::Fair);
        let queue = &self.cpus[at].queue;
        if queue.realtime_off || is_realtime(queue.first_class()) {
            return None;
        }
        let threads = &self.threads;
        let waiting = self.cpus.iter().filter(|cpu| cpu.current != NOBODY);
        let waiting = waiting.filter(|cpu| is_realtime(cpu.queue.first_class()));
        let first = waiting.filter_map(|cpu| {
            let may = |thread: ThreadAt| {
                let thread = &threads[thread as usize];
                thread.may_be_on(at) && thread.class < Class::Fair
            };
            cpu.queue.find(may)
        });
        let thread = first.min_by_key(|thread| threads[*thread as usize].class)?;
        self.goes_over(at, thread, at);
        Some(thread)
    }

    /// A real-time thread that had to make room for one before it goes to where it may run at once (`push_rt_task`).
    fn pushes(&mut self, at: usize, thread: ThreadAt) {
        let pushed = &self.threads[thread as usize];
        let current = self.threads.get(self.cpus[at].current as usize);
        // Bandwidth makes room for ordinary ones.
        let has_to = current.is_some_and(|current| current.class <= pushed.class);
        if pushed.standing != Standing::Ready || pushed.cpus.is_power_of_two() || !has_to {
            return;
        }
        let to = self.chooses(at, thread);
        if to != at {
            self.goes_over(at, thread, to);
            self.comes(to, thread);
            self.resched(at, to, thread);
        }
    }

    /// A CPU goes from one thread to another, [`NOBODY`] being the idle task.
    fn runs(&mut self, at: usize, prev: ThreadAt, next: ThreadAt, state: TaskState) {
        let now_ns = self.now_ns;
        let idle_prio = Prio(120);
        let prio = |thread: ThreadAt, threads: &[super::Thread]| {
            threads.get(thread as usize).map_or(idle_prio, |thread| thread.prio)
        };
        let (prev_prio, next_prio) = (prio(prev, &self.threads), prio(next, &self.threads));
        let preempted = state == TaskState::Running && prev != NOBODY;
        let next_task = self.task(next);
        self.tell_stolen(at);
        self.event(
            at,
            Switch { prev_state: state, prev_prio, preempted, next: next_task, next_prio },
        );
        let frame = *self.cpus[at].top();
        if let Some(thread) = self.threads.get_mut(prev as usize) {
            thread.frame = frame;
            thread.frame.end_ns = frame.end_ns.saturating_sub(now_ns);
            if preempted {
                thread.standing = Standing::Ready;
                self.observer.preempted(now_ns, prev, at as u16, prev_prio);
                self.tells_throttle(at, prev);
            }
        }
        if let Some(balance) = &mut self.balance {
            for (thread, runs) in [(prev, false), (next, true)] {
                if thread != NOBODY {
                    balance.turns(thread, runs, now_ns);
                }
            }
        }
        let cpu = &mut self.cpus[at];
        cpu.current = next;
        cpu.charged_ns = now_ns;
        let Some(thread) = self.threads.get_mut(next as usize) else {
            cpu.idle_state = u32::MAX;
            return self.goes_idle(at);
        };
        thread.standing = Standing::Current;
        thread.cpu = at as u16;
        let mut frame = thread.frame;
        frame.end_ns += now_ns;
        cpu.top = frame;
        self.observer.ran(now_ns, next, at as u16);
        if frame.step == Step::User {
            self.returns_to_user(at, next);
        }
        self.arms_tick(at);
    }

    /// Charges the current thread with what it has run, and says whether its slice is over.
    pub(super) fn charge(&mut self, at: usize) -> bool {
        let cpu = &mut self.cpus[at];
        let ns = self.now_ns - cpu.charged_ns;
        cpu.charged_ns = self.now_ns;
        let current = cpu.current;
        if current == NOBODY {
            return false;
        }
        self.uses(at, current, ns);
        let thread = &mut self.threads[current as usize];
        if let Some(balance) = &mut self.balance {
            balance.runs(current, thread.class == Class::Fair, at, ns);
        }
        match (thread.class, thread.policy) {
            (Class::Fair, _) => self.cpus[at].queue.fair.runs(ns),
            (_, Policy::RoundRobin(_)) => {
                thread.slice_left_ns = thread.slice_left_ns.saturating_sub(ns);
                thread.slice_left_ns == 0
            }
            _ => false,
        }
    }

    /// The scheduler's part of the tick.
    pub(super) fn tick(&mut self, at: usize) {
        let is_over = self.charge(at);
        self.checks_bandwidth(at);
        let cpu = &mut self.cpus[at];
        if cpu.need == Need::Lazy {
            cpu.need = Need::Now;
        }
        let Some(thread) = self.threads.get_mut(cpu.current as usize) else { return };
        if thread.class == Class::Fair {
            let mut here = Here { cpu: at, now_ns: self.now_ns, loads: &mut self.loads };
            cpu.queue.fair.weighs_again(&mut here);
        }
        if !is_over {
            return;
        }
        match thread.class {
            Class::RealTime(prio) => {
                thread.slice_left_ns = RR_SLICE_NS;
                if cpu.queue.has_realtime(prio) {
                    thread.yields = true;
                    self.needs(at, at, Need::Now);
                }
            }
            Class::Fair if cpu.queue.fair.turn_ends() => self.turn_ends(at, at),
            Class::Fair => {
                let mut here = Here { cpu: at, now_ns: self.now_ns, loads: &mut self.loads };
                self.cpus[at].queue.fair.lets_go(&mut here);
            }
            Class::Deadline => {}
        }
    }

    /// A thread for softirqs gets the priority that its policy wants, for timers of ordinary threads the lowest
    /// real-time one, as in the kernel's patch: no load of ordinary threads is to keep it from them. While it runs
    /// a callback it goes on at no lower one than that has, unless it `may_fall`. Says how long that takes, 0 where it keeps
    /// its priority.
    pub(super) fn follows(
        &mut self,
        at: usize,
        thread: ThreadAt,
        priority: u8,
        may_fall: bool,
    ) -> u64 {
        let policy = Policy::Fifo(priority.clamp(1, 99));
        let (class, prio) = (Class::of(policy), crate::sched::prio_of(policy));
        let changed = &mut self.threads[thread as usize];
        let (old, sleeps) = (changed.prio, changed.standing == Standing::Asleep);
        if prio == old || prio > old && !may_fall && !sleeps {
            return 0;
        }
        changed.policy = policy;
        self.sets_priority(at, thread, class, prio);
        // Nobody measures it: as much as to wake it, and once more for one that leaves a queue for that.
        let times = if sleeps { 1 } else { 2 };
        (0..times).map(|_| self.machine.wakeup.draw(&mut self.cpus[at].streams.kernel)).sum()
    }

    /// Gives a thread another class or priority.
    pub(super) fn sets_priority(&mut self, at: usize, thread: ThreadAt, class: Class, prio: Prio) {
        let changed = &mut self.threads[thread as usize];
        let (old, target, standing) = (changed.prio, changed.task, changed.standing);
        let on = usize::from(changed.cpu);
        let was = changed.class;
        if standing == Standing::Ready {
            self.withdraws(thread);
        } else if standing == Standing::Current {
            // Its run so far is charged to what it was.
            self.charge(on);
            if was == Class::Fair && class != Class::Fair {
                self.leaves_queue(on, thread, false);
            }
        } else {
            let mut here = Here { cpu: on, now_ns: self.now_ns, loads: &mut self.loads };
            self.cpus[on].queue.fair.forgets(thread, &mut here);
        }
        if was == Class::Fair && class != Class::Fair {
            self.wants_no_cpu(thread);
            // What was to hold it finds that it is no fair one any more.
            self.threads[thread as usize].is_held = false;
        }
        let changed = &mut self.threads[thread as usize];
        (changed.class, changed.prio) = (class, prio);
        if was != Class::Fair && class == Class::Fair && standing == Standing::Current {
            self.runs_as_fair(on, thread);
        }
        self.event(at, Priority { target, old, new: prio, released: prio > old });
        self.observer.priority(self.now_ns, thread, prio);
        if standing == Standing::Ready {
            self.comes(on, thread);
            self.resched(at, on, thread);
        } else if standing == Standing::Current
            && self.cpus[on].queue.first_class().is_some_and(|first| first < class)
        {
            self.needs(at, on, Need::Now);
        }
        if standing == Standing::Current && on != at {
            self.tell_state(on);
        }
    }

    /// A thread begins to be.
    pub(super) fn starts(&mut self, thread: ThreadAt) {
        let started = &mut self.threads[thread as usize];
        if started.begins_asleep() {
            return;
        }
        let (target, prio, cpu) = (started.task, started.prio, started.cpu);
        let at = usize::from(cpu);
        self.event(at, WokenNew { target, target_cpu: CpuId(cpu), prio });
        self.observer.woken(self.now_ns, thread, cpu, prio, Waker::Start);
        self.comes(at, thread);
        self.resched(at, at, thread);
    }
}
