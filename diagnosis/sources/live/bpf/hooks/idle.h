/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A CPU sleeps. That it is awake again is told by whatever it does next. */

SEC("tp_btf/cpu_idle")
int on_cpu_idle(__u64 *ctx)
{
	__u32 state = ARGUMENT(0);

	/* PWR_EVENT_EXIT */
	if (state == (__u32)-1)
		return 0;
	return emit(TAG_IDLE_ENTER, 0, 0, state, 0);
}
