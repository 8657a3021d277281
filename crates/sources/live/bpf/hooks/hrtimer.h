/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* High-resolution timers: armed, cancelled, expired. */

extern const void hrtimer_wakeup __ksym __weak;

static __always_inline bool is_sleeper(struct hrtimer *timer)
{
	return (__u64)timer->function == (__u64)&hrtimer_wakeup;
}

/*
 * Whether a pointer may be taken for one to another type and read by plain loads, which are a tenth
 * of a reading call (since Linux 6.2).
 */
static __always_inline bool casts(void)
{
	return bpf_ksym_exists(bpf_rdonly_cast);
}

/* The thread that sleeps on a timer; 0 where none does. */
static __always_inline __u32 sleeper_of(struct hrtimer *timer)
{
	struct hrtimer_sleeper *sleeper = (void *)timer;
	struct task_struct *task;

	if (!is_sleeper(timer))
		return 0;
	/* The task is cleared once it has been woken. */
	if (casts()) {
		task = bpf_core_cast(timer, struct hrtimer_sleeper)->task;
		return task ? task->pid : 0;
	}
	task = BPF_CORE_READ(sleeper, task);
	return task ? BPF_CORE_READ(task, pid) : 0;
}

/* No system call has this number, nor does the kernel say so of a task that is in none. */
#define CALL_NONE ((__u32)-1)

#if defined(__TARGET_ARCH_x86)
#define CALL_OF(regs) ((regs)->orig_ax)
#else
#define CALL_OF(regs) ((regs)->syscallno)
#endif

/*
 * The system call that the current task is in, which must be in task context: only that its
 * registers were saved when it came into the kernel. A task that came by a fault or an interrupt is
 * in none, which is what the kernel keeps for it too. Needs Linux 5.15.
 */
static __always_inline __u32 current_call(void)
{
	struct task_struct *task;
	struct pt_regs *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___calls, BPF_FUNC_task_pt_regs___calls))
		return CALL_NONE;
	task = bpf_get_current_task_btf();
	if (task->flags & PF_KTHREAD)
		return CALL_NONE;
	regs = (void *)bpf_task_pt_regs(task);
	return (__u32)CALL_OF(regs);
}

/*
 * The record of a timer is followed by its definition, which the recorder turns into an id: the
 * function in the place of the time, the owner in that of the task, the address, the clock, the
 * system call. The slack takes both numbers of the record.
 */
static __always_inline void put_hrtimer(const struct claim *claim, struct hrtimer *timer, __u8 tag,
					__u8 mode, __u32 clock, __u32 owner, __u32 call)
{
	__s64 soft_ns = timer->_softexpires;
	struct record *definition = claim->record + 1;

	definition->time_ns = (__u64)timer->function;
	definition->what = what(owner, TAG_TIMER_DEFINITION, 0);
	definition->a = (__u64)timer;
	definition->bc = both(clock, call);
	put(claim, current_task(), tag, mode, soft_ns, timer->node.expires - soft_ns);
}

static __always_inline int armed(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct claim claim;
	/*
	 * A sleeper arms its timer itself, in task context; that spares two reads through pointers.
	 * Of all other timers the function tells what call they are for, if any.
	 */
	bool sleeper = is_sleeper(timer);

	if (claim_slots(&claim, 2))
		put_hrtimer(&claim, timer, TAG_TIMER_ARM, (__u8)ARGUMENT(1), timer->base->clockid,
			    sleeper ? current_task() : 0, sleeper ? current_call() : CALL_NONE);
	return 0;
}

SEC("tp_btf/hrtimer_start")
int on_hrtimer_start(__u64 *ctx)
{
	return armed(ctx);
}

static __always_inline __u8 mode_of(struct hrtimer *timer)
{
	/* Each is 0 or 1. */
	return timer->is_rel * MODE_REL | timer->is_soft * MODE_SOFT | timer->is_hard * MODE_HARD;
}

SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer_expire_entry(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct claim claim;

	if (claim_slots(&claim, 2))
		put_hrtimer(&claim, timer, TAG_EXPIRE_BEGIN, mode_of(timer), timer->base->clockid,
			    sleeper_of(timer), CALL_NONE);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int on_hrtimer_expire_exit(__u64 *ctx)
{
	return emit(TAG_EXPIRE_END, 0, ARGUMENT(0), 0, 0);
}

SEC("tp_btf/hrtimer_cancel")
int on_hrtimer_cancel(__u64 *ctx)
{
	return emit(TAG_TIMER_CANCEL, 0, ARGUMENT(0), 0, 0);
}
