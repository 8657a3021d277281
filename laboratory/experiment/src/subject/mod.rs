//! What an experiment can measure. A kind is a file in this folder and a word in the registry, which
//! also declares the file.

mod parameters;

use crate::{Figure, Series};
use std::fmt;
use std::time::Duration;
use tardy_lab::pi::PiMeasurement;
use tardy_lab::rearm::RearmMeasurement;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// All kinds of measurement that there are.
        pub(crate) const KNOWN: &[Kind] = &[$($file::KIND),*];
    };
}

registry![cyclic, pi, staircase, sleep, rearm, kernel_timer];

/// One kind of measurement, as the registry holds it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Its name in a file.
    pub(crate) name: &'static str,
    parse: fn(toml::Table) -> Result<Box<dyn Subject>, toml::de::Error>,
}

/// A measurement that can be made again and again. Implemented by the files of this folder.
pub(crate) trait Subject: fmt::Debug + Send + Sync {
    /// Measures one block, about as long as asked for.
    ///
    /// # Errors
    /// Why it could not be measured, in a sentence.
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String>;
}

/// What a block is asked for.
pub(crate) struct Ask<'a> {
    /// How long.
    pub(crate) length: Duration,
    /// Chooses whatever is random in it.
    pub(crate) seed: u64,
    /// The kernel's tick rate per second, where it tells.
    pub(crate) hz: Option<u32>,
    /// Whether to end early; then what was measured is thrown away.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// To be told the largest latency of this block so far, where that is known, about ten times a
    /// second.
    pub(crate) tell: &'a mut dyn FnMut(Option<u64>),
    /// Records the kernel's events, where that can be done.
    pub(crate) observer: Option<&'a dyn Observer>,
}

/// How much of a block is recorded where there is something to count in the kernel's events. Recording
/// makes what is measured dearer, so it is measured in the rest.
const RECORDED_SHARE: u32 = 4;

/// What was counted in the kernel's events, and why that may be wrong; or why it was not.
type Counts = Result<(Vec<Figure>, Vec<String>), String>;

impl<'a> Ask<'a> {
    /// Begins to record, has `count` measure once more and count, and adds that to `found`; where `what`
    /// cannot be counted, a note why.
    fn count(
        &mut self,
        found: &mut Yield,
        what: &str,
        count: impl FnOnce(&mut Self, Box<dyn Observation + 'a>) -> Counts,
    ) {
        let Some(observer) = self.observer.filter(|_| !(self.is_over)()) else { return };
        match observer.begin().and_then(|observation| count(self, observation)) {
            Ok((figures, notes)) => {
                found.figures.extend(figures);
                found.notes.extend(notes);
            }
            Err(why) => found.notes.push(format!("{what} were not counted: {why}")),
        }
    }

    /// How long to measure, and then how long to record.
    fn parts(&self) -> (Duration, Duration) {
        let recorded = self.observer.map_or(Duration::ZERO, |_| self.length / RECORDED_SHARE);
        (self.length.saturating_sub(recorded), recorded)
    }
}

/// What a block yields.
#[derive(Debug, Default)]
pub(crate) struct Yield {
    pub(crate) series: Vec<Series>,
    pub(crate) figures: Vec<Figure>,
    /// What the permissions did not allow, and the like.
    pub(crate) notes: Vec<String>,
}

/// Records the kernel's events while something is measured. Implemented by whoever has a source of
/// events; this crate has none.
pub trait Observer {
    /// Begins to record.
    ///
    /// # Errors
    /// Why it cannot, in a sentence.
    fn begin(&self) -> Result<Box<dyn Observation + '_>, String>;
}

/// A recording that runs. Dropped, it ends and is thrown away.
pub trait Observation {
    /// Ends it and counts per method of `measurement`, in their order, how often a clock-event device
    /// was programmed for it.
    ///
    /// # Errors
    /// Why that cannot be told, in a sentence.
    fn programmings(
        self: Box<Self>,
        measurement: &RearmMeasurement,
    ) -> Result<Programmings, String>;

    /// Ends it and tells how often `measurement`'s Low was boosted.
    ///
    /// # Errors
    /// Why that cannot be told, in a sentence.
    fn boosts(self: Box<Self>, measurement: &PiMeasurement) -> Result<Boosts, String>;
}

/// How often a lock's holder was boosted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Boosts {
    /// Per lock call that went to the kernel; `None` where none did.
    pub per_call: Option<f64>,
    /// Lock calls in which the holder had to be boosted twice.
    pub double: u64,
    /// Why the numbers may be wrong, a sentence each.
    pub notes: Vec<String>,
}

/// How often a clock-event device was programmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programmings {
    /// One per method, in the measurement's order.
    pub methods: Vec<MethodProgrammings>,
    /// Why the numbers may be wrong, a sentence each.
    pub notes: Vec<String>,
}

/// How often a clock-event device was programmed for one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodProgrammings {
    /// Moves of the timeout meanwhile.
    pub moves: u64,
    /// Programmings by its threads.
    pub programmed: u64,
}

/// How often a measurement that runs is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What `kind` measures with these parameters.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn parse(mut parameters: toml::Table) -> Result<Box<dyn Subject>, String> {
    let kinds = || KNOWN.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let Some(toml::Value::String(name)) = parameters.remove("kind") else {
        return Err(format!("it needs a `kind`: {}", kinds()));
    };
    let kind = KNOWN.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("there is no kind `{name}`; there are: {}", kinds()))?;
    (kind.parse)(parameters).map_err(|error| format!("{name}: {}", error.message()))
}
