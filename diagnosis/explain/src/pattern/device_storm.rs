//! A high-resolution timer that is moved thousands of times a second.

use super::{Evidence, Found, Pattern, Scene, Watcher, percent};
use crate::device::{DeviceFollower, Programming, Why};
use crate::seen::Seen;
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_followers::Purpose;
use tardy_model::event::TimerArm;
use tardy_model::{CpuId, Culprit, Kind, Tables, TaskId, TimerClass, TimerId};

/// A timeout that is put off all the time and hardly ever fires, each time by the high-resolution
/// timers, which program the clock-event device whenever the first of them changes.
pub(super) struct DeviceStorm;

impl Pattern for DeviceStorm {
    fn name(&self) -> &'static str {
        "device_storm"
    }

    fn title(&self) -> &'static str {
        "a high-resolution timer is moved all the time, and reprograms the clock-event device \
            each time"
    }

    fn reference(&self) -> &'static str {
        "linux-kernel, Thomas Gleixner, \"Re: [PATCH] hrtimer: Update softirq_expires_next correctly \
         after __hrtimer_get_next_event()\", 21 April 2021"
    }

    fn causes(&self) -> &'static [&'static str] {
        &[]
    }

    fn find(&self, _: &Scene<'_>, _: &mut Evidence) -> bool {
        false
    }

    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        Some(Box::new(Moves::default()))
    }

    fn is_worth_telling(&self, found: &Found) -> bool {
        !found.watched.is_empty()
    }

    fn words(&self, found: &Found) -> String {
        let figure = |name| found.figure(name).unwrap_or_default();
        format!(
            "A timer was moved {:.0} times in {:.2} s, {:.0} a second, and fired {:.0} times \
             ({}). That programmed the clock-event device {:.0} times a second, {} of the moves. \
             High-resolution timers are made to fire, not to be postponed: use the timer wheel in \
             the kernel (mod_timer), in user space move the timeout only when it fires (and check \
             then whether it is due), or arm it once per batch.",
            figure("moves"),
            figure("followed_ns") / 1e9,
            figure("moves_per_s"),
            figure("expiries"),
            found.names(),
            figure("programmings_per_s"),
            percent(figure("programming_share")),
        )
    }
}

/// A timer moved so often within [`WINDOW_NS`] is followed from then on.
const MOVES_MIN: u32 = 200;
const WINDOW_NS: u64 = 100_000_000;

/// Timers of a storm that are told apart; of more, nothing is said.
const STORMS_MAX: usize = 256;

/// Counts how often each timer is moved. Only once one is a storm, what the
/// devices do is followed as well, because that costs ten times as much.
#[derive(Debug, Default)]
struct Moves {
    /// By timer.
    timers: Vec<Moved>,
    storms: FxHashMap<TimerId, Storm>,
    devices: Option<Box<DeviceFollower>>,
    /// Where it is known what the device is set for: a timer interrupt has ended there.
    known: FxHashSet<CpuId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    since_ns: u64,
    moves: u32,
    is_storm: bool,
}

/// A timer that is a storm, from when it was noticed.
#[derive(Clone, Copy, Debug)]
struct Storm {
    from_ns: u64,
    to_ns: u64,
    moves: u64,
    expiries: u64,
    /// Moves that programmed the device, once or, where cancel and arm both did, twice.
    programmed: u64,
    programmings: u64,
    /// The device was programmed for the sake of the move that goes on.
    this_one: bool,
    by: TaskId,
}

impl Watcher for Moves {
    fn kinds(&self) -> u64 {
        // Before there is a storm only moves are counted.
        if self.devices.is_some() { u64::MAX } else { 1 << TimerArm::TAG }
    }

    fn sees_moves_alone(&self) -> bool {
        self.devices.is_none()
    }

    fn event(&mut self, seen: &Seen<'_>) {
        match *seen.kind {
            Kind::TimerArm(arm) if seen.followed.ended.is_move() => self.moved(arm.timer, seen),
            Kind::ExpireBegin(begin) => self.expired(begin.timer),
            _ => {}
        }
        if self.devices.is_some() {
            self.follow(seen);
        }
    }

    fn watched(&self, _: u64) -> Vec<(&'static str, f64)> {
        let storms = || self.storms.values();
        let Some(from_ns) = storms().map(|storm| storm.from_ns).min() else { return Vec::new() };
        let to_ns = storms().map(|storm| storm.to_ns).max().unwrap_or(from_ns);
        let sum = |of: fn(&Storm) -> u64| storms().map(of).sum::<u64>() as f64;
        let (moves, followed_ns) = (sum(|storm| storm.moves), (to_ns - from_ns).max(1) as f64);
        if moves < f64::from(MOVES_MIN) {
            return Vec::new();
        }
        vec![
            ("moves", moves),
            ("followed_ns", followed_ns),
            ("moves_per_s", moves / followed_ns * 1e9),
            ("expiries", sum(|storm| storm.expiries)),
            ("programmings_per_s", sum(|storm| storm.programmings) / followed_ns * 1e9),
            ("programming_share", sum(|storm| storm.programmed) / moves),
        ]
    }

    fn culprits(&self) -> Vec<Culprit> {
        let mut storms: Vec<_> = self.storms.iter().collect();
        storms.sort_by_key(|(timer, storm)| (std::cmp::Reverse(storm.moves), **timer));
        storms.into_iter().map(|(timer, storm)| Culprit::Timer(*timer, storm.by)).collect()
    }
}

impl Moves {
    fn moved(&mut self, timer: TimerId, seen: &Seen<'_>) {
        let Seen { event, tables, .. } = *seen;
        let at = timer.0 as usize;
        if timer == TimerId::UNKNOWN || timer.0 >= Tables::ENTRIES_MAX {
            return;
        }
        if at >= self.timers.len() {
            self.timers.resize(at + 1, Moved::default());
        }
        let moved = &mut self.timers[at];
        if moved.is_storm {
            if let Some(storm) = self.storms.get_mut(&timer) {
                storm.this_one = false;
                storm.to_ns = event.time_ns;
                if self.known.contains(&event.cpu) {
                    storm.moves += 1;
                } else {
                    storm.from_ns = event.time_ns;
                }
            }
            return;
        }
        if event.time_ns.saturating_sub(moved.since_ns) > WINDOW_NS {
            *moved = Moved { since_ns: event.time_ns, ..Moved::default() };
        }
        moved.moves += 1;
        if moved.moves < MOVES_MIN || self.storms.len() >= STORMS_MAX {
            return;
        }
        // The tick is moved whenever a CPU goes idle, that of the scheduler whenever it switches, which is
        // another story.
        let def = tables.timer(timer);
        let purpose = Purpose::of(tables.name(def.function));
        if def.class == TimerClass::Hrtimer && !purpose.is_a_tick() {
            moved.is_storm = true;
            self.devices.get_or_insert_default();
            let storm = Storm {
                from_ns: event.time_ns,
                to_ns: event.time_ns,
                moves: 0,
                expiries: 0,
                programmed: 0,
                programmings: 0,
                this_one: false,
                by: seen.followed.owner,
            };
            self.storms.insert(timer, storm);
        }
    }

    fn expired(&mut self, timer: TimerId) {
        if let Some(storm) = self.storms.get_mut(&timer) {
            storm.expiries += 1;
        }
    }

    fn follow(&mut self, seen: &Seen<'_>) {
        let Self { devices: Some(devices), storms, known, .. } = self else { return };
        devices.event(seen, &mut |programming: &Programming| {
            if programming.why == Why::Interrupt {
                known.insert(programming.cpu);
            } else if let Some(storm) = storms.get_mut(&programming.timer.id) {
                storm.programmings += 1;
                storm.programmed += u64::from(!std::mem::replace(&mut storm.this_one, true));
            }
        });
    }
}
