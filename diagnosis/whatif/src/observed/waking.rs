//! What waking up takes of CPUs that sleep, by how they slept. After longer sleeps it takes longer. In a guest it takes
//! longer, too, where the hypervisor has let the CPU go; KVM looks for a while before whether the CPU has to wake up, and
//! for how long it looks depends on the sleeps before. Nobody in the guest knows its parameters: those are taken that
//! explain best what waking up took.

use super::cold::{LENGTHS, MATTERS_FROM, length, shortest_ns};
use super::samples::Samples;
use tardy_sim::{HaltPolling, LongSleep, PollLimits, PollWindow};

/// `halt_poll_ns`: what Linux has had as defaults (x86 has 200 µs, arm64 500 µs), and what lies between, ns.
const MAX_NS: [u64; 8] = [50_000, 80_000, 100_000, 200_000, 400_000, 500_000, 800_000, 1_000_000];

/// `halt_poll_ns_shrink`: the default since Linux 6.11, and before.
const SHRINKS: [u32; 2] = [2, 0];

/// The guess that is [`PollLimits::default`].
const DEFAULT: usize = 3 * SHRINKS.len();

/// What waking up takes typically where the hypervisor has let the CPU go, ns: 8 to 18 µs, by the length of the sleep, on a
/// guest of Firecracker (2026-11).
const TYPICAL_NS: u64 = 12_000;

/// So many sleeps for which the hypervisor looked, and nine of ten, are no accident.
const ALWAYS_MIN: u64 = 1_000;

const GUESSES: usize = MAX_NS.len() * SHRINKS.len();

/// For so many doubles of the longest sleep it is said what waking up takes, though nobody has seen it.
const DOUBLES_UNSEEN: i32 = 3;

/// Of fewer sleeps nothing is told.
const SLEEPS_MIN: u64 = 8;

/// Kinds of sleep differ where waking up takes so much more or less of one, and it is no accident: so many standard
/// errors.
const DIFFERENT: f64 = 1.2;
const ERRORS: f64 = 3.0;

/// A hypervisor that looks has to explain so much of what waking up takes that lengths of sleep do not, and be as much
/// faster.
const BETTER: f64 = 0.85;
const FASTER: u64 = 2;
const LOOKED_MIN: u64 = 20;

/// Differences below this are none, ns.
const FINE_NS: f64 = 100.0;

fn limits(guess: usize) -> PollLimits {
    let (max_ns, shrink) = (MAX_NS[guess / SHRINKS.len()], SHRINKS[guess % SHRINKS.len()]);
    PollLimits { max_ns, shrink, ..PollLimits::default() }
}

/// For how long a hypervisor looks in the next sleep of a CPU, by each guess.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows([PollWindow; GUESSES]);

impl Windows {
    pub(super) fn adapt(&mut self, halted_ns: u64) {
        for (guess, window) in self.0.iter_mut().enumerate() {
            window.adapts(limits(guess), halted_ns);
        }
    }

    /// A CPU that has slept for so long is to wake up.
    pub(super) fn slept(&self, ns: u64) -> Slept {
        let looks = |guess: usize| u16::from(self.0[guess].is_open(ns)) << guess;
        Slept { ns, looked: (0..GUESSES).map(looks).sum() }
    }
}

/// How a CPU slept that is to wake up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slept {
    ns: u64,
    /// By guess, a bit each: the hypervisor still looked.
    looked: u16,
}

impl Slept {
    const fn was_looked_at(self, guess: usize) -> bool {
        self.looked >> guess & 1 == 1
    }
}

/// What waking up from a state took, by the length of the sleep: of each as many samples are kept, for long sleeps among
/// many short ones tell what a system does that sleeps longer.
#[derive(Debug, Default)]
pub(crate) struct Exits([Samples<Slept>; LENGTHS]);

impl Exits {
    pub(crate) fn add(&mut self, slept: Slept, ns: u64) {
        self.0[length(slept.ns)].add(slept, ns);
    }

    pub(crate) fn close(&mut self) {
        self.0.iter_mut().for_each(Samples::close);
    }

    fn each(&self) -> impl Iterator<Item = (u64, Slept)> {
        self.0.iter().flat_map(Samples::each)
    }

    /// Some of them.
    fn those(&self, is_one: impl Fn(Slept) -> bool) -> Self {
        Self(std::array::from_fn(|length| self.0[length].those(|_, slept| is_one(slept))))
    }

    /// By length, as far as that matters.
    fn by_length(&self) -> Vec<Kind> {
        let mut kinds: Vec<(u64, Samples<Slept>)> = Vec::new();
        for (length, exit) in self.0.iter().enumerate() {
            match kinds.last_mut() {
                Some((_, last))
                    if exit.count().min(last.count()) < SLEEPS_MIN || !differ(last, exit) =>
                {
                    last.join(exit.each());
                }
                None if exit.count() == 0 => {}
                last => {
                    let from_ns = if last.is_none() { 0 } else { shortest_ns(length) };
                    kinds.push((from_ns, exit.clone()));
                }
            }
        }
        kinds.into_iter().map(|(from_ns, exit)| Kind::new(from_ns, exit)).collect()
    }

    /// How much of what waking up takes is not explained by sleeps' lengths alone.
    fn unexplained(&self) -> f64 {
        self.by_length().iter().map(|kind| spread(&kind.exit).0).sum()
    }
}

/// What waking up takes after sleeps of one kind.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    /// They were as long or longer.
    from_ns: u64,
    pub(crate) exit: Samples<Slept>,
    /// Half of them are below.
    pub(crate) usual_ns: Option<u64>,
}

impl Kind {
    fn new(from_ns: u64, exit: Samples<Slept>) -> Self {
        Self { from_ns, usual_ns: exit.median(), exit }
    }

    /// How long the longest sleeps were, but for a few.
    fn longest_ns(&self) -> u64 {
        let mut slept: Vec<u64> = self.exit.each().map(|(_, slept)| slept.ns).collect();
        slept.sort_unstable();
        slept.get(slept.len() * 19 / 20).copied().unwrap_or(0)
    }
}

/// The same after sleeps of all kinds.
#[derive(Debug, Default)]
pub(crate) struct Waking {
    /// The guess that holds.
    guess: Option<usize>,
    /// What it takes while the hypervisor looks.
    looked: Kind,
    /// By state, the shorter sleeps first.
    states: Vec<Vec<Kind>>,
}

impl Waking {
    /// By what it took after sleeps in each state.
    pub(crate) fn of(states: &[&Exits]) -> Self {
        Self::with(best(states), states)
    }

    /// What is assumed of a guest of KVM. If hardly a CPU slept for so long that KVM, as it is by default, did not look any
    /// more, nothing tells what a system does that sleeps longer. That KVM looks explains then why it was always fast. `None`
    /// where the recording tells enough.
    pub(crate) fn of_kvm_guest(&self, states: &[&Exits]) -> Option<Self> {
        if self.guess.is_some() {
            return None;
        }
        let mut it = Self::with(Some(DEFAULT), states);
        let n = states.iter().flat_map(|state| state.each()).count() as u64;
        let looked = it.looked.exit.count();
        let is_fast = |ns: u64| ns * FASTER <= TYPICAL_NS;
        if !it.looked.usual_ns.is_some_and(is_fast) || looked < ALWAYS_MIN || looked * 10 < n * 9 {
            return None;
        }
        let max_ns = PollLimits::default().max_ns;
        for (kinds, state) in it.states.iter_mut().zip(states) {
            let others = state.those(|slept| !slept.was_looked_at(DEFAULT));
            let mut long = Samples::default();
            long.join(others.each().filter(|(_, slept)| slept.ns >= max_ns));
            if long.count() >= LOOKED_MIN && long.median().is_some_and(is_fast) {
                // Waking up is as fast where KVM as it is by default does not look: it is not that, or lets no CPU go.
                return None;
            }
            *kinds = others.by_length();
            kinds.retain(|kind| kind.exit.count() >= SLEEPS_MIN);
            if kinds.last().and_then(|last| last.usual_ns).is_none_or(is_fast) {
                kinds.retain(|kind| kind.from_ns < max_ns);
                let mut typical = Samples::default();
                let times = [0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0];
                for times in times {
                    let slept = Slept { ns: max_ns, looked: 0 };
                    typical.add(slept, (TYPICAL_NS as f64 * times) as u64);
                }
                let from_ns = if kinds.is_empty() { 0 } else { max_ns };
                kinds.push(Kind::new(from_ns, typical));
            }
        }
        Some(it)
    }

    fn with(guess: Option<usize>, states: &[&Exits]) -> Self {
        let looked = |slept: Slept| guess.is_some_and(|guess| slept.was_looked_at(guess));
        let mut exit = Samples::default();
        for state in states {
            exit.join(state.each().filter(|(_, slept)| looked(*slept)));
        }
        let by_length = |state: &&Exits| {
            let kinds = state.those(|slept| !looked(slept)).by_length();
            if kinds.is_empty() { state.by_length() } else { kinds }
        };
        let states = states.iter().map(by_length).collect();
        Self { guess, looked: Kind::new(0, exit), states }
    }

    /// Those of sleeps in a state.
    pub(crate) fn kinds(&self, state: usize) -> impl Iterator<Item = &Kind> {
        let looked = self.guess.map(|_| &self.looked);
        looked.into_iter().chain(self.states.get(state).into_iter().flatten())
    }

    /// That of a sleep in a state; `None` where there was none.
    pub(crate) fn kind(&self, state: usize, slept: Slept) -> Option<&Kind> {
        if self.guess.is_some_and(|guess| slept.was_looked_at(guess)) {
            return Some(&self.looked);
        }
        self.states.get(state)?.iter().rev().find(|kind| kind.from_ns <= slept.ns)
    }

    /// For the simulator: what waking up from a state takes, the shorter sleeps first, without what the interrupt's way
    /// takes anyway. After sleeps that are longer than those that were seen it takes as much longer as work does with each
    /// double of them.
    pub(crate) fn longer(
        &self,
        state: usize,
        less_ns: u64,
        each_double: f64,
    ) -> impl Iterator<Item = LongSleep> {
        let kinds = self.states.get(state).map_or(&[][..], Vec::as_slice);
        let seen = kinds
            .iter()
            .map(move |kind| LongSleep { from_ns: kind.from_ns, exit: kind.exit.cost(less_ns) });
        let doubles = if each_double > 1.0 { DOUBLES_UNSEEN } else { 0 };
        let unseen = kinds.last().into_iter().flat_map(move |last| {
            let longest_ns = last.longest_ns().max(last.from_ns).max(shortest_ns(MATTERS_FROM));
            (1..=doubles).map(move |double| LongSleep {
                from_ns: longest_ns.saturating_mul(1 << double),
                exit: last.exit.times(each_double.powi(double)).cost(less_ns),
            })
        });
        seen.chain(unseen)
    }

    /// The same of the hypervisor.
    pub(crate) fn halt_polling(&self, less_ns: u64) -> Option<HaltPolling> {
        let limits = limits(self.guess?);
        Some(HaltPolling { limits, exit: self.looked.exit.cost(less_ns) })
    }
}

/// How far they are from the half of them, as logarithms, in all; and the squared error of that half.
fn spread(samples: &Samples<Slept>) -> (f64, f64) {
    let Some(median) = samples.median() else { return (0.0, 0.0) };
    let middle = (median as f64 + FINE_NS).ln();
    let off = |(ns, _): (u64, Slept)| ((ns as f64 + FINE_NS).ln() - middle).abs();
    let sum: f64 = samples.each().map(off).sum();
    let n = samples.each().count().max(1) as f64;
    // Of a normal distribution: the standard deviation by the mean one, and the error of a median by that.
    let deviation = sum / n * (std::f64::consts::PI / 2.0).sqrt();
    (sum, deviation * deviation * std::f64::consts::FRAC_PI_2 / n)
}

/// Whether waking up takes another time after one kind of sleep than after another.
fn differ(one: &Samples<Slept>, other: &Samples<Slept>) -> bool {
    let (Some(one_ns), Some(other_ns)) = (one.median(), other.median()) else { return false };
    let apart = ((one_ns as f64 + FINE_NS) / (other_ns as f64 + FINE_NS)).ln().abs();
    let error = (spread(one).1 + spread(other).1).sqrt();
    apart > DIFFERENT.ln() && apart > ERRORS * error
}

/// The guess that explains best what waking up takes, if one does.
fn best(states: &[&Exits]) -> Option<usize> {
    let before: f64 = states.iter().map(|all| all.unexplained()).sum();
    let holds = |guess: usize| {
        let (mut after, mut looked, mut others) = (0.0, Samples::default(), Samples::default());
        for all in states {
            let not = all.those(|slept| !slept.was_looked_at(guess));
            after += not.unexplained();
            others.join(not.each());
            looked.join(all.each().filter(|(_, slept)| slept.was_looked_at(guess)));
        }
        after += spread(&looked).0;
        let faster = looked.median()?.saturating_mul(FASTER) <= others.median()?;
        let enough = looked.count().min(others.count()) >= LOOKED_MIN;
        (faster && enough && after <= BETTER * before).then_some((guess, after))
    };
    let found = (0..GUESSES).filter_map(holds);
    found.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(guess, _)| guess)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_sim::{Entity, Stream};

    /// Sleeps of 20 µs to 1 ms on a CPU, short ones more often, and what waking up took: `exit_ns`, by whether the
    /// hypervisor still looked and how long the CPU had slept, more or less.
    fn sleeps(of: PollLimits, exit_ns: impl Fn(bool, u64) -> u64) -> Exits {
        let mut stream = Stream::new(1, Entity::Maker, 7);
        let (mut windows, mut truly) = (Windows::default(), PollWindow::default());
        let mut samples = Exits::default();
        for _ in 0..5_000 {
            let ns = 20_000 << stream.below(6);
            let slept_ns = ns * (50 + stream.below(50)) / 100;
            let ns = exit_ns(truly.is_open(slept_ns), slept_ns) * (80 + stream.below(40)) / 100;
            samples.add(windows.slept(slept_ns), ns);
            windows.adapt(slept_ns + ns);
            truly.adapts(of, slept_ns + ns);
        }
        samples
    }

    fn slept(ns: u64, looked: u16) -> Slept {
        Slept { ns, looked }
    }

    /// So many sleeps of 50 µs, and of 1 ms, and what waking up took after both.
    fn short_and_long(short: u64, long: (u64, u64)) -> Exits {
        let mut exits = Exits::default();
        let looked = 1 << DEFAULT;
        (0..short).for_each(|at| exits.add(slept(50_000, looked), 900 + at % 200));
        (0..long.0).for_each(|_| exits.add(slept(1_000_000, 0), long.1));
        exits
    }

    #[test]
    fn what_is_assumed_does_not_depend_on_how_long_was_recorded() {
        for short in [2_000, 20_000, 200_000] {
            let exits = short_and_long(short, (0, 0));
            assert!(Waking::of(&[&exits]).of_kvm_guest(&[&exits]).is_some(), "{short}");
        }
    }

    #[test]
    fn what_long_sleeps_told_is_not_assumed() {
        let exits = short_and_long(9_000, (900, 1_500));
        assert!(Waking::of(&[&exits]).of_kvm_guest(&[&exits]).is_none(), "as fast as all");
        let mut exits = short_and_long(9_000, (0, 0));
        (0..9).for_each(|_| exits.add(slept(400_000, 0), 1_500));
        let assumed = Waking::of(&[&exits]).of_kvm_guest(&[&exits]).expect("so few tell nothing");
        assert!(assumed.states[0].is_sorted_by_key(|kind| kind.from_ns));
    }

    #[test]
    fn two_states_are_no_hypervisor_however_many_sleeps_there_are() {
        let (mut windows, mut states) = (Windows::default(), [Exits::default(), Exits::default()]);
        let mut stream = Stream::new(1, Entity::Maker, 3);
        for at in 0..120_000u64 {
            let (state, from_ns, exit_ns) = match at % 100 {
                0 => (1, 1_000_000, 30_000),
                odd if odd % 2 == 1 => (0, 20_000, 1_000),
                _ => (0, 40_000, 1_100),
            };
            let ns = from_ns + stream.below(from_ns);
            states[state].add(windows.slept(ns), exit_ns + stream.below(50));
            windows.adapt(ns + exit_ns);
        }
        assert_eq!(best(&[&states[0], &states[1]]), None);
    }

    #[test]
    fn for_how_long_a_hypervisor_looks_is_found() {
        for guess in [limits(6), limits(7), limits(10), limits(2)] {
            let samples = sleeps(guess, |looks, _| if looks { 1_500 } else { 9_000 });
            let waking = Waking::of(&[&samples]);
            let found = waking.halt_polling(0).map(|polling| polling.limits);
            assert_eq!(found, Some(guess));
            let open = 1 << waking.guess.unwrap();
            let usual = |slept| waking.kind(0, slept).unwrap().usual_ns.unwrap();
            assert!((1_400..1_600).contains(&usual(slept(50_000, open))));
            assert!((8_500..9_500).contains(&usual(slept(50_000, 0))));
        }
    }

    #[test]
    fn what_takes_longer_after_longer_sleeps_is_no_hypervisor_that_looks() {
        let by_length = |_, slept_ns: u64| if slept_ns < 80_000 { 2_000 } else { 12_000 };
        let samples = sleeps(limits(6), by_length);
        let waking = Waking::of(&[&samples]);
        assert!(waking.halt_polling(0).is_none());
        let longer: Vec<u64> = waking.longer(0, 0, 1.0).map(|longer| longer.from_ns).collect();
        assert_eq!(longer, [0, 80_000]);
    }

    #[test]
    fn after_sleeps_longer_than_any_it_takes_as_much_longer_as_work_does() {
        let samples = sleeps(limits(6), |_, _| 5_000);
        let waking = Waking::of(&[&samples]);
        let longer: Vec<LongSleep> = waking.longer(0, 0, 1.2).collect();
        let from_ns: Vec<u64> = longer.iter().map(|longer| longer.from_ns / 1_000_000).collect();
        assert_eq!(from_ns, [0, 1, 2, 4]);
        let mut stream = Stream::new(1, Entity::Maker, 8);
        let mut mean = |exit: &tardy_sim::Cost| {
            (0..10_000).map(|_| exit.draw(&mut stream)).sum::<u64>() as f64 / 10_000.0
        };
        let ratio = mean(&longer[3].exit) / mean(&longer[0].exit);
        assert!((1.7..1.76).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_guest_of_kvm_that_always_woke_up_fast_does_not_after_long_sleeps() {
        let mut short = Exits::default();
        let mut windows = Windows::default();
        (0..2_000u64).for_each(|at| {
            short.add(windows.slept(50_000 + at % 100), 1_000);
            windows.adapt(51_000);
        });
        let waking = Waking::of(&[&short]);
        assert!(waking.halt_polling(0).is_none());
        let waking = waking.of_kvm_guest(&[&short]).expect("too little is known");
        assert_eq!(waking.halt_polling(0).unwrap().limits, PollLimits::default());
        assert_eq!(waking.halt_polling(0).unwrap().limits.max_ns, 200_000);
        let usual = |looked, ns| waking.kind(0, slept(ns, looked)).unwrap().usual_ns.unwrap();
        assert_eq!((usual(1 << DEFAULT, 50_000), usual(0, 1_000_000)), (1_000, TYPICAL_NS));
        let longer: Vec<u64> = waking.longer(0, 0, 1.2).map(|longer| longer.from_ns).collect();
        assert_eq!(longer, [0, 400_000, 800_000, 1_600_000]);
        // One that is slow anyway has no hypervisor that looks.
        let slow = sleeps(limits(6), |_, _| 9_000);
        let waking = Waking::of(&[&slow]);
        assert!(waking.halt_polling(0).is_none() && waking.of_kvm_guest(&[&slow]).is_none());
    }

    #[test]
    fn chance_tells_no_sleeps_apart() {
        let samples = sleeps(limits(6), |_, _| 5_000);
        let waking = Waking::of(&[&samples]);
        assert!(waking.halt_polling(0).is_none());
        assert_eq!(waking.longer(0, 0, 1.0).count(), 1);
        let none = Waking::of(&[&Exits::default()]);
        assert!(none.kind(0, slept(0, 0)).is_none() && none.longer(0, 0, 1.0).next().is_none());
    }
}
