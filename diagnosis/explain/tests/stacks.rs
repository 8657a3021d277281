//! Kernel stacks stand beside the segments that they are evidence for, and move nothing.
#![allow(missing_docs)]

mod trace;

use proptest::prelude::*;
use tardy_explain::{Explainer, Explanation, Options, StackFinding, Watch, why};
use tardy_model::event::{Stack, Taken};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, TaskId};
use trace::text::parse;

/// Task 20 keeps interrupts off until 31000 and cannot be preempted until 90000.
const TRACE: &str = "
    task 7 cyclic watched
    task 20 unmapper
    timer 1 hrtimer_wakeup owner 7
    name 1 native_flush_tlb<-flush_tlb_mm_range<-unmap_vmas
    name 2 zap_pte_range<-unmap_page_range<-unmap_vmas<-__x64_sys_munmap
    name 3 [user-space-of-another]
         1 0 7 switch S 20 120
     31000 0 20 irq+ local_timer
     31000 0 20 expire+ 1 soft 1000 slack 0
     31002 0 20 stack interrupted 20 1
     31005 0 20 waking 7 on 0 prio 19
     31006 0 20 expire- 1
     31008 0 20 irq- local_timer
     89999 0 20 stack left 20 2
     90000 0 20 switch R 7 19
";

fn explain(batch: &Batch) -> Explanation {
    let mut explainer = Explainer::new(Options::default(), ());
    explainer.batch(batch);
    explainer.finish().0
}

/// Cause and frames of each segment of the worst wakeup.
fn places(explanation: &Explanation) -> Vec<(&'static str, String)> {
    let worst = &explanation.worst[0];
    let segments = worst.wakeup.segments.iter();
    segments.map(|segment| (segment.cause.0, worst.frames(segment))).collect()
}

fn place_of(trace: &str, cause: &str) -> String {
    let explanation = explain(&parse(trace));
    let found = places(&explanation).into_iter().find(|(known, _)| *known == cause);
    found.unwrap_or_else(|| panic!("no {cause}")).1
}

#[test]
fn each_segment_has_the_stack_of_its_own_kind() {
    let interrupted = "native_flush_tlb<-flush_tlb_mm_range<-unmap_vmas";
    let left = "zap_pte_range<-unmap_page_range<-unmap_vmas<-__x64_sys_munmap";
    assert_eq!(place_of(TRACE, "irq_delay"), interrupted);
    assert_eq!(place_of(TRACE, "not_preemptible"), left);
    assert_eq!(place_of(TRACE, "callback"), "");
}

#[test]
fn a_culprit_and_its_group_say_where_they_were() {
    let explanation = explain(&parse(TRACE));
    let group = explanation.groups.iter().find(|found| found.group.name == "unmapper").unwrap();
    let (first, share) = group.place(tardy_model::Cause("not_preemptible")).unwrap();
    assert_eq!((first.function(), share), ("zap_pte_range", 1.0));
    let functions: Vec<_> = group.stacks.iter().map(StackFinding::function).collect();
    assert_eq!(functions, ["zap_pte_range", "native_flush_tlb"]);
}

#[test]
fn the_story_says_where() {
    let explanation = explain(&parse(TRACE));
    let story = why(&explanation.worst[0], &explanation.patterns);
    let told = |words: &str| story.iter().any(|sentence| sentence.text.contains(words));
    assert!(
        told("unmapper in zap_pte_range <- unmap_page_range <- unmap_vmas runs on for"),
        "{story:#?}"
    );
    assert!(told("no interrupt comes") && told("unmapper in native_flush_tlb"), "{story:#?}");
}

/// Each of these is nearly the stack of 89999, and none is that of the segment.
#[test]
fn anothers_stack_is_nobodys() {
    for other in [
        "stack left 21 2",        // another task's
        "stack interrupted 20 2", // of the interrupt
        "stack slept 20 2",       // where it had slept
    ] {
        let trace = TRACE.replace("stack left 20 2", other);
        assert_eq!(place_of(&trace, "not_preemptible"), "", "{other}");
    }
    let before = TRACE.replace("89999 0 20 stack left 20 2", "30999 0 20 stack left 20 2");
    let before = before.replace("     31000 0 20 irq+", "     31001 0 20 irq+");
    assert_eq!(place_of(&before, "not_preemptible"), "", "it left the CPU before");
}

/// Task 7 waits 10000 for a lock that task 8 has, which sleeps meanwhile; then 7 asks for a page.
const WAITS: &str = "
    task 7 high syscalls
    task 8 low
    name 1 futex_wait_queue<-futex_wait<-do_futex
    name 2 do_nanosleep<-hrtimer_nanosleep
    name 3 folio_wait_bit_common<-filemap_fault
         1 1 0 switch R 8 120
       500 1 8 stack left 8 2
       500 1 8 switch S 0 120
      1000 0 7 futex LOCK_PI 64
      1100 0 7 boost 8 120 59
      1200 0 7 stack left 7 1
      1200 0 7 switch S 0 120
     11000 1 0 waking 8 on 1 prio 59
     11100 1 0 switch R 8 59
     11200 1 8 waking 7 on 0 prio 59
     11300 0 0 switch R 7 59
     11400 0 7 return
     12000 0 7 switch D 0 120
     19000 0 0 irq+ local_timer
     19001 0 0 waking 7 on 0 prio 59
     19002 0 0 stack slept 7 3
     19003 0 0 irq- local_timer
     19010 0 0 switch R 7 59
     19020 0 7 switch S 0 120
";

#[test]
fn a_wait_says_where_who_waits_is_and_who_has_the_lock() {
    let explanation = explain(&parse(WAITS));
    let is_lock = |worst: &&tardy_explain::WorstWakeup| worst.wakeup.lock.is_some();
    let lock = explanation.worst.iter().find(is_lock).expect("a call for a lock");
    let waits = lock.wakeup.stretches.iter().map(|stretch| stretch.stack);
    let waits: Vec<NameId> = waits.filter(|stack| *stack != NameId::NONE).collect();
    assert_eq!(waits, [NameId(1)], "{:?}", lock.wakeup.stretches);
    let held = lock.wakeup.segments.iter().find(|segment| segment.cause.0 == "lock").unwrap();
    assert_eq!(lock.frames(held), "do_nanosleep<-hrtimer_nanosleep", "it slept before");
    let story: Vec<String> = why(lock, &[]).into_iter().map(|sentence| sentence.text).collect();
    let told = "high waits (S) for the lock at 0x40 in futex_wait_queue <- futex_wait <- do_futex, which low holds, \
                asleep in do_nanosleep <- hrtimer_nanosleep;";
    assert!(story.iter().any(|text| text.starts_with(told)), "{story:#?}");
}

/// Who has the lock sleeps for a part of that only, which is told when it is woken.
#[test]
fn a_function_stands_for_a_time_most_of_which_was_slept_there() {
    let held_in = |sleeps_ns: u32| {
        let before = "       500 1 8 stack left 8 2\n       500 1 8 switch S 0 120\n";
        let waits = "1200 0 7 switch S 0 120\n";
        let sleeps = format!("{waits} {sleeps_ns} 1 8 switch S 0 120\n");
        let woken = "11000 1 0 stack slept 8 2\n 11000 1 0 waking 8";
        let trace = WAITS.replace(before, "").replace(waits, &sleeps);
        let trace = trace.replace("11000 1 0 waking 8", woken);
        let explanation = explain(&parse(&trace));
        let is_lock = |worst: &&tardy_explain::WorstWakeup| worst.wakeup.lock.is_some();
        let lock = explanation.worst.iter().find(is_lock).expect("a call for a lock");
        let held = lock.wakeup.segments.iter().filter(|segment| segment.cause.0 == "lock");
        let longest = held.max_by_key(|segment| segment.ns).expect("it was held");
        lock.frames(longest)
    };
    assert_eq!(held_in(3_000), "do_nanosleep<-hrtimer_nanosleep");
    assert_eq!(held_in(9_000), "", "it ran for most of it");
}

/// As Android tells it: when the thread is awake already and has not run yet.
#[test]
fn a_wakeup_and_the_longest_wait_say_where_the_thread_had_slept() {
    let place = "folio_wait_bit_common<-filemap_fault";
    let explanation = explain(&parse(WAITS));
    let woken = explanation.worst.iter().find(|worst| worst.wakeup.expiry_ns == 19_001).unwrap();
    assert_eq!(woken.label(tardy_model::Culprit::Function(woken.wakeup.slept_in)).name, place);
    let story: Vec<String> = why(woken, &[]).into_iter().map(|sentence| sentence.text).collect();
    let told = "it had slept in folio_wait_bit_common <- filemap_fault.";
    assert!(story.iter().any(|text| text.contains(told)), "{story:#?}");
    let longest = |explanation: &Explanation| {
        let waits = explanation.waits.iter();
        let longest = waits.max_by_key(|wait| wait.longest.since_ns).expect("waits");
        (longest.longest.ns, longest.longest.slept_in.clone())
    };
    assert_eq!(longest(&explanation), (7_001, place.to_owned()));
    // Near misses: of another task, or when the thread has run since.
    for (line, other) in [
        ("19002 0 0 stack slept 7 3", "19002 0 0 stack slept 8 3"),
        ("19002 0 0 stack slept 7 3", "19002 0 0 stack interrupted 7 3"),
        ("19020 0 7 switch S 0 120", "19011 0 7 stack slept 7 3\n 19020 0 7 switch S 0 120"),
    ] {
        let without = WAITS.replace("19002 0 0 stack slept 7 3\n", "\n");
        let trace = if line.starts_with("19002") { WAITS } else { &without };
        let trace = trace.replace(line, other);
        let explanation = explain(&parse(&trace));
        assert_eq!(longest(&explanation), (7_001, String::new()), "{other}");
    }
}

/// Everything but the stacks themselves.
fn sums(batch: &Batch, everybody: bool) -> String {
    let watch = Watch { all: everybody, ..Watch::default() };
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, ());
    explainer.batch(batch);
    let explanation = explainer.finish().0;
    let worst = explanation.worst.iter().map(|worst| {
        let mut wakeup = worst.wakeup.clone();
        wakeup.segments.iter_mut().for_each(|segment| segment.stack = NameId::NONE);
        wakeup.stretches.iter_mut().for_each(|stretch| stretch.stack = NameId::NONE);
        wakeup.slept_in = NameId::NONE;
        (wakeup, worst.lanes.len(), worst.steps.len())
    });
    let worst: Vec<_> = worst.collect();
    let causes: Vec<_> = explanation.causes.iter().map(|found| (found.cause, found.ns)).collect();
    format!("{:?} {causes:?} {:?} {worst:#?}", explanation.gaps, explanation.discarded)
}

/// An event of any kind with small numbers, and whether a stack comes before it.
fn record() -> impl Strategy<Value = ([u8; 32], u64, bool)> {
    let bytes = prop::array::uniform32(0u8..4);
    (bytes, 0u8..39, 0u64..50, any::<bool>()).prop_map(|(mut bytes, tag, later_ns, stack)| {
        bytes[9..12].fill(0);
        bytes[13] = 0;
        bytes[14] = tag;
        bytes[17..24].fill(0);
        bytes[25..28].fill(0);
        bytes[29..32].fill(0);
        (bytes, later_ns, stack)
    })
}

proptest! {
    #[test]
    fn with_or_without_stacks_all_is_the_same(records in prop::collection::vec(record(), 0..300)) {
        let (mut with, mut without) = (parse(TRACE), parse(TRACE));
        let mut now_ns = 100_000;
        for (mut bytes, later_ns, stack) in records {
            now_ns += later_ns;
            bytes[..8].copy_from_slice(&u64::to_le_bytes(now_ns));
            let event = Event::from_bytes(&bytes);
            if stack {
                let taken = Taken::ALL[usize::from(bytes[16]) % 3];
                let (of, late_ns) = (TaskId(bytes[24].into()), 5);
                let stack = Stack { taken, of, late_ns, frames: NameId(1) };
                let (cpu, task) = (CpuId(bytes[28].into()), TaskId(bytes[20].into()));
                with.events.push(Event::new(now_ns, cpu, task, Kind::Stack(stack)));
            }
            with.events.push(event);
            without.events.push(event);
        }
        for everybody in [false, true] {
            prop_assert_eq!(sums(&with, everybody), sums(&without, everybody));
        }
    }
}
