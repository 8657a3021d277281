//! Interrupts, as many as can be made without a device: between processors, of timers on chosen CPUs,
//! and softirqs.
//!
//! A kind is a file in this folder and a word in the registry, which also declares the file; each says
//! which counter of `/proc/interrupts` or `/proc/softirqs` goes up, and a test holds it to that. What
//! needs hardware is not here: a device's interrupt, its thread, a storm on one line, NMIs, SMIs.

use super::crew::{Crew, Post, Rank};
use super::pacer;
use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad};
use crate::sched::bind;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fmt;
use std::io;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        const KNOWN: &[Way] = &[$($file::WAY),*];
    };
}

registry![ipi, tlb, wake, timer, softirq];

/// A way to cause interrupts.
struct Way {
    name: &'static str,
    /// The least rate: 0, as fast as it goes, where that makes sense.
    rate_least: u64,
    /// The threads.
    posts: fn(&Irq, &[u16]) -> io::Result<Vec<Post>>,
    /// What of `/proc/interrupts` (the words at the end of a line) or `/proc/softirqs` (the name at its
    /// beginning) goes up.
    #[cfg(test)]
    raises: &'static [&'static str],
}

/// Where no number is given.
const THREADS: u64 = 1;

/// With a thread per CPU each: beyond it there are more threads than interrupts.
const THREADS_MAX: u64 = 64;

/// As many a second as a fast device makes.
const RATE: u64 = 1_000;

/// A thousand times as many.
const RATE_MAX: u64 = 1_000_000;

/// More than any Linux has.
const CPU_MAX: u64 = CpuSet::MAX_CPU as u64 - 1;

const USAGE: &str = "irq[:N][,kind=ipi|tlb|wake|timer|softirq][,rate=R][,cpu=A[-B]]…";

pub(super) const KIND: Kind = Kind {
    name: "irq",
    usage: USAGE,
    summary: "N (1) threads that interrupt CPUs `rate` (1000; 0: as fast as it goes) times a \
              second each: by membarrier(2) (ipi) or a changed mapping (tlb), on each CPU while \
              the spinning thread that this load adds runs there; by waking a thread on another \
              CPU (wake); N threads per CPU that sleep (timer); packets over loopback (softirq). \
              `cpu` chooses CPUs",
    parse: |arguments| Irq::parse(arguments).map(|irq| Box::new(irq) as Box<dyn Load>),
};

/// Threads that cause interrupts.
#[derive(Clone)]
struct Irq {
    threads: u64,
    way: &'static Way,
    /// Of each thread, a second.
    rate: u64,
    /// First and last; none is all that the thread may use that starts the load.
    cpus: Vec<(u16, u16)>,
}

impl fmt::Debug for Irq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Irq({self})")
    }
}

impl Irq {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let threads = arguments.count("threads", THREADS, THREADS_MAX)?;
        let way = arguments.kind(KNOWN, |way| way.name, USAGE)?;
        let mut irq = Self { threads, way, rate: RATE, cpus: vec![] };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("kind", _) => {}
                ("rate", Some(value)) => {
                    irq.rate = arguments.number(option, value, irq.way.rate_least, RATE_MAX)?;
                }
                ("cpu", Some(value)) => {
                    let (first, last) = value.split_once('-').unwrap_or((value, value));
                    let first = arguments.number(option, first, 0, CPU_MAX)?;
                    let last = arguments.number(option, last, first, CPU_MAX)?;
                    irq.cpus.push((first as u16, last as u16));
                }
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        Ok(irq)
    }

    /// The CPUs, each once, in order.
    fn chosen(&self) -> io::Result<Vec<u16>> {
        let allowed = sched_getaffinity(None)?;
        let mut chosen: Vec<u16> =
            (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).map(|cpu| cpu as u16).collect();
        if self.cpus.is_empty() {
            return Ok(chosen);
        }
        let refused = self.cpus.iter().flat_map(|(first, last)| *first..=*last);
        if let Some(cpu) = refused.into_iter().find(|cpu| !chosen.contains(cpu)) {
            let text = format!("CPU {cpu} is not one of those that this process may use");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        chosen.retain(|cpu| self.cpus.iter().any(|(first, last)| (first..=last).contains(&cpu)));
        Ok(chosen)
    }
}

impl fmt::Display for Irq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "irq:{},kind={},rate={}", self.threads, self.way.name, self.rate)?;
        for (first, last) in &self.cpus {
            write!(f, ",cpu={first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

impl Load for Irq {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let load = self.to_string();
        let posts = self.chosen().and_then(|cpus| (self.way.posts)(self, &cpus));
        let posts = posts.map_err(|source| LoadError::Thread { load: load.clone(), source })?;
        Ok(Box::new(Crew::start(&load, Rank::default(), posts)?))
    }
}

/// A thread that does `act` at the rate.
fn at_rate<A, P>(irq: &Irq, name: String, units: &'static [&'static str], prepare: P) -> Post
where
    A: FnMut() -> io::Result<()>,
    P: FnOnce() -> io::Result<A> + Send + 'static,
{
    let rate = irq.rate as f64;
    Post::new(name, units, move |duty| {
        let act = prepare()?;
        duty.begin();
        pacer::at_rate(rate, duty, act)
    })
}

/// A thread that runs on a CPU all the time, for a process's own CPUs alone are interrupted on behalf
/// of its memory.
fn spinner(cpu: u16) -> Post {
    Post::new(format!("irq-spin-{cpu:02}"), &[], move |duty| {
        bind(cpu)?;
        duty.begin();
        while duty.goes_on() {
            std::hint::spin_loop();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
