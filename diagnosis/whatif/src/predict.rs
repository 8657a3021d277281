//! What a change would do: the recorded figures, moved by what the simulation says of the change.
//!
//! The simulated system errs; what it errs in with the change and without it alike cancels ([`crate::correction`]).

use crate::change;
use crate::experience::{self, Class};
use crate::figures::{Blocks, Figures};
use crate::model::{KernelSeen, Model};
use crate::observed::Observed;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
pub use crate::world::Baseline;
use crate::world::World;
use tardy_changes::Change;
use tardy_model::Segment;

/// Of fewer wakeups nothing is said.
pub const WAKEUPS_MIN: usize = 200;

/// Of fewer, 99.9 % are no figure of its own: it would be the largest.
pub const P999_WAKEUPS_MIN: u64 = 1_000;

/// More losses than this share of events, and the scripts have holes.
const LOSSES_MAX: f64 = 0.01;

/// What a recording needs beside switches and timers.
const INTERRUPTS: &str = "the timers' interrupts (irq_vectors:local_timer_entry and _exit, or irq:irq_handler_entry \
    and _exit where a device's line is the timer's)";

/// Intervals are to hold so much of the truths.
pub const COVERAGE: f64 = 0.9;

/// The wider ones are to hold so much.
pub const COVERAGE_SURER: f64 = 0.95;

/// The cause that is told apart.
const THEFT: &str = "hypervisor";

/// The change that removes what is told apart.
pub(crate) const NO_THEFT: &str = "no-theft";

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
    /// Both ends of the interval that is to hold it in [`COVERAGE_SURER`] of all predictions.
    pub surer_ns: (f64, f64),
    /// Both ends as the recording and the baseline alone make them, before they were widened for what checked
    /// predictions were off.
    pub narrow_ns: (f64, f64),
}

impl Moved {
    /// By what share it changes: −0.5 for half.
    pub fn change(&self) -> f64 {
        if self.recorded_ns > 0.0 { self.predicted_ns / self.recorded_ns - 1.0 } else { 0.0 }
    }
}

/// How late all other threads are: their mean, which is simulated before and after, as nobody explained them. Above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    /// Without the change, ns.
    pub before_ns: f64,
    /// With it, ns.
    pub after_ns: f64,
    /// An interval of the share by which it changes (−0.5 for half), that is to hold it in [`COVERAGE`] of all
    /// predictions.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Both ends before they were widened for what checked predictions were off.
    pub narrow: (f64, f64),
}

impl Others {
    /// By what share it changes: −0.5 for half.
    pub fn change(&self) -> f64 {
        self.after_ns / self.before_ns - 1.0
    }
}

/// What changes would do together.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// In the order of [`Figures::all`].
    pub figures: [Moved; 6],
    /// The same without what a hypervisor took, recorded and predicted: what a host does is noise that hides the
    /// effect of a change. `None` where it took nothing from the victims, or where nobody recorded that.
    pub apart: Option<[Moved; 6]>,
    /// The recorded wakeups.
    pub wakeups: u64,
    /// With the change, as simulated: for who wants to know what was moved by what.
    pub simulated: Figures,
    /// What becomes of all other threads; `None` where no other wakes up, or none is left.
    pub others: Option<Others>,
    /// What it costs, in words.
    pub prices: Vec<&'static str>,
    /// The effect is smaller than what the simulated system is off.
    pub is_unsure: bool,
}

impl Prediction {
    /// The figures that tell the change's own effect: without theft, where that is told apart.
    pub fn own(&self) -> &[Moved; 6] {
        self.apart.as_ref().unwrap_or(&self.figures)
    }

    /// Whether there are enough wakeups for p99.9.
    pub fn tells_p999(&self) -> bool {
        self.wakeups >= P999_WAKEUPS_MIN
    }
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
    class: Class,
    suspects: Suspects,
    whole: World,
    /// The same without thefts.
    apart: Option<World>,
}

impl WhatIf {
    /// Simulates a recording as it was, and says how well.
    ///
    /// # Errors
    /// Where nothing can be told from it, and why.
    pub fn new(observed: &Observed, kernel: &KernelSeen) -> Result<Self, Refusal> {
        check(observed)?;
        let model = Model::of(observed, kernel)?;
        let suspects = Suspects::of(observed, &model);
        let apart = match model.without_thefts() {
            Some(model) if suspects.share(THEFT) > 0.0 => {
                // What can be told of the whole alone is told of that.
                World::new(model, observed, |segment| segment.cause.0 == THEFT).ok()
            }
            _ => None,
        };
        let whole = World::new(model, observed, |_| false)?;
        Ok(Self { class: kernel.class, suspects, whole, apart })
    }

    /// How well the recorded system is simulated.
    pub fn baseline(&self) -> &Baseline {
        &self.whole.baseline
    }

    /// The same without what a hypervisor took, where that is told apart.
    pub fn baseline_apart(&self) -> Option<&Baseline> {
        self.apart.as_ref().map(|world| &world.baseline)
    }

    /// The changes worth trying, by who was in the way.
    pub fn candidates(&self) -> Vec<Change> {
        change::candidates(&self.whole.model, &self.suspects)
    }

    /// What changes do together.
    ///
    /// # Errors
    /// Where it cannot be told, and why.
    pub fn predict(&self, changes: &[Change]) -> Result<Prediction, Refusal> {
        let widening = experience::widening(changes, self.class);
        let with = self.whole.with(changes)?;
        // Without thefts nothing changes by their end.
        if self.whole.is_unchanged(&with) {
            return Err(Refusal::NoEffect);
        }
        let figures = self.whole.moved(&with, &widening);
        let apart = match &self.apart {
            None => None,
            Some(world) => Some(world.moved(&world.with(changes)?, &widening)),
        };
        // What the host takes shows in the whole alone.
        let of_host = changes.iter().any(|change| change.name() == NO_THEFT);
        let (moved, world) = match (&apart, &self.apart) {
            (Some(moved), Some(world)) if !of_host => (moved, world),
            _ => (&figures, &self.whole),
        };
        let mut effects = moved.iter().zip(world.baseline.error);
        let is_unsure = effects.all(|(moved, error)| moved.change().abs() <= error);
        Ok(Prediction {
            figures,
            apart,
            wakeups: self.whole.baseline.recorded.n,
            simulated: with.simulated.victims.figures(),
            others: self.whole.others(&with, experience::of_others(changes, self.class)),
            prices: with.prices,
            is_unsure,
        })
    }

    /// What a change does at best; `None` where it does more than remove segments.
    pub fn bound(&self, observed: &Observed, change: &Change) -> Option<Bound> {
        let removes = change::predicted(change)?.removes(change, &self.whole.model)?;
        Some(Bound { best: recorded(observed, removes).figures() })
    }
}

fn check(observed: &Observed) -> Result<(), Refusal> {
    if observed.switches == 0 {
        return Err(Refusal::Unrecorded("switches"));
    }
    if observed.wakeups.len() < WAKEUPS_MIN {
        let count = observed.wakeups.len();
        return Err(Refusal::TooFew {
            count,
            needed: WAKEUPS_MIN,
            all: count + observed.uncounted,
            span_ns: observed.span_ns(),
        });
    }
    if observed.expiries == 0 {
        return Err(Refusal::Unrecorded("timers that expire"));
    }
    // What an interrupt takes would be taken for the threads' own work, and for nobody's.
    if observed.expiries_in_interrupts == 0 {
        return Err(Refusal::Unrecorded(INTERRUPTS));
    }
    if observed.losses as f64 > observed.events as f64 * LOSSES_MAX {
        return Err(Refusal::Lost { lost: observed.losses, of: observed.events });
    }
    match observed.bounds.first() {
        Some(what) => Err(Refusal::TooLarge { what, max: crate::observed::STEPS_MAX as u64 }),
        None => Ok(()),
    }
}

/// The recorded wakeups' lateness, without the segments that are gone.
pub(crate) fn recorded(observed: &Observed, is_gone: impl Fn(&Segment) -> bool) -> Blocks {
    let mut blocks = Blocks::new(observed.span_ns());
    for wakeup in &observed.wakeups {
        let gone = wakeup.segments.iter().filter(|segment| is_gone(segment));
        let gone_ns: u64 = gone.map(|segment| segment.ns).sum();
        let at_ns = wakeup.expiry_ns.saturating_sub(observed.first_ns);
        blocks.add(at_ns, wakeup.lateness_ns.saturating_sub(gone_ns));
    }
    blocks
}
