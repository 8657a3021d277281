/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The program of "ARMv7 futex latency spike" (linux-rt-users, 2015), from its description and with its
 * constants as they were meant: 10^3 and 10^9 are an exclusive or in C. bench/pi.py runs it beside
 * `tardy measure pi`.
 *
 * High (SCHED_FIFO 59) and Busy (58) share a CPU, Low has no priority and any CPU. High and Low: lock, busy,
 * unlock, busy. Each round of High is from one reading of the clock to the next, less both loads; the
 * time to lock is from that reading to the first of the load with the lock. With "calibrated" a load
 * waits by its own clock for less than it is to take, by as much as it really takes longer (the median
 * of 1000); otherwise it ends at the first reading past its length, as in the thread.
 *
 * usage: pi-peer CPU TRAINING ROUNDS LOAD_NS calibrated|raw
 * prints "wait_ns clock_ns low_rounds", then "time_to_lock_ns round_less_loads_ns" for each round
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define HIGH_PRIO 59
#define SAMPLES 1000

struct round {
	uint64_t start_ns, locked_ns, end_ns;
};

static pthread_mutex_t lock __attribute__((aligned(128)));
static _Alignas(128) atomic_int stop;
static _Alignas(128) int cpu;
static long training, rounds;
static uint64_t load_ns, wait_ns, clock_ns;
static long low_rounds;
static struct round *kept;
static sem_t go;

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Returns its first reading. */
static inline uint64_t busy_wait(uint64_t ns)
{
	uint64_t begun_ns = now_ns();

	while (now_ns() - begun_ns <= ns)
		;
	return begun_ns;
}

static int ascending(const void *one, const void *two)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)two;

	return (a > b) - (a < b);
}

static uint64_t median(uint64_t *values)
{
	qsort(values, SAMPLES, sizeof(*values), ascending);
	return values[SAMPLES / 2];
}

static void calibrate(int shorten)
{
	static uint64_t values[SAMPLES];
	uint64_t real_ns;
	int at;

	for (at = 0; at < SAMPLES; at++) {
		uint64_t before_ns = now_ns();

		values[at] = now_ns() - before_ns;
	}
	clock_ns = median(values);
	for (at = 0; at < SAMPLES; at++) {
		uint64_t before_ns = now_ns();

		busy_wait(load_ns);
		values[at] = now_ns() - before_ns - clock_ns;
	}
	real_ns = median(values);
	wait_ns = load_ns;
	if (shorten && real_ns > load_ns)
		wait_ns = real_ns - load_ns < load_ns ? 2 * load_ns - real_ns : 0;
}

static void become(int prio)
{
	struct sched_param param = { .sched_priority = prio };
	cpu_set_t cpus;
	int error;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	error = pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	if (!error)
		error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (error) {
		fprintf(stderr, "no SCHED_FIFO %d on CPU %d: %s\n", prio, cpu, strerror(error));
		exit(1);
	}
}

static void *busy(void *unused)
{
	prctl(PR_SET_NAME, "peer-busy");
	become(HIGH_PRIO - 1);
	sem_wait(&go);
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		;
	return unused;
}

static void *low(void *unused)
{
	prctl(PR_SET_NAME, "peer-low");
	sem_wait(&go);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		pthread_mutex_lock(&lock);
		busy_wait(wait_ns);
		pthread_mutex_unlock(&lock);
		busy_wait(wait_ns);
		low_rounds++;
	}
	return unused;
}

static void *high(void *how)
{
	struct round round, last = { 0, 0, 0 };
	uint64_t begun_ns;
	long at;

	prctl(PR_SET_NAME, "peer-high");
	become(HIGH_PRIO);
	calibrate(strcmp(how, "calibrated") == 0);
	sem_post(&go);
	sem_post(&go);
	round.start_ns = now_ns();
	for (at = -training; at < rounds; at++) {
		pthread_mutex_lock(&lock);
		round.locked_ns = busy_wait(wait_ns);
		pthread_mutex_unlock(&lock);
		begun_ns = now_ns();
		/* The round before, within this load: nothing lies between a round's end and the next call. */
		if (at > 0)
			kept[at - 1] = last;
		while (now_ns() - begun_ns <= wait_ns)
			;
		round.end_ns = now_ns();
		last = round;
		round.start_ns = round.end_ns;
	}
	if (rounds > 0)
		kept[rounds - 1] = last;
	atomic_store(&stop, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t of_low, of_high, of_busy;
	pthread_mutexattr_t attr;
	long at;

	if (argc != 6) {
		fprintf(stderr, "usage: pi-peer CPU TRAINING ROUNDS LOAD_NS calibrated|raw\n");
		return 2;
	}
	cpu = atoi(argv[1]);
	training = atol(argv[2]);
	rounds = atol(argv[3]);
	load_ns = strtoull(argv[4], NULL, 10);
	kept = malloc((size_t)rounds * sizeof(*kept));
	if (!kept) {
		fprintf(stderr, "no memory for %ld rounds\n", rounds);
		return 1;
	}
	memset(kept, 1, (size_t)rounds * sizeof(*kept));
	sem_init(&go, 0, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&lock, &attr)) {
		fprintf(stderr, "no mutex with priority inheritance\n");
		return 1;
	}
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (pthread_create(&of_low, NULL, low, NULL) || pthread_create(&of_busy, NULL, busy, NULL) ||
	    pthread_create(&of_high, NULL, high, argv[5])) {
		fprintf(stderr, "no threads\n");
		return 1;
	}
	pthread_join(of_high, NULL);
	pthread_join(of_low, NULL);
	pthread_join(of_busy, NULL);

	printf("%llu %llu %ld\n", (unsigned long long)wait_ns, (unsigned long long)clock_ns, low_rounds);
	for (at = 0; at < rounds; at++) {
		long long to_lock = (long long)(kept[at].locked_ns - kept[at].start_ns);
		long long jitter = (long long)(kept[at].end_ns - kept[at].start_ns - 2 * load_ns);

		printf("%lld %lld\n", to_lock, jitter > 0 ? jitter : 0);
	}
	return 0;
}
