//! What a change would do: the recorded figures, moved by what the simulation says of the change.
//!
//! The simulated system errs; what it errs in with the change and without it alike cancels ([`Correction`]).

use crate::change;
use crate::correction::Correction;
use crate::experience;
use crate::figures::{BLOCKS, Blocks, Figures};
use crate::model::{KernelSeen, Model};
use crate::observed::Observed;
use crate::refusal::Refusal;
use crate::simulate::{Simulated, simulate, simulate_with_causes};
use crate::suspects::Suspects;
use std::collections::BTreeMap;
use tardy_changes::Change;
use tardy_sim::{Entity, Stream};

/// Of fewer wakeups nothing is said.
pub const WAKEUPS_MIN: usize = 100;

/// More losses than this share of events, and the scripts have holes.
const LOSSES_MAX: f64 = 0.01;

/// Where mean and median are off by more than this share of the recorded ones, nothing is said.
const UNLIKE_MIN: f64 = 1.0;

/// Intervals are to hold so much of the truths.
pub const COVERAGE: f64 = 0.9;

/// Times that blocks are drawn anew.
const DRAWS: usize = 200;

/// The recorded system, simulated as it was.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// As recorded.
    pub recorded: Figures,
    /// As simulated.
    pub simulated: Figures,
    /// How far the simulated figures are off in the second half of the time, on which nothing was fitted: a share
    /// of the recorded figure, in the order of [`Figures::all`].
    pub error: [f64; 6],
    /// Shares of the causes, as recorded and as simulated, the largest first.
    pub causes: Vec<(String, f64, f64)>,
}

/// A figure with what it would be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// As recorded, ns.
    pub recorded_ns: f64,
    /// With the change, ns.
    pub predicted_ns: f64,
    /// An interval that is to hold it in [`COVERAGE`] of all predictions.
    pub low_ns: f64,
    /// Its upper end.
    pub high_ns: f64,
}

impl Moved {
    /// By what share it changes: −0.5 for half.
    pub fn change(&self) -> f64 {
        if self.recorded_ns > 0.0 { self.predicted_ns / self.recorded_ns - 1.0 } else { 0.0 }
    }
}

/// What changes would do together.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// In the order of [`Figures::all`].
    pub figures: [Moved; 6],
    /// By how much the ranges were widened, for what checked predictions were off.
    pub widened: f64,
    /// With the change, as simulated: for who wants to know what was moved by what.
    pub simulated: Figures,
    /// The mean lateness of all other threads: simulated without and with the change, ns.
    pub others_ns: (f64, f64),
    /// What it costs, in words.
    pub prices: Vec<&'static str>,
    /// The effect is smaller than what the simulated system is off.
    pub is_unsure: bool,
}

/// What a change can do at best, without any simulation: some segments go, and nothing comes instead.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The recorded figures without them.
    pub best: Figures,
}

/// A recording that can be asked.
#[derive(Debug)]
pub struct WhatIf {
    model: Model,
    suspects: Suspects,
    recorded: Blocks,
    base: Simulated,
    baseline: Baseline,
}

impl WhatIf {
    /// Simulates a recording as it was, and says how well.
    ///
    /// # Errors
    /// Where nothing can be told from it, and why.
    pub fn new(observed: &Observed, kernel: &KernelSeen) -> Result<Self, Refusal> {
        check(observed)?;
        let model = Model::of(observed, kernel)?;
        model.system.check().map_err(|error| Refusal::Meaningless(error.to_string()))?;
        let suspects = Suspects::of(observed, &model);
        let recorded = recorded(observed);
        let base = simulate_with_causes(&model, model.system.seed)?;
        let simulated = base.victims.figures();
        if simulated.n < WAKEUPS_MIN as u64 {
            return Err(Refusal::Unlike(format!(
                "the victims wake up {} times in it, and {} times in the recording",
                simulated.n,
                recorded.count()
            )));
        }
        let second = |blocks: &Blocks| blocks.sample(BLOCKS / 2..BLOCKS).figures();
        let (was, is) = (second(&recorded), second(&base.victims));
        let mut error = [0.0; 6];
        for (error, (was, is)) in error.iter_mut().zip(was.all().into_iter().zip(is.all())) {
            *error = if was > 0.0 { (is / was - 1.0).abs() } else { 0.0 };
        }
        if error[0].min(error[1]) >= UNLIKE_MIN {
            return Err(Refusal::Unlike(format!(
                "its victims are late by {:.1} µs on average, and in the recording by {:.1} µs",
                is.mean_ns / 1e3,
                was.mean_ns / 1e3
            )));
        }
        let causes = causes(observed, &base);
        let baseline = Baseline { recorded: recorded.figures(), simulated, error, causes };
        Ok(Self { model, suspects, recorded, base, baseline })
    }

    /// How well the recorded system is simulated.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The changes worth trying, by who was in the way.
    pub fn candidates(&self) -> Vec<Change> {
        change::candidates(&self.model, &self.suspects)
    }

    /// What changes do together.
    ///
    /// # Errors
    /// Where it cannot be told, and why.
    pub fn predict(&self, changes: &[Change]) -> Result<Prediction, Refusal> {
        let mut model = self.model.clone();
        let mut prices = Vec::new();
        for change in changes {
            let known =
                change::predicted(change).ok_or_else(|| Refusal::Unpredicted(change.name()))?;
            known.apply(change, &mut model)?;
            prices.push(known.price());
        }
        model.system.check().map_err(|error| Refusal::Meaningless(error.to_string()))?;
        let with = simulate(&model, model.system.seed)?;
        let after = with.victims.figures();
        // Who starves does not wake up, and its lateness is in no figure.
        if after.n * 2 < self.baseline.simulated.n {
            return Err(Refusal::Meaningless(format!(
                "the victims would hardly run: {} wakeups instead of {}",
                after.n, self.baseline.simulated.n
            )));
        }
        let widened = experience::factor(changes);
        let figures = self.moved(&with.victims, widened);
        let effects = figures.iter().zip(self.baseline.error);
        let is_unsure = effects.clone().all(|(moved, error)| moved.change().abs() <= error);
        let mean = |simulated: &Simulated| {
            simulated.others_ns as f64 / f64::max(simulated.others as f64, 1.0)
        };
        Ok(Prediction {
            figures,
            widened,
            simulated: after,
            others_ns: (mean(&self.base), mean(&with)),
            prices,
            is_unsure,
        })
    }

    /// What a change does at best; `None` where it does more than remove segments.
    pub fn bound(&self, observed: &Observed, change: &Change) -> Option<Bound> {
        let removes = change::predicted(change)?.removes(change, &self.model)?;
        let mut blocks = Blocks::new(observed.span_ns());
        for wakeup in &observed.wakeups {
            let gone = wakeup.segments.iter().filter(|segment| removes(segment));
            let gone_ns: u64 = gone.map(|segment| segment.ns).sum();
            let at_ns = wakeup.expiry_ns.saturating_sub(observed.first_ns);
            blocks.add(at_ns, wakeup.lateness_ns.saturating_sub(gone_ns));
        }
        Some(Bound { best: blocks.figures() })
    }

    /// The recorded figures moved as the simulated ones are, each with its interval.
    fn moved(&self, changed: &Blocks, factor: f64) -> [Moved; 6] {
        let figures = |blocks: &[usize]| {
            let of = |all: &Blocks| all.sample(blocks.iter().copied());
            let correction = Correction::of(&of(&self.recorded), &of(&self.base.victims));
            correction.corrected(&of(changed)).all()
        };
        let mut blocks: [usize; BLOCKS] = std::array::from_fn(|at| at);
        let whole = figures(&blocks);
        let mut stream = Stream::new(self.model.system.seed, Entity::Maker, 3);
        let mut drawn: Vec<[f64; 6]> = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            blocks.fill_with(|| stream.below(BLOCKS as u64) as usize);
            drawn.push(figures(&blocks));
        }
        let recorded = self.baseline.recorded.all();
        std::array::from_fn(|at| {
            let mut sample: Vec<f64> = drawn.iter().map(|figures| figures[at]).collect();
            sample.sort_by(f64::total_cmp);
            let tail = (1.0 - COVERAGE) / 2.0;
            let low_ns = sample[(DRAWS as f64 * tail) as usize];
            let high_ns = sample[((DRAWS as f64 * (1.0 - tail)) as usize).min(DRAWS - 1)];
            let predicted_ns = whole[at];
            // What the simulated system is off is taken to be off in the effect too.
            let model_ns = self.baseline.error[at].min(1.0) * (predicted_ns - recorded[at]).abs();
            let below = (predicted_ns - low_ns).max(0.0) + model_ns;
            let above = (high_ns - predicted_ns).max(0.0) + model_ns;
            Moved {
                recorded_ns: recorded[at],
                predicted_ns,
                low_ns: (predicted_ns - factor * below).max(0.0),
                high_ns: predicted_ns + factor * above,
            }
        })
    }
}

fn check(observed: &Observed) -> Result<(), Refusal> {
    if observed.switches == 0 {
        return Err(Refusal::Unrecorded("switches"));
    }
    if observed.wakeups.len() < WAKEUPS_MIN {
        let count = observed.wakeups.len();
        return Err(Refusal::TooFew { count, needed: WAKEUPS_MIN });
    }
    if observed.expiries == 0 {
        return Err(Refusal::Unrecorded("timers that expire"));
    }
    if observed.losses as f64 > observed.events as f64 * LOSSES_MAX {
        return Err(Refusal::Lost { lost: observed.losses, of: observed.events });
    }
    match observed.bounds.first() {
        Some(what) => Err(Refusal::TooLarge { what, max: crate::observed::STEPS_MAX as u64 }),
        None => Ok(()),
    }
}

fn recorded(observed: &Observed) -> Blocks {
    let mut blocks = Blocks::new(observed.span_ns());
    for wakeup in &observed.wakeups {
        let at_ns = wakeup.expiry_ns.saturating_sub(observed.first_ns);
        blocks.add(at_ns, wakeup.lateness_ns);
    }
    blocks
}

/// Shares of the causes, as recorded and as simulated.
fn causes(observed: &Observed, base: &Simulated) -> Vec<(String, f64, f64)> {
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for segment in observed.wakeups.iter().flat_map(|wakeup| wakeup.segments.iter()) {
        shares.entry(segment.cause.0).or_default().0 += segment.ns as f64;
    }
    for (cause, ns) in &base.causes {
        shares.entry(cause).or_default().1 += *ns as f64;
    }
    let all = shares.values().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let share = |ns: f64, all: f64| if all > 0.0 { ns / all } else { 0.0 };
    let shares = shares
        .into_iter()
        .map(|(cause, (was, is))| (cause.to_owned(), share(was, all.0), share(is, all.1)));
    let mut shares: Vec<(String, f64, f64)> = shares.collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)));
    shares
}
