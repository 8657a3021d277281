// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Culprits that are busy in the kernel. What they write down is from the entry of a call to its return.
 * At SCHED_FIFO 1, so that within that time only victims of a higher priority and interrupts run there:
 * an ordinary victim waits for all of it, one at SCHED_FIFO 40 for as long as the kernel is not
 * preemptible.
 */
#include "inject.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAST_PRIO 1
#define UNMAPPED_BYTES (256UL << 20)

static long long cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static void unmapper(struct log *log)
{
	while (!over()) {
		long long begin, begin_cpu, end;
		char *map = mmap(NULL, UNMAPPED_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED)
			die("256 MB");
		/* Small pages: a map of huge ones is gone in no time. */
		madvise(map, UNMAPPED_BYTES, MADV_NOHUGEPAGE);
		begin = now_ns();
		begin_cpu = cpu_time_ns();
		if (madvise(map, UNMAPPED_BYTES, MADV_POPULATE_WRITE))
			die("256 MB");
		end = now_ns();
		log_add(log, "populate", plan.cpu, begin, end, end - begin - (cpu_time_ns() - begin_cpu));
		sleep_until(now_ns() + between(log, 2 * NS_PER_MS, 9 * NS_PER_MS));
		begin = now_ns();
		begin_cpu = cpu_time_ns();
		munmap(map, UNMAPPED_BYTES);
		end = now_ns();
		log_add(log, "munmap", plan.cpu, begin, end, end - begin - (cpu_time_ns() - begin_cpu));
		sleep_until(now_ns() + between(log, 20 * NS_PER_MS, 60 * NS_PER_MS));
	}
}

static void start_unmap(void)
{
	start_victims(true);
	start("inj-munmap", LEAST_PRIO, plan.cpu, unmapper);
}
const struct culprit unmap = { "munmap", "munmap of 256 MB", start_unmap };

/*
 * A system call that is long and nowhere lets others run: the kernel sorts groups by their number, some
 * milliseconds. The raw call is for this thread alone.
 */
#define GROUPS 4096

static void sorter(struct log *log)
{
	static gid_t groups[GROUPS];

	/* One that the sort has much to do with; root's own is among them. */
	for (long i = 0; i < GROUPS; i++)
		groups[i] = (gid_t)(i * 2503 % GROUPS);
	while (!over()) {
		long long begin, begin_cpu, end;

		sleep_until(now_ns() + between(log, 10 * NS_PER_MS, 30 * NS_PER_MS));
		begin = now_ns();
		begin_cpu = cpu_time_ns();
		if (syscall(SYS_setgroups, GROUPS, groups))
			die("so many groups");
		end = now_ns();
		log_add(log, "call", plan.cpu, begin, end, end - begin - (cpu_time_ns() - begin_cpu));
	}
}

static void start_call(void)
{
	start_victims(true);
	start("inj-call", LEAST_PRIO, plan.cpu, sorter);
}
const struct culprit call = { "call", "a long system call that lets nobody run", start_call };

/* Calls in a row, which are one run as long as none of them waits for its turn in between. */
static void storm(struct log *log, int cpu, void (*call)(void))
{
	long long end = now_ns() + between(log, 300 * NS_PER_US, 2 * NS_PER_MS);
	long long begin = now_ns(), begin_cpu = cpu_time_ns(), now;

	do {
		call();
		now = now_ns();
	} while (now < end);
	log_add(log, "storm", cpu, begin, now, now - begin - (cpu_time_ns() - begin_cpu));
}

static void storms(struct log *log, int cpu, void (*call)(void))
{
	while (!over()) {
		sleep_until(now_ns() + between(log, 3 * NS_PER_MS, 8 * NS_PER_MS));
		storm(log, cpu, call);
	}
}

/* Threads of the process that run, so that there is somebody to interrupt. They come last. */
static void target(struct log *log)
{
	struct sched_param none = { 0 };

	(void)log;
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!over())
		;
}

static void barrier_call(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void start_barriers(int target_cpu)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		die("membarrier");
	start_victims(true);
	start("inj-target", ORDINARY, target_cpu, target);
}

static void barriers_here(struct log *log) { storms(log, plan.cpu, barrier_call); }
static void barriers_there(struct log *log) { storms(log, plan.other_cpu, barrier_call); }

static void start_membarriers(void)
{
	start_barriers(plan.other_cpu);
	start("inj-membarrier", LEAST_PRIO, plan.cpu, barriers_here);
}
const struct culprit membarriers = { "membarrier", "a storm of membarrier on the victims' CPU",
				     start_membarriers };

static void start_remote_membarriers(void)
{
	start_barriers(plan.cpu);
	start("inj-membarrier", LEAST_PRIO, plan.other_cpu, barriers_there);
}
const struct culprit remote_membarriers = { "membarrier-remote", "the same on another CPU",
					    start_remote_membarriers };

#define FLUSHED_PAGES 64
static char *flushed;

/* Taking a right away from pages that are there makes every CPU that runs the process flush them. */
static void flush_call(void)
{
	size_t bytes = FLUSHED_PAGES * (size_t)sysconf(_SC_PAGESIZE);

	mprotect(flushed, bytes, PROT_READ);
	mprotect(flushed, bytes, PROT_READ | PROT_WRITE);
	for (size_t at = 0; at < bytes; at += 4096)
		((volatile char *)flushed)[at] = 1;
}

static void start_flushes(int target_cpu)
{
	size_t bytes = FLUSHED_PAGES * (size_t)sysconf(_SC_PAGESIZE);

	flushed = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (flushed == MAP_FAILED)
		die("memory");
	start_victims(true);
	start("inj-target", ORDINARY, target_cpu, target);
}

static void flushes_here(struct log *log) { storms(log, plan.cpu, flush_call); }
static void flushes_there(struct log *log) { storms(log, plan.other_cpu, flush_call); }

static void start_tlb(void)
{
	start_flushes(plan.other_cpu);
	start("inj-tlb", LEAST_PRIO, plan.cpu, flushes_here);
}
const struct culprit tlb = { "tlb", "a storm of TLB flushes on the victims' CPU", start_tlb };

static void start_remote_tlb(void)
{
	start_flushes(plan.cpu);
	start("inj-tlb", LEAST_PRIO, plan.other_cpu, flushes_there);
}
const struct culprit remote_tlb = { "tlb-remote", "the same on another CPU", start_remote_tlb };
