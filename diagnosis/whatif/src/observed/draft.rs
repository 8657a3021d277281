//! A thread's script while it is written: what it ran, what it asked for, what it waited for.

use super::cold::{Cold, Factors};
use super::samples::median;
use tardy_model::Prio;
use tardy_model::event::{TaskState, TimerArm, TimerMode};
use tardy_sim::{COST_NS_MAX, Scripted};

/// What was stolen is told soon: so many steps later at most.
const STEPS_BACK: usize = 8;

/// Who asks for times that have passed no more often than once in so many sleeps was only held up on its way.
const PASSED_SHARE: usize = 100;

/// A thread's times are a grid where so many of the distances between them are multiples of their median.
const GRID_SHARE: f64 = 0.9;

/// Of fewer runs on one CPU one after the other nobody can tell that a thread is bound to it.
const BOUND_FROM: u32 = 10;

/// A thread that ran elsewhere in one of so many runs, before the others, is bound to where it stayed.
const BOUND_SHARE: u32 = 10;

/// Times of a grid are off by no more than this, or by a thousandth of its period.
const GRID_NS: u64 = 1_000;

/// Who leaves out so many times of its grid was stopped, and not late.
const LEFT_OUT_MAX: u64 = 1_000;

/// Of fewer distances nobody can tell.
const DISTANCES_MIN: usize = 4;

/// A sleep that a thread asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    soft_ns: u64,
    /// How far that was from where it asked.
    after_ns: u64,
    is_relative: bool,
    /// It is a step already: the time had passed.
    is_told: bool,
}

/// Whether the absolute times that a thread asks for are a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grid {
    None,
    /// There are too few to tell.
    Unsure,
    /// Of this period, ns.
    Of(u64),
}

/// The priority at which a thread comes to run most often: threads begin at one and are given another, and are lent
/// some (by the majority vote of Boyer and Moore, 1981).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usual {
    prio: Option<Prio>,
    lead: u64,
}

impl Usual {
    fn counts(&mut self, prio: Prio) {
        if self.prio == Some(prio) {
            self.lead += 1;
        } else if self.lead == 0 {
            *self = Self { prio: Some(prio), lead: 1 };
        } else {
            self.lead -= 1;
        }
    }

    /// It, where the thread ever ran.
    pub(crate) fn prio(self) -> Option<Prio> {
        self.prio
    }
}

/// A thread while a recording is read.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) steps: Vec<Scripted>,
    /// What it ran since the last step, and how the CPU had slept on which it began that.
    demand_ns: u64,
    cold: Cold,
    /// Which steps are runs that began on a CPU that had just slept.
    cold_runs: Vec<(u32, Cold)>,
    /// The timer that it armed for the sleep that comes.
    armed: Option<Asked>,
    is_asleep: bool,
    /// It sleeps for a spinlock of `PREEMPT_RT`, in the middle of whatever it does.
    is_at_lock: bool,
    /// It has exited.
    is_gone: bool,
    /// It can run, or does.
    is_seen: bool,
    /// CPUs on which it was, a bit each.
    pub(crate) cpus: u64,
    /// How often it came to run.
    placed: u32,
    /// Where it ran last, and how often one after the other.
    stays: (u16, u32),
    /// Where it ran first.
    pub(crate) first_cpu: Option<u16>,
    pub(crate) prio: Usual,
    /// The slack that its sleeps had last.
    pub(crate) slack_ns: Option<u64>,
    pub(crate) marks: bool,
    /// Its timer has woken it, and it has not been back since.
    is_on_its_way: bool,
    /// How often it waited for what threads or interrupts do, and for its timers.
    pub(crate) waits: usize,
    pub(crate) sleeps: usize,
    /// How often it gave the CPU away, and how many of the two threads were fair ones then, in all.
    given_away: u64,
    fair_ones: u64,
    /// How often it asked for a time that had passed, and how often right after another such time.
    passed: usize,
    passed_again: usize,
    /// Whether the last time that it asked for had passed.
    has_passed: bool,
    /// How often it left out times of its grid.
    left_out: usize,
    /// Which steps are sleeps until an absolute time, and how far that was from where it was asked for.
    absolute: Vec<(usize, Option<u64>)>,
    /// What it does again and again begins here: before that it was born.
    pub(crate) begins_at: usize,
    /// When it woke whom.
    pub(crate) woke: Vec<(u64, u32)>,
    /// The turn in which it woke another one last, if it has not slept since, and the one in which it was woken.
    pub(super) asks: Option<u32>,
    pub(super) answers: Option<u32>,
}

impl Draft {
    pub(super) fn ran(&mut self, ns: u64, cold: Cold) {
        if self.demand_ns == 0 {
            self.cold = cold;
        }
        self.demand_ns += ns;
    }

    /// What it ran, step by step, and how the CPU had slept on which it began that.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Cold, u64)> {
        let mut colds = self.cold_runs.iter().peekable();
        self.steps.iter().enumerate().filter_map(move |(at, step)| {
            let cold = colds.next_if(|(of, _)| *of as usize == at).map(|(_, cold)| *cold);
            match step {
                Scripted::Run(ns) => Some((cold.unwrap_or_default(), *ns)),
                _ => None,
            }
        })
    }

    /// What it ran becomes what it would have run after sleeps that are like all on average.
    pub(super) fn warms(&mut self, factors: &Factors) {
        for (at, cold) in std::mem::take(&mut self.cold_runs) {
            if let Some(Scripted::Run(ns)) = self.steps.get_mut(at as usize) {
                *ns = factors.warm_run_ns(cold, *ns).min(COST_NS_MAX);
            }
        }
    }

    /// Some of what it ran lately was none of its own.
    pub(crate) fn was_robbed(&mut self, ns: u64) {
        let mut left_ns = ns.saturating_sub(self.demand_ns);
        self.demand_ns = self.demand_ns.saturating_sub(ns);
        for step in self.steps.iter_mut().rev().take(STEPS_BACK) {
            if left_ns == 0 {
                return;
            }
            if let Scripted::Run(run_ns) = step {
                let of_it_ns = left_ns.min(*run_ns);
                (*run_ns, left_ns) = (*run_ns - of_it_ns, left_ns - of_it_ns);
            }
        }
    }

    fn run_ends(&mut self) {
        let ns = std::mem::take(&mut self.demand_ns);
        if ns > 0 {
            if self.cold.is_cold() {
                self.cold_runs.push((self.steps.len() as u32, self.cold));
            }
            self.steps.push(Scripted::Run(ns.min(COST_NS_MAX)));
        }
    }

    pub(crate) fn arms(&mut self, now_ns: u64, arm: &TimerArm, begin_ns: u64) {
        let is_relative = arm.mode.0 & TimerMode::REL != 0;
        let after_ns = arm.soft_ns.saturating_sub(now_ns);
        let is_told = !is_relative && arm.soft_ns <= now_ns;
        let asked = Asked { soft_ns: arm.soft_ns, after_ns, is_relative, is_told };
        self.slack_ns = Some(arm.slack_ns.into());
        let passed_before = std::mem::replace(&mut self.has_passed, is_told);
        if is_told {
            self.passed_again += usize::from(passed_before);
            // Mostly it does not sleep for that, but it would have, had nobody held it up.
            self.passed += 1;
            self.run_ends();
            self.slept(Some(Asked { is_told: false, ..asked }), asked.soft_ns, begin_ns);
        }
        self.armed = Some(asked);
    }

    /// The timer of its sleep fires. Where it has not gone to sleep yet, it does not.
    pub(crate) fn expires(&mut self, soft_ns: u64, begin_ns: u64) {
        if !self.is_asleep
            && let Some(asked) = self.armed.take_if(|asked| asked.soft_ns == soft_ns)
            && !asked.is_told
        {
            self.run_ends();
            self.slept(Some(asked), soft_ns, begin_ns);
        }
    }

    pub(crate) fn disarms(&mut self) {
        if !self.is_asleep {
            self.armed = None;
        }
    }

    pub(crate) fn comes_to_run(&mut self, cpu: u16, prio: Prio) {
        self.is_seen = true;
        self.is_asleep = false;
        self.cpus |= 1 << u32::from(cpu).min(63);
        self.placed += 1;
        let (last, times) = self.stays;
        self.stays = (cpu, if last == cpu { times + 1 } else { 1 });
        self.first_cpu.get_or_insert(cpu);
        if prio.is_known() {
            self.prio.counts(prio);
        }
    }

    pub(crate) fn sleeps(&mut self, state: TaskState) {
        self.is_seen = true;
        self.is_asleep = true;
        // Locks are left out: what comes behind one belongs to the same run.
        self.is_at_lock = state == TaskState::RtLock;
        self.is_gone |= state == TaskState::Dead;
        if !self.is_at_lock {
            self.run_ends();
        }
    }

    /// It gives the CPU away; so many of the two threads are fair ones.
    pub(crate) fn gives_away(&mut self, fair: u8) {
        self.given_away += 1;
        self.fair_ones += u64::from(fair);
    }

    /// How many of the two threads are fair ones when it goes to sleep, on average.
    pub(crate) fn fair_ones(&self) -> f64 {
        self.fair_ones as f64 / self.given_away.max(1) as f64
    }

    /// When the timer that it sleeps for should have fired, where that has passed.
    pub(crate) fn is_due(&self, now_ns: u64) -> Option<u64> {
        self.armed.map(|asked| asked.soft_ns).filter(|soft_ns| *soft_ns <= now_ns)
    }

    /// Its timer wakes it, that should have fired at a time.
    pub(crate) fn timer_wakes(&mut self, soft_ns: u64, begin_ns: u64) {
        if !self.wakes_from_sleep() {
            return;
        }
        self.sleeps += 1;
        self.is_on_its_way = true;
        let asked = self.armed.take().filter(|asked| asked.soft_ns == soft_ns);
        self.slept(asked, soft_ns, begin_ns);
    }

    fn slept(&mut self, asked: Option<Asked>, soft_ns: u64, begin_ns: u64) {
        if asked.is_some_and(|asked| asked.is_told) {
            return;
        }
        if let Some(Asked { after_ns, is_relative: true, .. }) = asked {
            return self.steps.push(Scripted::Sleep(after_ns.min(COST_NS_MAX)));
        }
        self.absolute.push((self.steps.len(), asked.map(|asked| asked.after_ns)));
        self.steps.push(Scripted::SleepUntil(soft_ns.saturating_sub(begin_ns)));
    }

    /// Somebody else wakes it. Whether it slept, and not for a lock.
    pub(crate) fn other_wakes(&mut self) -> bool {
        let slept = self.wakes_from_sleep() && !self.is_at_lock;
        if slept {
            self.armed = None;
            self.waits += 1;
            self.steps.push(Scripted::Wait);
        }
        slept
    }

    /// It is a new thread. Whether it slept until now.
    pub(crate) fn is_born(&mut self) -> bool {
        let slept = self.other_wakes();
        if slept {
            self.begins_at = self.steps.len();
        }
        slept
    }

    fn wakes_from_sleep(&mut self) -> bool {
        // Of whom nothing was seen before slept when it began.
        let slept = self.is_asleep || !self.is_seen;
        self.is_seen = true;
        self.is_asleep = false;
        slept
    }

    /// Whether it sleeps for what others do, or a timer: not for a lock in the middle of whatever it does.
    pub(super) fn rests(&self) -> bool {
        self.is_asleep && !self.is_at_lock
    }

    /// It also does these things, each so long after a step (ns), as far as the run behind that goes.
    pub(super) fn also_does(&mut self, these: &[(usize, u64, Scripted)]) {
        if these.is_empty() {
            return;
        }
        let mut steps = Vec::with_capacity(self.steps.len() + 2 * these.len());
        let mut absolute = std::mem::take(&mut self.absolute).into_iter().peekable();
        let mut these = these.iter().peekable();
        let mut begins_at = None;
        let mut split: Option<(u64, Scripted)> = None;
        for (at, step) in self.steps.drain(..).enumerate() {
            if at == self.begins_at {
                begins_at = Some(steps.len());
            }
            if let Some(moved) = absolute.next_if(|(of, _)| *of == at) {
                self.absolute.push((steps.len(), moved.1));
            }
            match (split.take(), step) {
                (Some((after_ns, also)), Scripted::Run(ns)) => {
                    let before_ns = after_ns.min(ns);
                    let run = |ns: u64| (ns > 0).then_some(Scripted::Run(ns));
                    steps.extend(
                        run(before_ns).into_iter().chain([also]).chain(run(ns - before_ns)),
                    );
                }
                (Some((_, also)), step) => steps.extend([also, step]),
                (None, step) => steps.push(step),
            }
            split = these.next_if(|this| this.0 == at).map(|this| (this.1, this.2));
        }
        self.begins_at = begins_at.unwrap_or(steps.len());
        self.steps = steps;
    }

    pub(crate) fn wakes(&mut self, at_ns: u64, other: u32) {
        self.run_ends();
        self.woke.push((at_ns, other));
        self.steps.push(Scripted::Wake(other));
    }

    pub(crate) fn is_back(&mut self) {
        self.marks = true;
        // Of a sleep whose events were lost nobody knows what it asked for.
        if std::mem::take(&mut self.is_on_its_way) {
            self.run_ends();
            self.steps.push(Scripted::Back);
        }
    }

    /// What it ran in all.
    pub(crate) fn runs_ns(&self) -> u64 {
        let runs = self.steps.iter().map(|step| match step {
            Scripted::Run(ns) => *ns,
            _ => 0,
        });
        runs.fold(0, u64::saturating_add)
    }

    /// Whether it leaves out what has passed, rather than to catch up with it one after the other. Who reckons its next
    /// time before its work may be held up in that, and then asks for a time that has passed, once. Who asks for one after the
    /// other catches up, however rarely it is that late.
    pub(crate) fn skips_passed(&self) -> bool {
        let catches_up = self.passed_again > self.left_out;
        let is_rare = self.passed * PASSED_SHARE <= self.sleeps;
        !catches_up && (is_rare || self.left_out * 2 >= self.passed)
    }

    /// The CPU to which it is bound, as far as that shows: it ran there alone, or has done so for most of the time. A
    /// program that binds itself has begun elsewhere.
    pub(crate) fn stays_on(&self) -> Option<u16> {
        let (cpu, times) = self.stays;
        (times >= BOUND_FROM && times >= self.placed - self.placed / BOUND_SHARE).then_some(cpu)
    }

    /// Whether it goes on in the same way when its script is over: who gets on faster in a changed system does more
    /// in the same time.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_gone && self.waits + self.sleeps > 0
    }

    /// The recording ends. Who has never slept goes on for ever; of others nobody knows how long this run was to be.
    pub(crate) fn ends(&mut self, begin_ns: u64) {
        if self.is_seen && !self.is_asleep && self.waits + self.sleeps == 0 {
            self.demand_ns = COST_NS_MAX;
        }
        self.run_ends();
        // The sleep in which it ends belongs to its way: without it what comes again would come too soon.
        if self.is_asleep && !self.is_at_lock && self.goes_on() {
            match self.armed.take() {
                Some(asked) => self.slept(Some(asked), asked.soft_ns, begin_ns),
                None => self.steps.push(Scripted::Wait),
            }
        }
        if self.is_gone && self.marks {
            self.leaves_at_once();
        }
        let grid = self.grid();
        if let Grid::Of(period_ns) = grid {
            self.left_out = self.gaps(period_ns);
        }
        if let (Grid::Of(period_ns), true) = (grid, self.skips_passed()) {
            self.fills_grid(period_ns);
        }
        if grid == Grid::None {
            for (at, after_ns) in std::mem::take(&mut self.absolute) {
                if let (Some(step), Some(after_ns)) = (self.steps.get_mut(at), after_ns) {
                    *step = Scripted::Sleep(after_ns.min(COST_NS_MAX));
                }
            }
        }
    }

    /// Who measured waits until all of them have done so before it ends. In a simulation, in which others may be at another
    /// place of their scripts, it would end in the midst of them: what it runs for that is left out.
    fn leaves_at_once(&mut self) {
        let Some(last_sleep) = self.steps.iter().rposition(Scripted::is_sleep) else { return };
        let last_wait = self.steps.iter().rposition(|step| *step == Scripted::Wait);
        if let Some(last_wait) = last_wait.filter(|at| *at > last_sleep) {
            let leaves = self.steps.split_off(last_wait);
            self.steps.extend(leaves.into_iter().filter(|step| !matches!(step, Scripted::Run(_))));
        }
    }

    /// The period of the grid on which the absolute times lie that it asks for, where they are those of a clock of its
    /// own, which goes on however late it is. Many ask for absolute times that they reckon from now (`time.sleep` of
    /// Python, timeouts of event loops).
    fn grid(&self) -> Grid {
        let times: Vec<u64> = self.asked_for().map(|(_, ns, _)| ns).collect();
        let distances = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let mut distances: Vec<u64> = distances.collect();
        if distances.len() < DISTANCES_MIN {
            return Grid::Unsure;
        }
        let period_ns = median(&mut distances).max(1);
        let on_it = distances.iter().filter(|ns| multiple(**ns, period_ns).is_some()).count();
        if on_it as f64 >= distances.len() as f64 * GRID_SHARE {
            Grid::Of(period_ns)
        } else {
            Grid::None
        }
    }

    /// How often it left out times of its grid, because they had passed.
    fn gaps(&self, period_ns: u64) -> usize {
        let mut before_ns = None;
        let leaves_out = |(_, ns, after_ns): &(usize, u64, Option<u64>)| {
            left_out(before_ns.replace(*ns), *ns, *after_ns, period_ns).is_some()
        };
        self.asked_for().filter(leaves_out).count()
    }

    /// The absolute times that it asked for: which step it is, the time, and how far that was.
    fn asked_for(&self) -> impl Iterator<Item = (usize, u64, Option<u64>)> {
        self.absolute.iter().filter_map(|(at, after_ns)| match self.steps.get(*at) {
            Some(Scripted::SleepUntil(ns)) => Some((*at, *ns, *after_ns)),
            _ => None,
        })
    }

    /// Who leaves out the times of its grid that have passed would have been there in time, had nobody held it up:
    /// they become steps, which are left out again where they have passed.
    fn fills_grid(&mut self, period_ns: u64) {
        let asked: Vec<(usize, u64, Option<u64>)> = self.asked_for().collect();
        let runs = asked.windows(2).filter_map(|pair| match self.steps.get(pair[0].0 + 1) {
            Some(Scripted::Run(ns)) if pair[1].0 == pair[0].0 + 2 => Some(*ns),
            _ => None,
        });
        let mut runs: Vec<u64> = runs.collect();
        if runs.is_empty() {
            return;
        }
        let run_ns = median(&mut runs);
        let mut filled = Vec::with_capacity(self.steps.len());
        let mut moved = Vec::with_capacity(self.absolute.len());
        let (mut from, mut begins_at) = (0, self.begins_at);
        let mut before_ns = None;
        for (at, ns, after_ns) in asked {
            filled.extend_from_slice(&self.steps[from..at]);
            from = at;
            let periods = left_out(before_ns, ns, after_ns, period_ns);
            for back in (1..periods.unwrap_or(1)).rev() {
                moved.push((filled.len(), Some(0)));
                filled.extend([Scripted::SleepUntil(ns - back * period_ns), Scripted::Run(run_ns)]);
                begins_at += if at < self.begins_at { 2 } else { 0 };
            }
            moved.push((filled.len(), after_ns));
            before_ns = Some(ns);
        }
        filled.extend_from_slice(&self.steps[from..]);
        (self.steps, self.absolute, self.begins_at) = (filled, moved, begins_at);
    }
}

/// How many periods a time on a grid lies behind the one that was asked for before it, where those between are left out:
/// `after_ns` is how far it was from where it was asked for. Was the one before it on the grid still to come then?
fn left_out(before_ns: Option<u64>, ns: u64, after_ns: Option<u64>, period_ns: u64) -> Option<u64> {
    before_ns
        .and_then(|before_ns| multiple(ns.saturating_sub(before_ns), period_ns))
        .filter(|periods| (2..LEFT_OUT_MAX).contains(periods))
        .filter(|_| after_ns.is_some_and(|after_ns| after_ns < period_ns))
}

/// So many periods, where it is as many to what a grid may be off.
fn multiple(ns: u64, period_ns: u64) -> Option<u64> {
    let off_ns = GRID_NS.max(period_ns / 1000);
    let beyond_ns = ns % period_ns;
    let is_on_it = beyond_ns.min(period_ns - beyond_ns) <= off_ns;
    is_on_it.then_some((ns + period_ns / 2) / period_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::TimerId;
    use tardy_model::event::Call;

    #[test]
    fn the_usual_priority_is_that_of_most_runs() {
        let mut usual = Usual::default();
        assert_eq!(usual.prio(), None);
        for prio in [120, 120, 98, 98, 98, 10, 98, 98] {
            usual.counts(Prio(prio));
        }
        assert_eq!(usual.prio(), Some(Prio(98)));
    }

    #[test]
    fn a_spinlock_that_sleeps_is_no_wait_and_a_timer_that_is_due_is_known() {
        let mut draft = Draft::default();
        draft.comes_to_run(0, Prio(120));
        draft.ran(300, Cold::default());
        draft.sleeps(TaskState::RtLock);
        assert!(!draft.other_wakes(), "whoever gave the lock back woke nobody");
        draft.ran(200, Cold::default());
        draft.arms(1_000, &arm(5_000), 0);
        draft.sleeps(TaskState::Interruptible);
        assert_eq!((draft.is_due(4_999), draft.is_due(5_000)), (None, Some(5_000)));
        draft.timer_wakes(5_000, 0);
        assert_eq!(draft.steps[..2], [Scripted::Run(500), Scripted::SleepUntil(5_000)]);
        assert_eq!((draft.waits, draft.sleeps), (0, 1));
    }

    #[test]
    fn it_is_back_once_from_every_sleep() {
        let mut draft = Draft::default();
        for lost in [false, true, true, false] {
            if !lost {
                draft.sleeps(TaskState::Interruptible);
                draft.timer_wakes(1_000_000, 0);
            }
            draft.is_back();
        }
        let back = draft.steps.iter().filter(|step| **step == Scripted::Back).count();
        assert_eq!((back, draft.sleeps), (2, 2));
    }

    fn arm(soft_ns: u64) -> TimerArm {
        let (timer, mode, call) = (TimerId(1), TimerMode(0), Call::Unknown);
        TimerArm { timer, soft_ns, slack_ns: 0, mode, call }
    }

    fn sleeps(times: impl Iterator<Item = u64>) -> Draft {
        let mut draft = Draft::default();
        for ns in times {
            draft.sleeps(TaskState::Interruptible);
            draft.arms(ns - 500, &arm(ns), 0);
            draft.timer_wakes(ns, 0);
            draft.ran(300, Cold::default());
        }
        draft.ends(0);
        draft
    }

    #[test]
    fn a_clock_of_its_own_goes_on_and_a_time_from_now_moves() {
        let grid = sleeps((1..50).filter(|at| at % 7 != 0).map(|at| at * 1_000_000));
        assert!(matches!(grid.steps[0], Scripted::SleepUntil(1_000_000)));
        let from_now = sleeps((1..50).map(|at| at * 1_000_000 + at * at * 7_919));
        assert_eq!(from_now.steps[0], Scripted::Sleep(500));
    }

    #[test]
    fn a_time_that_has_passed_is_a_step_and_no_sleep() {
        let mut draft = Draft::default();
        draft.comes_to_run(0, Prio(120));
        for (now_ns, ns) in [(1_500, 2_000), (4_700, 3_000), (4_900, 4_000), (4_950, 5_000)] {
            draft.ran(20, Cold::default());
            draft.arms(now_ns, &arm(ns), 0);
            if ns > now_ns {
                draft.sleeps(TaskState::Interruptible);
            }
            draft.expires(ns, 0);
            draft.timer_wakes(ns, 0);
        }
        let untils = draft.steps.iter().filter_map(|step| match step {
            Scripted::SleepUntil(ns) => Some(*ns),
            _ => None,
        });
        assert_eq!(untils.collect::<Vec<u64>>(), [2_000, 3_000, 4_000, 5_000]);
        assert_eq!((draft.sleeps, draft.passed, draft.passed_again), (2, 2, 1));
        draft.sleeps = 1_000;
        assert!(!draft.skips_passed(), "it catches up, if rarely");
        draft.left_out = 5;
        assert!(draft.skips_passed());
        assert_eq!(draft.is_due(9_000), None, "whoever wakes it next is not its timer");
    }

    #[test]
    fn who_has_measured_ends_without_being_in_the_way() {
        for (marks, ends) in [(true, true), (true, false), (false, true)] {
            let mut draft = Draft { marks, ..sleeps((1..3).map(|at| at * 1_000_000)) };
            let sampled = draft.steps.len();
            draft.sleeps(TaskState::Interruptible);
            assert!(draft.other_wakes());
            draft.ran(7_000, Cold::default());
            draft.wakes(0, 5);
            draft.ran(100_000, Cold::default());
            draft.sleeps(if ends { TaskState::Dead } else { TaskState::Interruptible });
            draft.ends(0);
            let runs =
                draft.steps[sampled..].iter().filter(|step| matches!(step, Scripted::Run(_)));
            assert_eq!(runs.count(), if marks && ends { 0 } else { 2 });
            assert!(draft.steps.contains(&Scripted::Wake(5)), "whom it wakes goes on");
        }
    }

    #[test]
    fn times_that_were_left_out_are_there_again() {
        let mut draft = Draft::default();
        // 10 of 50 were left out: who asked for the next one was late by two periods.
        for at in (1..=50u64).filter(|at| !matches!(at % 10, 1 | 2)) {
            let ns = at * 1_000_000;
            draft.sleeps(TaskState::Interruptible);
            draft.arms(ns - 900_000, &arm(ns), 0);
            draft.timer_wakes(ns, 0);
            draft.ran(300, Cold::default());
        }
        draft.ends(0);
        let untils = draft.steps.iter().filter(|step| matches!(step, Scripted::SleepUntil(_)));
        assert_eq!(untils.count(), 48, "all but the two before it began");
        let [.., before, _] = draft.steps[..4] else { panic!() };
        assert_eq!(before, Scripted::SleepUntil(4_000_000));
        assert!(
            draft
                .absolute
                .iter()
                .all(|(at, _)| { matches!(draft.steps[*at], Scripted::SleepUntil(_)) })
        );
    }
}
