/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * System calls of watched threads. These two hooks run at every call of every thread, so they are
 * attached only where somebody is watched who does not mark his own return.
 */

/*
 * The calls whose arguments matter, by the tables of programs of 64 and of 32 bits; of the latter those that take
 * times of 32 bits, and those that take times of 64.
 */
#if defined(__TARGET_ARCH_x86)
enum { CALL_NANOSLEEP = 35, CALL_FUTEX = 202, CALL_CLOCK_NANOSLEEP = 230 };
enum { COMPAT_NANOSLEEP = 162, COMPAT_FUTEX = 240, COMPAT_CLOCK_NANOSLEEP = 267 };
#define CALL_ARGUMENTS(regs)                                                                       \
	{ BPF_CORE_READ(regs, di), BPF_CORE_READ(regs, si), BPF_CORE_READ(regs, dx) }
#define COMPAT_ARGUMENTS(regs)                                                                     \
	{ (__u32)BPF_CORE_READ(regs, bx), (__u32)BPF_CORE_READ(regs, cx),                          \
	  (__u32)BPF_CORE_READ(regs, dx) }
#define CALL_NUMBER(regs) BPF_CORE_READ(regs, orig_ax)
#define COMPAT_NUMBER(regs) CALL_NUMBER(regs)
#define IS_COMPAT(regs)                                                                            \
	(BPF_CORE_READ((struct task_struct___compat *)bpf_get_current_task(), thread_info.status) & \
	 TS_COMPAT)
#else
enum { CALL_NANOSLEEP = 101, CALL_FUTEX = 98, CALL_CLOCK_NANOSLEEP = 115 };
enum { COMPAT_NANOSLEEP = 162, COMPAT_FUTEX = 240, COMPAT_CLOCK_NANOSLEEP = 265 };
#define CALL_ARGUMENTS(regs)                                                                       \
	{ BPF_CORE_READ(regs, user_regs.regs[0]), BPF_CORE_READ(regs, user_regs.regs[1]),          \
	  BPF_CORE_READ(regs, user_regs.regs[2]) }
#define COMPAT_ARGUMENTS(regs) CALL_ARGUMENTS(regs)
#define CALL_NUMBER(regs) BPF_CORE_READ(regs, user_regs.regs[8])
#define COMPAT_NUMBER(regs) BPF_CORE_READ(regs, user_regs.regs[7])
#define IS_COMPAT(regs) (BPF_CORE_READ(regs, user_regs.pstate) & PSR_MODE32_BIT)
#endif

enum { COMPAT_FUTEX_TIME64 = 422, COMPAT_CLOCK_NANOSLEEP_TIME64 = 407 };

/* Of all programs. */
enum { CALL_FUTEX_WAIT = 455 };

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

static __always_inline __u64 timespec32_ns(__u64 address)
{
	__s32 pair[2] = {};

	if (bpf_probe_read_user(pair, sizeof(pair), (const void *)address))
		return 0;
	return pair[0] * 1000000000LL + pair[1];
}

/* A call of a program of 32 bits. */
static __noinline int enter_compat(struct pt_regs *regs, __u32 number)
{
	__u64 arguments[3] = COMPAT_ARGUMENTS(regs);
	__u64 argument = arguments[0];
	__u32 more = 0;

	switch (number) {
	case COMPAT_NANOSLEEP:
		argument = timespec32_ns(arguments[0]);
		break;
	case COMPAT_CLOCK_NANOSLEEP:
		argument = timespec32_ns(arguments[2]);
		more = arguments[1];
		break;
	case COMPAT_CLOCK_NANOSLEEP_TIME64:
		argument = timespec_ns(arguments[2]);
		more = arguments[1];
		break;
	case COMPAT_FUTEX:
	case COMPAT_FUTEX_TIME64:
		enters_futex(argument, arguments[1], arguments[2]);
		more = halves(arguments[1], arguments[2]);
		break;
	case CALL_FUTEX_WAIT:
		more = halves(0, arguments[1]);
		break;
	}
	return emit(TAG_SYSCALL_ENTER, 0, argument, number | CALL_COMPAT, more);
}

SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ARGUMENT(0);
	__u32 number = ARGUMENT(1);

	if (!is_watched())
		return 0;
	if (IS_COMPAT(regs))
		return enter_compat(regs, number);

	__u64 arguments[3] = CALL_ARGUMENTS(regs);

	switch (number) {
	case CALL_NANOSLEEP:
		return emit(TAG_SYSCALL_ENTER, 0, timespec_ns(arguments[0]), number, 0);
	case CALL_CLOCK_NANOSLEEP:
		return emit(TAG_SYSCALL_ENTER, 0, timespec_ns(arguments[2]), number, arguments[1]);
	case CALL_FUTEX:
		enters_futex(arguments[0], arguments[1], arguments[2]);
		/* The operation, and what the word is compared with: 2 is a mutex that has waiters. */
		return emit(TAG_SYSCALL_ENTER, 0, arguments[0], number,
			    halves(arguments[1], arguments[2]));
	case CALL_FUTEX_WAIT:
		/* The recorder knows its operation by its number. */
		return emit(TAG_SYSCALL_ENTER, 0, arguments[0], number, halves(0, arguments[1]));
	default:
		return emit(TAG_SYSCALL_ENTER, 0, arguments[0], number, 0);
	}
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ARGUMENT(0);
	__u32 number;

	if (!is_watched())
		return 0;
	number = IS_COMPAT(regs) ? COMPAT_NUMBER(regs) : CALL_NUMBER(regs);
	leaves_futex(ARGUMENT(1));
	return emit(TAG_SYSCALL_EXIT, 0, ARGUMENT(1), number, 0);
}
