/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A flight recorder's own programs, in the place of those of the same hooks. They do with less: a
 * sleeper's waking is told in the record of its timer, and the first expiry of a loop has the time
 * at which the loop read the clock. The hooks that tell when interrupts of the timer begin and end,
 * and callbacks end, are left out.
 */

/* In the flags of an expiry: in the same loop as the one before. */
_Static_assert(!(EXPIRY_SAME_LOOP & (MODE_REL | MODE_SOFT | MODE_HARD)), "a bit of its own");

#define CLOCK_MONOTONIC 1

SEC("tp_btf/hrtimer_start")
int fly_hrtimer_start(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);

	if (is_sleeper(timer)) {
		struct task_struct *task = bpf_get_current_task_btf();
		struct due *due = due_of(task->pid);

		if (watches_realtime && is_realtime(task))
			watch_lateness(task->pid);
		/* It runs, and asks anew. */
		if (due->task == task->pid)
			due->due_ns = 0;
	}
	return armed(ctx);
}

/* When a callback begins: as the loop has it, where this is its first. */
static __always_inline __u64 begin_ns(struct ring *ring, __u64 *ctx, bool monotonic, __u8 *mode)
{
	__u64 now_ns;

	if (!casts())
		return bpf_ktime_get_ns();
	/* A ktime_t, read as another type that begins with a number of 64 bits. */
	now_ns = bpf_core_cast((void *)ARGUMENT(1), struct timespec64)->tv_sec;
	if (ring->loop_ns == now_ns) {
		*mode |= EXPIRY_SAME_LOOP;
		return bpf_ktime_get_ns();
	}
	ring->loop_ns = now_ns;
	return monotonic ? now_ns : bpf_ktime_get_ns();
}

SEC("tp_btf/hrtimer_expire_entry")
int fly_hrtimer_expire_entry(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	__u32 clock = timer->base->clockid;
	bool monotonic = clock == CLOCK_MONOTONIC;
	__u32 owner = sleeper_of(timer);
	__u8 mode = mode_of(timer);
	struct claim claim;

	if (!claim_room(&claim, ring, 2))
		return 0;
	claim.time_ns = begin_ns(ring, ctx, monotonic, &mode);
	put_hrtimer(&claim, timer, TAG_EXPIRE_BEGIN, mode, clock, owner, CALL_NONE);
	ring->sleeper = owner;
	ring->sleeper_at = (__u32)((void *)claim.record - (void *)(ring + 1)) / sizeof(struct record);
	if (owner && monotonic) {
		struct due *due = due_of(owner);

		if (due->task == owner && !due->due_ns)
			due->due_ns = timer->_softexpires;
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int fly_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	__u32 pid = task->pid;
	__u32 where = halves(task_cpu(task), task->prio);
	struct ring *ring = own_ring();
	struct claim claim;
	struct due *due;

	if (ring && ring->sleeper == pid) {
		struct record *expiry = (void *)(ring + 1) +
					(ring->sleeper_at & (__u64)slots_mask) * sizeof(struct record);

		ring->sleeper = 0;
		*((__u32 *)&expiry[1].bc + 1) = where;
		return 0;
	}
	if (!claim_room(&claim, ring, 1))
		return 0;
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, current_task(), TAG_WAKING, 0, 0, both(pid, where));
	if (watches_realtime && is_realtime(task))
		watch_lateness(pid);
	due = due_of(pid);
	if (due->task == pid && !due->due_ns && !is_on_cpu(task))
		due->due_ns = claim.time_ns;
	return 0;
}

SEC("tp_btf/sched_switch")
int fly_sched_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ARGUMENT(1);
	struct task_struct *next = (void *)ARGUMENT(2);
	struct due *due = due_of(prev->pid);
	struct claim claim;

	if (!claim_slots(&claim, 1))
		return 0;
	put_switch(&claim, ctx);
	/* Woken before it had gone to sleep: it ran, so nobody waits for that any more. */
	if (due->task == prev->pid)
		due->due_ns = 0;
	due = due_of(next->pid);
	if (due->task == next->pid && due->due_ns) {
		__s64 late_ns = claim.time_ns - due->due_ns;

		if (late_ns > (__s64)over_ns)
			exceed(next->pid, due->due_ns, claim.time_ns);
		due->due_ns = 0;
	}
	return 0;
}
