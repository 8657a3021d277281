//! Arming, cancelling and moving timers, from any thread.

use super::delivery::Delivery;
use super::error::{ArmError, ChangeError};
use super::future::Sleep;
use super::lane::{Refused, Wake};
use super::request::{Request, Timer};
use super::scheduling::inherited;
use super::shared::{Desk, Shared};
use super::slots::{Key, Label};
use super::timebase::Clock;
use super::watch::{Report, add_one};
use crate::{Expiry, Kind, Level, Priority};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A way to a [`Service`](super::Service), for any thread. It may outlive the service, and then says
/// so.
///
/// Nothing here waits for anybody. Where a timer fires no earlier than the level's thread will look
/// anyway, there is no system call either.
#[derive(Clone)]
pub struct Client {
    pub(super) shared: Arc<Shared>,
}

impl Client {
    /// Arms a timer. One whose time has passed fires at once.
    ///
    /// # Errors
    /// [`ArmError`], with what the timer was to do.
    pub fn arm(&self, request: Request, delivery: impl Into<Delivery>) -> Result<Timer, ArmError> {
        let delivery = delivery.into();
        if self.shared.is_forked() {
            return Err(ArmError::Forked(delivery));
        }
        let level = self.level(request.class.priority);
        let desk = self.shared.desk(level);
        let label = Label { tag: request.tag, coarse: request.class.kind == Kind::Coarse };
        let armed = desk.lane.arm(NEAR.with(|near| *near), request.expiry, label, delivery);
        match armed {
            Ok((Key { slot, generation }, wake)) => {
                wake_up(desk, wake);
                Ok(Timer { service: self.shared.number, slot, generation, level })
            }
            Err(Refused::Full(delivery)) => {
                add_one(&desk.watch.refused);
                Err(ArmError::Full(delivery))
            }
            Err(Refused::Stopped(delivery)) => Err(ArmError::Stopped(delivery)),
        }
    }

    /// Arms a timer that calls `function`.
    ///
    /// # Errors
    /// [`ArmError`], with the function.
    pub fn call(
        &self,
        request: Request,
        function: impl FnOnce(&super::Firing) + Send + 'static,
    ) -> Result<Timer, ArmError> {
        self.arm(request, Delivery::call(function))
    }

    /// Cancels a timer: it will surely not fire. What it was to do is dropped, here or by a thread that
    /// is moving the timer at this moment.
    ///
    /// # Errors
    /// [`ChangeError::TooLate`] where it has fired, was cancelled or is being fired: what it does may
    /// be running still.
    pub fn cancel(&self, timer: Timer) -> Result<(), ChangeError> {
        let (desk, key) = self.find(timer)?;
        let cancelled = desk.lane.slots.cancel(key);
        cancelled.map(drop).map_err(|_gone| ChangeError::TooLate)
    }

    /// Moves a timer to another time; type, priority, tag and what it does stay. Of two threads that
    /// do so at the same time, one counts as the later.
    ///
    /// # Errors
    /// [`ChangeError::TooLate`] as for [`cancel`](Self::cancel).
    pub fn rearm(&self, timer: Timer, expiry: Expiry) -> Result<(), ChangeError> {
        let (desk, key) = self.find(timer)?;
        let (wake, revoked) = desk.lane.rearm(key, expiry).map_err(|_gone| ChangeError::TooLate)?;
        wake_up(desk, wake);
        // Cancelled meanwhile, by somebody or by the service's end.
        if let Some(delivery) = revoked.filter(|_| desk.lane.is_stopped()) {
            delivery.abandon();
        }
        Ok(())
    }

    /// A future that is ready at `time_ns`: a precise timer at the priority of the thread that polls
    /// it first.
    pub fn sleep_until(&self, time_ns: u64) -> Sleep {
        self.sleep(Request::at(time_ns).priority(Priority::Inherit))
    }

    /// A future that is ready when the timer fires.
    pub fn sleep(&self, request: Request) -> Sleep {
        Sleep::new(self.clone(), request)
    }

    /// The time on the service's clock, ns.
    pub fn now_ns(&self) -> u64 {
        self.shared.clock.now_ns()
    }

    /// On which clock the service's times are.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// What a level has done so far.
    pub fn report(&self, level: Level) -> Report {
        self.shared.desk(level).watch.report()
    }

    /// The level that a timer of this priority would fire at, armed by the calling thread.
    pub fn level(&self, priority: Priority) -> Level {
        match priority {
            Priority::Level(level) => level,
            Priority::Inherit => inherited(self.shared.thresholds),
        }
    }

    fn find(&self, timer: Timer) -> Result<(&Desk, Key), ChangeError> {
        if timer.service != self.shared.number {
            return Err(ChangeError::Foreign);
        }
        if self.shared.is_forked() {
            return Err(ChangeError::Forked);
        }
        let key = Key { slot: timer.slot, generation: timer.generation };
        Ok((self.shared.desk(timer.level), key))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("service", &self.shared.number).finish_non_exhaustive()
    }
}

fn wake_up(desk: &Desk, wake: Wake) {
    if wake.0 {
        add_one(&desk.watch.woken);
        desk.park.wake();
    }
}

thread_local! {
    /// Numbers threads, so that they take slots from different places.
    static NEAR: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}
