/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who ran too late: what a flight recorder waits for. A watched thread has a place by its id, with the
 * time from which its lateness counts: its timer's hard expiry (what it allows its timer as slack is its
 * own choice), or its waking. Threads whose ids have the same low bits share one: the first that is
 * watched has it, until it ends.
 */
#pragma once

struct due {
	__u32 task;
	__u32 pad;
	/* 0 while it is not waited for. */
	__u64 due_ns;
};

/* The first that exceeded the bar; the recorder looks at `state`, and puts it back to 0. */
struct exceeded {
	/* 0 nobody yet, 1 is being written, 2 is written. */
	__u64 state;
	__u64 due_ns;
	__u64 ran_ns;
	__u32 task;
	__u32 cpu;
};

/* The dues first: their places need one addition less. */
struct flight {
	struct due dues[DUES];
	struct exceeded exceeded;
	/* Set by the recorder, at any time: who is later than this is to be told of. */
	__u64 bar_ns;
	/* How often anybody was later than the bound, whatever the bar. */
	__u64 over_count;
};

struct flight flight;

/* The bound, set by the loader; the bar is never below. */
const volatile __u64 over_ns = 0;

/* Watch every thread of user space that has a real-time priority. */
const volatile bool watches_realtime = false;

static __always_inline struct due *due_of(__u32 task)
{
	return &flight.dues[task & (DUES - 1)];
}

static __always_inline void watch_lateness(__u32 task)
{
	struct due *due = due_of(task);

	if (!due->task)
		due->task = task;
}

/* It has ended: another may have its place. */
static __always_inline void unwatch_lateness(__u32 task)
{
	struct due *due = due_of(task);

	if (due->task == task) {
		due->due_ns = 0;
		due->task = 0;
	}
}

/* Of its own: a priority that a lock's holder is lent for a while makes it no real-time thread. */
static __always_inline bool is_realtime(struct task_struct *task)
{
	return task->normal_prio < REALTIME_PRIOS && !(task->flags & PF_KTHREAD);
}

/* Whether a task is on a CPU, so that it waits for none. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return task->on_cpu;
	/* A kernel for one CPU. */
	return task == bpf_get_current_task_btf();
}

/*
 * Whether a thread that is woken begins to wait: who is watched, is on no CPU, and does not wait yet.
 * Then its due time is to be set; it waits from that on, until it is switched to. Who is on a CPU gets
 * no place in the queue, so that nothing needs to be looked at when a thread leaves its CPU.
 */
static __always_inline bool begins_to_wait(const struct due *due, struct task_struct *task, __u32 pid)
{
	return due->task == pid && !due->due_ns && !is_on_cpu(task);
}

static __noinline int exceed(__u32 task, __u64 due_ns, __u64 ran_ns)
{
	struct exceeded *exceeded = &flight.exceeded;

	__sync_fetch_and_add(&flight.over_count, 1);
	if (ran_ns - due_ns <= *(volatile __u64 *)&flight.bar_ns)
		return 0;
	if (__sync_val_compare_and_swap(&exceeded->state, 0, 1))
		return 0;
	exceeded->due_ns = due_ns;
	exceeded->ran_ns = ran_ns;
	exceeded->task = task;
	exceeded->cpu = bpf_get_smp_processor_id();
	__sync_lock_test_and_set(&exceeded->state, 2);
	return 0;
}

/* It is switched to. */
static __always_inline void end_waiting(__u64 *ctx, __u32 pid, __u64 now_ns)
{
	struct due *due = due_of(pid);

	if (due->task == pid && due->due_ns) {
		__s64 late_ns = now_ns - due->due_ns;

		if (late_ns > (__s64)over_ns) {
			struct task_struct *prev = (void *)ARGUMENT(1);

			/* Before the recorder is told. */
			if (stacks_over_ns != NO_STACKS)
				take_stack(ctx, STACK_LEFT, prev->pid, late_ns, now_ns);
			exceed(pid, due->due_ns, now_ns);
		}
		due->due_ns = 0;
	}
}
