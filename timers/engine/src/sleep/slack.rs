//! The thread's timer slack: 1 ns while somebody sleeps finely, afterwards what it was.

use std::cell::Cell;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// The least slack a thread of the normal class can have: 0 would ask for the default
/// (`prctl(2)`, `PR_SET_TIMERSLACK`; Thomas Gleixner, "Re: \[PATCH\] kernel/time: Feedback reply for
/// `hr_sleep` syscall, a fine-grained sleep service", 2021-04-07).
const FINE_NS: NonZeroU64 = NonZeroU64::MIN;

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { holders: 0, before: None }) };
}

#[derive(Clone, Copy)]
struct Held {
    holders: u32,
    /// What to put back; `None` where nothing was changed, as on a real-time thread.
    before: Option<NonZeroU64>,
}

/// Keeps the slack of the thread that made it at 1 ns for as long as any such guard lives on the
/// thread. The last one to go puts back what there was.
///
/// A real-time thread has no slack and is left alone. Where `prctl` is refused, the slack stays; a
/// sleeper then learns it as lateness. A slack that somebody else sets meanwhile is not undone at the
/// end; [`renew`](Self::renew) takes it away until then.
pub(super) struct FineSlack(PhantomData<*const ()>);

impl FineSlack {
    pub(super) fn hold() -> Self {
        let mut held = HELD.get();
        if held.holders == 0 {
            held.before = make_fine();
        }
        held.holders += 1;
        HELD.set(held);
        Self(PhantomData)
    }

    /// Looks again. A thread that was in a real-time class when the guard was made, and is not any
    /// more, has got a slack since.
    #[expect(
        clippy::unused_self,
        reason = "only where a guard lives is there somebody to put it back"
    )]
    pub(super) fn renew(&self) {
        if let Some(before) = make_fine() {
            HELD.set(Held { before: Some(before), ..HELD.get() });
        }
    }
}

impl Drop for FineSlack {
    fn drop(&mut self) {
        let mut held = HELD.get();
        held.holders -= 1;
        if held.holders == 0
            && let Some(before) = held.before.take()
            && current_timer_slack() == Ok(FINE_NS.get())
        {
            // Cannot fail where setting it to 1 ns did not.
            let _ = set_current_timer_slack(Some(before));
        }
        HELD.set(held);
    }
}

/// Says what the slack was where it had to be changed and could be.
fn make_fine() -> Option<NonZeroU64> {
    let before = current_timer_slack().ok().and_then(NonZeroU64::new)?;
    (before > FINE_NS && set_current_timer_slack(Some(FINE_NS)).is_ok()).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, whose slack is nobody else's.
    fn on_a_thread_with_slack(slack_ns: u64, test: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                set_current_timer_slack(NonZeroU64::new(slack_ns)).expect("a slack can be set");
                if current_timer_slack() == Ok(slack_ns) {
                    test();
                } else {
                    println!("skipped: this thread cannot have a timer slack");
                }
            });
        });
    }

    #[test]
    fn the_last_holder_puts_it_back() {
        on_a_thread_with_slack(70_000, || {
            let outer = FineSlack::hold();
            let inner = FineSlack::hold();
            assert_eq!(current_timer_slack(), Ok(1));
            drop(outer);
            assert_eq!(current_timer_slack(), Ok(1));
            drop(inner);
            assert_eq!(current_timer_slack(), Ok(70_000));
        });
    }

    #[test]
    fn what_the_user_sets_meanwhile_stays() {
        on_a_thread_with_slack(70_000, || {
            let held = FineSlack::hold();
            set_current_timer_slack(NonZeroU64::new(30_000)).expect("a slack can be set");
            drop(held);
            assert_eq!(current_timer_slack(), Ok(30_000));
        });
    }

    #[test]
    fn a_slack_that_came_later_is_taken_away_and_put_back() {
        on_a_thread_with_slack(1, || {
            let held = FineSlack::hold();
            set_current_timer_slack(NonZeroU64::new(30_000)).expect("a slack can be set");
            held.renew();
            assert_eq!(current_timer_slack(), Ok(1));
            drop(held);
            assert_eq!(current_timer_slack(), Ok(30_000));
        });
    }
}
