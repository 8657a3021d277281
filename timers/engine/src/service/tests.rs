//! The parts of the shared protocol, each alone in one thread.

use super::due::{Due, Fire};
use super::free::Free;
use super::inbox::Inbox;
use super::lane::{Lane, Wake};
use super::slots::{Gone, Label, Slots};
use super::word::{Phase, Word};
use crate::Expiry;
use crate::queue::Precise;
use std::collections::HashSet;

const LABEL: Label = Label { tag: 7, coarse: false };

#[test]
fn every_slot_is_taken_once_from_anywhere() {
    for slots in [1, 3, 8, 1000] {
        let free = Free::new(slots);
        let mut taken: HashSet<_> = (0..slots).map(|near| free.take(near).unwrap()).collect();
        assert_eq!(taken.len(), slots);
        assert_eq!(free.take(0), None);
        for slot in taken.drain() {
            free.put(slot);
        }
        assert!((0..slots).all(|_| taken.insert(free.take(7).unwrap())));
    }
}

#[test]
fn first_come_first_taken_and_each_once() {
    let inbox = Inbox::new(4);
    let mut taken = Vec::new();
    for slot in [2, 0, 2, 3, 0] {
        inbox.push(slot);
    }
    inbox.take(&mut taken);
    assert_eq!(taken, [2, 0, 3]);
    assert!(inbox.is_empty());
    inbox.push(2);
    inbox.take(&mut taken);
    assert_eq!(taken, [2]);
}

#[test]
fn moves_never_reach_into_the_generation() {
    let start = Word::from_bits(0).over().over().in_phase(Phase::Armed);
    let mut word = start;
    assert_ne!(word.in_phase(Phase::Moving).moved(), word, "who looked before sees that it moved");
    for _ in 0..1 << 16 {
        word = word.in_phase(Phase::Moving).moved();
        assert_eq!((word.generation(), word.phase()), (2, Phase::Armed));
    }
    assert_eq!(word, start);
    assert_eq!((word.over().generation(), word.over().phase()), (3, Phase::Idle));
}

#[test]
fn a_count_of_moves_that_came_round_fires_nothing_early() {
    let slots = Slots::new(1);
    let (key, notice) = slots.arm(0, Expiry::at(10), LABEL, "payload").unwrap();
    assert!(notice);
    let seen = slots.look(key.slot);
    for _ in 0..1 << 16 {
        assert_eq!(
            slots.rearm(key, Expiry::at(20)),
            Ok((true, None)),
            "nobody has said it would look"
        );
    }
    assert!(slots.claim(key.slot, &seen, 10).is_none());
    let seen = slots.look(key.slot);
    assert_eq!(slots.claim(key.slot, &seen, 20), Some((key, LABEL, "payload")));
    assert_eq!(slots.cancel(key), Err(Gone));
}

#[test]
fn notice_is_given_only_where_the_thread_would_look_too_late() {
    let slots = Slots::new(1);
    let coarse = Label { coarse: true, ..LABEL };
    let (key, notice) = slots.arm(0, Expiry::at(100), coarse, ()).unwrap();
    assert!(notice, "a slot that was never seen");
    let seen = slots.look(key.slot);
    slots.promise(key.slot, &seen);
    assert_eq!(slots.rearm(key, Expiry::at(100)), Ok((false, None)));
    assert_eq!(slots.rearm(key, Expiry::at(u64::MAX)), Ok((false, None)));
    assert_eq!(
        slots.rearm(key, Expiry::with_slack(90, 10)),
        Ok((false, None)),
        "it is the hard one"
    );
    assert_eq!(slots.rearm(key, Expiry::at(99)), Ok((true, None)));
    assert_eq!(slots.cancel(key), Ok(Some(())));
    let (key, notice) = slots.arm(0, Expiry::at(200), LABEL, ()).unwrap();
    assert!(notice, "the entry is in the coarse queue");
    assert_eq!(slots.cancel(key), Ok(Some(())));
    let (_, notice) = slots.arm(0, Expiry::at(100), coarse, ()).unwrap();
    assert!(!notice, "what the cancelled one left is good enough");
}

#[test]
fn who_keeps_cancelling_wakes_the_thread_for_earlier_times_alone() {
    let lane = Lane::new(4);
    let mut due = Due::new(4, Precise::with_capacity(4), Precise::with_capacity(4));
    let rest = |due: &mut Due<_, _>, now_ns| due.rest(&lane, now_ns).map(|rest| rest.until_ns);
    assert_eq!(rest(&mut due, 0), Some(u64::MAX));
    let arm_and_cancel = |time_ns| {
        let (key, wake) = lane.arm(0, Expiry::at(time_ns), LABEL, ()).unwrap();
        lane.slots.cancel(key).unwrap();
        wake
    };
    assert_eq!(arm_and_cancel(100), Wake(true));
    assert_eq!(rest(&mut due, 1), Some(100), "as if it were there");
    assert_eq!(arm_and_cancel(150), Wake(false));
    assert_eq!(arm_and_cancel(90), Wake(true));
    assert_eq!(rest(&mut due, 2), Some(90));
    assert_eq!(due.pop(&lane, 95), None::<Fire<()>>);
    assert_eq!(rest(&mut due, 95), Some(u64::MAX), "and then no more");
}

#[test]
fn all_that_is_due_after_a_jump_of_the_clock_fires_once_and_in_order() {
    // The clock stands still in suspend, or jumps by the time suspended: see `Clock`.
    let lane = Lane::new(64);
    let mut due = Due::new(64, Precise::with_capacity(64), Precise::with_capacity(64));
    let mut expected = Vec::new();
    for number in 0..40_u64 {
        let soft_ns = 1 + number * 37 % 40 * 1000;
        let label = Label { tag: soft_ns, coarse: false };
        let (key, _) = lane.arm(0, Expiry::at(soft_ns), label, soft_ns).unwrap();
        match number % 4 {
            0 => drop(lane.slots.cancel(key).unwrap()),
            1 => {
                let _ = lane.rearm(key, Expiry::at(soft_ns + 500_000)).unwrap();
                expected.push((soft_ns + 500_000, soft_ns));
            }
            _ => expected.push((soft_ns, soft_ns)),
        }
    }
    due.hear(&lane, 0);
    let later = lane.arm(0, Expiry::at(u64::MAX), LABEL, 0).unwrap();
    let jump_ns = 3_600_000_000_000;
    due.hear(&lane, jump_ns);
    let fired: Vec<_> = std::iter::from_fn(|| due.pop(&lane, jump_ns))
        .map(|fire| (fire.expiry.soft_ns(), fire.payload))
        .collect();
    expected.sort_unstable();
    assert_eq!(fired, expected);
    assert!(lane.slots.cancel(later.0).is_ok());
}
