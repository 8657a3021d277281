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

/* What is told of who is watched that way. */
const volatile __u8 watched_info = INFO_WATCHED | INFO_SYSCALLS;

static __always_inline int emit_name(__u32 task, const char *name)
{
	__u64 comm[2] = {};

	bpf_probe_read_kernel_str(comm, sizeof(comm), name);
	return emit_of(task, TAG_TASK_NAME, 0, comm[0], comm[1]);
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
		__u8 value = watched_info;

		bpf_map_update_elem(&watched, &tgid, &value, BPF_ANY);
		return value;
	}
	return 0;
}

/* What is told of a task. */
static __always_inline __u8 info_flags(struct task_struct *task)
{
	__u8 flags = watch_flags(task);

	if (task->flags & PF_KTHREAD)
		flags |= INFO_KERNEL;
	if (task->policy == SCHED_BATCH)
		flags |= INFO_BATCH;
	if (task->policy == SCHED_IDLE)
		flags |= INFO_IDLE;
	return flags;
}

SEC("tp_btf/sched_wakeup_new")
int on_sched_wakeup_new(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);
	__u8 flags = info_flags(task);

	if (flags & INFO_WATCHED)
		watch_lateness(task->pid);
	emit_name(task->pid, task->comm);
	emit_of(task->pid, TAG_TASK_INFO, flags, 0, task->tgid);
	return emit(TAG_WOKEN_NEW, 0, 0, task->pid, halves(task_cpu(task), task->prio));
}

SEC("tp_btf/sched_process_exec")
int on_sched_process_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);

	/* Whoever launched it may have set its policy. */
	emit_of(task->pid, TAG_TASK_INFO, info_flags(task), 0, task->tgid);
	return emit_name(task->pid, task->comm);
}

SEC("tp_btf/task_rename")
int on_task_rename(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);

	/* The new name is not in the task yet. */
	return emit_name(task->pid, (const char *)ARGUMENT(1));
}

SEC("tp_btf/sched_process_exit")
int on_sched_process_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ARGUMENT(0);

	if (stacks_over_ns != NO_STACKS)
		forget_holder(task->pid);
	return emit_of(task->pid, TAG_TASK_EXIT, 0, 0, 0);
}
