//! Every queue against a sorted list.

mod plain;

use fastrand::Rng;
use plain::Plain;
use proptest::prelude::*;
use tardy_timers::queue::{Auto, Chosen, Heap, LazyRearm, Precise, Queue, Wheel};
use tardy_timers::{Expiry, Handle};

/// One call.
#[derive(Clone, Debug)]
enum Call {
    Insert(Expiry),
    /// The timers are numbered as they were inserted, those that are gone too.
    Cancel(usize),
    Rearm(usize, Expiry),
    /// Pops all that is due.
    Advance(u64),
    /// Pops one at most.
    Pop(u64),
}

/// What a queue may say of its next expiry.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Exact,
    NeverLate,
}

/// A queue under test and the list beside it, which see the same calls.
struct Pair<Q> {
    queue: Q,
    plain: Plain<usize>,
    next: Next,
    /// To what times the queue rounds up, ns.
    granule_ns: u64,
    /// Of each timer ever inserted, the handle in either.
    handles: Vec<(Handle, Handle)>,
}

impl<Q: Queue<usize>> Pair<Q> {
    fn new(queue: Q, next: Next, granule_ns: u64) -> Self {
        Self { queue, plain: Plain::new(), next, granule_ns, handles: Vec::new() }
    }

    fn rounded(&self, expiry: Expiry) -> Expiry {
        let up =
            |time_ns: u64| time_ns.checked_next_multiple_of(self.granule_ns).unwrap_or(u64::MAX);
        let soft_ns = up(expiry.soft_ns());
        Expiry::with_slack(soft_ns, up(expiry.hard_ns()) - soft_ns)
    }

    fn call(&mut self, call: &Call) {
        let timer = |timer: &usize| self.handles.get(timer % self.handles.len().max(1)).copied();
        match call {
            Call::Insert(expiry) => {
                let number = self.handles.len();
                let handle = self.queue.insert(*expiry, number).unwrap();
                let plain = self.plain.insert(self.rounded(*expiry), number).unwrap();
                self.handles.push((handle, plain));
            }
            Call::Cancel(number) => {
                let Some((handle, plain)) = timer(number) else { return };
                assert_eq!(self.queue.cancel(handle), self.plain.cancel(plain));
                assert!(self.queue.cancel(handle).is_err(), "stale after a cancel");
            }
            Call::Rearm(number, expiry) => {
                let Some((handle, plain)) = timer(number) else { return };
                let expected = self.plain.rearm(plain, self.rounded(*expiry));
                assert_eq!(self.queue.rearm(handle, *expiry), expected);
                assert_eq!(self.queue.expiry(handle), expected.map(|()| *expiry));
            }
            Call::Advance(now_ns) => {
                while self.pop(*now_ns) {}
                let next_ns = self.queue.next_expiry_ns();
                assert!(next_ns.is_none_or(|next_ns| next_ns > *now_ns), "nothing is due");
            }
            Call::Pop(now_ns) => drop(self.pop(*now_ns)),
        }
        assert_eq!(self.queue.len(), self.plain.len());
        let (next, expected) = (self.queue.next_expiry_ns(), self.plain.next_expiry_ns());
        match self.next {
            Next::Exact => assert_eq!(next, expected),
            Next::NeverLate => {
                assert_eq!(next.is_some(), expected.is_some());
                assert!(next <= expected);
            }
        }
    }

    fn pop(&mut self, now_ns: u64) -> bool {
        let (fired, expected) = (self.queue.pop_expired(now_ns), self.plain.pop_expired(now_ns));
        let said = fired.map(|timer| (timer.payload, self.rounded(timer.expiry)));
        assert_eq!(said, expected.map(|timer| (timer.payload, timer.expiry)), "at {now_ns}");
        if let Some(timer) = fired {
            assert_eq!(timer.handle, self.handles[timer.payload].0);
            assert!(self.queue.expiry(timer.handle).is_err(), "stale after it fired");
        }
        fired.is_some()
    }
}

/// Runs calls on every queue there is.
fn on_every_queue(calls: &[Call]) {
    on(Precise::new(), Next::Exact, 1, calls);
    on(Precise::with_capacity(10_000), Next::Exact, 1, calls);
    on(Heap::new(), Next::Exact, 1, calls);
    on(LazyRearm::new(), Next::NeverLate, 1, calls);
    on(Auto::new(), Next::NeverLate, 1, calls);
    on(Wheel::new(), Next::NeverLate, 1, calls);
    on(Wheel::exact(1), Next::NeverLate, 1, calls);
    on(Wheel::exact(1 << 40), Next::NeverLate, 1, calls);
    on(Wheel::coarse(1), Next::NeverLate, 1, calls);
    on(Wheel::coarse(5_000), Next::NeverLate, 4_096, calls);
}

fn on(queue: impl Queue<usize>, next: Next, granule_ns: u64, calls: &[Call]) {
    let mut pair = Pair::new(queue, next, granule_ns);
    for call in calls {
        pair.call(call);
    }
    pair.call(&Call::Advance(u64::MAX));
    assert!(pair.queue.is_empty());
}

/// Times of all sizes: most within a few digits of one another, some equal, some at the end of time.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..50u64,
        4 => 0..70_000u64,
        4 => (0..64u32, any::<u64>()).prop_map(|(bits, value)| value >> bits),
        1 => Just(u64::MAX),
        1 => (0..8u32).prop_map(|digit| 1 << (8 * digit)),
    ]
}

fn expiry() -> impl Strategy<Value = Expiry> {
    prop_oneof![
        2 => time().prop_map(Expiry::at),
        1 => (time(), time()).prop_map(|(soft, slack)| Expiry::with_slack(soft, slack)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => expiry().prop_map(Call::Insert),
        1 => any::<usize>().prop_map(Call::Cancel),
        2 => (any::<usize>(), expiry()).prop_map(|(timer, expiry)| Call::Rearm(timer, expiry)),
        1 => time().prop_map(Call::Advance),
        1 => time().prop_map(Call::Pop),
    ]
}

proptest! {
    #[test]
    fn any_calls(calls in prop::collection::vec(call(), 0..300)) {
        on_every_queue(&calls);
    }
}

/// What a user does: time goes on, timers are set relative to it.
struct Usage {
    name: &'static str,
    timers: usize,
    /// Of 100 calls.
    cancels: u32,
    rearms: u32,
    /// The longest time a timer is set to, ns.
    span_ns: u64,
    /// Of 100 moves, those to an earlier time.
    earlier: u32,
}

const USAGES: [Usage; 6] = [
    Usage { name: "few", timers: 8, cancels: 10, rearms: 20, span_ns: 1_000_000, earlier: 50 },
    Usage { name: "fire", timers: 3_000, cancels: 0, rearms: 2, span_ns: 1 << 20, earlier: 50 },
    Usage { name: "timeouts", timers: 3_000, cancels: 5, rearms: 90, span_ns: 1 << 30, earlier: 1 },
    Usage {
        name: "cancelled",
        timers: 3_000,
        cancels: 45,
        rearms: 0,
        span_ns: 1 << 40,
        earlier: 0,
    },
    Usage {
        name: "to and fro",
        timers: 2_000,
        cancels: 5,
        rearms: 60,
        span_ns: 1 << 16,
        earlier: 90,
    },
    Usage { name: "crowded", timers: 3_000, cancels: 10, rearms: 10, span_ns: 4, earlier: 50 },
];

/// Calls of one usage.
fn usage_calls(usage: &Usage, count: usize, seed: u64) -> Vec<Call> {
    let mut rng = Rng::with_seed(seed);
    let mut now_ns: u64 = rng.u64(..) >> rng.u32(1..64);
    let step_ns = (usage.span_ns / usage.timers as u64).max(1);
    let mut inserted = 0;
    let mut calls = Vec::with_capacity(count);
    while calls.len() < count {
        let expiry = |rng: &mut Rng, span_ns| {
            let soft_ns = now_ns.saturating_add(rng.u64(0..=span_ns));
            let slack_ns = if rng.u8(..) < 32 { rng.u64(0..=step_ns * 4) } else { 0 };
            Expiry::with_slack(soft_ns, slack_ns)
        };
        let recent = |rng: &mut Rng| inserted - 1 - rng.usize(0..inserted.min(usage.timers * 2));
        let dice = rng.u32(0..100);
        if inserted < usage.timers || dice >= usage.cancels + usage.rearms + 20 {
            calls.push(Call::Insert(expiry(&mut rng, usage.span_ns)));
            inserted += 1;
        } else if dice < usage.cancels {
            calls.push(Call::Cancel(recent(&mut rng)));
        } else if dice < usage.cancels + usage.rearms {
            let span_ns = if rng.u32(0..100) < usage.earlier { usage.span_ns } else { 0 };
            let later = Expiry::at(now_ns.saturating_add(usage.span_ns));
            let to = if span_ns > 0 { expiry(&mut rng, span_ns) } else { later };
            calls.push(Call::Rearm(recent(&mut rng), to));
        } else {
            now_ns = now_ns.saturating_add(rng.u64(0..=step_ns * 8));
            calls.push(Call::Advance(now_ns));
        }
    }
    calls
}

#[test]
fn a_million_calls() {
    for (seed, usage) in USAGES.iter().enumerate() {
        println!("{}", usage.name);
        on_every_queue(&usage_calls(usage, 1_000_000 / USAGES.len(), seed as u64));
    }
}

#[test]
fn many_due_at_once_fire_in_the_order_of_insertion() {
    let mut calls: Vec<_> = (0..10_000).map(|_| Call::Insert(Expiry::at(1_000_000))).collect();
    calls.push(Call::Rearm(0, Expiry::at(1_000_000)));
    on_every_queue(&calls);
}

/// Timers that fire thick and fast, then ever more slowly, then thick and fast again.
#[test]
fn a_queue_that_chooses_keeps_its_timers_and_their_handles() {
    let mut queue = Auto::new();
    let mut rng = Rng::with_seed(7);
    let mut chosen = Vec::new();
    let mut handles = Vec::new();
    let mut now_ns = 0;
    for number in 0..1_000 {
        handles.push(queue.insert(Expiry::at(number as u64), number).unwrap());
    }
    for gap_ns in [100, 1_000_000, 100] {
        for &handle in &handles {
            queue.rearm(handle, Expiry::at(now_ns + rng.u64(0..2_000 * gap_ns))).unwrap();
        }
        for _ in 0..20_000 {
            let fired = queue.pop_expired(u64::MAX).unwrap();
            assert!(fired.expiry.hard_ns() >= now_ns);
            assert_eq!(fired.handle, handles[fired.payload]);
            now_ns = fired.expiry.hard_ns();
            let expiry = Expiry::at(now_ns + rng.u64(0..2_000 * gap_ns));
            handles[fired.payload] = queue.insert(expiry, fired.payload).unwrap();
            // One that was armed under another choice.
            let number = rng.usize(0..1_000);
            assert!(queue.expiry(handles[number]).is_ok());
        }
        chosen.push(queue.chosen());
    }
    assert_eq!(chosen, [Chosen::Wheel, Chosen::Precise, Chosen::Wheel]);
    assert_eq!(queue.len(), 1_000);
}

/// Looked at while only late ones are armed; then come earlier ones, and earlier ones still.
#[test]
fn ever_earlier_timers() {
    let mut rng = Rng::with_seed(3);
    let mut calls = Vec::new();
    for bits in (4..60).rev().step_by(3) {
        let equal = rng.u64(..) >> (64 - bits);
        for number in 0..150 {
            let time_ns = if number % 3 == 0 { equal } else { rng.u64(..) >> (64 - bits) };
            calls.push(Call::Insert(Expiry::at(time_ns)));
        }
        calls.extend([Call::Pop(0), Call::Advance(1 << 4)]);
    }
    on_every_queue(&calls);
}

#[test]
fn the_end_of_time_and_the_past() {
    let mut calls = Vec::new();
    for time_ns in [u64::MAX, u64::MAX - 1, 0, 1 << 63, (1 << 63) - 1, u64::MAX] {
        calls.push(Call::Insert(Expiry::at(time_ns)));
        calls.push(Call::Advance(u64::MAX - 2));
        calls.push(Call::Insert(Expiry::at(1)));
    }
    on_every_queue(&calls);
}
