/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Signals, where the current task is about to handle one. */

SEC("tp_btf/signal_deliver")
int on_signal_deliver(__u64 *ctx)
{
	return emit(TAG_SIGNAL, 0, 0, (__u32)ARGUMENT(0), 0);
}
