/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Softirqs: raised, begun, ended. */

SEC("tp_btf/softirq_raise")
int on_softirq_raise(__u64 *ctx)
{
	return emit(TAG_SOFTIRQ_RAISE, 0, 0, ARGUMENT(0), 0);
}

SEC("tp_btf/softirq_entry")
int on_softirq_entry(__u64 *ctx)
{
	return emit(TAG_SOFTIRQ_BEGIN, 0, 0, ARGUMENT(0), 0);
}

SEC("tp_btf/softirq_exit")
int on_softirq_exit(__u64 *ctx)
{
	return emit(TAG_SOFTIRQ_END, 0, 0, ARGUMENT(0), 0);
}
