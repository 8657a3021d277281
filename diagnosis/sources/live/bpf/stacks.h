/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kernel stacks, where something is late already: by more than a threshold, and not more often than so much apart
 * on each CPU. They have a ring of their own beside the records', so that a stack comes between no two of those,
 * and its memory is as small where none are taken. Its protocol is that of ring.h: a claim, then the clock, then
 * the rest, then the time as the publishing store.
 */
#pragma once

struct stack {
	__u64 time_ns;
	/* As in a record: whose, and in the flags which. */
	__u64 what;
	__u64 late_ns;
	/* Bytes of the frames, or an error where it is negative. */
	__s64 bytes;
	__u64 frames[STACK_FRAMES];
	/* The same of the program, as far as frame pointers lead. Of the current task alone. */
	__s64 user_bytes;
	__u64 user[USER_FRAMES];
};

struct stacks {
	/* Written here: slots claimed since the start. */
	__u64 head;
	/* Written by the reader of a stream: slots given back since the start. */
	__u64 tail;
	/* Stacks that were not taken, because one had just been, or no slot was free. */
	__u64 left_out;
	/* Of each kind, before when no other is taken. */
	__u64 next_ns[3];
	__u64 pad[2];
	struct stack slots[STACK_SLOTS];
};

/* Set by the loader: who is later than this has a stack taken. */
const volatile __u64 stacks_over_ns = NO_STACKS;

/* Set by the loader: the newest take the place of the oldest. */
const volatile bool stacks_overwrite = false;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct stacks));
} stacks SEC(".maps");

/*
 * A slot for a stack of a task, as of a time, or of now where that is 0; none where another was just taken. The time is
 * for publish_stack().
 */
static __always_inline struct stack *claim_stack(__u32 taken, __u32 task, __u64 late_ns, __u64 *time_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct stacks *own = bpf_map_lookup_elem(&stacks, &cpu);
	__u64 now_ns = bpf_ktime_get_ns();
	struct stack *slot;

	/* There is nothing to find in an idle loop. */
	if (!own || !task || taken >= 3)
		return NULL;
	if (now_ns < own->next_ns[taken] ||
	    (!stacks_overwrite &&
	     own->head - *(volatile __u64 *)&own->tail >= STACK_SLOTS)) {
		__sync_fetch_and_add(&own->left_out, 1);
		return NULL;
	}
	own->next_ns[taken] = now_ns + STACKS_APART_NS;
	slot = &own->slots[__sync_fetch_and_add(&own->head, 1) & (STACK_SLOTS - 1)];
	*(volatile __u64 *)&slot->time_ns = 0;
	if (!*time_ns)
		*time_ns = bpf_ktime_get_ns();
	slot->what = what(task, TAG_STACK, taken);
	slot->late_ns = late_ns;
	return slot;
}

static __always_inline void publish_stack(struct stack *slot, __u64 time_ns)
{
	publish((struct record *)slot, time_ns);
}

/* The stack of the current task, which is this one. A function of its own, as it is the rarest way. */
static __noinline int take_stack(__u64 *ctx, __u32 taken, __u32 task, __u64 late_ns, __u64 time_ns)
{
	struct stack *slot = claim_stack(taken, task, late_ns, &time_ns);

	if (!slot)
		return 0;
	slot->bytes = bpf_get_stack(ctx, slot->frames, sizeof(slot->frames), 0);
	/* An error where it has no user space, or its memory is not there now: nothing is read in for this. */
	slot->user_bytes = bpf_get_stack(ctx, slot->user, sizeof(slot->user), BPF_F_USER_STACK);
	publish_stack(slot, time_ns);
	return 0;
}

/* The stack of a task that sleeps. */
static __noinline int take_stack_of(struct task_struct *task, __u32 pid, __u64 late_ns, __u64 time_ns)
{
	struct stack *slot = claim_stack(STACK_SLEPT, pid, late_ns, &time_ns);

	if (!slot)
		return 0;
	slot->bytes = bpf_get_task_stack(task, slot->frames, sizeof(slot->frames), 0);
	/* The kernel reads no other task's memory here. */
	slot->user_bytes = 0;
	publish_stack(slot, time_ns);
	return 0;
}

/* An interrupt of the timer comes to its first callback `late_ns` after the expiry. */
static __always_inline void look_for_late_interrupt(__u64 *ctx, __s64 late_ns)
{
	if (stacks_over_ns != NO_STACKS && late_ns > (__s64)stacks_over_ns)
		take_stack(ctx, STACK_INTERRUPTED, own_id(), late_ns, 0);
}
