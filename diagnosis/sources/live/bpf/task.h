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

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002

/* Whether the current task's system call is one of a program of 32 bits. */
static __always_inline bool in_compat_call(struct task_struct *task, struct pt_regs *regs)
{
	struct task_struct___compat *there = (void *)task;

	return there->thread_info.status & TS_COMPAT;
}
#else
/* The mode that the task was in, and that it is one of 32 bits. */
#define PSR_MODE32_BIT 0x10

static __always_inline bool in_compat_call(struct task_struct *task, struct pt_regs *regs)
{
	return regs->user_regs.pstate & PSR_MODE32_BIT;
}
#endif
