//! What a queue with room for its timers never does.

use allocation_counter::{AllocationInfo, measure};
use fastrand::Rng;
use tardy_timers::queue::{Auto, LazyRearm, Precise, Queue, Wheel};
use tardy_timers::{Expiry, Handle};

const TIMERS: usize = 5_000;

/// Fills a queue and uses it; what that allocated.
fn used(queue: &mut impl Queue<u32>, handles: &mut Vec<Handle>, calls: u32) -> AllocationInfo {
    let mut rng = Rng::with_seed(4);
    let mut now_ns = 0;
    measure(|| {
        while handles.len() < TIMERS {
            let number = handles.len() as u32;
            let expiry = Expiry::at(now_ns + rng.u64(0..1_000_000_000));
            handles.push(queue.insert(expiry, number).unwrap());
        }
        for _ in 0..calls {
            let number = rng.usize(0..TIMERS);
            let expiry = Expiry::at(now_ns + (rng.u64(..) >> rng.u32(0..64)).min(1 << 40));
            match rng.u8(0..4) {
                0 => {
                    let payload = queue.cancel(handles[number]).unwrap();
                    handles[number] = queue.insert(expiry, payload).unwrap();
                }
                1 => now_ns += rng.u64(0..2_000_000),
                _ => queue.rearm(handles[number], expiry).unwrap(),
            }
            while let Some(fired) = queue.pop_expired(now_ns) {
                let expiry = Expiry::at(now_ns + rng.u64(0..1_000_000_000));
                handles[fired.payload as usize] = queue.insert(expiry, fired.payload).unwrap();
            }
            queue.next_expiry_ns();
        }
    })
}

fn allocates_nothing(mut queue: impl Queue<u32>) {
    let mut handles = Vec::with_capacity(TIMERS);
    let allocated = used(&mut queue, &mut handles, 200_000);
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}

#[test]
fn with_room_for_its_timers_a_queue_allocates_nothing() {
    allocates_nothing(Precise::with_capacity(TIMERS));
    allocates_nothing(LazyRearm::with_capacity(TIMERS));
    allocates_nothing(Wheel::with_capacity(TIMERS));
    allocates_nothing(Auto::with_capacity(TIMERS));
}

#[test]
fn without_it_does() {
    let mut queue = Precise::new();
    assert_ne!(used(&mut queue, &mut Vec::with_capacity(TIMERS), 0).count_total, 0);
}

/// 40 bytes and its entry; beside the payload, here four bytes and four more for its `Option`.
#[test]
fn a_timer_takes_up_to_48_bytes_and_its_payload() {
    let bytes = |make: fn(usize)| {
        let at = |timers| measure(|| make(timers)).bytes_max as f64;
        (at(300_000) - at(200_000)) / 100_000.0
    };
    for (name, bytes) in [
        ("precise", bytes(|timers| drop(Precise::<u32>::with_capacity(timers)))),
        ("wheel", bytes(|timers| drop(Wheel::<u32>::with_capacity(timers)))),
        ("auto", bytes(|timers| drop(Auto::<u32>::with_capacity(timers)))),
    ] {
        println!("{name}: {bytes} bytes a timer");
        assert!(bytes <= 48.0 + 8.0, "{name}: {bytes} bytes a timer");
    }
}
