/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Of kernels that have threads for timers alone: one is woken for a timer that is due, whose id the recorder
 * finds by its address.
 */

SEC("tp_btf/timer_pending")
int on_timer_pending(__u64 *ctx)
{
	struct task_struct *thread = (void *)ARGUMENT(1);

	return emit(TAG_TIMER_PENDING, (__u8)ARGUMENT(2), ARGUMENT(0), thread->pid, 0);
}
