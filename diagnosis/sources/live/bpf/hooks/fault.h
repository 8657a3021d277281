/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Page faults of watched threads. As with system calls this runs at those of every thread, so it is
 * attached only where somebody is watched. Some architectures have no such tracepoint.
 */

SEC("tp_btf/page_fault_user")
int on_page_fault_user(__u64 *ctx)
{
	if (!is_watched())
		return 0;
	return emit(TAG_PAGE_FAULT, 0, ARGUMENT(0), 0, 0);
}
