/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * High-resolution timers: armed, cancelled, expired. Where a callback ends is not asked: that hook
 * would be one more on the way of every wakeup, and one more for each timer that expires with it. The
 * recorder takes it from what the CPU does next. (The loop's reading of the clock comes before the
 * claim, so a first expiry's record may appear a little later than its time says.)
 */

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

/* No system call has this number, nor does the kernel say so of a task that is in none. */
#define CALL_NONE ((__u32)-1)

/* In its place in an expiry's definition there is where its thread is woken, or this. */
#define NOT_TOLD CALL_NONE

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
 * system call or where the owner is woken. The slack takes both numbers of the record.
 *
 * This fills what the timer itself tells; the rest is for the caller, the publishing the last.
 */
static __always_inline void fill_hrtimer(const struct claim *claim, struct hrtimer *timer, __u32 owner)
{
	struct record *record = claim->record, *definition = record + 1;
	__s64 soft_ns = timer->_softexpires;

	record->a = soft_ns;
	record->bc = timer->node.expires - soft_ns;
	definition->time_ns = (__u64)timer->function;
	definition->what = what(owner, TAG_TIMER_DEFINITION, 0);
	definition->a = (__u64)timer;
}

static __always_inline int armed(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	/*
	 * A sleeper arms its timer itself, in task context; that spares two reads through pointers.
	 * Of all other timers the function tells what call they are for, if any.
	 */
	bool sleeper = is_sleeper(timer);
	struct claim claim;

	if (!claim_slots(&claim, 2))
		return 0;
	fill_hrtimer(&claim, timer, sleeper ? own_id() : 0);
	claim.record[1].bc = both(timer->base->clockid, sleeper ? current_call() : CALL_NONE);
	claim.record->what = what(current_task(), TAG_TIMER_ARM, (__u8)ARGUMENT(1));
	publish(claim.record, claim.time_ns);
	return 0;
}

SEC("tp_btf/hrtimer_start")
int on_hrtimer_start(__u64 *ctx)
{
	return armed(ctx);
}

/* TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE: whom hrtimer_wakeup() wakes. */
#define SLEEPS 3

/* Who sleeps on a timer, if anybody. */
struct sleeper {
	/* The address of his task. */
	__u64 address;
	__u32 task;
	/* In halves of CPU and priority, or NOT_TOLD. */
	__u32 where;
};

/*
 * Looks who sleeps on a timer that is about to wake him. Where he is comes only where it is sure that he
 * will be woken; else sched_waking will tell. A flight recorder leaves his id to that too.
 */
static __always_inline struct sleeper sleeper_of(struct hrtimer *timer)
{
	struct sleeper sleeper = { 0, 0, NOT_TOLD };
	struct task_struct *task;

	if (!is_sleeper(timer))
		return sleeper;
	/* The task is cleared once it has been woken. */
	if (!casts()) {
		task = BPF_CORE_READ((struct hrtimer_sleeper *)timer, task);
		sleeper.address = (__u64)task;
		if (task && !overwrites)
			sleeper.task = BPF_CORE_READ(task, pid);
		return sleeper;
	}
	task = bpf_core_cast(timer, struct hrtimer_sleeper)->task;
	sleeper.address = (__u64)task;
	if (!task || overwrites)
		return sleeper;
	sleeper.task = task->pid;
	if (task->__state & SLEEPS)
		sleeper.where = halves(task_cpu(task), task->prio);
	return sleeper;
}

#define CLOCK_MONOTONIC 1

/* What an expiry's record needs beside the timer's own fields. */
struct expiry {
	__u32 clock;
	__u8 mode;
};

/* What the base says is read through a pointer, so that of the most frequent one is remembered. */
static __always_inline void look_at_base(struct expiry *expiry, struct ring *ring,
					 struct hrtimer *timer)
{
	__u64 base = (__u64)timer->base;

	expiry->clock = CLOCK_MONOTONIC;
	expiry->mode = 0;
	if (ring->monotonic_base == base)
		return;
	expiry->clock = timer->base->clockid;
	if (timer->is_soft)
		expiry->mode |= MODE_SOFT;
	else if (expiry->clock == CLOCK_MONOTONIC)
		ring->monotonic_base = base;
}

/*
 * When a callback begins: as the loop has it, where this is its first. Only in the interrupt: a softirq
 * lets interrupts in between its reading of the clock and the callback. The mode tells of another that
 * it is in the same loop.
 */
static __always_inline __u64 begin_ns(struct expiry *expiry, struct ring *ring, __u64 *ctx)
{
	__u64 now_ns;

	if (!casts())
		return bpf_ktime_get_ns();
	/* A ktime_t, read as another type that begins with a number of 64 bits. */
	now_ns = bpf_core_cast((void *)ARGUMENT(1), struct timespec64)->tv_sec;
	if (ring->loop_ns == now_ns) {
		expiry->mode |= EXPIRY_SAME_LOOP;
		return bpf_ktime_get_ns();
	}
	ring->loop_ns = now_ns;
	if (expiry->clock == CLOCK_MONOTONIC && !(expiry->mode & MODE_SOFT))
		return now_ns;
	return bpf_ktime_get_ns();
}

/* In the flags of an expiry: in the same loop as the one before. */
_Static_assert(EXPIRY_SAME_LOOP != MODE_SOFT, "the flags of an expiry");

/* Fills a claim with an expiry. */
static __always_inline void put_expiry(struct claim *claim, struct ring *ring, __u64 *ctx,
				       const struct sleeper *sleeper)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct expiry expiry;

	fill_hrtimer(claim, timer, sleeper->task);
	look_at_base(&expiry, ring, timer);
	claim->record[1].bc = both(expiry.clock, sleeper->where);
	claim->time_ns = begin_ns(&expiry, ring, ctx);
	claim->record->what = what(current_task(), TAG_EXPIRE_BEGIN, expiry.mode);
	publish(claim->record, claim->time_ns);
}

SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer_expire_entry(__u64 *ctx)
{
	struct ring *ring = own_ring();
	struct claim claim;

	if (claim_room(&claim, ring, 2)) {
		struct sleeper sleeper = sleeper_of((void *)ARGUMENT(0));

		expect_waking(ring, &claim, sleeper.where == NOT_TOLD ? 0 : sleeper.address);
		put_expiry(&claim, ring, ctx, &sleeper);
	}
	return 0;
}

SEC("tp_btf/hrtimer_cancel")
int on_hrtimer_cancel(__u64 *ctx)
{
	return emit(TAG_TIMER_CANCEL, 0, ARGUMENT(0), 0, 0);
}
