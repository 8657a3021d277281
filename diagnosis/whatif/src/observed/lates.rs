//! Stretches in which a CPU takes no interrupt, or does not preempt a thread, by what timers saw of them.
//!
//! A timer's interrupt that comes while interrupts are off (or while the hypervisor has the CPU without saying so)
//! waits for the rest of that stretch; so does a wakeup that is to preempt a thread which cannot be. Timers meet stretches at random, the long ones more often, so what is seen is
//! the *residual life* of a renewal process: its density falls, and at `x` it is the rate of stretches longer than `x`
//! (Cox, "Renewal Theory", 1962, chapter 5). The best falling density for a sample is Grenander's (1956): the slope of
//! the least concave majorant of its distribution. Where that steps down by `d` at `x`, stretches of the length `x`
//! come at the rate `d`.
//!
//! They belong to the thread that ran, come and go with it, and come by its CPU time: more timers do not make more of
//! them.

use super::samples::median;
use std::collections::HashMap;
use tardy_sim::{Cost, Entity, Sections, Stream};

/// Interrupts of which more than so many times the median is more than their way.
pub(crate) const USUAL: u64 = 2;

/// Latenesses that are kept, each with the same chance.
const KEPT_MAX: usize = 1 << 20;

/// Threads of one name that were met more rarely share what was seen of all such.
const OWN_MIN: usize = 20;

/// Where all such were met more rarely, nothing is said of them: a few that were held for long are not like others.
const RARE_MIN: usize = 200;

/// What is shorter is in the usual way of an interrupt.
const LENGTH_NS_MIN: f64 = 1_000.0;

/// How late the timer's interrupt came to CPUs that ran threads, by their places.
#[derive(Debug, Default)]
pub(crate) struct Lates {
    kept: Vec<(u32, u64)>,
    seen: u64,
}

/// What a thread's runs are strewn with.
#[derive(Clone, Debug)]
pub(crate) struct Strewn {
    pub(crate) sections: Sections,
    /// Their part of its time.
    pub(crate) share: f64,
}

impl Lates {
    pub(crate) fn add(&mut self, thread: u32, ns: u64) {
        self.seen += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push((thread, ns));
            return;
        }
        // As in `Samples`.
        let at = Stream::new(self.seen, Entity::Maker, 2).below(self.seen) as usize;
        if let Some(place) = self.kept.get_mut(at) {
            *place = (thread, ns);
        }
    }

    /// An interrupt's way takes no longer.
    pub(crate) fn usual_ns(&self) -> u64 {
        let mut all: Vec<u64> = self.kept.iter().map(|(_, ns)| *ns).collect();
        if all.is_empty() {
            return 0;
        }
        median(&mut all) * USUAL
    }

    /// The stretches of threads, by a name that they share; those of names that were met rarely are the same.
    pub(crate) fn sections(&self, usual_ns: u64, name_of: impl Fn(u32) -> String) -> BySeen {
        let mut by_name: HashMap<String, Vec<u64>> = HashMap::new();
        for (thread, ns) in &self.kept {
            by_name.entry(name_of(*thread)).or_default().push(ns.saturating_sub(usual_ns));
        }
        let mut rare = Vec::new();
        let mut own = HashMap::new();
        for (name, excess) in by_name {
            if excess.len() >= OWN_MIN {
                own.insert(name, strewn(excess));
            } else {
                rare.extend(excess);
            }
        }
        let rare = if rare.len() >= RARE_MIN { strewn(rare) } else { None };
        BySeen { own, rare }
    }
}

/// Stretches by who ran.
#[derive(Debug)]
pub(crate) struct BySeen {
    own: HashMap<String, Option<Strewn>>,
    rare: Option<Strewn>,
}

impl BySeen {
    pub(crate) fn of(&self, name: &str) -> Option<&Strewn> {
        self.own.get(name).unwrap_or(&self.rare).as_ref()
    }
}

/// What stretches make latenesses like these, some of which are 0; `None` where there are none worth telling.
fn strewn(mut excess: Vec<u64>) -> Option<Strewn> {
    let all = excess.len();
    excess.sort_unstable();
    let none = excess.partition_point(|ns| *ns == 0);
    let late = &excess[none..];
    if late.is_empty() {
        return None;
    }
    // Corners of the least concave majorant of how many are no longer than x, from (0, 0) on.
    let mut corners: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (at, ns) in late.iter().enumerate() {
        let corner = (*ns as f64, (at + 1) as f64);
        while let [.., before, last] = corners[..]
            && slope(before, last) <= slope(last, corner)
        {
            corners.pop();
        }
        corners.push(corner);
    }
    let slopes: Vec<f64> = corners.windows(2).map(|pair| slope(pair[0], pair[1])).collect();
    let steps = slopes.iter().zip(slopes.iter().skip(1).chain([&0.0])).zip(&corners[1..]);
    // Rates per ns of time, and lengths.
    let rates = steps.map(|((is, next), (ns, _))| ((is - next) / all as f64, *ns));
    let rates: Vec<(f64, f64)> = rates.filter(|(_, ns)| *ns >= LENGTH_NS_MIN).collect();
    let rate: f64 = rates.iter().map(|(rate, _)| rate).sum();
    let share: f64 = rates.iter().map(|(rate, ns)| rate * ns).sum();
    let lengths = rates.iter().map(|(part, ns)| (part / rate, Cost::Constant(*ns as u64)));
    let between_ns = (1.0 - share).max(0.0) / rate;
    let sections = Sections {
        every: Cost::Exponential { mean_ns: between_ns },
        length: Cost::mixture(lengths.collect()).ok()?,
    };
    Some(Strewn { sections, share })
}

fn slope((x, y): (f64, f64), (next_x, next_y): (f64, f64)) -> f64 {
    (next_y - y) / (next_x - x).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timers that come at random meet stretches of these lengths, so many per second.
    #[test]
    fn stretches_are_found_again_from_what_timers_met() {
        let truth = [(50_000u64, 400.0), (200_000, 100.0)];
        let mut stream = Stream::new(1, Entity::Maker, 7);
        let mut lates = Lates::default();
        for _ in 0..200_000 {
            let mut at = stream.below(1_000_000_000) as f64 / 1e9;
            let mut late = 0;
            for (ns, rate) in truth {
                let share = ns as f64 * rate / 1e9;
                if (0.0..share).contains(&at) {
                    late = stream.below(ns);
                }
                at -= share;
            }
            lates.add(0, 1_000 + late);
        }
        let seen = lates.sections(lates.usual_ns(), |_| "hog".to_owned());
        let found = seen.of("hog").unwrap();
        assert!((found.share / 0.04 - 1.0).abs() < 0.05, "{}", found.share);
        let mut stream = Stream::new(2, Entity::Maker, 7);
        let draws = 100_000;
        let lengths: Vec<u64> =
            (0..draws).map(|_| found.sections.length.draw(&mut stream)).collect();
        let every_ns: u64 = (0..draws).map(|_| found.sections.every.draw(&mut stream)).sum();
        let second_ns = (every_ns + lengths.iter().sum::<u64>()) as f64 / 1e9;
        // Some that were made up are short: as rare as to weigh nothing.
        for (ns, rate) in truth {
            let near = lengths.iter().filter(|length| (ns * 4 / 5..=ns * 11 / 10).contains(length));
            let found = near.count() as f64 / second_ns;
            assert!((found / rate - 1.0).abs() < 0.15, "{found} of {ns} ns, not {rate}");
        }
        assert!(Lates::default().sections(0, |_| String::new()).of("").is_none());
    }
}
