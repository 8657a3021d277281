/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The scheduler: waking, switching, moving, boosting. */

/* The tracepoint's function since Linux 5.18. */
typedef void (*btf_trace_sched_switch___passes_state)(void *, bool, struct task_struct *,
						      struct task_struct *, unsigned int);

/* Whether sched_switch passes the state in which the last task ends its time. */
static __always_inline bool passes_state(void)
{
	return bpf_core_type_matches(btf_trace_sched_switch___passes_state);
}

/*
 * Where stacks are taken, a thread of a real-time priority is waited for from its waking on, in the places that a
 * flight recorder has for those that it watches; the last one of its place has it. Who waits among equals does so
 * for its turn. (The scheduler's own account of waiting is of no use here: its clock stands still from a waking
 * to the switch that it leads to.)
 */
static __always_inline void wait_for(struct task_struct *task, __u32 pid, __u64 time_ns)
{
	struct due *due;

	if (stacks_over_ns == NO_STACKS || task->prio >= REALTIME_PRIOS)
		return;
	due = due_of(pid);
	due->task = pid;
	due->due_ns = time_ns;
}

/*
 * A task leaves the CPU to one of a higher real-time priority, which may have waited for it. The stack counts as of
 * the switch, before which the recorder puts it.
 */
static __always_inline void look_for_late_switch(__u64 *ctx, struct task_struct *prev,
						 struct task_struct *next, __u32 pid, __u64 now_ns)
{
	struct due *due;
	__u64 since_ns;

	if (stacks_over_ns == NO_STACKS || next->prio >= REALTIME_PRIOS)
		return;
	due = due_of(pid);
	since_ns = due->due_ns;
	if (!since_ns || due->task != pid)
		return;
	due->due_ns = 0;
	if ((__s64)(now_ns - since_ns) > (__s64)stacks_over_ns && next->prio < prev->prio)
		take_stack(ctx, STACK_LEFT, prev->pid, now_ns - since_ns, now_ns);
}

/* How a task sleeps for what it did not ask for: a page, a lock inside the kernel; and kernel threads that do nothing. */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_NOLOAD 0x0400
#define TASK_RTLOCK_WAIT 0x1000

static __always_inline bool is_held_up(__u32 state)
{
	return (state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT)) && !(state & TASK_NOLOAD);
}

/* Whether somebody who waits for what a task has has lent it a priority: while it sleeps, both do. */
static __always_inline bool is_boosted(struct task_struct *task)
{
	return task->prio < task->normal_prio;
}

/*
 * A task goes to sleep: where it is held up, or holds up another, that counts from now, in the place in which it is
 * waited for from its waking on.
 */
static __always_inline void goes_to_sleep(struct task_struct *task, __u32 state, __u64 now_ns)
{
	struct due *due;
	__u32 pid;

	if (stacks_over_ns == NO_STACKS)
		return;
	pid = task->pid;
	/* With state 0 it yields, and does not sleep. */
	if (!is_held_up(state) && !is_boosted(task) &&
	    !(state && is_holder(holder_of(pid), task, pid)))
		return;
	due = due_of(pid);
	due->task = pid;
	due->due_ns = now_ns;
}

/*
 * A task is lent a priority while it sleeps, or waits for a CPU: from now on another is held up by that. What it waits
 * in already counts from its begin.
 */
static __always_inline void holds_up_another(struct task_struct *task)
{
	struct due *due;
	__u32 pid;

	/* A flight recorder's places are of those that it watches. */
	if (stacks_over_ns == NO_STACKS || stacks_overwrite || is_on_cpu(task))
		return;
	pid = task->pid;
	due = due_of(pid);
	if (due->task == pid && due->due_ns)
		return;
	due->task = pid;
	due->due_ns = bpf_ktime_get_ns();
}

/*
 * A task is woken that may have been held up for long, or have held up another: its stack shows where it slept, until it
 * runs.
 */
static __always_inline void look_for_long_sleep(struct task_struct *task, __u32 pid, __u64 now_ns)
{
	struct due *due = due_of(pid);
	struct holder *holder;
	bool is_held, holds;
	__u64 since_ns;
	__u32 state;

	if (stacks_over_ns == NO_STACKS)
		return;
	state = task_state(task);
	holder = holder_of(pid);
	holds = is_holder(holder, task, pid);
	is_held = is_held_up(state) || is_boosted(task);
	if (!holds && !is_held) {
		/* It has given back meanwhile what it had as it went to sleep. */
		if (state && due->task == pid)
			due->due_ns = 0;
		return;
	}
	if (due->due_ns && due->task == pid) {
		since_ns = due->due_ns;
		due->due_ns = 0;
	} else if (holds && !is_on_cpu(task)) {
		/* It slept already when somebody began to wait. */
		since_ns = holder->since_ns;
	} else {
		return;
	}
	if ((__s64)(now_ns - since_ns) > (__s64)stacks_over_ns)
		take_stack_of(task, pid, now_ns - since_ns, now_ns);
}

SEC("tp_btf/sched_waking")
int on_sched_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct ring *ring = own_ring();
	__u32 pid = task->pid;
	struct claim claim;

	/* Where something came in between, the recorder sees it twice. */
	if (ring && is_expected(ring, *(volatile __u64 *)&ring->head, task)) {
		if (stacks_over_ns != NO_STACKS &&
		    (is_boosted(task) || is_holder(holder_of(pid), task, pid)))
			look_for_long_sleep((void *)ARGUMENT(0), pid, bpf_ktime_get_ns());
		wait_for(task, pid, ring->loop_ns);
		return 0;
	}
	if (!claim_room(&claim, ring, 1))
		return 0;
	claim.time_ns = bpf_ktime_get_ns();
	look_for_long_sleep((void *)ARGUMENT(0), pid, claim.time_ns);
	wait_for(task, pid, claim.time_ns);
	put(&claim, own_id(), TAG_WAKING, 0, 0, both(pid, halves(task_cpu(task), task->prio)));
	return 0;
}

/* The state is told in the kernel's bits. */
static __always_inline void put_switch(const struct claim *claim, __u64 *ctx,
				       struct task_struct *prev, struct task_struct *next,
				       __u32 next_pid)
{
	bool preempted = ARGUMENT(0);
	struct record *record = claim->record;
	__u32 *next_and_prios = (void *)&record->bc;
	__u16 *prios = (void *)(next_and_prios + 1);

	record->what = what(prev->pid, TAG_SWITCH, preempted ? SWITCH_PREEMPTED : 0);
	record->a = passes_state() ? ARGUMENT(3) : task_state(prev);
	/* Stores of parts are fewer instructions than putting them together. */
	next_and_prios[0] = next_pid;
	prios[0] = prev->prio;
	prios[1] = next->prio;
	publish(record, claim->time_ns);
}

/* Whether a task that is about to lose the CPU may not run again until its group has bandwidth. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *itself = (void *)task;
	struct task_struct___groups *there = (void *)task;

	if (bpf_core_field_exists(itself->throttled))
		return itself->throttled;
	if (bpf_core_field_exists(there->se.cfs_rq) &&
	    bpf_core_field_exists(there->se.cfs_rq->throttle_count))
		return there->se.cfs_rq->throttle_count > 0;
	return false;
}

/* Tells of the group, by its number: its path is the recorder's to find. */
static __always_inline void put_group(struct task_struct *task)
{
	struct task_struct___groups *there = (void *)task;
	__u64 id = 0;

	if (bpf_core_field_exists(there->sched_task_group))
		id = there->sched_task_group->css.cgroup->kn->id;
	emit_of(task->pid, TAG_TASK_GROUP, GROUP_THROTTLED, id, 0);
}

#define PRIO_FAIR_MIN 100

SEC("tp_btf/sched_switch")
int on_sched_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ARGUMENT(1);
	struct task_struct *next = (void *)ARGUMENT(2);
	struct ring *ring = own_ring();
	struct claim claim;
	__u32 pid;

	if (prev->prio >= PRIO_FAIR_MIN && prev->pid && is_throttled(prev))
		put_group(prev);
	tell_stolen(ring, prev);
	if (!claim_room(&claim, ring, 1))
		return 0;
	claim.time_ns = bpf_ktime_get_ns();
	pid = next->pid;
	look_for_late_switch(ctx, (void *)ARGUMENT(1), next, pid, claim.time_ns);
	if (!ARGUMENT(0))
		goes_to_sleep(prev, passes_state() ? ARGUMENT(3) : task_state(prev), claim.time_ns);
	put_switch(&claim, ctx, (void *)ARGUMENT(1), next, pid);
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
	if (new < old)
		holds_up_another(task);
	return emit(TAG_PRIORITY, new > old ? PRIORITY_RELEASED : 0, 0, task->pid, halves(old, new));
}
