//! Expiry policies: rules by which a kernel expires timers, over any queue, without a clock.
//!
//! A policy is told what is armed and when the clock-event device interrupts. It says which
//! contexts have something to run and how urgently ([`Policy::runnable`]), what each is to do next
//! ([`Policy::step`]), and when the device is to interrupt ([`Policy::program`]). It does not say how
//! long anything takes: that is the machine's, and the machine is the caller.
//!
//! | name | order | contexts | proposed by |
//! |---|---|---|---|
//! | `ksoftirqd` | time | common softirq thread | measured by Gleixner, 2005-01-28 |
//! | `timer-thread` | time | own softirq thread | Gleixner, 2005-01-28 |
//! | `split` | time in each | RT timers in hard irq or the threaded top half; the others, jiffy-bound, in the common softirq thread | Gleixner, 2005-01-28 |
//! | `levels` | time in each | level 0 in the common softirq thread, 1–3 in a thread each | Molnar, 2005-01-28 |
//! | `inherit` | priority, then time | own softirq thread, at the priority of what it fires | Molnar, 2005-01-28 |
//! | `batch` | time | own softirq thread, at the highest pending priority | Anzinger, 2005-01-28 |
//! | `jiffy-list` | time in each | precise timers in hard irq; the others and the edge's work in the common softirq thread | Anzinger, 2005-01-28 |
//! | `jiffy-list-race` | time in each | as `jiffy-list`, with jiffies counted by the threaded top half | seen by Anzinger, 2005-01-28 |
//! | `split-jiffy` | time in each | precise timers and the edge's work in hard irq; the others in the common softirq thread | Gleixner, 2005-01-31 |
//! | `hardirq` | time | hard irq | as Crisan found it, 2017-01-04 |
//! | `deferred` | time in each | hard irq; sleepers that are not real-time, and soft timers, in the common softirq thread or one of their own | Crisan, 2017-01-04 |
//! | `rearm-eager-double` | time in each | hard irq; soft timers in the common softirq thread | the kernel until 2021 |
//! | `rearm-single` | time in each | the same | Gleixner, 2021-04-21 |
//! | `rearm-lazy` | time in each | the same | this project |
//! | `rearm-wheel` | time in each | the same; coarse timers in the common softirq thread | Gleixner, 2021-04-21 |
//! | `softirq-expires-next-before` | time in each | as `rearm-single` | kernel commit 5da70160462e |
//! | `softirq-expires-next-after` | time in each | as `rearm-single` | kernel commit 46eb1701c0 |
//!
//! The mails are (Thomas Gleixner, Ingo Molnar, George Anzinger, linux-kernel, "High resolution timers
//! and BH processing on -RT", 2005-01-28 to 01-31), (Gratian Crisan, "latency induced by hrtimer
//! stacking", 2017-01-04) and (Thomas Gleixner, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next`
//! correctly after `__hrtimer_get_next_event()`", 2021-04-21).
//!
//! # How an interrupt goes
//!
//! The device interrupts at the time it was programmed for: [`interrupt`](Policy::interrupt). From
//! then on [`Context::HardIrq`] is runnable, until its `step` yields `None`; that ends the interrupt,
//! and the device is programmed, once, for what comes first then. Meanwhile arming programs nothing.
//! Where timers become due again and again while callbacks run, the kernel gives up after some rounds
//! and takes no interrupt for a while ([`Settings::rounds`], [`put_off_ns`](Policy::put_off_ns)).
//! Threads run between interrupts: the most urgent runnable first, if the CPU preempts; a thread whose
//! `step` yields `None` has nothing left.
//!
//! The tick is a timer that every policy has and that is always armed, at multiples of
//! [`Settings::jiffy_ns`].
//!
//! When the device is programmed ([`Rearm`]) is settled apart from where callbacks run: the last
//! policies are named after it, the others take [`Settings::rearm`].
//!
//! The queue is any that keeps [`Queue`]'s promises. One whose next expiry may be earlier than the
//! first timer's costs interrupts that find nothing.
//!
//! # Example
//!
//! ```
//! use tardy_timers::policy::{self, Arm, Context, Program, Settings, Step};
//! use tardy_timers::queue::Precise;
//! use tardy_timers::Expiry;
//!
//! let mut policy = policy::build("deferred", &Settings::default(), &Precise::new).unwrap();
//! policy.arm(Arm::sleep(Expiry::at(300_000), 98), "cyclictest")?;
//! policy.arm(Arm::sleep(Expiry::at(299_000), 0), "a storm's thread")?;
//! assert_eq!(policy.program(), Program::At { at_ns: 299_000 });
//!
//! // The device is late by 3 us.
//! policy.interrupt(302_000);
//! let Some(Step::Fire(first)) = policy.step(Context::HardIrq, 302_000) else { panic!() };
//! assert_eq!(first.payload, "cyclictest");
//! assert_eq!(policy.step(Context::HardIrq, 305_000), None);
//! assert_eq!(policy.program(), Program::At { at_ns: 1_000_000 }); // the tick
//!
//! let next = policy.runnable().first().unwrap();
//! assert_eq!((next.context, next.priority), (Context::CommonSoftirq, 0));
//! let Some(Step::Fire(second)) = policy.step(next.context, 306_000) else { panic!() };
//! assert_eq!(second.payload, "a storm's thread");
//! # Ok::<(), tardy_timers::queue::Full<&str>>(())
//! ```

mod arm;
mod context;
mod kit;
mod settings;
mod step;

pub use arm::Arm;
pub use context::{
    CONTEXTS_MAX, Context, HARD_IRQ_PRIORITY, Runnable, Runnables, THREAD_PRIORITY_MAX,
};
pub use kit::Key;
pub use settings::{Rearm, Settings};
pub use step::{Fire, Program, Step};

use crate::queue::{Full, Queue};
use crate::{Expiry, Stale};
use alloc::boxed::Box;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// All policies that there are.
        pub const KNOWN: &[About] = &[$($file::ABOUT),*];

        /// The policy of this name, over queues that `queue` makes (a policy has up to three); `None`
        /// where there is none.
        pub fn build<'a, T: 'a, Q: Queue<Key> + 'a>(
            name: &str,
            settings: &Settings,
            queue: &dyn Fn() -> Q,
        ) -> Option<Box<dyn Policy<T> + 'a>> {
            $(if name == $file::ABOUT.name {
                return Some(Box::new($file::new(settings, queue)));
            })*
            None
        }
    };
}

registry![
    ksoftirqd,
    timer_thread,
    split,
    levels,
    inherit,
    batch,
    jiffy_list,
    jiffy_list_race,
    split_jiffy,
    hardirq,
    deferred,
    rearm_eager_double,
    rearm_single,
    rearm_lazy,
    rearm_wheel,
    softirq_expires_next_before,
    softirq_expires_next_after,
];

/// A policy, as the registry holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name on a command line.
    pub name: &'static str,
    /// Who proposed it, and when; or where it is from.
    pub proposed: &'static str,
    /// Where callbacks run.
    pub contexts: &'static str,
    /// Some of its timers wait for the tick, so that a CPU which idles must not stop it.
    pub by_tick: bool,
}

/// Rules by which a kernel expires the timers of one CPU.
///
/// Implemented by the files of this folder; nobody else need do so. All of them agree on this:
///
/// - A timer that is armed is fired once, or cancelled; never before its soft expiry.
/// - Its key is valid until then, also while it has expired and waits for its context: it can still be
///   cancelled or moved, which takes it out of there.
/// - After that the key is stale for ever.
/// - At most [`TIMERS_MAX`](crate::queue::TIMERS_MAX) timers are armed at a time. With room for `n`
///   ([`Settings::timers`], and queues that have it) nothing is allocated until there are more.
/// - `now_ns` never goes back from call to call.
pub trait Policy<T> {
    /// Arms a timer.
    ///
    /// # Errors
    /// [`Full`] with the payload, at [`TIMERS_MAX`](crate::queue::TIMERS_MAX) timers, or where a queue
    /// holds no more.
    fn arm(&mut self, arm: Arm, payload: T) -> Result<Key, Full<T>>;

    /// Disarms a timer, also one that has expired and was not run yet, and gives its payload back.
    ///
    /// # Errors
    /// [`Stale`] where it was run or cancelled before.
    fn cancel(&mut self, key: Key) -> Result<T, Stale>;

    /// Moves a timer to another time; one that has expired and was not run yet is armed again instead.
    ///
    /// # Errors
    /// [`Stale`] where it was run or cancelled before.
    fn rearm(&mut self, key: Key, expiry: Expiry) -> Result<(), Stale>;

    /// The device has interrupted. [`Context::HardIrq`] is runnable now, until its
    /// [`step`](Self::step) yields `None`.
    ///
    /// Called without need, it finds nothing due.
    fn interrupt(&mut self, now_ns: u64);

    /// What a context does next; `None` where it has nothing to do. What it yields has begun: a timer
    /// that is fired is no longer armed.
    fn step(&mut self, context: Context, now_ns: u64) -> Option<Step<T>>;

    /// The contexts that have something to do, the most urgent first. May be asked at any time, and
    /// changes with every call.
    ///
    /// A callback that has begun is no longer in here. Its thread goes on at the priority that its
    /// context had when [`step`](Self::step) yielded it, or at a higher one that the context gets
    /// meanwhile.
    fn runnable(&self) -> Runnables;

    /// When a timer fires or should have fired.
    ///
    /// # Errors
    /// [`Stale`] where it was run or cancelled before.
    fn expiry(&self, key: Key) -> Result<Expiry, Stale>;

    /// How many timers are armed, or have expired and were not run yet. The tick is not counted.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the device interrupts next, ns; `None` during an interrupt, and where the end of time comes
    /// before.
    fn device_ns(&self) -> Option<u64>;

    /// When the next interrupt comes, where the last one found timers due so often that it put the next one off
    /// ([`Settings::rounds`]); `None` where it did not.
    fn put_off_ns(&self) -> Option<u64>;

    /// What to do with the device after the calls so far. Says each thing once: to be asked after each
    /// call that may have changed something, and after the policy was built.
    fn program(&mut self) -> Program;

    /// How often the device was programmed. A call may count 2, and then only the second is told of by
    /// [`program`](Self::program).
    fn programmed(&self) -> u64;

    /// Switches the deferral of sleepers that are not real-time on or off, for timers that are armed
    /// from now on; `false` where the policy has no such switch.
    fn defer(&mut self, _on: bool) -> bool {
        false
    }
}
