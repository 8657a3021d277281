//! Timers as futures.

use super::client::Client;
use super::delivery::{Firing, Target};
use super::error::{ArmError, ChangeError};
use super::request::{Request, Timer};
use crate::Expiry;
use atomic_waker::AtomicWaker;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

/// A future that is ready when its timer fires; no executor needs to know of timers.
///
/// The timer is armed when the future is first polled, and cancelled when it is dropped. Its waker is
/// called by the level's thread.
#[must_use = "it is not armed before it is polled"]
#[derive(Debug)]
pub struct Sleep {
    client: Client,
    request: Request,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    Armed(Timer, Arc<Bell>),
    Over(Result<(), SleepError>),
}

/// Why a [`Sleep`] ended without its timer firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SleepError {
    /// There was no room for its timer.
    #[error("all timers of this level are in use")]
    Full,
    /// The service ended.
    #[error("the timer service has ended")]
    Stopped,
    /// This is a child process; the service is in the parent.
    #[error("this process was forked from the one that has the timer service")]
    Forked,
}

/// Where the level's thread and the task meet.
#[derive(Debug, Default)]
struct Bell {
    rung: AtomicU8,
    waker: AtomicWaker,
}

const SILENT: u8 = 0;
const FIRED: u8 = 1;
const ABANDONED: u8 = 2;

impl Target for Bell {
    fn fire(&self, _: &Firing) {
        self.rung.store(FIRED, Ordering::Release);
        self.waker.wake();
    }

    fn abandoned(&self) {
        self.rung.store(ABANDONED, Ordering::Release);
        self.waker.wake();
    }
}

impl Sleep {
    pub(super) fn new(client: Client, request: Request) -> Self {
        Self { client, request, state: State::New }
    }

    /// Moves it to another time, also where it was ready before. It is to be polled again after that.
    pub fn reset(&mut self, expiry: Expiry) {
        self.request.expiry = expiry;
        if let State::Armed(timer, _) = &self.state {
            // A bell that has rung, or is about to, is not used again.
            if self.client.rearm(*timer, expiry).is_ok() {
                return;
            }
        }
        self.state = State::New;
    }

    fn arm(&mut self, context: &Context<'_>) -> Poll<Result<(), SleepError>> {
        let bell = Arc::new(Bell::default());
        bell.waker.register(context.waker());
        let error = match self.client.arm(self.request, Arc::clone(&bell)) {
            Ok(timer) => {
                self.state = State::Armed(timer, bell);
                return Poll::Pending;
            }
            Err(ArmError::Full(_)) => SleepError::Full,
            Err(ArmError::Stopped(_)) => SleepError::Stopped,
            Err(ArmError::Forked(_)) => SleepError::Forked,
        };
        self.end(Err(error))
    }

    fn end(&mut self, result: Result<(), SleepError>) -> Poll<Result<(), SleepError>> {
        self.state = State::Over(result);
        Poll::Ready(result)
    }
}

impl Future for Sleep {
    type Output = Result<(), SleepError>;

    /// Polled again when it was ready, it says the same again.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match &this.state {
            State::New => this.arm(context),
            State::Over(result) => Poll::Ready(*result),
            State::Armed(_, bell) => {
                // Registered first: who rings later finds it, and who has rung is seen below.
                bell.waker.register(context.waker());
                match bell.rung.load(Ordering::Acquire) {
                    SILENT if this.client.shared.is_forked() => this.end(Err(SleepError::Forked)),
                    SILENT => Poll::Pending,
                    FIRED => this.end(Ok(())),
                    _ => this.end(Err(SleepError::Stopped)),
                }
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let State::Armed(timer, _) = &self.state {
            // Too late means that it has fired, which is as good.
            let (Ok(()) | Err(ChangeError::TooLate | ChangeError::Foreign | ChangeError::Forked)) =
                self.client.cancel(*timer);
        }
    }
}
