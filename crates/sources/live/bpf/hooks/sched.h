/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The scheduler: waking, switching, moving, boosting. */

/* The loader says what the kernel has (the verifier leaves out what is not reached). */
const volatile bool switch_passes_state = true;

static __always_inline __u16 task_cpu(struct task_struct *task)
{
	struct task_struct___thread_info *there = (void *)task;

	if (bpf_core_field_exists(there->cpu))
		return there->cpu;
	return there->thread_info.cpu;
}

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* The kernel's state bits as the model's code (`TaskState`). */
static __always_inline __u8 state_code(__u32 state)
{
	if (state == 0)
		return STATE_RUNNING;
	if (state & 0x1000)
		return STATE_RT_LOCK;
	/* TASK_IDLE is uninterruptible and does not count as load. */
	if ((state & 0x402) == 0x402)
		return STATE_IDLE;
	if (state & 0x1)
		return STATE_INTERRUPTIBLE;
	if (state & 0x2)
		return STATE_UNINTERRUPTIBLE;
	if (state & 0xc)
		return STATE_STOPPED;
	if (state & 0x40)
		return STATE_PARKED;
	return STATE_DEAD;
}

SEC("tp_btf/sched_waking")
int on_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);

	return emit(TAG_WAKING, 0, 0, task->pid, halves(task_cpu(task), task->prio));
}

static __always_inline void put_switch(const struct claim *claim, __u64 *ctx)
{
	bool preempted = ARGUMENT(0);
	struct task_struct *prev = (void *)ARGUMENT(1);
	struct task_struct *next = (void *)ARGUMENT(2);
	__u32 state = switch_passes_state ? ARGUMENT(3) : task_state(prev);

	/* A preempted task is runnable whatever state it was about to sleep in. */
	put(claim, prev->pid, TAG_SWITCH,
	    preempted ? SWITCH_PREEMPTED | STATE_RUNNING : state_code(state), 0,
	    both(next->pid, halves(prev->prio, next->prio)));
}

SEC("tp_btf/sched_switch")
int on_sched_switch(__u64 *ctx)
{
	struct claim claim;

	if (claim_slots(&claim, 1))
		put_switch(&claim, ctx);
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
