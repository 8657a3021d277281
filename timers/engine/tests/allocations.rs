//! What a queue with room for its timers never does.

use allocation_counter::{AllocationInfo, measure};
use fastrand::Rng;
use tardy_timers::queue::{Auto, Heap, LazyRearm, Precise, Queue, Wheel};
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
    allocates_nothing(Heap::with_capacity(TIMERS));
    allocates_nothing(LazyRearm::with_capacity(TIMERS));
    allocates_nothing(Wheel::with_capacity(TIMERS));
    allocates_nothing(Auto::with_capacity(TIMERS));
}

#[test]
fn without_it_does() {
    let mut queue = Precise::new();
    assert_ne!(used(&mut queue, &mut Vec::with_capacity(TIMERS), 0).count_total, 0);
}

/// Bytes for each of so many timers, the queue full.
fn bytes_of_a_timer<Q: Queue<u32>>(make: fn(usize) -> Q) -> f64 {
    let full = |timers: usize| {
        let full = measure(|| {
            let mut rng = Rng::with_seed(4);
            let mut queue = make(timers);
            for number in 0..timers as u32 {
                queue.insert(Expiry::at(rng.u64(0..1_000_000_000)), number).unwrap();
            }
        });
        full.bytes_max as f64
    };
    (full(300_000) - full(200_000)) / 100_000.0
}

/// 40 bytes and its entry; beside the payload, here four bytes and four more for its `Option`.
#[test]
fn a_timer_takes_up_to_48_bytes_and_its_payload() {
    for (name, bytes) in [
        ("precise", bytes_of_a_timer(Precise::with_capacity)),
        ("wheel", bytes_of_a_timer(Wheel::with_capacity)),
        ("auto", bytes_of_a_timer(Auto::with_capacity)),
    ] {
        println!("{name}: {bytes} bytes a timer");
        assert!(bytes <= 48.0 + 8.0, "{name}: {bytes} bytes a timer");
    }
}
