//! How often each way to move a timeout made the kernel program a clock-event device: the moves once
//! more, recorded.

use crate::failure::Failure;
use tardy_explain::device::{Devices, Programming};
use tardy_lab::rearm::{RearmMeasurement, Turn};
use tardy_model::{Batch, TaskId};
use tardy_recording::Recording;
use tardy_report::{DeviceSeen, DeviceUse};

/// What a recording tells of the turns of `measurement`.
pub(in crate::verb) fn seen(
    recording: &mut Recording,
    measurement: &RearmMeasurement,
) -> Result<DeviceSeen, Failure> {
    let mut devices = Devices::default();
    let mut attribution = Attribution::new(measurement);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        devices.batch(&batch, |programming| attribution.add(programming));
        batch.clear();
    }
    let mut notes = recording.manifest().notes.clone();
    notes.extend(doubts(&devices));
    Ok(DeviceSeen { methods: attribution.uses, notes })
}

/// Whose turn it is, and which of the programmings are that method's.
struct Attribution {
    mover: TaskId,
    /// In order of time, with the number of the method.
    turns: Vec<(Turn, usize)>,
    /// The first turn that is not over.
    at: usize,
    waiters: Vec<TaskId>,
    uses: Vec<DeviceUse>,
}

impl Attribution {
    fn new(measurement: &RearmMeasurement) -> Self {
        let methods = || measurement.methods.iter().enumerate();
        let mut turns: Vec<_> = methods()
            .flat_map(|(number, method)| method.turns.iter().map(move |turn| (*turn, number)))
            .collect();
        turns.sort_unstable_by_key(|(turn, _)| turn.start_ns);
        let uses = methods().map(|(_, method)| DeviceUse {
            moves: method.turns.iter().map(|turn| turn.moves).sum(),
            ns: method.turns.iter().map(|turn| turn.end_ns - turn.start_ns).sum(),
            programmed: 0,
            programmed_by_all: 0,
        });
        Self {
            mover: TaskId(measurement.mover),
            at: 0,
            waiters: methods().map(|(_, method)| TaskId(method.waiter)).collect(),
            uses: uses.collect(),
            turns,
        }
    }

    /// Takes the next programming; they come in order of time.
    fn add(&mut self, programming: &Programming) {
        let over = |(turn, _): &&(Turn, usize)| turn.end_ns <= programming.time_ns;
        self.at += self.turns[self.at..].iter().take_while(over).count();
        let Some((turn, number)) = self.turns.get(self.at) else { return };
        if turn.start_ns > programming.time_ns {
            return;
        }
        let used = &mut self.uses[*number];
        used.programmed_by_all += 1;
        let by_its_threads =
            programming.by == self.mover || programming.by == self.waiters[*number];
        // The moving thread sleeps to keep its pace, and in pauses: that is none of the method's.
        let movers_sleep = programming.timer.owner == self.mover;
        used.programmed += u64::from(by_its_threads && !movers_sleep);
    }
}

/// Why the numbers may be wrong.
fn doubts(devices: &Devices) -> Vec<String> {
    let sentences = [
        (
            devices.losses(),
            "losses of events: what a CPU programmed between a loss and its next timer interrupt \
             is not counted",
        ),
        (
            devices.unseen(),
            "times a timer expired without an event for its arming, or the other way round: the \
             kernel recorded nothing there, and about as many programmings may be missing",
        ),
        (devices.left_out(), "timers were too many to follow: their programmings are not counted"),
    ];
    let told = sentences.iter().filter(|(times, _)| *times > 0);
    told.map(|(times, sentence)| format!("{times} {sentence}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_explain::device::Why;
    use tardy_model::{CpuId, TimerDef};

    const MOVER: TaskId = TaskId(7);

    fn programming(time_ns: u64, by: TaskId, owner: TaskId) -> Programming {
        let timer = TimerDef { owner, ..TimerDef::default() };
        Programming { time_ns, cpu: CpuId(0), why: Why::Armed, timer, by }
    }

    #[test]
    fn a_programming_belongs_to_whose_turn_it_is_if_its_threads_armed_the_timer() {
        let turn = |start_ns, end_ns| Turn { start_ns, end_ns, moves: 10 };
        let mut attribution = Attribution {
            mover: MOVER,
            turns: vec![(turn(100, 200), 0), (turn(200, 300), 1), (turn(400, 500), 0)],
            at: 0,
            waiters: vec![TaskId(8), TaskId(9)],
            uses: vec![DeviceUse::default(); 2],
        };
        for (time_ns, by, owner) in [
            (99, MOVER, TaskId::IDLE),      // before all
            (100, MOVER, TaskId::IDLE),     // first: its own
            (150, TaskId(8), TaskId(8)),    // first: its waiter's
            (160, TaskId(9), TaskId(9)),    // first: another's waiter
            (170, MOVER, MOVER),            // first: a sleep of the moving thread
            (199, TaskId::IDLE, TaskId(0)), // first: the tick
            (200, TaskId(9), TaskId(9)),    // second: its waiter's
            (350, MOVER, TaskId::IDLE),     // between turns
            (499, MOVER, TaskId::IDLE),     // first
            (500, MOVER, TaskId::IDLE),     // after all
        ] {
            attribution.add(&programming(time_ns, by, owner));
        }
        let uses = attribution.uses.iter().map(|used| (used.programmed, used.programmed_by_all));
        assert_eq!(uses.collect::<Vec<_>>(), [(3, 6), (1, 1)]);
    }
}
