/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who has a plain mutex for which a watched thread waits. No event tells, but glibc keeps the owner in the mutex, and
 * who waited for one has it next. It only decides whose stacks are taken while they sleep (hooks/sched.h). If the word
 * is no mutex, or two ids share a place, a stack is taken in vain or is missing.
 */
#pragma once

struct holder {
	__u32 task;
	/* Of whose threads it must be one; 0 where processes share the mutex. */
	__u32 process;
	__u64 mutex;
	/* Since when another waits for it. */
	__u64 since_ns;
};

/* A waiter, its mutex and that mutex' owner. */
struct waiter {
	__u32 task;
	__u32 process;
	__u64 mutex;
	__u32 owner;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOLDERS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct holder));
} holders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOLDERS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct waiter));
} waiters SEC(".maps");

static __always_inline struct holder *holder_of(__u32 task)
{
	__u32 place = task & (HOLDERS - 1);

	return bpf_map_lookup_elem(&holders, &place);
}

static __always_inline struct waiter *waiter_of(__u32 task)
{
	__u32 place = task & (HOLDERS - 1);

	return bpf_map_lookup_elem(&waiters, &place);
}

static __always_inline bool is_holder(const struct holder *holder, struct task_struct *task, __u32 pid)
{
	return holder && holder->task == pid &&
	       (!holder->process || holder->process == task->tgid);
}

/*
 * Of several mutexes the one that was waited for first counts, until it is given back: mostly the outer one. One is
 * enough, since all long sleeps of a holder are told.
 */
static __always_inline void holds(__u32 task, __u32 process, __u64 mutex)
{
	struct holder *holder = holder_of(task);

	if (!holder || holder->task == task)
		return;
	holder->process = process;
	holder->mutex = mutex;
	holder->since_ns = bpf_ktime_get_ns();
	holder->task = task;
}

static __always_inline void holds_no_more(__u32 task, __u64 mutex)
{
	struct holder *holder = holder_of(task);

	if (holder && holder->task == task && holder->mutex == mutex)
		holder->task = 0;
}

/* include/uapi/linux/futex.h */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9 };
enum { FUTEX_PRIVATE_FLAG = 128, FUTEX_CLOCK_REALTIME = 256 };

/* include/uapi/asm-generic/errno-base.h: the word had changed before the thread slept. */
enum { EAGAIN = 11 };

/*
 * A plain mutex of glibc's: what its word is while somebody waits for it, and where behind that is the id of its owner
 * (`__lock`, `__count` and `__owner` of struct __pthread_mutex_s, of 32 bits each in programs of 32 and of 64).
 */
#define MUTEX_HAS_WAITERS 2
#define MUTEX_OWNER_OFFSET 8

static __always_inline void enters_futex(__u64 address, __u32 operation, __u32 value)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 command = operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
	__u32 own = own_id();
	struct waiter *waiter;
	__u32 owner = 0;

	if (stacks_over_ns == NO_STACKS)
		return;
	if (command == FUTEX_WAKE)
		return holds_no_more(own, address);
	if (value != MUTEX_HAS_WAITERS || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET))
		return;
	/* In a PID namespace of its own its numbers are not those here. */
	if (BPF_CORE_READ(task, thread_pid, level))
		return;
	if (bpf_probe_read_user(&owner, sizeof(owner), (const void *)(address + MUTEX_OWNER_OFFSET)))
		return;
	/* Another was faster than this one, which came back from waiting before. */
	holds_no_more(own, address);
	waiter = waiter_of(own);
	if (!owner || owner == own || !waiter)
		return;
	waiter->task = own;
	waiter->process = operation & FUTEX_PRIVATE_FLAG ? bpf_get_current_pid_tgid() >> 32 : 0;
	waiter->mutex = address;
	waiter->owner = owner;
	holds(owner, waiter->process, address);
}

/* A task ends, and its id will be another's. */
static __always_inline void forget_holder(__u32 task)
{
	struct holder *holder = holder_of(task);
	struct waiter *waiter = waiter_of(task);

	if (holder && holder->task == task)
		holder->task = 0;
	if (waiter && waiter->task == task)
		waiter->task = 0;
}

/* Who comes back from waiting takes the mutex, and others may wait for it still. */
static __always_inline void leaves_futex(__s64 result)
{
	__u32 own = own_id();
	struct waiter *waiter;

	if (stacks_over_ns == NO_STACKS)
		return;
	waiter = waiter_of(own);
	if (!waiter || waiter->task != own)
		return;
	waiter->task = 0;
	/* After a timeout or a signal the owner has it still, and others may wait for it. */
	if (result && result != -EAGAIN)
		return;
	holds_no_more(waiter->owner, waiter->mutex);
	if (!result)
		holds(own, waiter->process, waiter->mutex);
}
