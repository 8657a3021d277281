//! How far one clock is ahead of another, by readings that may be late but never early.

use std::collections::VecDeque;

/// A distance between two clocks that is never below what is seen of it, until somebody sets one of them.
#[derive(Clone)]
pub(super) struct Envelope {
    line: Line,
    /// The two clocks run at the same rate: the line is flat and does not age.
    is_flat: bool,
    /// The tightest of each stretch of [`BLOCK_NS`], the last [`WINDOW_NS`] of them.
    pub(super) blocks: VecDeque<(u64, i64)>,
    /// The tightest of the present stretch.
    tightest: (u64, i64),
    block_ends_ns: u64,
    /// What comes up to here has been learned already.
    learned_ns: u64,
    /// The first reading, and the last that was near the line.
    began_ns: u64,
    agreed_ns: u64,
    readings: u64,
    below: Below,
}

/// What can be said of a reading: the distance is not less than this.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) time_ns: u64,
    pub(super) ahead_ns: i64,
    /// Nor more than this, where that is known.
    pub(super) most: Option<Most>,
}

/// The most that a distance can be, by a time at which the clock was not yet read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub(super) ns: i64,
    /// That time is when the interrupt began in which the clock was read; else it may be long before.
    pub(super) is_close: bool,
}

/// One of the clocks was set, by this much, after the line was last seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) by_ns: i64,
    pub(super) since_ns: u64,
}

/// Readings in a row that lie far below the line, and alike.
#[derive(Clone, Copy, Default)]
struct Below {
    count: u32,
    ahead_ns: i64,
}

#[derive(Clone, Copy)]
struct Line {
    at_ns: u64,
    ahead_ns: i64,
    slope: f64,
}

const BLOCK_NS: u64 = 100_000_000;
const WINDOW_NS: u64 = 3_200_000_000;

/// Fewer stretches tell no slope.
const BLOCKS_MIN: usize = 3;

/// NTP slews by 500 ppm at most; the rest is for poor oscillators.
const SLOPE_MAX: f64 = 0.001;

/// A reading that is farther above the line than clocks drift or loops take: somebody set the time.
const STEP_NS: i64 = 100_000;

/// The same while few readings have been seen, of which all may have been late.
const STEP_OF_FEW_NS: i64 = 1_000_000;
const FEW_READINGS: u64 = 8;

/// So many readings in a row, farther below the line than an expiry loop takes and no farther from each
/// other than loops differ: somebody set the clock back, though nothing tells when interrupts began.
const BELOW_MIN: u32 = 3;
const BELOW_NS: i64 = 1_000_000;
const ALIKE_NS: u64 = 200_000;

impl Line {
    fn at(&self, time_ns: u64) -> i64 {
        self.ahead_ns.saturating_add(self.moved(time_ns))
    }

    fn moved(&self, time_ns: u64) -> i64 {
        (time_ns.wrapping_sub(self.at_ns) as i64 as f64 * self.slope) as i64
    }
}

impl Envelope {
    pub(super) fn new(time_ns: u64, ahead_ns: i64, is_flat: bool) -> Self {
        Self {
            line: Line { at_ns: time_ns, ahead_ns, slope: 0.0 },
            is_flat,
            blocks: VecDeque::new(),
            tightest: (time_ns, ahead_ns),
            block_ends_ns: time_ns.saturating_add(BLOCK_NS),
            learned_ns: time_ns,
            began_ns: time_ns,
            agreed_ns: time_ns,
            readings: 1,
            below: Below::default(),
        }
    }

    pub(super) fn at(&self, time_ns: u64) -> i64 {
        self.line.at(time_ns)
    }

    /// When it was last seen to hold.
    pub(super) fn agreed_ns(&self) -> u64 {
        self.agreed_ns
    }

    /// The last reading was so far below that the clock may have been set back.
    pub(super) fn is_doubtful(&self) -> bool {
        self.below.count > 0
    }

    /// The same line, higher by this.
    pub(super) fn shift(&mut self, time_ns: u64, by_ns: i64) {
        *self = Self::new(time_ns, self.at(time_ns).saturating_add(by_ns), self.is_flat);
    }

    /// What has been learned by looking ahead will come again.
    pub(super) fn rewind(&mut self) {
        (self.agreed_ns, self.below) = (self.began_ns, Below::default());
    }

    /// How far the line may be off by drift at this time.
    fn drifted_ns(&self, time_ns: u64) -> i64 {
        let gap_ns = time_ns.abs_diff(self.learned_ns).max(time_ns.saturating_sub(self.agreed_ns));
        if self.is_flat { 0 } else { (gap_ns as f64 * SLOPE_MAX) as i64 }
    }

    /// Whether a reading is above the line by more than clocks drift.
    pub(super) fn is_step_up(&self, time_ns: u64, ahead_ns: i64) -> bool {
        let few = self.readings < FEW_READINGS;
        let step_ns = if few { STEP_OF_FEW_NS } else { STEP_NS };
        let above_ns = ahead_ns.saturating_sub(self.at(time_ns));
        above_ns > step_ns.saturating_add(self.drifted_ns(time_ns))
    }

    /// Takes a reading, in the order of time; tells where it shows that the line does not hold any more.
    pub(super) fn learn(&mut self, seen: Seen) -> Option<Step> {
        let Seen { time_ns, ahead_ns, most } = seen;
        let step = if self.is_step_up(time_ns, ahead_ns) || self.is_step_down(seen) {
            let by_ns = ahead_ns.saturating_sub(self.at(time_ns));
            Some(Step { by_ns, since_ns: self.agreed_ns.min(time_ns) })
        } else {
            None
        };
        if step.is_some() {
            *self = Self::new(time_ns, ahead_ns, self.is_flat);
            return step;
        }
        if self.below.count == 0 || most.is_some_and(|most| most.is_close) {
            self.agreed_ns = self.agreed_ns.max(time_ns);
        }
        if time_ns > self.learned_ns {
            self.tighten(time_ns, ahead_ns);
        }
        None
    }

    fn is_step_down(&mut self, seen: Seen) -> bool {
        let Seen { time_ns, ahead_ns, most } = seen;
        let line_ns = self.at(time_ns);
        if let Some(most) = most {
            let off_ns = STEP_NS.saturating_add(self.drifted_ns(time_ns));
            let is_step = line_ns.saturating_sub(most.ns) > off_ns;
            if is_step || most.is_close {
                self.below = Below::default();
                return is_step;
            }
        }
        if line_ns.saturating_sub(ahead_ns) <= BELOW_NS {
            self.below = Below::default();
            return false;
        }
        // Callbacks of one loop have one reading between them, and come ever later after it.
        let is_alike = ahead_ns.abs_diff(self.below.ahead_ns) <= ALIKE_NS;
        let count = if self.below.count > 0 && is_alike { self.below.count + 1 } else { 1 };
        self.below = Below { count, ahead_ns };
        count >= BELOW_MIN
    }

    fn tighten(&mut self, time_ns: u64, ahead_ns: i64) {
        self.learned_ns = time_ns;
        self.readings += 1;
        if !self.is_flat && time_ns >= self.block_ends_ns {
            self.blocks.push_back(self.tightest);
            let oldest_ns = time_ns.saturating_sub(WINDOW_NS);
            while self.blocks.front().is_some_and(|(at_ns, _)| *at_ns < oldest_ns) {
                self.blocks.pop_front();
            }
            if self.blocks.is_empty() {
                // Nothing for seconds: where the line would be by now is a guess.
                *self = Self::new(time_ns, ahead_ns, false);
                return;
            }
            self.fit();
            self.tightest = (time_ns, ahead_ns);
            self.block_ends_ns = time_ns.saturating_add(BLOCK_NS);
        }
        let above_ns = ahead_ns.saturating_sub(self.at(time_ns));
        if above_ns > 0 {
            self.line.ahead_ns = self.line.ahead_ns.saturating_add(above_ns);
        }
        let flat = |(at_ns, ahead_ns): (u64, i64)| ahead_ns.saturating_sub(self.line.moved(at_ns));
        if flat((time_ns, ahead_ns)) > flat(self.tightest) {
            self.tightest = (time_ns, ahead_ns);
        }
    }

    /// The lowest line over all blocks: through the edge of their upper hull that lies over their
    /// middle.
    fn fit(&mut self) {
        let Some(&(zero_ns, base_ns)) = self.blocks.front() else { return };
        let point = |&(at_ns, ahead_ns): &(u64, i64)| {
            (at_ns.wrapping_sub(zero_ns) as f64, ahead_ns.wrapping_sub(base_ns) as f64)
        };
        let points: Vec<(f64, f64)> = self.blocks.iter().map(point).collect();
        if points.len() >= BLOCKS_MIN {
            let middle = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
            let hull = upper_hull(&points);
            let edge = hull.windows(2).find(|edge| edge[1].0 >= middle);
            let slope = edge.map_or(0.0, |edge| (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0));
            self.line.slope = slope.clamp(-SLOPE_MAX, SLOPE_MAX);
        }
        let height = |(x, y): &(f64, f64)| y - x * self.line.slope;
        let highest = points.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        self.line.at_ns = zero_ns;
        self.line.ahead_ns = base_ns.saturating_add(highest.ceil() as i64);
    }
}

/// The corners of the upper convex hull of points that come from left to right.
fn upper_hull(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in points {
        while let [.., (x0, y0), (x1, y1)] = hull[..]
            && (x1 - x0) * (y - y0) >= (y1 - y0) * (x - x0)
        {
            hull.pop();
        }
        // Two at one place: the higher one.
        match hull.last_mut() {
            Some(last) if last.0 >= x => last.1 = last.1.max(y),
            _ => hull.push((x, y)),
        }
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD_NS: i64 = 1_700_000_000_000_000_000;

    /// Readings every 10 ms, each `delay_ns` before its event, of a clock that is set by `by_ns` before
    /// the tenth; `entry` tells where the interrupt began, 2 µs before the reading, or had not begun, longer before.
    fn steps(by_ns: i64, delay_ns: i64, entry: Option<i64>, is_flat: bool) -> Vec<(u64, Step)> {
        let mut envelope = Envelope::new(10_000_000, AHEAD_NS - 1000, is_flat);
        let mut steps = Vec::new();
        for number in 2..100u64 {
            let time_ns = number * 10_000_000;
            let set_ns = if number >= 10 { by_ns } else { 0 };
            let ahead_ns = AHEAD_NS + set_ns - delay_ns - (number % 7) as i64 * 1000;
            let most = entry.map(|ns| Most { ns: AHEAD_NS + set_ns + ns, is_close: ns == 2000 });
            let step = envelope.learn(Seen { time_ns, ahead_ns, most });
            steps.extend(step.map(|step| (number, step)));
        }
        steps
    }

    #[test]
    fn a_clock_that_is_set_is_seen_and_told_once() {
        let (entered, not_yet) = (Some(2_000), Some(1_000_000));
        for (by_ns, entry, seen_at) in [
            (3_000_000, entered, Some(10)),
            (3_000_000, None, Some(10)),
            (-3_000_000, entered, Some(10)),
            (-3_000_000, not_yet, Some(10)),
            // Three in a row.
            (-3_000_000, None, Some(12)),
            (-3_000_000, Some(5_000_000), Some(12)),
            (-500_000, entered, Some(10)),
            // As long as a loop may take.
            (-500_000, not_yet, None),
            (-500_000, None, None),
            (0, entered, None),
            (0, not_yet, None),
            (0, None, None),
        ] {
            for is_flat in [true, false] {
                let steps = steps(by_ns, 1000, entry, is_flat);
                let at: Vec<u64> = steps.iter().map(|(number, _)| *number).collect();
                let expected: Vec<u64> = seen_at.into_iter().collect();
                assert_eq!(at, expected, "{by_ns} {entry:?} {is_flat}");
                for (number, step) in steps {
                    assert!(step.by_ns.abs_diff(by_ns) < 20_000, "{step:?}");
                    assert!(step.since_ns < 100_000_000 && number >= 10, "{step:?}");
                }
            }
        }
    }

    #[test]
    fn long_loops_set_no_clock() {
        // The interrupt began long before the event: that explains it.
        let mut envelope = Envelope::new(0, AHEAD_NS, true);
        for number in 1..100u64 {
            let late_ns = if number % 9 == 0 { 4_000_000 } else { 0 };
            let time_ns = number * 10_000_000;
            let ahead_ns = AHEAD_NS - late_ns;
            let most = Some(Most { ns: ahead_ns + late_ns + 1000, is_close: true });
            assert_eq!(envelope.learn(Seen { time_ns, ahead_ns, most }), None);
            // Nor do single ones of which nothing is known.
            let seen = Seen { time_ns: time_ns + 1, ahead_ns: AHEAD_NS - late_ns, most: None };
            assert_eq!(envelope.learn(seen), None);
        }
        assert_eq!(envelope.at(5), AHEAD_NS);
    }
}
