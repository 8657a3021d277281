//! From stamps of the trace's clock to nanoseconds.

/// The way from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    mult: u64,
    shift: u32,
    offset_ns: i64,
}

impl Default for Stamps {
    fn default() -> Self {
        Self { mult: 1, shift: 0, offset_ns: 0 }
    }
}

/// Bits behind the point of a rate that was found out.
const RATE_SHIFT: u32 = 32;

/// The slowest and the fastest counter of any machine: 1 MHz and 20 GHz.
const RATES_NS: std::ops::RangeInclusive<f64> = 0.05..=1000.0;

/// No clock shows the time of day below this; the readings of those that do are of no use for a rate.
pub(crate) const WALL_NS: i64 = 100_000_000_000_000_000;

/// A rate is known to a microsecond in at least this.
const SPAN_MIN_NS: i64 = 50_000_000;

impl Stamps {
    /// Stamps times `mult`, shifted right by `shift`, are nanoseconds.
    pub(crate) fn scaled(mult: u32, shift: u32) -> Self {
        Self { mult: mult.into(), shift: shift.min(95), offset_ns: 0 }
    }

    /// And then this is added.
    pub(crate) fn later_by(self, offset_ns: i64) -> Self {
        Self { offset_ns, ..self }
    }

    /// The rate of a counter by clock readings of the kernel (stamp, nanoseconds; in order), each of
    /// which was taken a little before its stamp: by those of the first and the last fifth of the
    /// time, of which the quickest count. `None` where they span less than 50 ms or make no sense.
    pub(crate) fn of_counter(readings: &[(u64, i64)]) -> Option<Self> {
        let (first, last) = (readings.first()?, readings.last()?);
        let span = last.0.checked_sub(first.0)?;
        let span_ns = last.1.checked_sub(first.1)?;
        if span == 0 || span_ns < SPAN_MIN_NS {
            return None;
        }
        let mut rate = span_ns as f64 / span as f64;
        let fifth = span / 5;
        // The rate tells which readings are quick, and those tell the rate.
        for _ in 0..3 {
            let ahead = |&(stamp, ns): &(u64, i64)| {
                ns.wrapping_sub(first.1) as f64 - (stamp - first.0) as f64 * rate
            };
            let quickest = |part: &dyn Fn(u64) -> bool| {
                let readings =
                    readings.iter().filter(|(stamp, _)| part(stamp.wrapping_sub(first.0)));
                readings.max_by(|a, b| ahead(a).total_cmp(&ahead(b)))
            };
            let early = quickest(&|since| since <= fifth)?;
            let late = quickest(&|since| since >= span - fifth && since <= span)?;
            let (span, span_ns) = (late.0.checked_sub(early.0)?, late.1.checked_sub(early.1)?);
            rate = span_ns as f64 / span as f64;
        }
        RATES_NS.contains(&rate).then(|| Self {
            mult: (rate * f64::from(1u32 << 31) * 2.0) as u64,
            shift: RATE_SHIFT,
            offset_ns: 0,
        })
    }

    #[inline]
    pub(crate) fn to_ns(self, stamp: u64) -> u64 {
        let ns = if self.shift == 0 && self.mult == 1 {
            stamp
        } else {
            ((u128::from(stamp) * u128::from(self.mult)) >> self.shift) as u64
        };
        ns.wrapping_add(self.offset_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_become_nanoseconds() {
        let stamps = Stamps::scaled(1_677_721, 22).later_by(-5);
        assert_eq!(stamps.to_ns(2_500_000), 999_999 - 5);
        assert_eq!(Stamps::default().to_ns(77), 77);
        assert_eq!(Stamps::scaled(u32::MAX, u32::MAX).to_ns(u64::MAX), 1);
    }

    #[test]
    fn a_counters_rate_is_found_by_the_quickest_readings() {
        // 2.5 GHz; readings every 4 ms for 0.8 s, from 200 ns to 30 µs before their stamps.
        let reading = |step: u64| {
            let ns = 7_000_000_000 + step * 4_000_000;
            let delay_ns = 200 + step * 7919 % 30_000;
            let stamp = (ns + delay_ns) * 5 / 2;
            (stamp, ns as i64)
        };
        let readings: Vec<_> = (0..200).map(reading).collect();
        let stamps = Stamps::of_counter(&readings).unwrap();
        let ns = stamps.to_ns(2_500_000_000);
        assert!(ns.abs_diff(1_000_000_000) < 3000, "{ns}");
        assert_eq!(Stamps::of_counter(&readings[..10]), None, "too short");
        assert_eq!(Stamps::of_counter(&[]), None);
    }
}
