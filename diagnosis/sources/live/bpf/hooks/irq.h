/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Interrupts of devices. The recorder knows their names from /proc/interrupts. */

SEC("tp_btf/irq_handler_entry")
int on_irq_handler_entry(__u64 *ctx)
{
	return emit(TAG_IRQ_BEGIN, 0, 0, ARGUMENT(0), 0);
}

SEC("tp_btf/irq_handler_exit")
int on_irq_handler_exit(__u64 *ctx)
{
	return emit(TAG_IRQ_END, 0, 0, ARGUMENT(0), 0);
}
