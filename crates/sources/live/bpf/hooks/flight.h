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
		struct sleeper sleeper = sleeper_of((void *)ARGUMENT(0));

		take_slots(&claim, ring, 2);
		expect_waking(ring, &claim, sleeper.address);
		put_expiry(&claim, ring, ctx, &sleeper);
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int fly_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	struct claim claim;
	__u64 head;

	if (!ring)
		return 0;
	head = *(volatile __u64 *)&ring->head;
	if (is_expected(ring, head, task)) {
		struct record *expiry = slot_at(ring, head - 2);
		__u32 *clock_and_where = (void *)&expiry[1].bc;

		expiry[1].what = what(task->pid, TAG_TIMER_DEFINITION, 0);
		clock_and_where[1] = halves(task_cpu(task), task->prio);
		if (clock_and_where[0] == CLOCK_MONOTONIC)
			begin_waiting(task, task->pid, expiry->a);
		return 0;
	}
	take_slots(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, 0, TAG_WAKING, 0, 0,
	    both(task->pid, halves(task_cpu(task), task->prio)));
	if (watches_realtime && is_realtime(task))
		watch_lateness(task->pid);
	begin_waiting(task, task->pid, claim.time_ns);
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
	take_slots(&claim, ring, 1);
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
