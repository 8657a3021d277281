//! All policies once more, as naively as can be: one list of timers that is searched for everything.

use std::cmp::Reverse;
use tardy_timers::policy::{Arm, Context, Rearm, Settings};
use tardy_timers::{Expiry, Kind, Priority};

/// Where a timer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    /// In the list that programs the device.
    Precise,
    /// In the list that is looked at in the tick, or at the jiffy edge.
    Jiffy,
    /// In the list that only the softirq looks at.
    Soft,
    /// Expired.
    Pending,
}

#[derive(Clone, Debug)]
pub(crate) struct Timer {
    pub(crate) id: u32,
    pub(crate) arm: Arm,
    at: At,
    context: Context,
    /// When it came to where it is, in steps of anything.
    since: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Does {
    Fire(u32),
    Tick(u64),
    Move(usize),
    Wait(u64),
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of one policy or another")]
pub(crate) struct Reference {
    name: &'static str,
    settings: Settings,
    rearm: Rearm,
    pub(crate) timers: Vec<Timer>,
    count: u64,
    edge_ns: u64,
    in_interrupt: bool,
    deferring: bool,
    pub(crate) device_ns: Option<u64>,
    pub(crate) programmed: u64,
    // jiffy lists
    edge_work: bool,
    near_until_ns: u64,
    period: bool,
    counted_until_ns: u64,
    count_due: bool,
    // rounds
    entry_ns: u64,
    round_ns: u64,
    rounds: u32,
    put_off: bool,
    // softirq base
    cached_ns: Option<u64>,
    raised: bool,
}

impl Reference {
    pub(crate) fn new(name: &'static str, settings: Settings) -> Self {
        let edge_ns = settings.jiffy_ns.get();
        let rearm = match name {
            "rearm-eager-double" => Rearm::EagerDouble,
            "rearm-lazy" => Rearm::Lazy,
            "rearm-wheel" => Rearm::Wheel,
            "rearm-single" | "jiffy-list" | "jiffy-list-race" | "split-jiffy" => Rearm::Single,
            _ => settings.rearm,
        };
        Self {
            name,
            settings,
            rearm,
            timers: Vec::new(),
            count: 0,
            edge_ns,
            in_interrupt: false,
            deferring: true,
            device_ns: Some(edge_ns),
            programmed: 0,
            edge_work: false,
            near_until_ns: edge_ns,
            period: false,
            counted_until_ns: edge_ns,
            count_due: false,
            entry_ns: 0,
            round_ns: 0,
            rounds: 0,
            put_off: false,
            cached_ns: None,
            raised: false,
        }
    }

    fn has_jiffy_lists(&self) -> bool {
        self.has_softirq_edges() || self.name == "split-jiffy"
    }

    /// The softirq does an edge's work.
    fn has_softirq_edges(&self) -> bool {
        self.name == "jiffy-list" || self.name == "jiffy-list-race"
    }

    /// Only the threaded top half counts jiffies.
    fn has_race(&self) -> bool {
        self.name == "jiffy-list-race" && self.settings.top_half.is_some()
    }

    /// The edge after the one that the softirq knows of.
    fn known_until_ns(&self) -> u64 {
        if self.has_race() { self.counted_until_ns } else { self.edge_ns }
    }

    fn has_softirq_base(&self) -> bool {
        self.name.starts_with("softirq-expires-next")
    }

    fn priority(&self, arm: &Arm) -> u8 {
        if arm.hard {
            return 0;
        }
        match arm.class.priority {
            Priority::Inherit => arm.task_priority,
            Priority::Level(level) => match level.number() {
                0 => self.settings.common,
                number => self.settings.levels[number as usize - 1],
            },
        }
    }

    /// Each policy's definition, first half: where a timer is fired.
    fn context(&self, arm: &Arm) -> Context {
        if arm.hard {
            return Context::HardIrq;
        }
        let coarse = arm.class.kind == Kind::Coarse;
        let softirq = match self.name {
            "deferred" if self.settings.deferred_own_thread => Context::TimerThread(0),
            _ => Context::CommonSoftirq,
        };
        let softirq_if = |soft: bool| if soft { softirq } else { Context::HardIrq };
        match self.name {
            "ksoftirqd" => Context::CommonSoftirq,
            "timer-thread" | "inherit" | "batch" => Context::TimerThread(0),
            "split" if arm.task_priority == 0 => Context::CommonSoftirq,
            "split" if self.settings.top_half.is_some() => Context::TopHalf,
            "levels" => {
                let level = match (arm.class.priority, arm.task_priority) {
                    (Priority::Level(level), _) => level.number(),
                    (_, 0) => 0,
                    (_, 1..=33) => 1,
                    (_, 34..=66) => 2,
                    (_, _) => 3,
                };
                if level == 0 { Context::CommonSoftirq } else { Context::TimerThread(level) }
            }
            "split" | "hardirq" => Context::HardIrq,
            "deferred" => {
                softirq_if(arm.soft || self.deferring && arm.sleeper && arm.task_priority == 0)
            }
            "jiffy-list" | "jiffy-list-race" | "split-jiffy" => softirq_if(coarse),
            "rearm-wheel" => softirq_if(arm.soft || coarse),
            _ => softirq_if(arm.soft),
        }
    }

    /// Second half: which list it is armed into.
    fn list(&self, arm: &Arm) -> At {
        let coarse = arm.class.kind == Kind::Coarse;
        let jiffy = match self.name {
            "split" => arm.task_priority == 0 && !arm.hard,
            "jiffy-list" | "jiffy-list-race" | "split-jiffy" => {
                !arm.hard && (coarse || arm.expiry.soft_ns() >= self.near_until_ns)
            }
            _ => false,
        };
        let wheel = self.rearm == Rearm::Wheel && coarse && !arm.hard && !self.has_softirq_base();
        match (jiffy || wheel, self.has_softirq_base() && arm.soft && !arm.hard) {
            (true, _) => At::Jiffy,
            (_, true) => At::Soft,
            _ => At::Precise,
        }
    }

    /// The first in a list: by hard expiry, of a batch that is pending then by priority, then who came first.
    fn first(&self, at: At, of: impl Fn(&Timer) -> bool) -> Option<usize> {
        let here = |i: &usize| self.timers[*i].at == at && of(&self.timers[*i]);
        let by_priority = self.name == "batch" && at == At::Pending;
        let key = |i: &usize| {
            let timer = &self.timers[*i];
            let urgency = if by_priority { self.priority(&timer.arm) } else { 0 };
            (timer.arm.expiry.hard_ns(), Reverse(urgency), timer.since)
        };
        (0..self.timers.len()).filter(here).min_by_key(key)
    }

    fn due(&self, at: At, now_ns: u64, of: impl Fn(&Timer) -> bool) -> Option<usize> {
        self.first(at, of).filter(|i| self.timers[*i].arm.expiry.soft_ns() <= now_ns)
    }

    fn put(&mut self, i: usize, at: At) {
        self.count += 1;
        self.timers[i].at = at;
        self.timers[i].since = self.count;
    }

    fn expire(&mut self, at: At, now_ns: u64, of: impl Fn(&Timer) -> bool + Copy) -> usize {
        let mut moved = 0;
        while let Some(i) = self.due(at, now_ns, of) {
            self.put(i, At::Pending);
            moved += 1;
        }
        moved
    }

    fn hard_ns(&self, at: At) -> Option<u64> {
        self.first(at, |_| true).map(|i| self.timers[i].arm.expiry.hard_ns())
    }

    /// What the device is needed for, soft timers of a softirq base aside.
    fn first_ns(&self) -> u64 {
        self.hard_ns(At::Precise).map_or(self.edge_ns, |ns| ns.min(self.edge_ns))
    }

    fn write_if(&mut self, write: bool, at_ns: u64) {
        if write && !self.in_interrupt && !self.put_off {
            self.device_ns = Some(at_ns);
            self.programmed += 1;
        }
    }

    fn write_earlier(&mut self, at_ns: u64) {
        self.write_if(self.device_ns.is_none_or(|device_ns| at_ns < device_ns), at_ns);
    }

    fn write_exact(&mut self, at_ns: u64) {
        self.write_if(self.device_ns != Some(at_ns), at_ns);
    }

    fn after_removal(&mut self, removed: &Timer) {
        if removed.at == At::Pending && self.has_softirq_base() {
            return;
        }
        match self.rearm {
            _ if self.has_softirq_base() => {
                if self.device_ns == Some(removed.arm.expiry.hard_ns()) {
                    self.reprogram(self.name.ends_with("after"), true);
                }
            }
            Rearm::Lazy => self.write_earlier(self.first_ns()),
            _ => self.write_exact(self.first_ns()),
        }
    }

    /// As the kernel's `hrtimer_force_reprogram`.
    fn reprogram(&mut self, always_caches: bool, caches: bool) {
        let soft_ns = self.hard_ns(At::Soft).filter(|_| !self.raised);
        let first_ns = soft_ns.map_or(self.first_ns(), |ns| ns.min(self.first_ns()));
        let soft_first = first_ns < self.first_ns();
        if !self.raised && (always_caches || caches && soft_first) && !self.in_interrupt {
            self.cached_ns = soft_ns;
        }
        self.write_exact(first_ns);
    }

    fn after_start(&mut self, i: usize) {
        if self.timers[i].at != At::Soft {
            let precise_ns = self.first_ns();
            self.write_earlier(precise_ns);
        } else if !self.raised {
            self.start_soft();
        }
    }

    fn start_soft(&mut self) {
        let Some(soft_ns) = self.hard_ns(At::Soft) else { return };
        if self.cached_ns.is_none_or(|cached_ns| soft_ns < cached_ns) {
            self.cached_ns = Some(soft_ns);
            self.write_earlier(soft_ns);
        }
    }

    pub(crate) fn arm(&mut self, id: u32, arm: Arm) {
        let (at, context) = (self.list(&arm), self.context(&arm));
        self.timers.push(Timer { id, arm, at, context, since: 0 });
        let i = self.timers.len() - 1;
        self.put(i, at);
        if self.has_jiffy_lists() {
            self.write_exact(self.first_ns());
        } else {
            self.after_start(i);
        }
    }

    pub(crate) fn cancel(&mut self, id: u32) {
        let i = self.timers.iter().position(|timer| timer.id == id).unwrap();
        let removed = self.timers.remove(i);
        self.after_removal(&removed);
    }

    pub(crate) fn rearm(&mut self, id: u32, expiry: Expiry) {
        let i = self.timers.iter().position(|timer| timer.id == id).unwrap();
        let mut timer = self.timers.remove(i);
        let twice = self.rearm == Rearm::EagerDouble && timer.at != At::Pending;
        if twice || self.has_softirq_base() {
            self.after_removal(&timer);
        }
        timer.arm.expiry = expiry;
        let at = self.list(&timer.arm);
        if self.has_jiffy_lists() {
            timer.context = self.context(&timer.arm);
        }
        self.timers.push(timer);
        let i = self.timers.len() - 1;
        self.put(i, at);
        match self.rearm {
            _ if self.has_softirq_base() => self.after_start(i),
            Rearm::Lazy => self.write_earlier(self.first_ns()),
            _ => self.write_exact(self.first_ns()),
        }
    }

    pub(crate) fn defer(&mut self, on: bool) {
        self.deferring = on;
    }

    pub(crate) fn interrupt(&mut self, now_ns: u64) {
        if self.has_jiffy_lists() {
            let period = self.device_ns == Some(self.edge_ns);
            let stays = period && now_ns < self.edge_ns;
            if !self.in_interrupt {
                self.period = period;
                self.device_ns = self.device_ns.filter(|_| stays);
            }
            self.in_interrupt = true;
            return;
        }
        self.in_interrupt = true;
        self.device_ns = None;
        (self.entry_ns, self.round_ns, self.rounds) = (now_ns, now_ns, 0);
        self.raise(now_ns);
        self.expire(At::Precise, now_ns, |_| true);
    }

    fn raise(&mut self, now_ns: u64) {
        if self.cached_ns.is_some_and(|cached_ns| cached_ns <= now_ns) {
            self.cached_ns = None;
            self.raised = true;
        }
    }

    fn take(&mut self, i: usize) -> Does {
        Does::Fire(self.timers.remove(i).id)
    }

    pub(crate) fn step(&mut self, context: Context, now_ns: u64) -> Option<Does> {
        match context {
            Context::HardIrq if !self.in_interrupt => None,
            Context::HardIrq if self.has_jiffy_lists() => self.jiffy_interrupt(now_ns),
            Context::HardIrq => self.hard_irq(now_ns),
            Context::CommonSoftirq if self.has_softirq_base() => self.softirq(now_ns),
            Context::CommonSoftirq if self.has_softirq_edges() => self.jiffy_softirq(now_ns),
            Context::TopHalf if self.has_race() => {
                self.counted_until_ns = self.edge_ns;
                self.count_due = false;
                None
            }
            _ => self.next_in(context).map(|i| self.take(i)),
        }
    }

    /// Who is next in a context: time order, but under `inherit` priority first.
    fn next_in(&self, context: Context) -> Option<usize> {
        let here = |timer: &Timer| timer.at == At::Pending && timer.context == context;
        let urgency = |timer: &Timer| match self.name {
            "inherit" => self.priority(&timer.arm),
            _ => 0,
        };
        let most = self.timers.iter().filter(|timer| here(timer)).map(urgency).max()?;
        self.first(At::Pending, |timer| here(timer) && urgency(timer) == most)
    }

    fn hard_irq(&mut self, clock_ns: u64) -> Option<Does> {
        let endless = self.settings.rounds == 0;
        let now_ns = if endless { clock_ns } else { self.round_ns };
        self.expire(At::Precise, now_ns, |_| true);
        let next = self.next_in(Context::HardIrq);
        let next_ns = next.map_or(u64::MAX, |i| self.timers[i].arm.expiry.hard_ns());
        if self.edge_ns <= now_ns && self.edge_ns <= next_ns {
            let jiffies = self.pass(now_ns);
            self.expire(At::Jiffy, self.edge_ns - self.settings.jiffy_ns.get(), |_| true);
            return Some(Does::Tick(jiffies));
        }
        if let Some(i) = next {
            return Some(self.take(i));
        }
        let soft_ns = self.hard_ns(At::Soft).filter(|_| !self.raised).unwrap_or(u64::MAX);
        let is_due_again = !endless && self.first_ns().min(soft_ns) <= clock_ns;
        if is_due_again {
            self.rounds += 1;
            if self.name.ends_with("after") && !self.raised {
                self.cached_ns = self.hard_ns(At::Soft);
            }
            if self.rounds < self.settings.rounds {
                self.round_ns = clock_ns;
                self.raise(clock_ns);
                return self.hard_irq(clock_ns);
            }
        }
        (self.in_interrupt, self.put_off) = (false, false);
        if is_due_again {
            self.device_ns = Some(clock_ns + (clock_ns - self.entry_ns).min(100_000_000));
            self.programmed += 1;
            self.put_off = true;
        } else if self.has_softirq_base() {
            self.reprogram(self.name.ends_with("after"), false);
        } else {
            self.write_exact(self.first_ns());
        }
        None
    }

    pub(crate) fn put_off_ns(&self) -> Option<u64> {
        self.device_ns.filter(|_| self.put_off)
    }

    fn pass(&mut self, now_ns: u64) -> u64 {
        let mut jiffies = 0;
        while self.edge_ns <= now_ns {
            self.edge_ns += self.settings.jiffy_ns.get();
            jiffies += 1;
        }
        jiffies
    }

    fn softirq(&mut self, now_ns: u64) -> Option<Does> {
        if !self.raised {
            return None;
        }
        if let Some(i) = self.due(At::Soft, now_ns, |_| true) {
            return Some(self.take(i));
        }
        self.raised = false;
        self.cached_ns = None;
        self.start_soft();
        None
    }

    fn jiffy_interrupt(&mut self, now_ns: u64) -> Option<Does> {
        if self.edge_ns <= now_ns {
            let jiffies = self.pass(now_ns);
            self.edge_work = true;
            self.count_due = self.has_race();
            if self.period {
                self.device_ns = Some(self.edge_ns);
            }
            self.period = false;
            if self.name == "split-jiffy" {
                self.move_near();
                self.expire(At::Precise, now_ns + self.settings.too_close_ns, |_| true);
                self.in_interrupt = false;
                self.write_exact(self.first_ns());
                self.in_interrupt = true;
            }
            return Some(Does::Tick(jiffies));
        }
        self.expire(At::Precise, now_ns, |_| true);
        if let Some(i) = self.next_in(Context::HardIrq) {
            let soft_ns = self.timers[i].arm.expiry.soft_ns();
            return Some(if soft_ns > now_ns { Does::Wait(soft_ns) } else { self.take(i) });
        }
        if self.name == "split-jiffy" && self.edge_work {
            self.edge_work = false;
            let edge_ns = self.edge_ns - self.settings.jiffy_ns.get();
            let moved = self.expire(At::Jiffy, edge_ns, is_coarse);
            if moved > 0 {
                return Some(Does::Move(moved));
            }
        }
        self.in_interrupt = false;
        self.write_exact(self.first_ns());
        None
    }

    fn move_near(&mut self) -> usize {
        let mut moved = 0;
        let until_ns = self.known_until_ns();
        self.near_until_ns = until_ns;
        while let Some(i) = self.due(At::Jiffy, until_ns - 1, |timer| !is_coarse(timer)) {
            self.put(i, At::Precise);
            moved += 1;
        }
        moved
    }

    fn jiffy_softirq(&mut self, now_ns: u64) -> Option<Does> {
        if self.edge_work {
            let edge_ns = self.known_until_ns() - self.settings.jiffy_ns.get();
            if let Some(i) = self.due(At::Jiffy, edge_ns, is_coarse) {
                return Some(self.take(i));
            }
            self.edge_work = false;
            let moved = self.move_near();
            while let Some(i) = self.due(At::Precise, now_ns, |_| true) {
                self.put(i, At::Pending);
                self.timers[i].context = Context::CommonSoftirq;
            }
            self.write_exact(self.first_ns());
            if moved > 0 {
                return Some(Does::Move(moved));
            }
        }
        self.next_in(Context::CommonSoftirq).map(|i| self.take(i))
    }

    /// Who may run, and how urgently; the order is the test's to make.
    pub(crate) fn runnable(&self) -> Vec<(Context, u8)> {
        let mut all = Vec::new();
        if self.in_interrupt {
            all.push((Context::HardIrq, 100));
        }
        for timer in self.timers.iter().filter(|timer| timer.at == At::Pending) {
            if timer.context != Context::HardIrq && all.iter().all(|(c, _)| *c != timer.context) {
                all.push((timer.context, self.context_priority(timer.context)));
            }
        }
        if let Some(priority) = self.settings.top_half.filter(|_| self.count_due) {
            all.push((Context::TopHalf, priority));
        }
        let softirq = self.raised || self.has_softirq_edges() && self.edge_work;
        if softirq && all.iter().all(|(c, _)| *c != Context::CommonSoftirq) {
            all.push((Context::CommonSoftirq, self.settings.common));
        }
        all
    }

    fn context_priority(&self, context: Context) -> u8 {
        let pending = self.timers.iter().filter(|timer| timer.at == At::Pending);
        match (self.name, context) {
            ("inherit" | "batch", _) => {
                pending.map(|timer| self.priority(&timer.arm)).max().unwrap()
            }
            (_, Context::HardIrq) => 100,
            (_, Context::TopHalf) => self.settings.top_half.unwrap(),
            (_, Context::CommonSoftirq) => self.settings.common,
            (_, Context::TimerThread(0)) => self.settings.timer_thread,
            (_, Context::TimerThread(level)) => self.settings.levels[level as usize - 1],
        }
    }
}

fn is_coarse(timer: &Timer) -> bool {
    timer.arm.class.kind == Kind::Coarse
}
