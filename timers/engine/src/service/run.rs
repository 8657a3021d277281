//! What a level's thread does all day.

use super::due::{Due, Fire, Rest};
use super::lane::Lane;
use crate::queue::Queue;

/// What surrounds the loop: a clock, a place to sleep, somebody to hand timers to.
pub(super) trait Host<P> {
    /// The time, ns.
    fn now_ns(&mut self) -> u64;

    /// A number that changes with each wakeup, see [`sleep`](Self::sleep).
    fn wakeups(&mut self) -> u32;

    /// Sleeps, unless there was a wakeup since `wakeups` was read; until then or the next one.
    fn sleep(&mut self, wakeups: u32, rest: Rest);

    /// Spends the rest of the time, unless the lane has news.
    fn stay_awake(&mut self, rest: Rest, lane: &Lane<P>);

    /// Hands over a timer.
    fn fire(&mut self, fire: Fire<P>);
}

/// Fires the lane's timers until it is stopped.
pub(super) fn run<P, A, B>(lane: &Lane<P>, due: &mut Due<A, B>, host: &mut impl Host<P>)
where
    A: Queue<u32>,
    B: Queue<u32>,
{
    loop {
        // Read before the list and the flag are: who wakes the thread has written them before.
        let wakeups = host.wakeups();
        let mut now_ns = host.now_ns();
        due.hear(lane, now_ns);
        while !lane.is_stopped()
            && let Some(fire) = due.pop(lane, now_ns)
        {
            host.fire(fire);
            // What was armed meanwhile, perhaps by what was fired, may come before the next.
            now_ns = host.now_ns();
            due.hear(lane, now_ns);
        }
        if lane.is_stopped() {
            return;
        }
        if let Some(rest) = due.rest(lane, now_ns) {
            host.sleep(wakeups, rest);
            lane.awake();
            host.stay_awake(rest, lane);
        }
    }
}
