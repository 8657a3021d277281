/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who tasks are: new, renamed, gone. */

/* Tasks whose system calls are recorded, and with which flags: by process, or by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCHED_MAX);
	__type(key, __u32);
	__type(value, __u8);
} watched SEC(".maps");

/* Watch every process that this one starts, and those that they start; 0 for none. */
const volatile __u32 watch_children_of = 0;

static __always_inline void put_name(const struct claim *claim, __u32 i, __u32 task,
				     const char *name)
{
	struct {
		__u64 a;
		__u32 b;
		__u32 c;
	} comm = {};

	bpf_probe_read_kernel_str(&comm, sizeof(comm), name);
	put(claim, i, task, TAG_TASK_NAME, 0, comm.a, comm.b, comm.c);
}

static __always_inline __u8 watch_flags(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	__u32 parent;
	__u8 *flags = bpf_map_lookup_elem(&watched, &tgid);

	if (flags)
		return *flags;
	if (!watch_children_of || task->pid != tgid)
		return 0;
	parent = BPF_CORE_READ(task, real_parent, tgid);
	if (parent == watch_children_of || bpf_map_lookup_elem(&watched, &parent)) {
		__u8 value = INFO_WATCHED | INFO_SYSCALLS;

		bpf_map_update_elem(&watched, &tgid, &value, BPF_ANY);
		return value;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_sched_wakeup_new(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	__u8 flags = watch_flags(task) | (task->flags & PF_KTHREAD ? INFO_KERNEL : 0);
	struct claim claim;

	if (!claim_slots(&claim, 3))
		return 0;
	put_name(&claim, 0, task->pid, task->comm);
	put(&claim, 1, task->pid, TAG_TASK_INFO, flags, 0, task->tgid, 0);
	put(&claim, 2, current_task(), TAG_WOKEN_NEW, 0, 0, task->pid,
	    halves(task_cpu(task), task->prio));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_sched_process_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct claim claim;

	if (claim_slots(&claim, 1))
		put_name(&claim, 0, task->pid, task->comm);
	return 0;
}

SEC("tp_btf/task_rename")
int on_task_rename(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct claim claim;

	/* The new name is not in the task yet. */
	if (claim_slots(&claim, 1))
		put_name(&claim, 0, task->pid, (const char *)ARGUMENT(1));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_sched_process_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	struct claim claim;

	if (claim_slots(&claim, 1))
		put(&claim, 0, task->pid, TAG_TASK_EXIT, 0, 0, 0, 0);
	return 0;
}
