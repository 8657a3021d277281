/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Timers of the timer wheel. Their expiry counts in jiffies, which only the recorder can place in
 * time (it learns the tick's phase from these very records): expiry in `a`, and in the definition
 * the jiffies now.
 */

static __always_inline void put_timer_list(const struct claim *claim, struct timer_list *timer,
					   __u8 tag, __u32 slack_jiffies)
{
	struct record *definition = claim->record + 1;

	definition->time_ns = (__u64)timer->function | 1ULL << 63;
	definition->what = what(0, TAG_TIMER_DEFINITION, DEFINITION_TIMER_LIST);
	definition->a = (__u64)timer;
	/* The low half is enough: the expiry is near it. */
	definition->bc = (__u32)bpf_jiffies64();
	put(claim, own_id(), tag, MODE_SOFT, timer->expires, slack_jiffies);
}

SEC("tp_btf/timer_start")
int on_timer_start(__u64 *ctx)
{
	struct timer_list *timer = (void *)ARGUMENT(0);
	/* Since Linux 4.20-odd the second argument is when the wheel will really fire it. */
	__s64 slack = ARGUMENT(1) - timer->expires;
	struct claim claim;

	if (claim_slots(&claim, 2))
		put_timer_list(&claim, timer, TAG_TIMER_ARM,
			       slack > 0 && slack < 0x7fffffff ? (__u32)slack : 0);
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int on_timer_expire_entry(__u64 *ctx)
{
	struct claim claim;

	if (claim_slots(&claim, 2))
		put_timer_list(&claim, (void *)ARGUMENT(0), TAG_EXPIRE_BEGIN, 0);
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int on_timer_expire_exit(__u64 *ctx)
{
	return emit(TAG_EXPIRE_END, 0, ARGUMENT(0), 0, 0);
}

SEC("tp_btf/timer_cancel")
int on_timer_cancel(__u64 *ctx)
{
	return emit(TAG_TIMER_CANCEL, 0, ARGUMENT(0), 0, 0);
}
