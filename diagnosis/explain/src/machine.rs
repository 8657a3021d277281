//! A thread's states, and what each event makes of them: one table for every watched thread.
//!
//! A story begins when a thread could run and does not, or when its timer was to run it; it ends as a
//! wakeup that is *closed*, or is *discarded* with a [`Reason`]. Nothing else ends one.

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// No event has told.
    #[default]
    Unknown,
    /// It is on a CPU, and no story is open.
    Running,
    /// It is on a CPU, came there from sleep, and nobody was seen to wake it.
    RanUnwoken,
    /// It sleeps.
    Asleep,
    /// It was woken and has not run yet. A story is open.
    Woken,
    /// It lost the CPU and could run. A story is open.
    Preempted,
    /// It gave the CPU away and could run: it is late for nothing.
    Yielded,
    /// Its timer woke it, it has run, and its own mark has not come yet: on a CPU. A story is open, in
    /// this state and the next two.
    Returning,
    /// The same, but it does not run although it could.
    ReturningRunnable,
    /// The same, but it sleeps.
    ReturningAsleep,
}

/// What happens to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A timer's callback wakes it.
    TimerWakes,
    /// The timer of its own sleep fires on the CPU on which it still runs: it will not sleep.
    TimerComes,
    /// Anything else wakes it.
    OtherWakes,
    /// A CPU begins to run it.
    SwitchIn,
    /// It leaves the CPU and could run on.
    LosesCpu,
    /// It leaves the CPU by its own will and could run on.
    Yields,
    /// It leaves the CPU and sleeps.
    Sleeps,
    /// It tells that it is back from the wakeup that its story is about.
    Marks,
    /// It tells that it is back from another one.
    MarksAnother,
    /// It is gone.
    Ends,
}

/// Why a story did not end as a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The stream ended first.
    StreamEnded,
    /// The thread left a CPU on which it was not seen to begin.
    SwitchInMissing,
    /// The thread ran, and no event tells who had woken it.
    WakingMissing,
    /// The thread was on its way to sleep when it lost the CPU, and its timer came meanwhile: that is the
    /// wakeup.
    TimerCame,
    /// The thread was shown as one that could run when it left the CPU, and was woken: it had slept.
    Slept,
    /// The thread is gone.
    TaskEnded,
    /// A call for a lock whose return is not recorded.
    ReturnMissing,
    /// A call for a lock that came back without it: its time was up, or a signal came. Nobody has to do with that who
    /// had the lock.
    LockNotTaken,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::StreamEnded,
        Self::SwitchInMissing,
        Self::WakingMissing,
        Self::TimerCame,
        Self::Slept,
        Self::TaskEnded,
        Self::ReturnMissing,
        Self::LockNotTaken,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StreamEnded => "stream_ended",
            Self::SwitchInMissing => "switch_in_missing",
            Self::WakingMissing => "waking_missing",
            Self::TimerCame => "timer_came",
            Self::Slept => "slept",
            Self::TaskEnded => "task_ended",
            Self::ReturnMissing => "return_missing",
            Self::LockNotTaken => "lock_not_taken",
        }
    }

    /// For a note, after "N wakeups are left out: ".
    pub const fn words(self) -> &'static str {
        match self {
            Self::StreamEnded => "the recording ended before the thread ran",
            Self::SwitchInMissing => "no event shows when the thread began to run",
            Self::WakingMissing => "the thread ran, but no event shows what woke it",
            Self::TimerCame => {
                "the thread was preempted on its way to sleep, and its timer fired before it slept"
            }
            Self::Slept => {
                "the thread slept, although its switch shows it as runnable (kernels before 5.18 do so for spinlocks of \
                 PREEMPT_RT, those from 6.1 to 6.13 where a control group is frozen)"
            }
            Self::TaskEnded => "the thread ended before it ran",
            Self::ReturnMissing => "no event shows when the lock call returned",
            Self::LockNotTaken => {
                "the lock call came back without the lock, by its timeout or a signal"
            }
        }
    }
}

/// What becomes of the story that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on, or there is none.
    Keep,
    /// It ends now, as the thread runs.
    Close,
    /// It ends now, as the thread is back in user space.
    CloseToUser,
    /// Its mark is missing: it ended when the thread first ran.
    CloseAtFirstRun,
    /// It does not end as a wakeup.
    Discard(Reason),
}

/// What begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Nothing,
    /// A story of a waking.
    Story,
    /// A story of losing the CPU.
    Preemption,
    /// The story that is open has a new phase.
    Phase,
    /// A wait: a sleep, or until a thread that gave the CPU away has it back.
    Wait,
    /// A waking after the fact, by the clocks of two CPUs: a wakeup without any lateness.
    Skewed,
    /// A wakeup that ends where it begins: the thread goes on at once.
    AtOnce,
    /// A mark whose wakeup is missing.
    MarkAlone,
}

/// What comes next: the thread's state, what becomes of the story that is open, and what begins.
type Next = (State, End, Begin);

/// The table, by state and input. `marks` is whether the thread tells when it is back.
#[inline]
pub(crate) fn next(state: State, input: Input, marks: bool) -> Next {
    TABLE[state as usize][input as usize][usize::from(marks)]
}

/// It is looked at several times for every wakeup.
static TABLE: [[[Next; 2]; Input::ALL.len()]; State::ALL.len()] = {
    let mut table = [[[keep(State::Unknown, Begin::Nothing); 2]; _]; _];
    let mut state = 0;
    while state < State::ALL.len() {
        let mut input = 0;
        while input < Input::ALL.len() {
            let (of, comes) = (State::ALL[state], Input::ALL[input]);
            table[of as usize][comes as usize] = [row(of, comes, false), row(of, comes, true)];
            input += 1;
        }
        state += 1;
    }
    table
};

const fn keep(state: State, begin: Begin) -> Next {
    (state, End::Keep, begin)
}

const fn discard(state: State, reason: Reason, begin: Begin) -> Next {
    (state, End::Discard(reason), begin)
}

#[expect(clippy::match_same_arms, reason = "a row for each thing that happens, in its order")]
const fn row(state: State, input: Input, marks: bool) -> Next {
    use Input::{
        Ends, LosesCpu, Marks, MarksAnother, OtherWakes, Sleeps, SwitchIn, TimerComes, TimerWakes,
        Yields,
    };
    use Reason::{SwitchInMissing, TaskEnded, TimerCame, WakingMissing};
    use State::{
        Asleep, Preempted, RanUnwoken, Returning, ReturningAsleep, ReturningRunnable, Running,
        Unknown, Woken, Yielded,
    };
    match (state, input) {
        // Woken: a story begins, unless the thread runs or is already on its way.
        (Unknown | Asleep, TimerWakes | OtherWakes) => keep(Woken, Begin::Story),
        // It had not gone to sleep yet. Its own mark will tell when it is back; of others it is known where the timer
        // is that of their sleep, and fires in their way: the time that they asked for had passed, or was near.
        (Running, TimerWakes | TimerComes) if marks => keep(Returning, Begin::Story),
        (Running, TimerComes) => keep(Running, Begin::AtOnce),
        (state, TimerComes) => row(state, TimerWakes, marks),
        (Running, TimerWakes | OtherWakes) => keep(Running, Begin::Nothing),
        (RanUnwoken, TimerWakes | OtherWakes) => keep(Running, Begin::Skewed),
        // A task that can run is not woken before it has slept: its run is missing.
        (Yielded, TimerWakes | OtherWakes) => keep(Woken, Begin::Story),
        (Woken, TimerWakes | OtherWakes) => discard(Woken, SwitchInMissing, Begin::Story),
        (Preempted, TimerWakes) => discard(Woken, TimerCame, Begin::Story),
        (Preempted, OtherWakes) => keep(Preempted, Begin::Nothing),
        (Returning, TimerWakes) => (Returning, End::CloseAtFirstRun, Begin::Story),
        (Returning, OtherWakes) => keep(Returning, Begin::Nothing),
        (ReturningRunnable, TimerWakes | OtherWakes) => keep(ReturningRunnable, Begin::Nothing),
        (ReturningAsleep, TimerWakes) => (Woken, End::CloseAtFirstRun, Begin::Story),
        (ReturningAsleep, OtherWakes) => keep(ReturningRunnable, Begin::Phase),

        // It runs.
        (Unknown | Running | Yielded, SwitchIn) => keep(Running, Begin::Nothing),
        (RanUnwoken | Asleep, SwitchIn) => keep(RanUnwoken, Begin::Nothing),
        (Woken, SwitchIn) if marks => keep(Returning, Begin::Phase),
        (Woken | Preempted, SwitchIn) => (Running, End::Close, Begin::Nothing),
        (Returning | ReturningRunnable | ReturningAsleep, SwitchIn) => {
            keep(Returning, Begin::Phase)
        }

        // It leaves the CPU.
        (Unknown | Running | Yielded | Asleep, LosesCpu) => keep(Preempted, Begin::Preemption),
        (Unknown | Running | Yielded | Asleep, Yields) => keep(Yielded, Begin::Wait),
        (Unknown | Running | Yielded | Asleep, Sleeps) => keep(Asleep, Begin::Wait),
        (RanUnwoken, LosesCpu) => discard(Preempted, WakingMissing, Begin::Preemption),
        (RanUnwoken, Yields) => discard(Yielded, WakingMissing, Begin::Wait),
        (RanUnwoken, Sleeps) => discard(Asleep, WakingMissing, Begin::Wait),
        (Woken | Preempted, LosesCpu) => discard(Preempted, SwitchInMissing, Begin::Preemption),
        (Woken | Preempted, Yields) => discard(Yielded, SwitchInMissing, Begin::Wait),
        (Woken | Preempted, Sleeps) => discard(Asleep, SwitchInMissing, Begin::Wait),
        (Returning | ReturningRunnable | ReturningAsleep, LosesCpu | Yields) => {
            keep(ReturningRunnable, Begin::Phase)
        }
        (Returning | ReturningRunnable | ReturningAsleep, Sleeps) => {
            keep(ReturningAsleep, Begin::Phase)
        }

        // It tells that it is back.
        (Woken | Returning | ReturningRunnable | ReturningAsleep, Marks) => {
            (Running, End::CloseToUser, Begin::Nothing)
        }
        (Returning | ReturningRunnable | ReturningAsleep, MarksAnother) => {
            (Running, End::CloseAtFirstRun, Begin::MarkAlone)
        }
        (Woken | Preempted, MarksAnother) => discard(Running, SwitchInMissing, Begin::MarkAlone),
        (Preempted, Marks) => discard(Running, SwitchInMissing, Begin::MarkAlone),
        (Unknown | Running | RanUnwoken | Yielded | Asleep, Marks | MarksAnother) => {
            keep(Running, Begin::MarkAlone)
        }

        // It is gone.
        (Unknown | Running | RanUnwoken | Yielded | Asleep, Ends) => keep(Unknown, Begin::Nothing),
        (Woken | Preempted, Ends) => discard(Unknown, TaskEnded, Begin::Nothing),
        (Returning | ReturningRunnable | ReturningAsleep, Ends) => {
            (Unknown, End::CloseAtFirstRun, Begin::Nothing)
        }
    }
}

impl State {
    /// All of them.
    const ALL: [Self; 10] = [
        Self::Unknown,
        Self::Running,
        Self::RanUnwoken,
        Self::Asleep,
        Self::Woken,
        Self::Preempted,
        Self::Yielded,
        Self::Returning,
        Self::ReturningRunnable,
        Self::ReturningAsleep,
    ];

    /// Whether a story is open.
    pub(crate) fn has_story(self) -> bool {
        matches!(
            self,
            Self::Woken
                | Self::Preempted
                | Self::Returning
                | Self::ReturningRunnable
                | Self::ReturningAsleep
        )
    }
}

impl Input {
    /// All of them.
    const ALL: [Self; 10] = [
        Self::TimerWakes,
        Self::TimerComes,
        Self::OtherWakes,
        Self::SwitchIn,
        Self::LosesCpu,
        Self::Yields,
        Self::Sleeps,
        Self::Marks,
        Self::MarksAnother,
        Self::Ends,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A story is open exactly where the state says so, whatever comes: none is forgotten, none is made
    /// of nothing.
    #[test]
    fn stories_begin_and_end_with_their_states() {
        for state in State::ALL {
            for input in Input::ALL {
                for marks in [false, true] {
                    let (after, end, begin) = next(state, input, marks);
                    let ends = !matches!(end, End::Keep) && state.has_story();
                    let begins = matches!(begin, Begin::Story | Begin::Preemption);
                    let open = begins || state.has_story() && !ends;
                    assert_eq!(open, after.has_story(), "{state:?} {input:?} {marks}");
                    let over = begins && state.has_story() && !ends;
                    assert!(!over, "{state:?} {input:?}: two stories");
                    let phase = matches!(begin, Begin::Phase);
                    assert!(!phase || state.has_story(), "{state:?} {input:?}: of no story");
                }
            }
        }
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let mut names = Reason::ALL.map(Reason::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
