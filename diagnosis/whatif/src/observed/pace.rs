//! How fast each CPU was, from one stretch of time to the next: by what the same work took there and then.
//!
//! A CPU that shares a core with another, or is clocked down, is slower in all that it does, for tens or hundreds of
//! milliseconds at a time. Costs that are drawn without that come out as if each were by itself, and their sums
//! have too short a tail.

use super::cold::{COLDS, Cold, Factors, Sums};
use super::costs::Measured;
use super::draft::Draft;
use tardy_sim::{CPUS_MAX, Coldness, PERMILLE_MAX, Pace};

/// One stretch. Shorter ones have too few samples each, and longer ones mix a slow time with a fast one.
const STRETCH_NS: u64 = 10_000_000;

/// Stretches of one CPU that are kept, 72 bytes each: five minutes. What comes later is taken to be as fast as usual.
const STRETCHES_MAX: usize = 1 << 15;

/// A sample counts as no further from its kind's mean than by this factor, as a logarithm: something else was in its way.
pub(super) const FAR: f64 = 1.1;

/// A spread of paces below this (the standard deviation of their logarithm) changes nothing that anybody could see.
const SPREAD_MIN: f64 = 0.03;

/// Kinds of work that are long enough to be measured, always the same, and done again and again.
const KINDS: usize = 6;

fn kind(what: Measured) -> Option<usize> {
    match what {
        Measured::Switch(fair) => Some(usize::from(fair.min(2))),
        Measured::IdleEntry => Some(3),
        Measured::SwitchWithTick(fair) => Some(4 + usize::from(fair.min(1))),
        _ => None,
    }
}

/// Samples of each kind, as logarithms: how many, and their sum; and how many by how their CPU had slept.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    count: [u32; KINDS],
    sum: [f32; KINDS],
    cold: [u16; COLDS],
}

/// When and where something was measured, and how the CPU had slept before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    cpu: u16,
    cold: Cold,
    stretch: u32,
}

/// What was seen of all CPUs.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    cpus: Vec<Vec<Stretch>>,
    all: [[Sums; COLDS]; KINDS],
}

impl When {
    /// The same, where the CPU had slept so.
    pub(crate) const fn after(self, cold: Cold) -> Self {
        Self { cold, ..self }
    }
}

impl Paces {
    /// Where a time lies, counted from the beginning of the recording.
    pub(crate) fn when(cpu: u16, at_ns: u64) -> When {
        let stretch = u32::try_from(at_ns / STRETCH_NS).unwrap_or(u32::MAX);
        When { cpu, stretch, cold: Cold::default() }
    }

    /// Something was measured that may tell how fast a CPU is.
    pub(crate) fn add(&mut self, when: When, what: Measured, ns: u64) {
        let (cpu, stretch) = (usize::from(when.cpu), when.stretch as usize);
        let Some(kind) = kind(what).filter(|_| ns > 0) else { return };
        if cpu >= usize::from(CPUS_MAX) || stretch >= STRETCHES_MAX {
            return;
        }
        if cpu >= self.cpus.len() {
            self.cpus.resize_with(cpu + 1, Vec::new);
        }
        let stretches = &mut self.cpus[cpu];
        if stretch >= stretches.len() {
            stretches.resize(stretch + 1, Stretch::default());
        }
        let cold = when.cold.place();
        let all = &mut self.all[kind][cold];
        let mut ln = (ns as f64).ln();
        if all.count > 0.0 {
            ln = ln.clamp(all.mean() - FAR, all.mean() + FAR);
        }
        all.add(ln);
        let stretch = &mut stretches[stretch];
        stretch.count[kind] += 1;
        stretch.sum[kind] += ln as f32;
        stretch.cold[cold] = stretch.cold[cold].saturating_add(1);
    }

    /// The paces of all CPUs; of none where what they differ by is chance.
    pub(crate) fn found(&self) -> Found {
        let factors = Factors::of(&self.all);
        let all = self.all.map(|colds| factors.without(&colds));
        let means = all.map(Sums::mean);
        let seen = |stretch: &Stretch| {
            let n: u32 = stretch.count.iter().sum();
            let kinds = stretch.count.iter().zip(&stretch.sum).zip(means);
            let off: f64 =
                kinds.map(|((n, sum), mean)| f64::from(*sum) - f64::from(*n) * mean).sum();
            let colds = stretch.cold.iter().enumerate();
            let slept: f64 = colds.map(|(cold, n)| f64::from(*n) * factors.ln(cold)).sum();
            (f64::from(n), off - slept)
        };
        // One-way analysis of variance with random effects: how much stretches differ beyond what samples do.
        let each = self.cpus.iter().flatten().map(seen).filter(|(n, _)| *n > 0.0);
        let (mut stretches, mut n_all, mut n_squares, mut between) = (0.0, 0.0, 0.0, 0.0);
        for (n, off) in each {
            stretches += 1.0;
            n_all += n;
            n_squares += n * n;
            between += off * off / n;
        }
        let total: f64 = all.map(Sums::off_squares).iter().sum();
        let steady = Found { cpus: Vec::new(), factors };
        if stretches < 2.0 || n_all <= stretches {
            return steady;
        }
        let sample = ((total - between) / (n_all - stretches)).max(0.0);
        let groups = n_all - n_squares / n_all;
        let spread = (between - (stretches - 1.0) * sample) / groups.max(1.0);
        if spread < SPREAD_MIN * SPREAD_MIN {
            return steady;
        }
        let permille = |stretch: &Stretch| {
            let (n, off) = seen(stretch);
            // As far as it is likely to be the stretch's own (best linear unbiased prediction).
            let own = n * spread / (n * spread + sample);
            let pace = if n > 0.0 { (own * off / n).exp() * 1e3 } else { 0.0 };
            (pace as u16).min(PERMILLE_MAX)
        };
        let mut cpus: Vec<Vec<u16>> =
            self.cpus.iter().map(|of| of.iter().map(permille).collect()).collect();
        for cpu in &mut cpus {
            // Of a stretch in which nothing was measured nothing is known but the one before.
            let mut last = 1_000;
            for permille in cpu {
                if *permille == 0 {
                    *permille = last;
                }
                last = *permille;
            }
        }
        Found { cpus, ..steady }
    }
}

/// How fast each CPU was in each stretch, in thousandths of what its work takes, and after which sleeps.
#[derive(Debug, Default)]
pub(crate) struct Found {
    cpus: Vec<Vec<u16>>,
    factors: Factors,
}

impl Found {
    /// What something that took so long takes at the usual pace.
    pub(crate) fn at_usual_ns(&self, when: When, ns: u64) -> u64 {
        let cpu = self.cpus.get(usize::from(when.cpu));
        let permille = cpu.and_then(|cpu| cpu.get(when.stretch as usize)).copied();
        let ns = ns.saturating_mul(1_000) / u64::from(permille.unwrap_or(1_000));
        match self.factors.ln(when.cold.place()) {
            0.0 => ns,
            ln => (ns as f64 * (-ln).exp()) as u64,
        }
    }

    /// By how much threads' own runs take longer after sleeps.
    pub(super) fn factors_of_runs<'a>(&self, drafts: impl Iterator<Item = &'a Draft>) -> Factors {
        Factors::of_runs(drafts, &self.factors)
    }

    /// By how much work takes longer after sleeps, and what threads run, with the factors of that.
    pub(super) fn coldness(&self, runs: &Factors) -> Coldness {
        self.factors.coldness(runs)
    }

    /// By what that grows with each double of a sleep.
    pub(crate) fn each_double(&self) -> f64 {
        self.factors.each_double()
    }

    /// Each change of pace, in order of time, from the beginning of the recording on.
    pub(crate) fn changes(&self) -> Vec<Pace> {
        let mut changes = Vec::new();
        for (cpu, paces) in self.cpus.iter().enumerate() {
            let mut last = 1_000;
            let each = paces.iter().copied().chain([1_000]).enumerate();
            for (stretch, permille) in each {
                if permille != last {
                    let at_ns = stretch as u64 * STRETCH_NS;
                    changes.push(Pace { at_ns, cpu: cpu as u16, permille });
                }
                last = permille;
            }
        }
        changes.sort_by_key(|pace| pace.at_ns);
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_sim::{Entity, Stream};

    /// Two CPUs for 2 s, a switch each 200 µs that takes 800 to 1,200 ns; CPU 1 takes `slower` thousandths from 1 s on.
    fn paces(slower: u64) -> Found {
        let mut paces = Paces::default();
        let mut stream = Stream::new(1, Entity::Maker, 9);
        for at in 0..10_000u64 {
            for cpu in 0..2u16 {
                let ns = 800 + stream.below(400);
                let ns = if cpu == 1 && at >= 5_000 { ns * slower / 1_000 } else { ns };
                // Now and then something else is in the way.
                let ns = if at % 50 == 0 { ns * 40 } else { ns };
                paces.add(Paces::when(cpu, at * 200_000), Measured::Switch(0), ns);
            }
        }
        paces.found()
    }

    #[test]
    fn a_slow_time_of_one_cpu_is_found() {
        let found = paces(1_500);
        let of = |cpu, at_ns| found.at_usual_ns(Paces::when(cpu, at_ns), 1_000_000) as f64 / 1e6;
        let ratio = of(0, 1_500_000_000) / of(1, 1_500_000_000);
        assert!((1.4..1.6).contains(&ratio), "{ratio}");
        let same = of(0, 500_000_000) / of(1, 500_000_000);
        assert!((0.9..1.1).contains(&same), "{same}");
        let changes = found.changes();
        assert!(changes.is_sorted_by_key(|pace| pace.at_ns));
        assert!(changes.iter().any(|pace| pace.cpu == 1 && pace.at_ns == 1_000_000_000));
        assert!(changes.iter().all(|pace| (1..=PERMILLE_MAX).contains(&pace.permille)));
    }

    #[test]
    fn chance_is_no_pace() {
        let found = paces(1_000);
        assert_eq!(found.changes(), []);
        assert_eq!(found.at_usual_ns(Paces::when(1, 1_500_000_000), 777), 777);
        assert_eq!(Paces::default().found().changes(), []);
    }
}
