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

		if (watches_realtime && is_realtime(task))
			watch_lateness(task->pid);
	}
	return armed(ctx);
}

/* When a callback begins: as the loop has it, where this is its first. */
static __always_inline __u64 begin_ns(struct ring *ring, __u64 *ctx, __u32 clock, __u8 *mode)
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
	return clock == CLOCK_MONOTONIC ? now_ns : bpf_ktime_get_ns();
}

SEC("tp_btf/hrtimer_expire_entry")
int fly_hrtimer_expire_entry(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	__u64 base = (__u64)timer->base;
	__u32 clock = CLOCK_MONOTONIC;
	__u8 mode = timer->is_hard * MODE_HARD;
	struct claim claim;
	__u32 owner;
	__u64 at;

	if (!ring)
		return 0;
	/* What the base says is read through a pointer, so it is remembered. */
	if (ring->monotonic_base != base) {
		clock = timer->base->clockid;
		mode |= timer->is_soft * MODE_SOFT;
		if (clock == CLOCK_MONOTONIC && !timer->is_soft)
			ring->monotonic_base = base;
	}
	owner = sleeper_of(timer);
	at = claim_oldest(&claim, ring, 2);
	ring->sleeper = owner;
	ring->sleeper_head = at + 2;
	claim.time_ns = begin_ns(ring, ctx, clock, &mode);
	put_hrtimer(&claim, timer, TAG_EXPIRE_BEGIN, mode, clock, owner, CALL_NONE);
	return 0;
}

SEC("tp_btf/sched_waking")
int fly_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	__u32 pid = task->pid;
	__u32 where = halves(task_cpu(task), task->prio);
	struct claim claim;
	__u64 head;

	if (!ring)
		return 0;
	head = *(volatile __u64 *)&ring->head;
	/* With something told in between it may be another waking. */
	if (ring->sleeper == pid && ring->sleeper_head == (__u32)head) {
		struct record *expiry = slot_at(ring, head - 2);
		__u32 *clock_and_where = (void *)&expiry[1].bc;

		clock_and_where[1] = where;
		if (clock_and_where[0] == CLOCK_MONOTONIC)
			begin_waiting(task, pid, expiry->a);
		return 0;
	}
	claim_oldest(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, current_task(), TAG_WAKING, 0, 0, both(pid, where));
	if (watches_realtime && is_realtime(task))
		watch_lateness(pid);
	begin_waiting(task, pid, claim.time_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int fly_sched_switch(__u64 *ctx)
{
	struct task_struct *next = (void *)ARGUMENT(2);
	struct ring *ring = own_ring();
	__u32 pid = next->pid;
	struct due *due = due_of(pid);
	struct claim claim;

	if (!ring)
		return 0;
	claim_oldest(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	put_switch(&claim, ctx, (void *)ARGUMENT(1), next, pid);
	if (due->task == pid && due->due_ns) {
		__s64 late_ns = claim.time_ns - due->due_ns;

		if (late_ns > (__s64)over_ns)
			exceed(pid, due->due_ns, claim.time_ns);
		due->due_ns = 0;
	}
	return 0;
}
