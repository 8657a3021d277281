//! The causes, a file each, and the order in which they are asked.
//!
//! A lateness is cut at every change of phase and of what the CPU did; each piece is shown to the
//! causes in the registry's order, and the first that claims it has it. So a balance sums by
//! construction, and a cause only says what is its own. What nobody claims is `unexplained`.
//!
//! A new cause is one file here and one line in the registry, which also declares the file.

use crate::advice::Remedy;
pub use crate::advice::Weight;
use crate::piece::{Doing, Phase, Piece};
use std::sync::LazyLock;
use tardy_changes::PRIORITY_ADVISED as PRIORITY;
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit, Prio};

/// One cause of lateness.
pub trait Rule: Sync {
    /// Its name.
    fn cause(&self) -> Cause;

    /// One clause that says what it is.
    fn meaning(&self) -> &'static str;

    /// The phases of which it can be: it is shown no others.
    fn phases(&self) -> &'static [Phase];

    /// What the CPU can have done where it is this cause: it is shown nothing else.
    fn doing(&self) -> &'static [Doing] {
        Doing::ALL
    }

    /// Whether it is shown a piece of a phase while the CPU did something.
    fn is_asked(&self, phase: Phase, doing: Doing) -> bool {
        self.phases().contains(&phase) && self.doing().contains(&doing)
    }

    /// Whether it is what a wakeup takes by itself, with nobody in its way.
    fn is_own(&self) -> bool {
        false
    }

    /// Whether it has every piece that it is shown, and who it was is whoever did what the CPU did. Most pieces
    /// are such causes', and need not be looked at any closer.
    fn has_all(&self) -> bool {
        false
    }

    /// Whether it has all of its phases, whatever the CPU did: such a phase is one piece.
    fn has_phases(&self) -> bool {
        false
    }

    /// Who it was, where this piece is this cause's.
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        self.has_all().then(|| piece.activity.culprit())
    }

    /// Kernel stacks that show where its culprits are, where any were taken.
    fn stacks(&self) -> &'static [Taken] {
        &[]
    }

    /// Whether a stack, by its frames, shows that the task in which it was taken was not it.
    fn is_refuted_by(&self, _frames: &str) -> bool {
        false
    }

    /// What an engineer would do about it, where there is an obvious remedy.
    fn advice(&self, _weight: &Weight<'_>) -> Option<Remedy> {
        None
    }
}

/// The priority, 1–99, that is one above another; `None` where a thread cannot be given it, or should not: 99
/// is the kernel's own.
fn above(prio: Prio) -> Option<u8> {
    let highest = 98;
    let user = (0..100).contains(&prio.0).then(|| 99 - prio.0)?;
    u8::try_from(user + 1).ok().filter(|above| *above <= highest)
}

macro_rules! registry {
    ($($file:ident::$rule:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every cause, in the order in which they are asked.
        pub const REGISTRY: &[&dyn Rule] = &[$(&$file::$rule),*];

        /// The causes' places by number, to ask them without a call through a table: this is done of every
        /// piece.
        #[derive(Clone, Copy, Debug)]
        enum Place {
            $($rule),*
        }

        impl Place {
            const ALL: &[Self] = &[$(Self::$rule),*];

            // By itself: within the loop that asks, what every cause looks at would be worked out ahead.
            #[inline(never)]
            fn claim(self, piece: &Piece<'_>) -> Option<Culprit> {
                match self {
                    $(Self::$rule => $file::$rule.claim(piece)),*
                }
            }
        }
    };
}

registry![
    armed_late::ArmedLate,
    slack::Slack,
    coarse_clock::CoarseClock,
    throttled::Throttled,
    forced_idle::ForcedIdle,
    hypervisor::Hypervisor,
    callback::Callback,
    softirq_wait::SoftirqWait,
    softirq_work::SoftirqWork,
    timer_thread_wait::TimerThreadWait,
    timer_thread_work::TimerThreadWork,
    hrtimer_hang::HrtimerHang,
    stacked_timers::StackedTimers,
    lock::Lock,
    page_fault::PageFault,
    stopped::Stopped,
    wrong_cpu::WrongCpu,
    idle_exit::IdleExit,
    irqs_off::IrqsOff,
    irq_delay::IrqDelay,
    interrupts::Interrupts,
    own_kernel_work::OwnKernelWork,
    higher_priority::HigherPriority,
    cpu_contention::CpuContention,
    not_preemptible::NotPreemptible,
    switch_delay::SwitchDelay,
    unseen_migration::UnseenMigration,
];

/// The place of [`Cause::UNEXPLAINED`] behind the registry's causes.
pub const UNEXPLAINED_AT: usize = REGISTRY.len();

/// Every cause's name and meaning, `unexplained` last.
pub fn causes() -> impl Iterator<Item = (Cause, &'static str)> {
    (0..=UNEXPLAINED_AT).map(|at| (cause_at(at), meaning_at(at)))
}

pub(crate) fn cause_at(at: usize) -> Cause {
    CAUSES[at]
}

/// Every cause's name: that of a segment is looked up for each of millions.
static CAUSES: LazyLock<[Cause; UNEXPLAINED_AT + 1]> = LazyLock::new(|| {
    std::array::from_fn(|at| REGISTRY.get(at).map_or(Cause::UNEXPLAINED, |rule| rule.cause()))
});

/// Whether a cause is what a wakeup takes by itself, with nobody in its way.
pub fn is_own(cause: Cause) -> bool {
    REGISTRY.iter().any(|rule| rule.cause() == cause && rule.is_own())
}

/// The stacks that a cause has use for.
pub(crate) fn stacks_at(at: usize) -> &'static [Taken] {
    REGISTRY.get(at).map_or(&[], |rule| rule.stacks())
}

/// See [`Rule::is_refuted_by`].
pub(crate) fn is_refuted_at(at: usize, frames: &str) -> bool {
    REGISTRY.get(at).is_some_and(|rule| rule.is_refuted_by(frames))
}

pub(crate) fn meaning_at(at: usize) -> &'static str {
    REGISTRY.get(at).map_or("no recorded event explains it", |rule| rule.meaning())
}

/// Asks the causes.
#[derive(Debug)]
pub(crate) struct Judge {
    asked: &'static AskedOf,
    sole: &'static SoleOf,
    whole: &'static [bool; Phase::ALL.len()],
    causes: &'static [Cause; UNEXPLAINED_AT + 1],
}

impl Default for Judge {
    fn default() -> Self {
        Self { asked: &ASKED, sole: &SOLE, whole: &WHOLE, causes: &CAUSES }
    }
}

impl Judge {
    /// Which cause has a piece, by its place in the registry, and who it was.
    #[inline]
    pub(crate) fn of(&self, piece: &Piece<'_>) -> (u8, Culprit) {
        match self.soles(piece.phase).of(piece.doing) {
            Some(at) => (at, piece.activity.culprit()),
            None => self.ask(piece),
        }
    }

    /// The causes that have whatever the CPU did of a kind in a phase.
    #[inline]
    pub(crate) fn soles(&self, phase: Phase) -> Soles {
        Soles(&self.sole[phase as usize])
    }

    #[inline(never)]
    fn ask(&self, piece: &Piece<'_>) -> (u8, Culprit) {
        let asked = &self.asked[piece.phase as usize][piece.doing as usize];
        for &at in &asked.places[..usize::from(asked.count)] {
            if let Some(culprit) = at.claim(piece) {
                return (at as u8, culprit);
            }
        }
        (UNEXPLAINED_AT as u8, Culprit::Nobody)
    }

    /// Whether one cause has all of a phase, see [`Rule::has_phases`].
    #[inline]
    pub(crate) fn is_whole(&self, phase: Phase) -> bool {
        self.whole[phase as usize]
    }

    /// The name of the cause at a place.
    #[inline]
    pub(crate) fn cause(&self, at: u8) -> Cause {
        self.causes[usize::from(at)]
    }
}

/// By what the CPU did in a phase: the cause that has all of that, if one has. The culprit is who did it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soles(&'static [u8; Doing::ALL.len()]);

impl Soles {
    /// By its place in the registry.
    #[inline]
    pub(crate) fn of(self, doing: Doing) -> Option<u8> {
        let at = self.0[doing as usize];
        (at != NO_SOLE).then_some(at)
    }
}

/// The causes that are asked of a piece, by their places in the registry, in its order.
#[derive(Clone, Copy, Debug)]
struct Asked {
    places: [Place; REGISTRY.len()],
    count: u8,
}

/// By phase, and by what the CPU did.
type AskedOf = [[Asked; Doing::ALL.len()]; Phase::ALL.len()];

/// By phase, and by what the CPU did: the place of the cause that is asked first, where that has all it is shown (see
/// [`Rule::has_all`]), else [`NO_SOLE`]. Apart from the others, as most pieces need no more than this.
type SoleOf = [[u8; Doing::ALL.len()]; Phase::ALL.len()];

/// There is none.
const NO_SOLE: u8 = u8::MAX;

static SOLE: LazyLock<SoleOf> = LazyLock::new(|| {
    let sole = |phase: usize, doing: usize| {
        let is_asked = |rule: &&dyn Rule| rule.is_asked(Phase::ALL[phase], Doing::ALL[doing]);
        let first = REGISTRY.iter().position(is_asked);
        first.filter(|at| REGISTRY[*at].has_all()).map_or(NO_SOLE, |at| at as u8)
    };
    std::array::from_fn(|phase| std::array::from_fn(|doing| sole(phase, doing)))
});

/// By phase: whether the cause that is asked first has all of it.
static WHOLE: LazyLock<[bool; Phase::ALL.len()]> = LazyLock::new(|| {
    std::array::from_fn(|phase| {
        let mut asked = REGISTRY.iter().filter(|rule| rule.phases().contains(&Phase::ALL[phase]));
        asked.next().is_some_and(|first| first.has_phases())
    })
});

static ASKED: LazyLock<AskedOf> = LazyLock::new(|| {
    let nobody = Asked { places: [Place::ALL[0]; _], count: 0 };
    let mut asked = [[nobody; _]; _];
    for (at, rule) in Place::ALL.iter().zip(REGISTRY) {
        for phase in Phase::ALL {
            for doing in Doing::ALL.iter().filter(|doing| rule.is_asked(*phase, **doing)) {
                let of: &mut Asked = &mut asked[*phase as usize][*doing as usize];
                of.places[usize::from(of.count)] = *at;
                of.count += 1;
            }
        }
    }
    asked
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::{Case, Refusal};
    use tardy_followers::{Activity, RunBy};
    use tardy_model::event::{Irq, Vector};
    use tardy_model::{CpuId, NameId, Prio, Setting, TaskId, TimerId, WakeupKind};

    const VICTIM: TaskId = TaskId(7);
    const OTHER: TaskId = TaskId(8);
    const THREAD: TaskId = TaskId(9);

    /// Pieces of every phase, with everything that a CPU can do, refused and not.
    fn each_piece(mut with: impl FnMut(&Piece<'_>)) {
        let case = Case {
            task: VICTIM,
            prio: Prio(120),
            kind: WakeupKind::Timer,
            timer: TimerId(1),
            callback: Some((CpuId(0), 5)),
            armed_by: VICTIM,
            slack_ns: 50_000,
            is_poll_slack: false,
            in_tick: false,
            timer_thread: TaskId::IDLE,
            softirq_thread: (TaskId::IDLE, Prio::UNKNOWN),
        };
        let in_thread = Case { timer_thread: THREAD, ..case };
        let vector = Irq::Vector(Vector::LOCAL_TIMER);
        let mut activities = vec![
            Activity::Unknown,
            Activity::Idle(1),
            Activity::Awake(1),
            Activity::Polling(0),
            Activity::InjectedIdle(1, false, OTHER, Prio(49)),
            Activity::InjectedIdle(1, true, OTHER, Prio(120)),
            Activity::Irq(vector),
            Activity::Ipi(Vector::RESCHEDULE, OTHER, NameId::NONE),
            Activity::Nmi(NameId::NONE),
            Activity::Stolen(true),
            Activity::Stolen(false),
            Activity::HeldUp(true, OTHER, Prio(120)),
            Activity::Softirq(3),
            Activity::Expiry(TimerId(1), VICTIM, 5),
            Activity::Expiry(TimerId(2), OTHER, 6),
            Activity::SoftExpiry(TimerId(2), OTHER, 6),
            Activity::ThreadedExpiry(RunBy::HrtimerSoftirq, TimerId(1), 5, OTHER, Prio(98)),
            Activity::ThreadedExpiry(RunBy::TimerThread, TimerId(3), 6, THREAD, Prio(98)),
            Activity::Task(THREAD, Prio(98)),
        ];
        for (task, prio) in [(VICTIM, 120), (OTHER, 120), (OTHER, 50), (OTHER, 139)] {
            activities.push(Activity::Task(task, Prio(prio)));
            activities.push(Activity::ThreadedSoftirq(3, task, Prio(prio)));
        }
        let throttled = Refusal::Throttled(Culprit::Setting(Setting::RtBandwidth));
        let refusals = [None, Some(throttled), Some(Refusal::ForcedIdle), Some(Refusal::Unknown)];
        for (phase, prio) in Phase::ALL.iter().flat_map(|phase| [(*phase, 120), (*phase, 60)]) {
            for activity in &activities {
                for bits in 0..256u32 {
                    let is = |bit: u32| bits >> bit & 1 == 1;
                    let refusal = refusals[bits as usize & 3];
                    let refusal = refusal.filter(|_| phase == Phase::Runnable);
                    let mut piece = Piece {
                        case: if is(6) { &in_thread } else { &case },
                        phase,
                        activity,
                        doing: Doing::Unknown,
                        prio: Prio(prio),
                        prio_after: Prio(prio),
                        cpu: if is(2) { CpuId::UNKNOWN } else { CpuId(0) },
                        waker_cpu: CpuId(u16::from(is(3))),
                        next_cpu: CpuId(1),
                        refusal,
                        in_section: is(4),
                        irqs_on: !is(4),
                        by_timer: is(7),
                        sees_interrupts: is(3),
                        sees_hard_interrupts: is(3) || is(4),
                        is_past_way_out: is(6),
                        is_past_exit: is(5),
                        put_off: is(1).then_some(Culprit::Task(OTHER)),
                        in_delivery: is(2),
                        held_by: Culprit::Task(OTHER),
                    };
                    piece.doing = piece.what_is_done();
                    with(&piece);
                }
            }
        }
    }

    #[test]
    fn the_first_that_claims_a_piece_has_it() {
        let mut claimed = [false; UNEXPLAINED_AT + 1];
        each_piece(|piece| {
            let mut all = REGISTRY.iter().enumerate();
            let first = all.find_map(|(at, rule)| {
                let asked = rule.is_asked(piece.phase, piece.doing);
                asked.then(|| rule.claim(piece)).flatten().map(|culprit| (at as u8, culprit))
            });
            let found = Judge::default().of(piece);
            assert_eq!(
                found,
                first.unwrap_or((UNEXPLAINED_AT as u8, Culprit::Nobody)),
                "{piece:?}"
            );
            claimed[usize::from(found.0)] = true;
        });
        assert_eq!(claimed, [true; UNEXPLAINED_AT + 1], "every cause has had a piece");
    }

    #[test]
    fn who_has_a_phase_has_each_of_its_pieces() {
        let mut whole = 0;
        each_piece(|piece| {
            if Judge::default().is_whole(piece.phase) {
                let unknown =
                    Piece { activity: &Activity::Unknown, doing: Doing::Unknown, ..*piece };
                assert_eq!(Judge::default().of(piece), Judge::default().of(&unknown), "{piece:?}");
                whole += 1;
            }
        });
        assert!(whole > 0);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = causes().map(|(cause, _)| cause.0).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
