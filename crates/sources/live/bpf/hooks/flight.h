/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A flight recorder's own programs, in the place of those of the same hooks. They do with less: a
 * sleeper's waking is told in the record of its timer once it happens, and the hooks are left out that
 * tell when interrupts of the timer end, and that a CPU sleeps.
 */

SEC("tp_btf/hrtimer_start")
int fly_hrtimer_start(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ARGUMENT(0);

	if (is_sleeper(timer)) {
		struct task_struct *task = bpf_get_current_task_btf();

		if (watches_realtime && is_realtime(task))
			watch_lateness(task->pid);
		/* Of nobody else it is asked when and in which call a timer was armed. */
		if (due_of(task->pid)->task != task->pid)
			return 0;
	}
	return armed(ctx);
}

SEC("tp_btf/hrtimer_expire_entry")
int fly_hrtimer_expire_entry(__u64 *ctx)
{
	struct ring *ring = own_ring();
	struct claim claim;

	if (ring) {
		struct sleeper sleeper = sleeper_of((void *)ARGUMENT(0), true);

		take_slots(&claim, ring, 2);
		expect_waking(ring, &claim, sleeper.address);
		put_expiry(&claim, ring, ctx, &sleeper, 0);
	}
	return 0;
}

/* A waking that no timer of this CPU has just led to; a function of its own, as it is the rarer way. */
static __noinline int wake_unexpected(struct ring *ring, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct due *due = due_of(pid);
	struct claim claim;

	take_slots(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, 0, TAG_WAKING, 0, 0, both(pid, halves(task_cpu(task), task->prio)));
	if (watches_realtime && is_realtime(task))
		watch_lateness(pid);
	if (begins_to_wait(due, task, pid))
		due->due_ns = claim.time_ns;
	return 0;
}

SEC("tp_btf/sched_waking")
int fly_sched_waking(__u64 *ctx)
{
	struct ring *ring = own_ring();
	struct task_struct *task;
	struct record *expiry;
	__u32 *owner, *clock, pid;
	struct due *due;
	__u16 *where;
	__u64 head;

	if (!ring)
		return 0;
	task = (void *)ARGUMENT(0);
	head = *(volatile __u64 *)&ring->head;
	if (!is_expected(ring, head, task))
		return wake_unexpected(ring, task);

	/* Stores of parts are fewer instructions than putting them together. */
	expiry = slot_at(ring, head - 2);
	owner = (void *)&expiry[1].what;
	clock = (void *)&expiry[1].bc;
	where = (void *)(clock + 1);
	pid = task->pid;
	*owner = pid;
	where[0] = task_cpu(task);
	where[1] = task->prio;
	due = due_of(pid);
	if (*clock == CLOCK_MONOTONIC && begins_to_wait(due, task, pid))
		due->due_ns = expiry->a;
	return 0;
}

SEC("tp_btf/sched_switch")
int fly_sched_switch(__u64 *ctx)
{
	struct ring *ring = own_ring();
	struct task_struct *next;
	struct claim claim;
	__u32 pid;

	if (!ring)
		return 0;
	take_slots(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	next = (void *)ARGUMENT(2);
	pid = next->pid;
	put_switch(&claim, ctx, (void *)ARGUMENT(1), next, pid);
	end_waiting(pid, claim.time_ns);
	return 0;
}
