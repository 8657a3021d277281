/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few types of the kernel that the hooks read, with only the fields they read. Offsets are
 * taken from the running kernel's BTF when the programs are loaded (preserve_access_index), so
 * nothing here depends on one kernel's layout.
 */
#pragma once

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2 };
enum { BPF_ANY = 0 };
enum { BPF_F_MMAPABLE = 1U << 10, BPF_F_USER_STACK = 1U << 8 };

#define __VMLINUX_H__
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* How many PID namespaces its numbers are in, below the first. */
struct pid {
	unsigned int level;
};

struct task_struct {
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	int prio;
	int normal_prio;
	unsigned int policy;
	int on_cpu;
	char comm[16];
	struct task_struct *real_parent;
	struct pid *thread_pid;
	unsigned int __state;
};

/* Before Linux 5.14 the field had this name and type. */
struct task_struct___before_5_14 {
	volatile long state;
};

/* Control groups whose CPU time is bounded: in kernels that are built with them. */
struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct rq {
	__u64 prev_steal_time_rq;
};

struct cfs_rq {
	int throttle_count;
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct___groups {
	struct task_group *sched_task_group;
	struct sched_entity se;
};

/* Since Linux 6.18 it is each task that is throttled, where it returns to user space. */
struct task_struct___throttled {
	bool throttled;
};

struct timespec64 {
	__s64 tv_sec;
};

/*
 * The kernel's has 32 bits, and the loader makes the loads as wide. With that width here the compiler
 * would make one load of this and of the task's other place for it, from a computed address.
 */
struct thread_info {
	__u16 cpu;
};

struct task_struct___thread_info {
	struct thread_info thread_info;
	unsigned int cpu;
	unsigned int wake_cpu;
};

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer_clock_base {
	unsigned int index;
	int clockid;
};

/*
 * Kernels with threads for timers alone have bases for those, behind all others. Enumerators are looked up
 * by name, whatever numbers they have here.
 */
enum hrtimer_base_type___in_thread {
	HRTIMER_BASE_MONOTONIC_ORDERED___in_thread = 1,
	HRTIMER_BASE_MONOTONIC_LEVEL1___in_thread = 2,
};

struct hrtimer {
	struct timerqueue_node node;
	__s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
	__u8 is_soft;
};

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};

struct work_struct {
	void *func;
};

struct timer_list {
	unsigned long expires;
	void *function;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bx, cx, di, si, dx, r10, orig_ax;
};

/* What a task's call is of: TS_COMPAT while it is one of 32 bits. */
struct thread_info___compat {
	__u32 status;
};

struct task_struct___compat {
	struct thread_info___compat thread_info;
};
#else
struct user_pt_regs {
	__u64 regs[31];
	__u64 pstate;
};
/* The kernel's pt_regs begins with user_pt_regs. */
struct pt_regs {
	struct user_pt_regs user_regs;
	__s32 syscallno;
};
#endif

/* Which helpers there are: enumerators are looked up by name, whatever numbers they have here. */
enum bpf_func_id___calls {
	BPF_FUNC_task_pt_regs___calls = 1,
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000

/* include/uapi/linux/sched.h */
#define SCHED_BATCH 3
#define SCHED_IDLE 5

/* The least that a kernel's stack has, on x86-64 and arm64. */
#define STACK_BYTES 16384

/* Local copies for programs: arguments of a tp_btf program, in order, as 64-bit words. */
#define ARGUMENT(n) (ctx[n])
