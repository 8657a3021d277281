/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Time that a hypervisor took from this CPU, by the steal clock as the scheduler last read it. It reads that
 * whenever it brings its own clock up to date: right before a switch, and in the tick. (The steal clock
 * itself is a variable that programs may not refer to.)
 */
#pragma once

/* Set by the loader: there is a hypervisor, and the kernel's types have the fields. */
const volatile bool counts_stolen = false;

/* Tells what was stolen since it was looked at last. The task must be this CPU's current one. */
static __always_inline void tell_stolen(struct ring *ring, struct task_struct *task)
{
	struct task_struct___groups *there = (void *)task;
	__u64 stolen, before;
	struct claim claim;

	if (!counts_stolen || !ring)
		return;
	stolen = there->se.cfs_rq->rq->prev_steal_time_rq + 1;
	before = ring->stolen;
	if (stolen == before)
		return;
	ring->stolen = stolen;
	if (!before || !claim_room(&claim, ring, 1))
		return;
	claim.time_ns = bpf_ktime_get_ns();
	put(&claim, task->pid, TAG_STOLEN, 0, stolen - before, 0);
}
