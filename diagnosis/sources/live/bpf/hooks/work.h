/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Pieces of work that kworkers do for others. The recorder names the functions. */

SEC("tp_btf/workqueue_execute_start")
int on_workqueue_execute_start(__u64 *ctx)
{
	struct work_struct *work = (void *)ARGUMENT(0);

	return emit(TAG_WORK_BEGIN, 0, (__u64)work->func, 0, 0);
}

/*
 * The work may be gone by now; what it was is passed beside it. A program that knows the arguments'
 * types may not read a pointer to a function, one that does not know them may.
 */
SEC("raw_tp/workqueue_execute_end")
int on_workqueue_execute_end(__u64 *ctx)
{
	return emit(TAG_WORK_END, 0, ARGUMENT(1), 0, 0);
}
