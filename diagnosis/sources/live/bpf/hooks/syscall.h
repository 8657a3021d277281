/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * System calls of watched threads. These two hooks run at every call of every thread, so they are
 * attached only where somebody is watched who does not mark his own return.
 */

#if defined(__TARGET_ARCH_x86)
enum { CALL_NANOSLEEP = 35, CALL_FUTEX = 202, CALL_CLOCK_NANOSLEEP = 230 };
#define CALL_ARGUMENTS(regs)                                                                       \
	{ BPF_CORE_READ(regs, di), BPF_CORE_READ(regs, si), BPF_CORE_READ(regs, dx) }
#define CALL_NUMBER(regs) BPF_CORE_READ(regs, orig_ax)
#else
enum { CALL_NANOSLEEP = 101, CALL_FUTEX = 98, CALL_CLOCK_NANOSLEEP = 115 };
#define CALL_ARGUMENTS(regs)                                                                       \
	{ BPF_CORE_READ(regs, user_regs.regs[0]), BPF_CORE_READ(regs, user_regs.regs[1]),          \
	  BPF_CORE_READ(regs, user_regs.regs[2]) }
#define CALL_NUMBER(regs) BPF_CORE_READ(regs, user_regs.regs[8])
#endif

static __always_inline bool is_watched(void)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)both;
	__u32 process = both >> 32;

	return bpf_map_lookup_elem(&watched, &process) || bpf_map_lookup_elem(&watched, &thread);
}

static __always_inline __u64 timespec_ns(__u64 address)
{
	__s64 pair[2] = {};

	if (bpf_probe_read_user(pair, sizeof(pair), (const void *)address))
		return 0;
	return pair[0] * 1000000000LL + pair[1];
}

SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ARGUMENT(0);
	__u32 number = ARGUMENT(1);

	if (!is_watched())
		return 0;

	__u64 arguments[3] = CALL_ARGUMENTS(regs);

	switch (number) {
	case CALL_NANOSLEEP:
		return emit(TAG_SYSCALL_ENTER, 0, timespec_ns(arguments[0]), number, 0);
	case CALL_CLOCK_NANOSLEEP:
		return emit(TAG_SYSCALL_ENTER, 0, timespec_ns(arguments[2]), number, arguments[1]);
	case CALL_FUTEX:
		/* The operation, and what the word is compared with: 2 is a mutex that has waiters. */
		return emit(TAG_SYSCALL_ENTER, 0, arguments[0], number,
			    halves(arguments[1], arguments[2]));
	default:
		return emit(TAG_SYSCALL_ENTER, 0, arguments[0], number, 0);
	}
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ARGUMENT(0);

	if (!is_watched())
		return 0;
	return emit(TAG_SYSCALL_EXIT, 0, ARGUMENT(1), (__u32)CALL_NUMBER(regs), 0);
}
