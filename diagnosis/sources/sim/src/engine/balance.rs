//! Busy CPUs take fair threads from each other.

use super::{NOBODY, Need, Simulation};
use crate::observer::{Observer, ThreadAt};
use crate::sched::{Class, Imbalance, THREADS_PER_BALANCING};

impl<O: Observer> Simulation<O> {
    /// A fair thread could run from now on.
    pub(super) fn wants_cpu(&mut self, at: usize, thread: ThreadAt) {
        if let Some(balance) = &mut self.balance {
            balance.comes(thread, &self.threads[thread as usize].fair, at, self.now_ns);
        }
    }

    /// A thread that was fair could not run from now on, or not as a fair one.
    pub(super) fn wants_no_cpu(&mut self, thread: ThreadAt) {
        if let Some(balance) = &mut self.balance {
            balance.leaves(thread, self.now_ns);
        }
    }

    /// At its tick a CPU that has less to do than another one takes threads from that.
    pub(super) fn balances(&mut self, at: usize) {
        let Some(balance) = &mut self.balance else { return };
        balance.looks(self.now_ns);
        if self.cpus[at].current == NOBODY {
            return;
        }
        self.rouses(at);
        let now_ns = self.now_ns;
        let balance = self.balance.as_mut().filter(|balance| balance.is_time(at, now_ns));
        let Some(balance) = balance else { return };
        for (number, cpu) in self.cpus.iter().enumerate() {
            let runs = self.threads.get(cpu.current as usize);
            let runs_other = runs.is_some_and(|thread| thread.class != Class::Fair);
            balance.counts(number, cpu.queue.fair.runnable() + usize::from(runs_other));
        }
        let mut pinned = 0;
        loop {
            let Some(balance) = &mut self.balance else { return };
            let found = balance.finds(at, self.now_ns, pinned);
            let Some(Imbalance { from, mut wanted }) = found else { return };
            let waiting = balance.ordered(self.cpus[from].queue.fair.waiting());
            let (mut may_any, mut has_moved) = (false, false);
            for thread in waiting.iter().take(THREADS_PER_BALANCING) {
                let Some(balance) = &mut self.balance else { return };
                let may = self.threads[*thread as usize].may_be_on(at);
                may_any |= may;
                if may && !wanted.is_none() && balance.moves_it(at, *thread, &mut wanted) {
                    has_moved = true;
                    self.takes_over(at, *thread);
                }
            }
            let Some(balance) = &mut self.balance else { return };
            if may_any {
                return balance.tried(at, waiting, has_moved);
            }
            // Nobody there may run here (`LBF_ALL_PINNED`): the next busiest.
            balance.gives_back(waiting);
            pinned |= 1 << from;
        }
    }

    /// A CPU that has nothing to do is told of a thread that waits here and may run there (`nohz_balancer_kick`).
    fn rouses(&mut self, at: usize) {
        let queue = &self.cpus[at].queue;
        if queue.fair.is_empty() {
            return;
        }
        let idle = (0..self.cpus.len()).find(|to| {
            let cpu = &self.cpus[*to];
            let may = |thread: ThreadAt| self.threads[thread as usize].may_be_on(*to);
            cpu.current == NOBODY && cpu.need == Need::No && queue.fair.waiting().any(may)
        });
        if let Some(to) = idle {
            self.needs(at, to, Need::Now);
        }
    }

    /// A fair thread that waits elsewhere is to wait here.
    fn takes_over(&mut self, at: usize, thread: ThreadAt) {
        self.goes_over(at, thread, at);
        self.charge(at);
        self.comes(at, thread);
        self.resched(at, at, thread);
    }

    /// Whether a woken thread goes to its waker's CPU, all being busy.
    pub(super) fn is_drawn(&self, thread: ThreadAt, waker: usize, last: usize) -> bool {
        let woken = &self.threads[thread as usize];
        let may = waker != last && woken.class == Class::Fair && woken.may_be_on(waker);
        may && self.balance.as_ref().is_some_and(|balance| balance.draws(thread, waker, last))
    }
}
