//! Busy CPUs take fair threads from each other.

use super::{NOBODY, Simulation};
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
        // One without anything to do has taken what there was.
        if self.cpus[at].current == NOBODY || !balance.is_time(at, self.now_ns) {
            return;
        }
        for (number, cpu) in self.cpus.iter().enumerate() {
            let runs = self.threads.get(cpu.current as usize);
            let runs_other = runs.is_some_and(|thread| thread.class != Class::Fair);
            balance.counts(number, cpu.queue.fair.runnable() + usize::from(runs_other));
        }
        let Some(Imbalance { from, mut wanted }) = balance.finds(at, self.now_ns) else { return };
        let waiting = balance.ordered(self.cpus[from].queue.fair.waiting());
        let mut has_moved = false;
        for thread in waiting.iter().take(THREADS_PER_BALANCING) {
            let Some(balance) = &mut self.balance else { return };
            let may = self.threads[*thread as usize].cpus >> at & 1 == 1;
            if may && !wanted.is_none() && balance.moves_it(at, *thread, &mut wanted) {
                has_moved = true;
                self.takes_over(at, *thread);
            }
        }
        if let Some(balance) = &mut self.balance {
            balance.tried(at, waiting, has_moved);
        }
    }

    /// A fair thread that waits elsewhere is to wait here.
    fn takes_over(&mut self, at: usize, thread: ThreadAt) {
        self.takes_out(thread);
        self.migrates(at, thread, at, false);
        self.charge(at);
        self.comes(at, thread);
        self.resched(at, at, thread);
    }

    /// Whether a woken thread goes to its waker's CPU, all being busy.
    pub(super) fn is_drawn(&self, thread: ThreadAt, waker: usize, last: usize) -> bool {
        let woken = &self.threads[thread as usize];
        let may = waker != last && woken.class == Class::Fair && woken.cpus >> waker & 1 == 1;
        may && self.balance.as_ref().is_some_and(|balance| balance.draws(thread, waker, last))
    }
}
