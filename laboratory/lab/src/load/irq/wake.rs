//! Pairs of threads on two CPUs that wake each other by turns. Where the other CPU is idle, or runs
//! something that must give way, it is interrupted: by a rescheduling interrupt, or a function call that
//! brings the wakeup along. One that polls while it idles needs no interrupt and gets none.

use super::{Irq, Way};
use crate::load::crew::{Duty, Post};
use crate::load::pacer::Pacer;
use crate::sched::bind;
use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait, wake};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub(super) const WAY: Way = Way {
    name: "wake",
    rate_least: 0,
    posts: |irq, cpus| {
        if cpus.len() < 2 {
            let text = "threads that wake each other across CPUs need two CPUs";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let on = |index: u64| cpus[index as usize % cpus.len()];
        Ok((0..irq.threads)
            .flat_map(|index| pair(irq, index, [on(index), on(index + 1)]))
            .collect())
    },
    #[cfg(test)]
    raises: &["Rescheduling interrupts", "Function call interrupts"],
};

/// No number of a round: whoever says it will not play on.
const OVER: u32 = u32::MAX;

/// What one of the two tells the other: the number of the round. When it is dropped, also before its
/// thread was ever made, the other need not wait any more.
#[derive(Default)]
struct Said(Arc<AtomicU32>);

impl Said {
    fn say(&self, round: u32) -> io::Result<()> {
        self.0.store(round, SeqCst);
        wake(&self.0, Flags::PRIVATE, 1)?;
        Ok(())
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.say(OVER);
    }
}

/// Waits until something else than `heard` is said.
fn hear(word: &AtomicU32, heard: u32) -> io::Result<u32> {
    loop {
        let now = word.load(SeqCst);
        if now != heard {
            return Ok(now);
        }
        match wait(word, Flags::PRIVATE, heard, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The first decides when it is over; the second answers until then.
fn pair(irq: &Irq, index: u64, [cpu, other_cpu]: [u16; 2]) -> [Post; 2] {
    let (asked, answered) = (Said::default(), Said::default());
    let (question, answer) = (Arc::clone(&asked.0), Arc::clone(&answered.0));
    let rate = irq.rate as f64;
    let first = move |duty: &mut Duty| {
        bind(cpu)?;
        let asked = asked;
        duty.begin();
        let mut pacer = Pacer::new(rate);
        let mut round = 0;
        while duty.goes_on() {
            for _ in 0..pacer.wait() {
                let before = round;
                round = (round + 1) % OVER;
                asked.say(round)?;
                duty.did(1);
                if hear(&answer, before)? == OVER || !duty.goes_on() {
                    return Ok(());
                }
            }
        }
        Ok(())
    };
    let second = move |duty: &mut Duty| {
        bind(other_cpu)?;
        let answered = answered;
        duty.begin();
        let mut round = 0;
        loop {
            round = hear(&question, round)?;
            if round == OVER {
                return Ok(());
            }
            answered.say(round)?;
            duty.did(1);
        }
    };
    let name = |side| format!("irq-wake-{index:02}{side}");
    [Post::new(name('a'), &["wakeups"], first), Post::new(name('b'), &["wakeups"], second)]
}
