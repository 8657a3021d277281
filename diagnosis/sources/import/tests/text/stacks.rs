//! Stacks below events, as ftrace, trace-cmd and perf write them.

use super::{Read, read};
use tardy_model::Kind;
use tardy_model::event::Taken;

/// Time, whose, which stack and its frames, of each one.
fn stacks(read: &Read) -> Vec<(u64, u32, Taken, String)> {
    let told = read.events.iter().filter_map(|event| match event.kind() {
        Kind::Stack(stack) => {
            let frames = read.tables.name(stack.frames).to_owned();
            Some((event.time_ns, stack.of.0, stack.taken, frames))
        }
        _ => None,
    });
    told.collect()
}

const SWITCH: &str = "sched_switch: prev_comm=unmapper prev_pid=42 prev_prio=120 prev_state=R+ ==> \
                      next_comm=cyclic next_pid=7 next_prio=19";

#[test]
fn ftraces_stacks_have_lines_of_their_own() {
    let trace = format!(
        "# tracer: nop\n\
         \x20       unmapper-42      [001] d..2.   100.000100: {SWITCH}\n\
         \x20       unmapper-42      [001] d..2.   100.000102: <stack trace>\n\
         \x20=> __schedule\n\
         \x20=> preempt_schedule_common\n\
         \x20=> __cond_resched\n\
         \x20=> zap_pte_range\n\
         \x20=> unmap_vmas\n\
         \x20         cyclic-7       [001] d.h..   100.000300: local_timer_entry: vector=236\n\
         \x20         cyclic-7       [001] d.h..   100.000301: <stack trace>\n\
         \x20=> trace_event_raw_event_x86_irq_vector\n\
         \x20=> sysvec_apic_timer_interrupt\n\
         \x20=> asm_sysvec_apic_timer_interrupt\n\
         \x20=> _raw_spin_unlock_irqrestore\n\
         \x20=> busy_wait\n\
         \x20         cyclic-7       [001] d.h..   100.000310: local_timer_exit: vector=236\n"
    );
    let found = stacks(&read(trace));
    let left = "zap_pte_range<-unmap_vmas".to_owned();
    assert_eq!(found[0], (100_000_099_999, 42, Taken::Left, left), "just before its switch");
    let interrupted = (100_000_301_000, 7, Taken::Interrupted, "busy_wait".to_owned());
    assert_eq!(found[1..], [interrupted]);
}

#[test]
fn trace_cmds_stacks_are_events() {
    let trace = format!(
        "cpus=2\n\
         \x20       unmapper-42    [001]   100.000100: {SWITCH}\n\
         \x20       unmapper-42    [001]   100.000102: kernel_stack:         <stack trace >\n\
         => __schedule (ffffffff81a3c3b1)\n\
         => schedule (ffffffff81a3c8e0)\n\
         => io_schedule (ffffffff81a3cc42)\n\
         => folio_wait_bit_common (ffffffff8130a5b1)\n\
         \x20         cyclic-7     [001]   100.000310: local_timer_exit: vector=236\n"
    );
    let read = read(trace);
    let frames = "folio_wait_bit_common".to_owned();
    assert_eq!(stacks(&read), [(100_000_099_999, 42, Taken::Left, frames)]);
    assert!(!read.closing.notes.iter().any(|note| note.contains("kernel_stack")));
}

#[test]
fn who_was_held_up_has_the_function_in_which_it_slept() {
    let trace = "# tracer: nop\n\
         \x20         cyclic-7       [001] d.h..   100.000300: sched_blocked_reason: pid=42 iowait=1 \
         caller=folio_wait_bit_common+0x1a2/0x340\n\
         \x20         cyclic-7       [001] d.h..   100.000310: sched_blocked_reason: pid=43 iowait=0 \
         caller=0xffffffff81a3c3b1\n\
         \x20         cyclic-7       [001] d.h..   100.000320: sched_blocked_reason: pid=44 iowait=0 \
         caller=rwsem_down_read_slowpath+0x1a2/0x340\n\
         \x20         cyclic-7       [001] d.h..   100.000330: sched_blocked_reason: pid=45 iowait=1 \
         caller=0xffffffff81a3c3b1\n";
    let slept = |ns, task, frames: &str| (ns, task, Taken::Slept, frames.to_owned());
    let expected = [
        slept(100_000_300_000, 42, "folio_wait_bit_common<-[I/O]"),
        slept(100_000_320_000, 44, "rwsem_down_read_slowpath"),
        slept(100_000_330_000, 45, "[I/O]"),
    ];
    assert_eq!(stacks(&read(trace)), expected);
}

#[test]
fn perfs_call_chains_reach_into_programs() {
    let trace = format!(
        "unmapper    42 [001]   100.000100000: sched:{SWITCH}\n\
         \tffffffff81a3c3b1 __schedule+0x301 ([kernel.kallsyms])\n\
         \tffffffff81a3c8e0 schedule+0x20 ([kernel.kallsyms])\n\
         \tffffffff8130a5b1 futex_wait_queue+0x61 ([kernel.kallsyms])\n\
         \t    7f1d2c0a5b1e __lll_lock_wait+0x1e (/usr/lib/libc.so.6)\n\
         \t    55d2c0a5b1e0 main+0x1e0 (/home/user/program)\n\
         \n\
         cyclic     7 [001]   100.000310000: irq_vectors:local_timer_exit: vector=236\n\
         \n"
    );
    let frames = "futex_wait_queue<-__lll_lock_wait<-main".to_owned();
    assert_eq!(stacks(&read(trace)), [(100_000_099_999, 42, Taken::Left, frames)]);
}

#[test]
fn a_stack_of_the_idle_task_or_of_nothing_known_tells_nothing() {
    let idle = "<idle>-0 [001] d..2.   100.000100: sched_switch: prev_comm=swapper/1 prev_pid=0 \
                prev_prio=120 prev_state=R ==> next_comm=cyclic next_pid=7 next_prio=19\n\
                <idle>-0 [001] d..2.   100.000102: <stack trace>\n => __schedule\n => do_idle\n";
    assert_eq!(stacks(&read(idle)), []);
    let unknown = format!(
        "unmapper-42 [001] d..2.   100.000100: {SWITCH}\n\
         unmapper-42 [001] d..2.   100.000102: <stack trace>\n => 0xffffffff81a3c3b1\n"
    );
    assert_eq!(stacks(&read(unknown)), []);
}
