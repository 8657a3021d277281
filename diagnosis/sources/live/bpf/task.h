/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tasks, where kernels keep what differently. */
#pragma once

/* MAX_RT_PRIO: what is below is of a real-time or deadline class. */
#define REALTIME_PRIOS 100

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
