//! Kernel stacks as text: the functions that matter, the innermost first.

use tardy_model::event::{FRAME_SEPARATOR, IN_USER_SPACE, Taken};

/// Frames that are kept; the outermost beyond are left out.
pub const FRAMES_MAX: usize = 16;

/// Frames of a program that are kept behind those.
const PROGRAM_FRAMES_MAX: usize = 8;

/// What is shown of a frame whose function is not known: no address leaves the kernel.
const UNKNOWN: &str = "[unknown]";

/// Folds a stack whose frames are told by name, the innermost first: with or without the offset in the function
/// (`zap_pte_range+0x1f0`). What took the stack, and the way by which it was come to, is left out: the interrupt's own
/// frames, the scheduler's, and functions that only let interrupts or preemption in again, whose caller had them
/// off. `None` where that leaves no function that is known.
pub fn folded<'a>(taken: Taken, frames: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let frames: Vec<&str> = frames.into_iter().map(function_of).collect();
    let rest = match taken {
        Taken::Interrupted => below_interrupt(&frames)?,
        Taken::Left | Taken::Slept => below_scheduler(&frames),
    };
    let is_way = |frame: &&&str| SCHEDULER.contains(frame) || lets_in_again(frame);
    let way = rest.iter().take_while(is_way).count();
    let rest = if is_entry(rest.get(way)) { &rest[way + 1..] } else { &rest[way..] };
    let again = rest.iter().take_while(|frame| lets_in_again(frame)).count();
    let rest = &rest[again..];
    if rest.is_empty() {
        // Nobody sleeps there.
        return (taken != Taken::Slept).then(|| IN_USER_SPACE.to_owned());
    }
    let mut kept = rest.to_vec();
    // One after the other they tell no more than one.
    kept.dedup_by(|frame, before| *frame == UNKNOWN && *before == UNKNOWN);
    kept.truncate(FRAMES_MAX);
    if kept.iter().all(|frame| *frame == UNKNOWN) {
        return None;
    }
    Some(kept.join(FRAME_SEPARATOR))
}

/// A folded stack with the functions of the program behind those of the kernel, which it had called.
pub fn with_program(folded: &str, program: &[String]) -> String {
    let frames = program.iter().take(PROGRAM_FRAMES_MAX).map(String::as_str);
    std::iter::once(folded).chain(frames).collect::<Vec<_>>().join(FRAME_SEPARATOR)
}

/// Without the offset, the module, and what a compiler adds to the name of a part of a function.
fn function_of(frame: &str) -> &str {
    let frame = frame.trim();
    if frame.is_empty() || frame.starts_with("0x") {
        return UNKNOWN;
    }
    let end = frame.find(['+', ' ', '/', '[']).unwrap_or(frame.len());
    let name = &frame[..end];
    match name.find('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ if name.is_empty() => UNKNOWN,
        _ => name,
    }
}

/// Frames of what a late interrupt of the timer interrupted; `None` where there is no interrupt in sight.
fn below_interrupt<'a, 'b>(frames: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let entry = frames.iter().position(|frame| is_entry(Some(frame)))?;
    Some(&frames[entry + 1..])
}

/// Frames below the scheduler; all of them where it is not in sight, as in a stack that begins below it.
fn below_scheduler<'a, 'b>(frames: &'b [&'a str]) -> &'b [&'a str] {
    let at = frames.iter().position(|frame| *frame == "__schedule");
    at.map_or(frames, |at| &frames[at + 1..])
}

/// Where interrupts come into the kernel: x86-64, arm64, ARM.
fn is_entry(frame: Option<&&str>) -> bool {
    frame.is_some_and(|frame| {
        frame.starts_with("asm_sysvec_")
            || matches!(
                *frame,
                "asm_common_interrupt"
                    | "common_interrupt_return"
                    | "el1h_64_irq"
                    | "el0t_64_irq"
                    | "el1_irq"
                    | "el0_irq"
                    | "__irq_svc"
                    | "__irq_usr"
            )
    })
}

/// The way from a function that is preempted, or that waits, into the scheduler.
const SCHEDULER: &[&str] = &[
    "schedule",
    "schedule_preempt_disabled",
    "schedule_rtlock",
    "schedule_idle",
    "io_schedule",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_thunk",
    "preempt_schedule_notrace",
    "preempt_schedule_notrace_thunk",
    "preempt_schedule_irq",
    "dynamic_preempt_schedule",
    "dynamic_preempt_schedule_notrace",
    "__cond_resched",
    "_cond_resched",
    "dynamic_cond_resched",
    "__cond_resched_lock",
    "raw_irqentry_exit_cond_resched",
    "dynamic_irqentry_exit_cond_resched",
    "irqentry_exit_cond_resched",
    "irqentry_exit",
    "irqentry_exit_to_user_mode",
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "arm64_preempt_schedule_irq",
    "el1_interrupt",
    "el1h_64_irq_handler",
    "svc_preempt",
];

/// Functions that end a section without interrupts or preemption, in which nobody spends time.
fn lets_in_again(frame: &str) -> bool {
    let unlocks = |kind: &str| {
        let rest = frame.trim_start_matches('_').strip_prefix("raw_").unwrap_or(frame);
        rest.strip_prefix(kind).is_some_and(|rest| rest.starts_with("_unlock"))
    };
    unlocks("spin")
        || unlocks("read")
        || unlocks("write")
        || matches!(
            frame,
            "__local_bh_enable_ip"
                | "__rcu_read_unlock"
                | "rcu_read_unlock"
                | "native_irq_enable"
                | "pv_native_irq_enable"
                | "pv_native_restore_fl"
                | "native_restore_fl"
                | "trace_hardirqs_on"
                | "trace_preempt_on"
                | "migrate_enable"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::innermost;

    #[track_caller]
    fn is(taken: Taken, frames: &str, expected: Option<&str>) {
        assert_eq!(folded(taken, frames.split_whitespace()).as_deref(), expected, "{frames}");
    }

    #[test]
    fn what_a_timers_interrupt_came_upon() {
        is(
            Taken::Interrupted,
            "bpf_prog_1234_on_hrtimer_expire_entry+0x80 bpf_trace_run2+0x90 __hrtimer_run_queues+0x1a0 \
             hrtimer_interrupt+0xf0 __sysvec_apic_timer_interrupt+0x50 sysvec_apic_timer_interrupt+0x6c \
             asm_sysvec_apic_timer_interrupt+0x1a _raw_spin_unlock_irqrestore+0x15 \
             busy_wait.constprop.0+0x30 irqoff_test+0x20 kthread+0xf0",
            Some("busy_wait<-irqoff_test<-kthread"),
        );
        is(
            Taken::Interrupted,
            "hrtimer_interrupt asm_sysvec_apic_timer_interrupt net_rx_action handle_softirqs \
             irq_exit_rcu common_interrupt asm_common_interrupt some_task_function",
            Some(
                "net_rx_action<-handle_softirqs<-irq_exit_rcu<-common_interrupt<-asm_common_interrupt<-\
                 some_task_function",
            ),
        );
        is(
            Taken::Interrupted,
            "hrtimer_interrupt asm_sysvec_apic_timer_interrupt",
            Some("[user space]"),
        );
        is(Taken::Interrupted, "hrtimer_interrupt some_other_way", None);
    }

    #[test]
    fn where_a_task_left_the_cpu() {
        is(
            Taken::Left,
            "bpf_prog_7_x bpf_trace_run4 __schedule+0x4aa preempt_schedule_common+0x27 \
             __cond_resched+0x1c zap_pte_range+0x1f0 unmap_page_range+0x2d unmap_vmas",
            Some("zap_pte_range<-unmap_page_range<-unmap_vmas"),
        );
        is(
            Taken::Left,
            "__schedule preempt_schedule_irq raw_irqentry_exit_cond_resched irqentry_exit \
             asm_sysvec_reschedule_ipi _raw_spin_unlock_irq clear_page_erms",
            Some("clear_page_erms"),
        );
        is(
            Taken::Left,
            "__schedule schedule exit_to_user_mode_loop irqentry_exit_to_user_mode \
             asm_sysvec_apic_timer_interrupt",
            Some("[user space]"),
        );
        is(
            Taken::Left,
            "__schedule schedule exit_to_user_mode_loop do_syscall_64 entry_SYSCALL_64_after_hwframe",
            Some("do_syscall_64<-entry_SYSCALL_64_after_hwframe"),
        );
        is(Taken::Left, "__schedule schedule 0xffffffffc0123456 0xffffffff81234567", None);
        is(Taken::Slept, "folio_wait_bit_common+0x45/0x70", Some("folio_wait_bit_common"));
        is(
            Taken::Left,
            "__schedule schedule 0xffffffffc0123456 kthread",
            Some("[unknown]<-kthread"),
        );
    }

    #[test]
    fn functions_of_a_program_stand_behind_the_kernels() {
        let program: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
        let whole = with_program("futex_wait<-do_futex", &program[..2]);
        assert_eq!(whole, "futex_wait<-do_futex<-p0<-p1");
        assert_eq!(with_program(IN_USER_SPACE, &[]), IN_USER_SPACE);
        let deep = with_program(IN_USER_SPACE, &program);
        assert_eq!(deep.split(FRAME_SEPARATOR).count(), 1 + PROGRAM_FRAMES_MAX);
    }

    #[test]
    fn functions_without_a_name_are_told_once_in_a_row() {
        is(
            Taken::Left,
            "__schedule schedule futex_wait 0x7f01 0x7f02 main 0x7f03",
            Some("futex_wait<-[unknown]<-main<-[unknown]"),
        );
    }

    #[test]
    fn a_deep_stack_is_cut_and_its_first_function_is_the_innermost() {
        let deep: Vec<String> = (0..40).map(|n| format!("f{n}+0x{n:x}/0x100 [module]")).collect();
        let folded = folded(Taken::Left, deep.iter().map(String::as_str)).unwrap();
        assert_eq!(folded.split(FRAME_SEPARATOR).count(), FRAMES_MAX);
        assert_eq!(innermost(&folded), "f0");
    }
}
