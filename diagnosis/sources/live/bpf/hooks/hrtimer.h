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
	__u32 call;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___calls, BPF_FUNC_task_pt_regs___calls))
		return CALL_NONE;
	task = bpf_get_current_task_btf();
	if (task->flags & PF_KTHREAD)
		return CALL_NONE;
	regs = (void *)bpf_task_pt_regs(task);
	call = (__u32)CALL_OF(regs);
	if (call != CALL_NONE && in_compat_call(task, regs))
		call |= CALL_COMPAT;
	return call;
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
	claim.record->what = what(own_id(), TAG_TIMER_ARM, (__u8)ARGUMENT(1));
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

static const struct sleeper nobody = { 0, 0, NOT_TOLD };

/*
 * Looks who sleeps on a timer that is about to wake him. Where he is comes only where it is sure that he
 * will be woken; else sched_waking will tell.
 */
static __always_inline struct sleeper sleeper_of(struct hrtimer *timer)
{
	struct sleeper sleeper = nobody;
	struct task_struct *task;

	if (!is_sleeper(timer))
		return sleeper;
	/* The task is cleared once it has been woken. */
	if (!casts()) {
		task = BPF_CORE_READ((struct hrtimer_sleeper *)timer, task);
		sleeper.address = (__u64)task;
		if (task)
			sleeper.task = BPF_CORE_READ(task, pid);
		return sleeper;
	}
	task = bpf_core_cast(timer, struct hrtimer_sleeper)->task;
	sleeper.address = (__u64)task;
	if (!task)
		return sleeper;
	sleeper.task = task->pid;
	if (task->__state & SLEEPS)
		sleeper.where = halves(task_cpu(task), task->prio);
	return sleeper;
}

#define CLOCK_MONOTONIC 1

/* In the flags of an expiry: in the same loop as the one before. */
_Static_assert(!(EXPIRY_SAME_LOOP & (MODE_SOFT | MODE_IN_THREAD)), "the flags of an expiry");

/* Whether the timers of a base expire in a thread that the kernel has for that. */
static __always_inline bool is_in_thread(const struct hrtimer_clock_base *base)
{
	if (bpf_core_enum_value_exists(enum hrtimer_base_type___in_thread,
				       HRTIMER_BASE_MONOTONIC_ORDERED___in_thread))
		return base->index >= bpf_core_enum_value(enum hrtimer_base_type___in_thread,
							  HRTIMER_BASE_MONOTONIC_ORDERED___in_thread);
	if (bpf_core_enum_value_exists(enum hrtimer_base_type___in_thread,
				       HRTIMER_BASE_MONOTONIC_LEVEL1___in_thread))
		return base->index >= bpf_core_enum_value(enum hrtimer_base_type___in_thread,
							  HRTIMER_BASE_MONOTONIC_LEVEL1___in_thread);
	return false;
}

/* What the loop that runs a timer read from its clock: a ktime_t, as another type that begins with it. */
static __always_inline __u64 loop_clock_ns(__u64 *ctx)
{
	return bpf_core_cast((void *)ARGUMENT(1), struct timespec64)->tv_sec;
}

/*
 * The rarer way of put_expiry(): the clock is read, as a softirq lets interrupts in between its own
 * reading and the callback.
 */
static __noinline int put_other_expiry(struct record *record, struct ring *ring, __u64 *ctx,
				       __u32 current)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	__u32 clock = timer->base->clockid;
	bool in_thread = is_in_thread(timer->base);
	bool is_deferred = timer->is_soft || in_thread;
	__u8 flags = (timer->is_soft ? MODE_SOFT : 0) | (in_thread ? MODE_IN_THREAD : 0);
	__u64 due_ns = record->a + record->bc;
	__u64 begin_ns;

	*(__u32 *)&record[1].bc = clock;
	if (casts()) {
		__u64 now_ns = loop_clock_ns(ctx);

		if (ring->loop_ns == now_ns)
			flags |= EXPIRY_SAME_LOOP;
		ring->loop_ns = now_ns;
	}
	if (!is_deferred && clock == CLOCK_MONOTONIC)
		ring->monotonic_base = (__u64)timer->base;
	record->what = what(current, TAG_EXPIRE_BEGIN, flags);
	begin_ns = bpf_ktime_get_ns();
	publish(record, begin_ns);
	if (!(flags & EXPIRY_SAME_LOOP) && !is_deferred && clock == CLOCK_MONOTONIC)
		look_for_late_interrupt(ctx, begin_ns - due_ns);
	return 0;
}

/*
 * Fills the record of an expiry and publishes it. Most timers expire in the interrupt by
 * CLOCK_MONOTONIC, and their base is remembered, as looking at it takes reads through pointers. Of them
 * the loop's first begins when the loop has read the clock; of another the flags tell that it is in the
 * same loop.
 */
static __always_inline void put_expiry(const struct claim *claim, struct ring *ring, __u64 *ctx,
				       const struct sleeper *sleeper, __u32 current)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct record *record = claim->record;
	__u64 now_ns;

	fill_hrtimer(claim, timer, sleeper->task);
	record[1].bc = both(CLOCK_MONOTONIC, sleeper->where);
	if (!casts() || ring->monotonic_base != (__u64)timer->base) {
		put_other_expiry(record, ring, ctx, current);
		return;
	}
	now_ns = loop_clock_ns(ctx);
	if (ring->loop_ns == now_ns) {
		record->what = what(current, TAG_EXPIRE_BEGIN, EXPIRY_SAME_LOOP);
		publish(record, bpf_ktime_get_ns());
	} else {
		ring->loop_ns = now_ns;
		record->what = what(current, TAG_EXPIRE_BEGIN, 0);
		publish(record, now_ns);
		look_for_late_interrupt(ctx, now_ns - record->a - record->bc);
	}
}

SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer_expire_entry(__u64 *ctx)
{
	struct ring *ring = own_ring();
	struct claim claim;

	if (claim_room(&claim, ring, 2)) {
		struct sleeper sleeper = sleeper_of((void *)ARGUMENT(0));

		expect_waking(ring, &claim, sleeper.where == NOT_TOLD ? 0 : sleeper.address);
		put_expiry(&claim, ring, ctx, &sleeper, own_id());
	}
	return 0;
}

SEC("tp_btf/hrtimer_cancel")
int on_hrtimer_cancel(__u64 *ctx)
{
	return emit(TAG_TIMER_CANCEL, 0, ARGUMENT(0), 0, 0);
}
