//! The timer service as a method: it moves the timeout, and calls back from a thread of its own.

use super::method::{Fires, Thread};
use super::timeout::NONE_NS;
use super::timeout_log::TimeoutLog;
use crate::clock::{cpu_ns, now_ns};
use crate::sched::tid;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use tardy_timers::service::{ArmError, Delivery, Firing, Request, Service, Target, Timer};
use tardy_timers::{Expiry, Kind, Level};

/// The longest that a service's thread may take to answer before the method has failed.
const ANSWER_MAX: std::time::Duration = std::time::Duration::from_secs(5);

/// A service with one timer.
pub(super) struct Served {
    service: Service,
    kind: Kind,
    target: Arc<Looks>,
    timer: Option<Timer>,
    /// What its thread had used when the method was made.
    cpu_before_ns: u64,
}

struct Looks(Arc<TimeoutLog>);

impl Target for Looks {
    fn fire(&self, _: &Firing) {
        self.0.look(now_ns());
    }
}

impl Served {
    pub(super) fn new(kind: Kind, log: Arc<TimeoutLog>) -> io::Result<Self> {
        // As the threads of the other methods are: none has a priority that they lack.
        let builder = Service::builder().priorities([0; Level::COUNT]).timers(8);
        let service = builder.start().map_err(io::Error::other)?;
        let target = Arc::new(Looks(log));
        let mut served = Self { service, kind, target, timer: None, cpu_before_ns: 0 };
        served.cpu_before_ns = served.thread()?.cpu_ns;
        Ok(served)
    }
}

impl Fires for Served {
    #[inline]
    fn moved(&mut self, old_ns: u64, new_ns: u64) -> io::Result<()> {
        let expiry = Expiry::at(new_ns);
        // Where it was delivered it is gone; else it may be fired at this moment, and then finds
        // that it was moved away.
        let timer = self.timer.filter(|_| old_ns != NONE_NS);
        if timer.is_some_and(|timer| self.service.rearm(timer, expiry).is_ok()) {
            return Ok(());
        }
        let delivery = Delivery::from(Arc::clone(&self.target));
        let request = Request::new(expiry).kind(self.kind);
        self.timer = Some(self.service.arm(request, delivery).map_err(refused)?);
        Ok(())
    }

    fn thread(&mut self) -> io::Result<Thread> {
        let (sender, receiver) = channel();
        let answer = move |_: &Firing| {
            let id = tid();
            let _ = sender.send(Thread { id, cpu_ns: cpu_ns() });
        };
        self.service.call(Request::at(now_ns()), answer).map_err(refused)?;
        let Thread { id, cpu_ns } = receiver.recv_timeout(ANSWER_MAX).map_err(io::Error::other)?;
        Ok(Thread { id, cpu_ns: cpu_ns.saturating_sub(self.cpu_before_ns) })
    }
}

#[allow(clippy::needless_pass_by_value)] // as map_err gives it
fn refused(error: ArmError) -> io::Error {
    // In words: the callback that it gives back cannot be shared between threads.
    io::Error::other(error.to_string())
}
