/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The system vectors of x86. Other architectures have none of these tracepoints: there
 * they are interrupts as those of devices are. The timer's may have been the
 * tick's.
 */

#define VECTOR_HOOKS(name, number)                                                                 \
	SEC("tp_btf/" #name "_entry")                                                              \
	int on_##name##_entry(__u64 *ctx)                                                          \
	{                                                                                          \
		return emit(TAG_IRQ_BEGIN, IRQ_VECTOR, 0, number, 0);                              \
	}                                                                                          \
	SEC("tp_btf/" #name "_exit")                                                               \
	int on_##name##_exit(__u64 *ctx)                                                           \
	{                                                                                          \
		emit(TAG_IRQ_END, IRQ_VECTOR, 0, number, 0);                                       \
		if (number == VECTOR_LOCAL_TIMER)                                                  \
			tell_stolen(own_ring(), bpf_get_current_task_btf());                       \
		return 0;                                                                          \
	}

/* One line per vector, generated from the model's list of them. */
#if defined(__TARGET_ARCH_x86)
VECTORS(VECTOR_HOOKS)
#endif
