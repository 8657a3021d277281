/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The scheduler: waking, switching, moving, boosting. */

/* The loader says what the kernel has (the verifier leaves out what is not reached). */
const volatile bool switch_passes_state = true;

SEC("tp_btf/sched_waking")
int on_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	__u32 pid = task->pid;
	struct claim claim;

	/* Where something came in between, the recorder sees it twice. */
	if (ring && is_expected(ring, *(volatile __u64 *)&ring->head, task))
		return 0;
	if (!claim_room(&claim, ring, 1))
		return 0;
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, own_id(), TAG_WAKING, 0, 0, both(pid, halves(task_cpu(task), task->prio)));
	return 0;
}

/* The state is told in the kernel's bits. */
static __always_inline void put_switch(const struct claim *claim, __u64 *ctx,
				       struct task_struct *prev, struct task_struct *next,
				       __u32 next_pid)
{
	bool preempted = ARGUMENT(0);
	__u32 state = switch_passes_state ? ARGUMENT(3) : task_state(prev);

	put(claim, prev->pid, TAG_SWITCH, preempted ? SWITCH_PREEMPTED : 0, state,
	    both(next_pid, halves(prev->prio, next->prio)));
}

SEC("tp_btf/sched_switch")
int on_sched_switch(__u64 *ctx)
{
	struct task_struct *next = (void *)ARGUMENT(2);
	struct claim claim;

	if (claim_slots(&claim, 1))
		put_switch(&claim, ctx, (void *)ARGUMENT(1), next, next->pid);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int on_sched_migrate_task(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);

	return emit(TAG_MIGRATE, 0, 0, task->pid, halves(task_cpu(task), ARGUMENT(1)));
}

SEC("tp_btf/sched_pi_setprio")
int on_sched_pi_setprio(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct task_struct *donor = (void *)ARGUMENT(1);
	__s32 old = task->prio;
	__s32 new = task->normal_prio;

	/* As the kernel computes it: its own priority, or the donor's where that is higher. */
	if (donor && donor->prio < new)
		new = donor->prio;
	return emit(TAG_PRIORITY, new > old ? PRIORITY_RELEASED : 0, 0, task->pid, halves(old, new));
}
