/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two threads that contend for a PI mutex: one at SCHED_FIFO 59 on the last CPU, one with no
 * real-time priority anywhere. As in the thread "ARMv7 futex latency spike" (linux-rt-users), from
 * its description; each waits a microsecond with the lock and one without. With "sleep" the second
 * one sleeps while it has the lock, so that the first cannot just spin until it is free; with "sleep-on" it
 * does so again and again, and is lent the other's priority when it goes to sleep. Ends after the number of
 * contended calls given, or after a minute.
 *
 * usage: pi CONTENDED spin|sleep|sleep-on
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock;
static atomic_int stop;
static long wanted;
/* How often the second one sleeps with the lock. */
static int sleeps;

static long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void busy(long long ns)
{
	long long until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static void *low(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "pi-low");
	prctl(PR_SET_TIMERSLACK, 1);
	while (!stop) {
		pthread_mutex_lock(&lock);
		for (int slept = 0; slept < sleeps; slept++)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		if (!sleeps)
			busy(1001);
		pthread_mutex_unlock(&lock);
		busy(1001);
	}
	return NULL;
}

static void *high(void *unused)
{
	long contended = 0, calls = 0;
	long long end = now_ns() + 60000000000LL;

	(void)unused;
	prctl(PR_SET_NAME, "pi-high");
	while (contended < wanted && now_ns() < end) {
		/* Where it is taken, the call goes to the kernel. */
		if (pthread_mutex_trylock(&lock) != 0) {
			pthread_mutex_lock(&lock);
			contended++;
		}
		calls++;
		busy(1001);
		pthread_mutex_unlock(&lock);
		busy(1001);
		/*
		 * The other thread must come to run, too: it may be on this CPU, and a lock that is handed
		 * to it while it waits is taken from it again by who has the higher priority.
		 */
		if (sleeps || calls % 64 == 0)
			usleep(sleeps ? 150 : 50);
	}
	stop = 1;
	printf("%ld\n", contended);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 59 };
	pthread_mutexattr_t attr;
	pthread_attr_t thread;
	pthread_t of_low, of_high;
	cpu_set_t cpus;
	int error;

	wanted = argc > 1 ? atol(argv[1]) : 1000;
	if (argc > 2)
		sleeps = strcmp(argv[2], "sleep") == 0 ? 1 : strcmp(argv[2], "sleep-on") == 0 ? 50 : 0;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);

	pthread_attr_init(&thread);
	pthread_attr_setinheritsched(&thread, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&thread, SCHED_FIFO);
	pthread_attr_setschedparam(&thread, &param);
	CPU_ZERO(&cpus);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
	pthread_attr_setaffinity_np(&thread, sizeof(cpus), &cpus);

	error = pthread_create(&of_low, NULL, low, NULL);
	if (!error)
		error = pthread_create(&of_high, &thread, high, NULL);
	if (error) {
		fprintf(stderr, "no thread: %s\n", strerror(error));
		return 1;
	}
	pthread_join(of_high, NULL);
	pthread_join(of_low, NULL);
	return 0;
}
