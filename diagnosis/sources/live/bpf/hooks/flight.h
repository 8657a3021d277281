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
		take_slots(&claim, ring, 2);
		put_expiry(&claim, ring, ctx, &nobody, 0);
	}
	return 0;
}

/*
 * Whether a definition is of a timer that sleeps for this task, and that nobody was woken by yet: a
 * sleeper's timer is on its own stack, and no other timer that wakes is on one.
 */
static __always_inline bool is_sleepers(const struct record *definition, struct task_struct *task)
{
	return definition->what == what(0, TAG_TIMER_DEFINITION, 0) &&
	       definition->a - (__u64)task->stack < STACK_BYTES;
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

	if (!ring)
		return 0;
	task = (void *)ARGUMENT(0);
	/* Where something was told in between, this is another record. */
	expiry = slot_at(ring, *(volatile __u64 *)&ring->head - 2);
	if (!is_sleepers(&expiry[1], task))
		return wake_unexpected(ring, task);

	/* Stores of parts are fewer instructions than putting them together. */
	owner = (void *)&expiry[1].what;
	clock = (void *)&expiry[1].bc;
	where = (void *)(clock + 1);
	pid = task->pid;
	*owner = pid;
	where[0] = task_cpu(task);
	where[1] = task->prio;
	due = due_of(pid);
	/* Of another clock the expiry may be anything by this one, or be set to be anything. */
	if (begins_to_wait(due, task, pid))
		due->due_ns = *clock == CLOCK_MONOTONIC ? expiry->a + expiry->bc : expiry->time_ns;
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
	tell_stolen(ring, (void *)ARGUMENT(1));
	take_slots(&claim, ring, 1);
	claim.time_ns = bpf_ktime_get_ns();
	next = (void *)ARGUMENT(2);
	pid = next->pid;
	put_switch(&claim, ctx, (void *)ARGUMENT(1), next, pid);
	ring->current = both(pid, next->prio);
	end_waiting(ctx, pid, claim.time_ns);
	return 0;
}

/* Who ends is not found in procfs later: its name is told with its end. */
SEC("tp_btf/sched_process_exit")
int fly_sched_process_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	__u32 pid = task->pid;

	unwatch_lateness(pid);
	emit_name(pid, task->comm);
	emit_of(pid, TAG_TASK_INFO, info_flags(task), 0, task->tgid);
	return emit_of(pid, TAG_TASK_EXIT, 0, 0, 0);
}
