// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A lock whose owner sleeps. inj-owner takes a PI mutex and touches pages of a file that are not in memory, each of
 * which it sleeps for, or just sleeps; the victim wants the mutex meanwhile. A hypervisor may bring a page while it is
 * asked for, so that nobody sleeps: the owner writes down when it did.
 */
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/var/tmp"
#define PAGE_BYTES 4096L
#define PAGES 16384L
#define ROUND_NS (8 * NS_PER_MS)
#define HELD_NS (2 * NS_PER_MS)
#define ASLEEP_NS (400 * NS_PER_US)

static pthread_mutex_t mutex;
static long long first_ns;
static int file = -1;
static volatile char *map;

static void make_file(void)
{
	char path[] = FOLDER "/tardy-inject-XXXXXX";
	char page[PAGE_BYTES] = { 1 };
	struct statfs where;

	if (statfs(FOLDER, &where))
		die("a file in " FOLDER);
	/* What is in memory alone is never missing. */
	errno = EMEDIUMTYPE;
	if (where.f_type == TMPFS_MAGIC)
		die("a file on a disk in " FOLDER);
	file = mkstemp(path);
	if (file < 0)
		die("a file in " FOLDER);
	unlink(path);
	for (long at = 0; at < PAGES; at++)
		if (write(file, page, sizeof(page)) != sizeof(page))
			die("a file of 64 MB in " FOLDER);
	/* Only what is on the disk can leave the memory. */
	if (fsync(file))
		die("a file of 64 MB in " FOLDER);
	map = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		die("a map of its file");
	/* One page at a time. */
	madvise((void *)map, PAGES * PAGE_BYTES, MADV_RANDOM);
}

static void forget_pages(void)
{
	madvise((void *)map, PAGES * PAGE_BYTES, MADV_DONTNEED);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

static void sleep_within(struct log *log)
{
	(void)log;
	sleep_until(now_ns() + ASLEEP_NS);
}

static void touch_page(struct log *log)
{
	(void)map[between(log, 0, PAGES) * PAGE_BYTES];
}

/* What the owner does while it has the mutex. */
static void (*spend)(struct log *log);

static long long cpu_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * NS_PER_SEC + time.tv_nsec;
}

static long times_asleep(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void spend_and_tell(struct log *log)
{
	long before = times_asleep();
	long long ran_ns = cpu_time_ns(), begin_ns = now_ns(), end_ns;

	spend(log);
	end_ns = now_ns();
	ran_ns = cpu_time_ns() - ran_ns;
	/* Where in that time it slept is not known, and it is short. */
	if (times_asleep() != before && ran_ns < end_ns - begin_ns)
		log_add(log, "slept", sched_getcpu(), begin_ns + ran_ns, end_ns, 0);
}

static void owner(struct log *log)
{
	for (long round = 0; !over(); round++) {
		long long begin;

		move_to(round % 2 ? plan.cpu : plan.other_cpu);
		if (map)
			forget_pages();
		sleep_until(first_ns + round * ROUND_NS);
		pthread_mutex_lock(&mutex);
		begin = now_ns();
		while (now_ns() < begin + HELD_NS)
			spend_and_tell(log);
		log_add(log, "held", sched_getcpu(), begin, now_ns(), 0);
		pthread_mutex_unlock(&mutex);
	}
}

static void victim(struct log *log)
{
	for (long round = 0; !over(); round++) {
		long long called;

		sleep_until(first_ns + round * ROUND_NS + between(log, 100 * NS_PER_US, NS_PER_MS));
		called = now_ns();
		pthread_mutex_lock(&mutex);
		log_add(log, "lock", plan.cpu, called, called, now_ns());
		pthread_mutex_unlock(&mutex);
	}
}

static void start_both(int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutex_init(&mutex, &attr);
	first_ns = now_ns() + 20 * NS_PER_MS;
	start("inj-owner", 10, plan.other_cpu, owner);
	start("v-lock-40", 40, plan.cpu, victim);
}

static void start_fault(void)
{
	make_file();
	spend = touch_page;
	start_both(PTHREAD_PRIO_INHERIT);
}

static void start_asleep(void)
{
	spend = sleep_within;
	start_both(PTHREAD_PRIO_INHERIT);
}

static void start_asleep_plain(void)
{
	spend = sleep_within;
	start_both(PTHREAD_PRIO_NONE);
}
const struct culprit fault = { "fault", "a PI mutex whose owner waits for pages of a file", start_fault };
const struct culprit asleep = { "asleep", "a PI mutex whose owner sleeps on a timer", start_asleep };
const struct culprit asleep_plain = {
	"asleep-plain", "a plain mutex whose owner sleeps on a timer", start_asleep_plain
};
