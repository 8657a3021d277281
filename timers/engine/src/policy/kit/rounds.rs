//! How often an interrupt looks for timers before it gives up.
//!
//! The kernel's `hrtimer_interrupt` runs what is due by one reading of the clock, and programs the device for what
//! comes first then. Where that is due as well, it looks again; after three such rounds it lets as much time pass
//! without an interrupt as this one took, so that something else can run.

/// The longest time without an interrupt, ns: of `hrtimer_interrupt`, `kernel/time/hrtimer.c`.
const PUT_OFF_NS_MAX: u64 = 100_000_000;

/// What comes after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Another one.
    Again,
    /// The interrupt's end, with the device programmed for what comes first.
    Ends,
    /// The interrupt's end, with the next one no sooner than then.
    PutOff { until_ns: u64 },
}

/// The rounds of an interrupt.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// 0: as many as find something, each at once.
    most: u32,
    done: u32,
    entry_ns: u64,
    round_ns: u64,
}

impl Rounds {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, done: 0, entry_ns: 0, round_ns: 0 }
    }

    /// An interrupt begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        (self.done, self.entry_ns, self.round_ns) = (0, now_ns, now_ns);
    }

    /// Until when what is due is run in this round.
    pub(crate) fn until_ns(&self, now_ns: u64) -> u64 {
        if self.most == 0 { now_ns } else { self.round_ns }
    }

    /// All that was due by then has been run; what comes first now?
    pub(crate) fn over(&mut self, first_ns: Option<u64>, now_ns: u64) -> Over {
        if self.most == 0 || first_ns.is_none_or(|first_ns| first_ns > now_ns) {
            return Over::Ends;
        }
        self.done += 1;
        if self.done < self.most {
            self.round_ns = now_ns;
            return Over::Again;
        }
        let took_ns = now_ns.saturating_sub(self.entry_ns);
        Over::PutOff { until_ns: now_ns.saturating_add(took_ns.min(PUT_OFF_NS_MAX)) }
    }
}
