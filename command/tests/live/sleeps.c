/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sleeps for a millisecond at a time, COUNT times by each of the calls that x86 has for it, without a library: for
 * programs of 64 bits and of 32. Ends with 1 where the kernel has no futex_wait (before Linux 6.7).
 *
 *   cc [-m32] -O1 -ffreestanding -nostdlib -static -fno-pie -no-pie -mgeneral-regs-only -DCOUNT=100
 */
#define MS 1000000
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX2_PRIVATE_U32 (128 | 2)

struct times {
	long s, ns;
};

struct times64 {
	long long s, ns;
};

#if defined(__i386__)
enum { NANOSLEEP = 162, FUTEX = 240, CLOCK_NANOSLEEP = 267, POLL = 168, CLOCK_GETTIME64 = 403, EXIT = 1 };
enum { CLOCK_NANOSLEEP64 = 407 };
asm(".globl call\n"
    "call: push %ebp; push %ebx; push %esi; push %edi\n"
    "mov 20(%esp), %eax; mov 24(%esp), %ebx; mov 28(%esp), %ecx; mov 32(%esp), %edx\n"
    "mov 36(%esp), %esi; mov 40(%esp), %edi; mov 44(%esp), %ebp; int $0x80\n"
    "pop %edi; pop %esi; pop %ebx; pop %ebp; ret\n");
#else
enum { NANOSLEEP = 35, FUTEX = 202, CLOCK_NANOSLEEP = 230, POLL = 7, CLOCK_GETTIME64 = 228, EXIT = 60 };
enum { CLOCK_NANOSLEEP64 = CLOCK_NANOSLEEP };
asm(".globl call\n"
    "call: mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi; mov %rcx, %rdx\n"
    "mov %r8, %r10; mov %r9, %r8; mov 8(%rsp), %r9; syscall; ret\n");
#endif
enum { FUTEX_WAIT2 = 455, MONOTONIC = 1, NO_SUCH_CALL = -38 };

long call(long number, long a, long b, long c, long d, long e, long f);

static unsigned word;

void _start(void)
{
	struct times ms = { 0, MS };
	struct times64 ms64 = { 0, MS }, until;
	long ended = 0;

	for (int i = 0; i < COUNT; i++) {
		call(NANOSLEEP, (long)&ms, 0, 0, 0, 0, 0);
		call(CLOCK_NANOSLEEP, MONOTONIC, 0, (long)&ms, 0, 0, 0);
		call(CLOCK_NANOSLEEP64, MONOTONIC, 0, (long)&ms64, 0, 0, 0);
		call(FUTEX, (long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&ms, 0, 0);
		call(POLL, 0, 0, 1, 0, 0, 0);
		call(CLOCK_GETTIME64, MONOTONIC, (long)&until, 0, 0, 0, 0);
		until.ns += MS;
		if (until.ns >= 1000 * MS) {
			until.ns -= 1000 * MS;
			until.s++;
		}
		ended = call(FUTEX_WAIT2, (long)&word, 0, (long)0xffffffff, FUTEX2_PRIVATE_U32, (long)&until,
			     MONOTONIC);
	}
	call(EXIT, ended == NO_SUCH_CALL, 0, 0, 0, 0, 0);
}
